"""The folders of a run's jobs, and what those that are gone left in flight.

    STORE/attempts/RUN.KofN/<host>-<pid>-<uuid>/        one a job: its journals (journal.py)

Beside the records, so that the next start finds them wherever it runs; of no use to readers. A job
takes over what is unended in the folders of jobs that are gone, and removes them; it leaves those
of living jobs alone, for nothing died of what is in flight there.
"""

from __future__ import annotations

import contextlib
import shutil
from collections import Counter
from pathlib import Path
from urllib.parse import quote

from cache.layout import new_writer, writer_is_gone
from infer.journal import JOB, unended
from infer.plan import Shard


def begin_job(store: Path, run: str, shard: Shard) -> Path:
    """Return a new folder for a run's part, with what jobs that are gone left in flight."""
    name = f"{quote(run, safe=' ()=,@+')}.{shard.k}of{shard.n}"
    folder = (store / "attempts" / name).absolute()
    own = folder / new_writer()
    own.mkdir(parents=True)
    left: Counter[str] = Counter()
    for other in sorted(folder.iterdir()):
        if other != own and writer_is_gone(_last_written(other), writer=other.name):
            left += _taken(other, own)
    (own / JOB).write_text("".join(f"+{key}\n" for key in left.elements()))
    return own


def is_alone(job: Path) -> bool:
    """Whether no other job is at work on the same part of the run."""
    return list(job.parent.iterdir()) == [job]


def end_job(job: Path) -> None:
    """Remove the folder of a job that has nothing to tell."""
    shutil.rmtree(job, ignore_errors=True)
    with contextlib.suppress(OSError):  # other jobs have theirs there
        job.parent.rmdir()


def _last_written(job: Path) -> Path:
    with contextlib.suppress(FileNotFoundError):  # taken by another job meanwhile
        return max(job.iterdir(), key=lambda path: path.stat().st_mtime, default=job)
    return job


def _taken(job: Path, own: Path) -> Counter[str]:
    # Of two jobs that start at once, only one can move it.
    claimed = own / "taken"
    try:
        job.rename(claimed)
    except FileNotFoundError:
        return Counter()
    found = unended(claimed)
    shutil.rmtree(claimed)
    return found
