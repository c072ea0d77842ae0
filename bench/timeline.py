"""The timeline of a summary: its times are checked, but no reference is made of it."""

from __future__ import annotations

import re

from bench.annotations import Node, shown

_CLOCK = re.compile(r"(?:(\d{1,4}):)?(\d{1,2}):(\d{2}(?:\.\d+)?)")


def check_timeline(entry: Node) -> None:
    """Note what is wrong with an entry's ``timeline``; nothing of it stops loading."""
    if not entry.has("timeline"):
        return
    events = entry.value["timeline"]
    if not isinstance(events, list):
        found = f"found {shown(events)}; expected a list of objects"
        entry.fault("timeline", found, blocks=False)
        return
    for n, event in enumerate(events):
        ends = [event.get(name) for name in ("start", "end")] if isinstance(event, dict) else []
        times = [time for time in map(clock_s, ends) if time is not None]
        if len(times) != 2:
            found = f"found {shown(event)}; expected start and end as HH:MM:SS"
            entry.fault(f"timeline[{n}]", found, blocks=False)
        elif times[1] < times[0]:
            found = f"found {ends[0]} to {ends[1]}; expected start before end"
            entry.fault(f"timeline[{n}]", found, blocks=False)


def clock_s(value: object) -> float | None:
    """Return the seconds of ``HH:MM:SS`` or ``MM:SS``, or None for anything else."""
    parts = _CLOCK.fullmatch(value) if isinstance(value, str) else None
    if parts is None:
        return None
    return int(parts[1] or 0) * 3600 + int(parts[2]) * 60 + float(parts[3])
