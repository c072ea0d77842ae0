"""The folders of a run's jobs, and what those that are gone left in flight.

    STORE/attempts/RUN.KofN/<host>-<pid>-<uuid>/        one a job: its journals (journal.py)

Beside the records, so that the next start finds them wherever it runs; of no use to readers. A job
takes over what is unended in the folders of jobs that are gone, and removes them; it leaves those
of living jobs alone, for nothing died of what is in flight there. A job of another machine lives as
long as its ledger shows it (``BEAT_S``).
"""

from __future__ import annotations

import contextlib
import shutil
from collections import Counter
from pathlib import Path
from urllib.parse import quote

from cache.errors import StoreUnavailable
from cache.layout import is_writer, new_writer, writer_is_gone
from cache.store import Store
from infer.journal import JOB, left_over, unended
from infer.ledger import BEAT_S
from infer.plan import Shard

#: How long a job of another machine may show nothing: clocks differ, and file servers are slow.
_SILENT_S = 6 * BEAT_S
#: Other jobs that end remove the folder that this one makes its own in.
_TRIES = 100


def begin_job(store: Path, run: str, shard: Shard) -> Path:
    """Return a new folder for a run's part, with what jobs that are gone left in flight.

    Raises:
        StoreUnavailable: it cannot be made there.
    """
    folder = _folder(store, run, shard)
    own = folder / new_writer()
    try:
        _make(own)
        gone = [other for other in _jobs(folder) if other != own and _is_gone(other)]
        taken = [
            claimed for number, job in enumerate(gone) if (claimed := _claim(job, own, number))
        ]
        _leave(own, sum(map(_left, taken), Counter()))
    except OSError as error:
        shutil.rmtree(own, ignore_errors=True)
        raise StoreUnavailable(
            f"{folder}: this job cannot note there what it is asking: {error}. Make room, or move "
            "away what is no folder of a job."
        ) from error
    for job in taken:
        shutil.rmtree(job, ignore_errors=True)
    return own


def is_alone(job: Path) -> bool:
    """Whether no other job is at work on the same part of the run."""
    return _jobs(job.parent) == [job]


def end_job(job: Path, store: Store, *, innocent: bool) -> None:
    """Remove the folder of a job, unless it has to tell the next one of suspects.

    Args:
        job: The folder.
        store: What it answers, it is no use to suspect.
        innocent: Nothing died of what was in flight; what earlier jobs left stays suspect.
    """
    left = left_over(job).unended if innocent else unended(job)
    suspects = Counter({key: left[key] for key in store.missing(left)})
    if suspects:
        _leave(job, suspects)
        for path in job.glob("*.log"):
            if path.name != JOB:
                path.unlink()
        return
    shutil.rmtree(job, ignore_errors=True)
    with contextlib.suppress(OSError):  # other jobs have theirs there
        job.parent.rmdir()


def tidy(store: Store, run: str, shard: Shard) -> None:
    """Remove what jobs that are gone left of requests that are answered by now."""
    folder = _folder(store.path, run, shard)
    with contextlib.suppress(StoreUnavailable):  # a store may be read-only
        if folder.is_dir() and any(map(_is_gone, _jobs(folder))):
            end_job(begin_job(store.path, run, shard), store, innocent=False)


def _folder(store: Path, run: str, shard: Shard) -> Path:
    name = f"{quote(run, safe=' ()=,@+')}.{shard.k}of{shard.n}"
    return (store / "attempts" / name).absolute()


def _make(own: Path) -> None:
    for left in reversed(range(_TRIES)):
        try:
            own.mkdir(parents=True)
            return
        except FileNotFoundError:
            if not left:
                raise


def _jobs(folder: Path) -> list[Path]:
    """The folders of jobs; what else somebody put there is none of our business."""
    return sorted(
        path
        for path in folder.iterdir()
        if is_writer(path.name) and path.is_dir() and not path.is_symlink()
    )


def _is_gone(job: Path) -> bool:
    last = job
    with contextlib.suppress(FileNotFoundError):  # taken by another job meanwhile
        last = max(job.iterdir(), key=lambda path: path.lstat().st_mtime, default=job)
    return writer_is_gone(last, idle_s=_SILENT_S, writer=job.name)


def _claim(job: Path, own: Path, number: int) -> Path | None:
    # Of two jobs that start at once, only one can move it.
    claimed = own / f"taken-{number}"
    try:
        job.rename(claimed)
    except FileNotFoundError:
        return None
    return claimed


def _left(job: Path) -> Counter[str]:
    """What a job left in flight; one that was killed while it took over has what it had taken."""
    if (job / JOB).is_file():
        return unended(job)
    return sum(map(_left, (path for path in job.glob("taken-*") if path.is_dir())), unended(job))


def _leave(job: Path, suspects: Counter[str]) -> None:
    new = job / "job.new"
    new.write_text("".join(f"+{key}\n" for key in suspects.elements()))
    new.replace(job / JOB)
