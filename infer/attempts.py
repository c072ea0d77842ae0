"""The ledgers of a run's jobs, and what those that are gone left in flight.

    STORE/attempts/RUN.KofN/<host>-<pid>-<uuid>.log        one a job

Beside the records, so that the next start finds them wherever it runs; of no use to readers. A job
takes over what is unended in the ledgers of jobs that are gone, and removes them; it leaves those
of living jobs alone, for nothing died of what is in flight there.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from pathlib import Path
from urllib.parse import quote

from cache.layout import new_writer, writer_is_gone
from infer.ledger import unended
from infer.plan import Shard


def begin_ledger(store: Path, run: str, shard: Shard) -> Path:
    """Return a new ledger of a run's part, with what jobs that are gone left in flight."""
    name = f"{quote(run, safe=' ()=,@+')}.{shard.k}of{shard.n}"
    folder = (store / "attempts" / name).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    own = folder / f"{new_writer()}.log"
    left: Counter[str] = Counter()
    for path in sorted(folder.glob("*.log")):
        if writer_is_gone(path, writer=path.stem):
            left += _taken(path, own)
    own.write_text("".join(f"+{key}\n" for key in left.elements()))
    return own


def is_alone(path: Path) -> bool:
    """Whether no other job is at work on the same part of the run."""
    return list(path.parent.glob("*.log")) == [path]


def end_ledger(path: Path) -> None:
    """Remove a ledger that has nothing to tell."""
    path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # other jobs have theirs there
        path.parent.rmdir()


def _taken(path: Path, own: Path) -> Counter[str]:
    # Of two jobs that start at once, only one can give it another name.
    claimed = own.with_suffix(".taken")
    try:
        path.rename(claimed)
    except FileNotFoundError:
        return Counter()
    found = unended(claimed)
    claimed.unlink()
    return found
