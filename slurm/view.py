"""What the commands print for people."""

from __future__ import annotations

from collections.abc import Iterator

from slurm.status import ChainStatus, PartStatus, StageStatus, State
from slurm.submission import Submission
from slurm.submit import Rendered


def scripts_text(rendered: list[Rendered]) -> str:
    """Every stage's script, after the command that would submit it."""
    return "\n".join(line for one in rendered for line in _script_lines(one))


def _script_lines(one: Rendered) -> Iterator[str]:
    if not one.parts:
        yield f"# {one.stage.name}: everything is answered; nothing is submitted\n"
        return
    after = [f"--dependency=afterok:<{'>:<'.join(one.stage.needs)}>"] if one.stage.needs else []
    yield f"# {one.stage.name}: sbatch {' '.join([*one.options, *after])} <this script>"
    yield one.text


def submission_text(submission: Submission, folder: str) -> str:
    """The jobs of a submission."""
    width = max(len(one.stage.name) for one in submission.stages)
    lines = []
    for one in submission.stages:
        parts = f", {len(one.parts)} of {one.stage.parts} parts" if one.stage.is_array else ""
        what = f"job {one.job}{parts}" if one.job else "nothing to do: everything is answered"
        lines.append(f"{one.stage.name:<{width}}  {what}")
    return "\n".join([*lines, f"logs and scripts: {folder}"])


def status_text(status: ChainStatus) -> str:
    """A table of the stages, and a line for each part that there is something to say of."""
    rows = [
        (stage.stage, stage.job or "-", _state(stage), _progress(stage)) for stage in status.stages
    ]
    rows = [("stage", "job", "state", "done"), *rows]
    widths = [max(len(row[at]) for row in rows) for at in range(4)]
    lines = [f"chain {status.chain}, submitted {status.submitted}, store {status.store}"]
    lines.append(_row(rows[0], widths))
    for stage, row in zip(status.stages, rows[1:], strict=True):
        lines.append(_row(row, widths))
        lines += [f"  {line}" for part in stage.parts for line in _part(stage, part)]
    return "\n".join(lines)


def _row(row: tuple[str, ...], widths: list[int]) -> str:
    return "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


def _state(stage: StageStatus) -> str:
    if len(stage.parts) == 1:
        return str(stage.state)
    return ", ".join(f"{stage.counts[state]} {state}" for state in State if stage.counts[state])


def _progress(stage: StageStatus) -> str:
    if not stage.unit:
        return ""
    if stage.uncounted:
        return f"{stage.unit} not counted: {stage.uncounted}"
    if stage.total is None:
        return f"no {stage.unit} yet"
    return f"{stage.done} of {stage.total} {stage.unit}"


def _part(stage: StageStatus, part: PartStatus) -> Iterator[str]:
    if not (part.why or part.restarts):
        return
    again = f", started {part.restarts + 1} times" if part.restarts else ""
    where = f" on {part.node}" if part.node else ""
    name = f"part {part.part} " if len(stage.parts) > 1 else ""
    yield f"{name}{part.state}{where}{again}{': ' if part.why else ''}{part.why}"
    if part.state is State.FAILED:
        yield f"  log: {part.log}"
