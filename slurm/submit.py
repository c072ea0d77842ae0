"""Submitting a chain: render its scripts, leave out what is answered, hand the rest to sbatch.

Each stage waits for those before it (``afterok``), and is cancelled when they cannot end well
(``--kill-on-invalid-dep``): nothing waits for ever. The scripts turn "some items failed" into a
good end, so only what keeps a stage from working at all stops the chain.

sbatch is called as it is. submitit sends pickled Python functions and brings its own requeueing;
our jobs are commands that resume by themselves, and the scripts are to be read, edited and
submitted without Python, too. simple-slurm makes a command line of keywords: little is left of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cache.durable import make_folder, write_file
from cache.errors import UnknownRun
from cache.store import Store
from infer.plan import Shard
from slurm.chain import Chain
from slurm.errors import ChainError, ChainUnderway, NotSubmitted, SlurmUnavailable
from slurm.part import look
from slurm.queue import call, entries
from slurm.script import options_of, render
from slurm.stage import Stage, make_stages
from slurm.submission import Submission, Submitted, read_submission, write_submission

#: Options that sbatch may find too much, or unknown; it does not say of which job.
_ASKED = ("partition", "account", "nodes", "gres", "cpus-per-task", "mem", "time", "array")


@dataclass(frozen=True, slots=True)
class Rendered:
    """What would be submitted of a stage."""

    stage: Stage
    parts: tuple[int, ...]
    """Those with something missing; empty: nothing is to do."""
    text: str

    @property
    def options(self) -> list[str]:
        """Options of sbatch that are known when the stages before are submitted."""
        return ["--parsable", "--kill-on-invalid-dep=yes"]


def render_chain(chain: Chain) -> list[Rendered]:
    """Return every stage's script, and which of its parts have to run."""
    rendered = []
    for stage in make_stages(chain):
        every = tuple(range(1, stage.parts + 1))
        missing = _missing(chain, stage) if stage.run else every
        chosen = missing if len(missing) < len(every) else ()
        rendered.append(Rendered(stage, missing, render(stage, chosen)))
    return rendered


def submit(chain: Chain, environ: Mapping[str, str] = os.environ) -> Submission:
    """Submit what a chain has to do, and write down which job does what.

    Raises:
        ChainError: this cluster takes no array of so many parts.
        ChainUnderway: jobs of an earlier submission are still in the queue.
        SubmissionDamaged: whether there are such jobs cannot be told.
        SlurmUnavailable: sbatch is not there or refuses; what was submitted before is cancelled.
    """
    _refuse_underway(chain, environ)
    _refuse_large_arrays(chain, environ)
    jobs: dict[str, str] = {}
    done: list[Submitted] = []
    try:
        for rendered in render_chain(chain):
            stage, job = rendered.stage, ""
            if rendered.parts:
                _forget_other_results(stage)
                job = _sbatch(rendered, [jobs[name] for name in stage.needs if jobs[name]], environ)
            jobs[stage.name] = job
            done.append(Submitted(stage=stage, job=job, parts=rendered.parts))
    except SlurmUnavailable:
        if started := [job for job in jobs.values() if job]:
            call(["scancel", *started], environ)
        raise
    submission = Submission(
        chain=chain.name,
        store=chain.store,
        benchmark=chain.benchmark,
        data=chain.data,
        at=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        stages=tuple(done),
    )
    write_submission(chain, submission)
    return submission


def _refuse_underway(chain: Chain, environ: Mapping[str, str]) -> None:
    try:
        jobs = read_submission(chain).jobs
    except NotSubmitted:
        return
    waiting = sorted({
        entry.job for entry in entries(jobs, environ).values() if not entry.is_over
    })  # fmt: skip
    if waiting:
        raise ChainUnderway(
            f"chain {chain.name!r} is submitted already; in the queue: {', '.join(waiting)}. Wait "
            f"for it (rejudge slurm status), or cancel it: scancel {' '.join(jobs)}"
        )


def _refuse_large_arrays(chain: Chain, environ: Mapping[str, str]) -> None:
    try:
        said = call(["scontrol", "show", "config"], environ)
    except SlurmUnavailable:  # then sbatch says what is wrong
        return
    found = re.search(r"^MaxArraySize\s*=\s*(\d+)", said, re.MULTILINE)
    shards = max(one.shards for one in chain.infer)
    if found and shards >= int(found[1]):  # indices are smaller than it, and ours begin at 1
        raise ChainError(
            f"infer.shards: {shards} parts are more than an array of this cluster takes, "
            f"{int(found[1]) - 1} (MaxArraySize)"
        )


def _missing(chain: Chain, stage: Stage) -> tuple[int, ...]:
    """Parts of an inference stage that the store cannot answer.

    Which requests there are is known once a job of this very stage has written its run; until then
    every part may have some.
    """
    every = tuple(range(1, stage.parts + 1))
    if not _is_same(stage) or not any(look(stage, k).planned for k in every):
        return every
    try:
        with Store(Path(chain.store), read_only=True) as store:
            keys = {line.key for line in store.run(stage.run).lines}
            open_keys = store.missing(keys)
    except UnknownRun:
        return every
    shards = [Shard(k, stage.parts) for k in every]
    return tuple(shard.k for shard in shards if any(shard.holds(key) for key in open_keys))


def _forget_other_results(stage: Stage) -> None:
    """Remove results of a stage that was run with other settings: they say nothing of this one."""
    if _is_same(stage):
        return
    for result in Path(stage.folder).glob("*.json"):
        result.unlink()
    write_file(_mark(stage), [stage.digest.encode()])


def _is_same(stage: Stage) -> bool:
    return _mark(stage).is_file() and _mark(stage).read_bytes() == stage.digest.encode()


def _mark(stage: Stage) -> Path:
    return Path(stage.folder) / "settings.sha256"


def _sbatch(rendered: Rendered, after: list[str], environ: Mapping[str, str]) -> str:
    folder = Path(rendered.stage.folder)
    make_folder(folder)
    script = folder / "script.sbatch"
    write_file(script, [rendered.text.encode()], mode=0o755)
    dependency = [f"--dependency=afterok:{':'.join(after)}"] if after else []
    try:
        said = call(["sbatch", *rendered.options, *dependency, str(script)], environ)
    except SlurmUnavailable as error:
        asked = {name: value for name, value in options_of(rendered.text).items() if name in _ASKED}
        told = ", ".join(f"{name}={value}" for name, value in asked.items())
        raise SlurmUnavailable(
            f"stage {rendered.stage.name}: {error}. It asks for {told}; script: {script}"
        ) from error
    return said.strip().partition(";")[0]
