"""The record of a submission, beside the store: which job does which stage.

STORE.slurm/<chain>/submission.json
STORE.slurm/<chain>/<stage>/script.sbatch      what was submitted
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from cache.durable import write_file
from slurm.chain import Chain
from slurm.errors import NotSubmitted, SubmissionDamaged
from slurm.stage import Stage


class Submitted(msgspec.Struct, frozen=True, kw_only=True):
    """A stage and its job."""

    stage: Stage
    job: str = ""
    """Empty: nothing of it was missing, so nothing was submitted."""
    parts: tuple[int, ...] = ()
    """The parts that the job runs; the others were done before."""


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """All stages of a chain."""

    chain: str
    store: str
    benchmark: str
    data: str
    at: str
    """UTC, ISO 8601."""
    stages: tuple[Submitted, ...]

    @property
    def jobs(self) -> list[str]:
        """Ids of the jobs."""
        return [one.job for one in self.stages if one.job]


def write_submission(chain: Chain, submission: Submission) -> Path:
    """Put the record in the place of an older one."""
    path = _path(chain)
    data = msgspec.json.format(msgspec.json.encode(submission)) + b"\n"
    write_file(path, [data])
    return path


def read_submission(chain: Chain) -> Submission:
    """Read the record of the last submission.

    Raises:
        NotSubmitted: there is none.
        SubmissionDamaged: it is cut off or garbled.
    """
    try:
        return msgspec.json.decode(_path(chain).read_bytes(), type=Submission)
    except FileNotFoundError:
        raise NotSubmitted(
            f"{_path(chain)} is not there: chain {chain.name!r} was not submitted with this store"
        ) from None
    except msgspec.MsgspecError as error:
        raise SubmissionDamaged(
            f"{_path(chain)} is damaged: {error}. Jobs of chain {chain.name!r} may be in the "
            f"queue: look with squeue --me, scancel those named {chain.name}.…, remove the file "
            "and submit the chain again; what is answered stays answered"
        ) from error


def _path(chain: Chain) -> Path:
    return chain.folder / "submission.json"
