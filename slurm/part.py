"""What a part of a stage left behind: the lines of its events, and its result.

<folder>/3of4.events   {"at": …, "event": "started", "code": 0, "job": "17", …}
<folder>/3of4.json     what the command said at last, with ``--json``
<folder>/3of4.log      stdout and stderr of all its attempts
"""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import msgspec

from slurm.stage import Stage

#: Ends of a program that its exit code tells, beyond those of rejudge.
_SIGNALLED = 128
#: Last events of a job that does not go back to the queue any more.
_GIVEN_UP = {
    "restarted too often": "restarted too often (slurm.restarts)",
    "restarted in vain": "restarted 3 times with nothing answered between; give it more time",
    "requeue refused": "SLURM refused to queue it again",
}


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened to a job."""

    at: str
    event: str
    """``started``, ``signal USR1``, ``signal TERM``, ``ended``, ``lost``, ``requeued`` …"""
    code: int
    job: str
    """Id of the job, or of the array that it is a task of."""
    restart: int
    node: str


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """What there is of one part."""

    events: tuple[Event, ...] = ()
    """Of the last job only, oldest first."""
    result: dict[str, Any] | None = None
    """None where the command said nothing, or is at work."""
    part: str
    log: str

    @property
    def planned(self) -> bool:
        """Whether an inference stage got as far as writing its run."""
        return self.result is not None and "requested" in self.result

    @property
    def ended(self) -> Event | None:
        """The last attempt's end; None where there is none yet, or it came without a word."""
        for event in reversed(self.events):
            if event.event in ("ended", "started"):
                return event if event.event == "ended" else None
        return None

    @property
    def ended_well(self) -> bool:
        """Whether the last attempt ended with a result; that some items failed is one."""
        ended, result = self.ended, self.result
        if ended is None:
            return False
        return ended.code == 0 or (ended.code == 1 and result is not None and "error" not in result)

    @property
    def interruption(self) -> str:
        """Why the last attempt that was interrupted was so, in words."""
        ended = self.ended
        signals = [event for event in self.events if event.event.startswith("signal")]
        last = [event for event in self.events if event.event == "started"]
        if not last:
            return ""
        of_last = [event for event in signals if event.restart == last[-1].restart]
        if of_last and of_last[-1].event == "signal USR1":
            return "warned by SLURM (time limit or preemption)"
        if of_last:
            return "ended by SLURM (preempted or requeued)"
        if ended is None:
            return "lost (its node failed, or it was killed)"
        return str((self.result or {}).get("stopped") or "lost Ray")

    @property
    def failure(self) -> str:
        """Why the last attempt failed, in words."""
        ended = self.ended
        if self.events and self.events[-1].event in _GIVEN_UP:
            return f"{_GIVEN_UP[self.events[-1].event]}; the last time: {self.interruption}"
        if self.result is not None and "error" in self.result:
            return f"exit code {self.result.get('exit_code')}: {self.result['error']}"
        last = _last_line(Path(self.log), besides=f"rejudge: {self.part}:")
        if ended is None:
            return f"it ended without a word: {last}" if last else "it ended without a word"
        if ended.code > _SIGNALLED:
            return f"killed by {_signal_name(ended.code - _SIGNALLED)}: {last}"
        return f"exit code {ended.code}: {last}"


def look(stage: Stage, k: int, job: str = "") -> Left:
    """Read what the k-th part left.

    Args:
        stage: Whose part.
        k: Which, from 1.
        job: Only events of this job; empty: of the last one.
    """
    stem = Path(stage.folder) / stage.part(k)
    events = _events(stem.with_suffix(".events"))
    asked = job or (events[-1].job if events else "")
    return Left(
        events=tuple(event for event in events if event.job == asked),
        result=_result(stem.with_suffix(".json")),
        part=stem.name,
        log=f"{stem}.log",
    )


def _events(path: Path) -> list[Event]:
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return []
    found = []
    for line in lines:
        try:
            found.append(msgspec.json.decode(line, type=Event))
        except msgspec.MsgspecError:  # a node that died while it wrote; the next line is whole
            continue
    return found


def _result(path: Path) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (FileNotFoundError, msgspec.MsgspecError):
        return None


def _last_line(path: Path, *, besides: str) -> str:
    """The last line that is no note of a script, which says that it ended and not why."""
    try:
        lines = path.read_text("utf-8", errors="replace")[-20_000:].splitlines()
    except FileNotFoundError:
        return ""
    said = [line for line in lines if line.strip() and not line.startswith(besides)]
    return said[-1].strip() if said else ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
