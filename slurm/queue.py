"""What SLURM says of jobs: squeue while it remembers them, and sacct, where there is accounting.

A job that was preempted or requeued goes on under its own id: ``PREEMPTED`` and ``PENDING`` after
``RUNNING`` are no ends.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from slurm.errors import SlurmUnavailable

#: States in which a job is over, and not well.
FAILED = {
    "FAILED": "failed",
    "TIMEOUT": "its time was over before it could end; give SLURM's warning more (warning_s)",
    "OUT_OF_MEMORY": "out of memory; ask for more (memory)",
    "NODE_FAIL": "its node failed",
    "BOOT_FAIL": "its node did not boot",
    "DEADLINE": "its deadline passed",
}
_OVER = {*FAILED, "COMPLETED", "CANCELLED"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One job, or one task of an array, as SLURM knows it."""

    job: str
    """``12``, or ``12_3`` for a task."""
    state: str
    reason: str = ""
    node: str = ""

    @property
    def is_over(self) -> bool:
        """Whether it will not run again by itself."""
        return self.state in _OVER or self.reason == "DependencyNeverSatisfied"


def call(words: Sequence[str], environ: Mapping[str, str] = os.environ) -> str:
    """Run one of SLURM's commands and return what it prints.

    Raises:
        SlurmUnavailable: it is not there, or it failed; with what it said.
    """
    if shutil.which(words[0], path=environ.get("PATH")) is None:
        raise SlurmUnavailable(
            f"{words[0]} is not on the PATH: use a cluster's login node, or load its SLURM module"
        )
    done = subprocess.run(  # noqa: S603 - SLURM's own commands, no shell
        words, env=dict(environ), capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = done.stderr.strip() or f"exit code {done.returncode}"
        raise SlurmUnavailable(f"{words[0]} failed: {said}")
    return done.stdout


def entries(jobs: Collection[str], environ: Mapping[str, str] = os.environ) -> dict[str, Entry]:
    """What SLURM knows of these jobs and of the tasks of these arrays; the forgotten are left out.

    Raises:
        SlurmUnavailable: squeue is not there, or fails.
    """
    if not jobs:
        return {}
    # All of ours, and not the asked ones by name: squeue fails if it has forgotten the only one.
    lines = call(
        ["squeue", "--me", "--noheader", "--array", "--states=all", "--format=%i|%T|%r|%N"], environ
    )
    found = {entry.job: entry for entry in _parsed(lines) if _array_of(entry.job) in jobs}
    forgotten = set(jobs) - {_array_of(job) for job in found}
    return _remembered(forgotten, environ) | found


def _remembered(jobs: Collection[str], environ: Mapping[str, str]) -> dict[str, Entry]:
    if not jobs or shutil.which("sacct", path=environ.get("PATH")) is None:
        return {}
    asked = ",".join(sorted(jobs))
    try:
        lines = call(
            ["sacct", "--noheader", "--parsable2", "--allocations", f"--jobs={asked}",
             "--format=JobID,State,NodeList"],
            environ,
        )  # fmt: skip
    except SlurmUnavailable:  # a cluster without accounting: what the jobs noted has to do
        return {}
    rows = (line.split("|") for line in lines.splitlines())
    # A state may be followed by who did it: "CANCELLED by 1000".
    return {job: Entry(job, state.split()[0], node=node) for job, state, node in rows}


def _parsed(lines: str) -> Iterator[Entry]:
    for line in lines.splitlines():
        job, state, reason, node = line.split("|")
        yield Entry(job, state, "" if reason == "None" else reason, node)


def _array_of(job: str) -> str:
    return job.partition("_")[0]
