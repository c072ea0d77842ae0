"""Times and intervals, in all the ways models write them, as seconds.

One time: ``83``, ``83.5 s``, ``1:23``, ``00:01:23.5``, ``00:01:23,500``, ``1m23s``,
``1 min 23 sec``, ``1h2m3s``. An interval: two of them, joined by a dash, ``to``, ``until`` or
``and``, in brackets or after labels. What has two readings has none:
``83,5``, ``1:75``, ``12:00 pm``.
"""

from __future__ import annotations

import math
import re
import sys

_UNIT = {"h": 3600.0, "m": 60.0, "s": 1.0}
_HOURS = r"h(?:(?:ou)?rs?)?"
_MINUTES = r"m(?:in(?:ute)?s?)?"
_SECONDS = r"s(?:ec(?:ond)?s?)?"
_DECIMAL = r"\d+(?:\.\d+)?|\.\d+"
_CLOCK = r"\d{1,3}:\d{2}(?::\d{2})?(?:[.,]\d{1,6})?"
_WORDS = (
    rf"(?:(?:{_DECIMAL})\s*{_HOURS}(?![a-z])\.?[\s,]*(?:and\s+)?)?"
    rf"(?:(?:{_DECIMAL})\s*{_MINUTES}(?![a-z])\.?[\s,]*(?:and\s+)?)?"
    rf"(?:(?:{_DECIMAL})\s*{_SECONDS}(?![a-z])\.?)?"
)
_COMPACT = re.compile(
    rf"(?:(?P<h>{_DECIMAL})\s*{_HOURS}[\s,]*(?:and\s+)?)?(?:(?P<m>{_DECIMAL})\s*{_MINUTES}[\s,]*"
    rf"(?:and\s+)?)?(?:(?P<s>{_DECIMAL})\s*{_SECONDS}?)?\.?",
    re.I,
)
_CLOCK_PARTS = re.compile(r"(?:(\d{1,3}):)?(\d{1,3}):(\d{2})(?:[.,](\d{1,6}))?")
_PLAIN = re.compile(rf"[-−+]?(?:{_DECIMAL})(?:[eE][+-]?\d+)?")


def read_time(value: object) -> float | None:
    """Return a time in seconds, None where it is not certain what is meant."""
    if type(value) is float and math.isfinite(value):
        return value
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        # Compared before it is converted: an integer may be beyond a float's range.
        return float(value) if abs(value) <= sys.float_info.max else None
    if not isinstance(value, str):
        return None
    text = value.strip().strip("\"'`*[]()<>~≈ ").strip()
    if _PLAIN.fullmatch(text):
        seconds = float(text.replace("−", "-"))
        return seconds if math.isfinite(seconds) else None
    clock = re.sub(rf"\s*{_SECONDS}\Z", "", text, flags=re.I)
    if (match := _CLOCK_PARTS.fullmatch(clock)) is not None:
        return _of_clock(match)
    return _of_words(text)


def _of_clock(match: re.Match[str]) -> float | None:
    hours, minutes, seconds, fraction = match.groups()
    if int(seconds) > 59 or (hours is not None and int(minutes) > 59):
        return None
    whole = int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds)
    return float(f"{whole}.{fraction or 0}")


def _of_words(text: str) -> float | None:
    match = _COMPACT.fullmatch(text)
    if match is None or not any(match.groupdict().values()):
        return None
    parts = {unit: number for unit, number in match.groupdict().items() if number is not None}
    total = math.fsum(float(number) * _UNIT[unit] for unit, number in parts.items())
    if not math.isfinite(total):
        return None
    if len(parts) == 1:
        return total
    below = [float(parts[unit]) for unit in ("m", "s") if unit in parts][-1]
    return total if below < 60 else None  # "1m75s" is a slip of some kind


_TIME = rf"(?:{_CLOCK}(?:\s*{_SECONDS}\b)?|(?=\.?\d){_WORDS}(?<=[a-zA-Z.])|-?(?:{_DECIMAL}))"
_JOIN = r"\s*(?:-{1,2}>|→|~|[-–—−]|\.\.\.?|\bto\b|\buntil\b|\btill\b|\bthrough\b|\band\b|,|;)\s*"
_LEAD = r"(?:(?:at|about|around|approximately|roughly|t\s*=)\s*)?"
_PAIR = re.compile(
    rf"(?P<lead>\b(?:between|from)\s+|[\[(]\s*)?{_LEAD}(?<![\w.:,/])(?P<a>{_TIME})(?P<join>{_JOIN}){_LEAD}"
    rf"(?P<b>{_TIME})(?!\s*[:/]\s*\d|[\d%])(?P<close>\s*[\])])?",
    re.I,
)
_LABELLED = re.compile(
    rf"""["']?\b(?:start|begin)(?:s|ning|ing|_s|_sec|_seconds)?(?:[\s_]*(?:time|at))?["']?
        \s*(?:is|:|=|at)?\s*["']?(?P<a>{_TIME})["']?.{{0,40}}?
        ["']?\b(?:end|stop|finish)(?:s|es|ing|_s|_sec|_seconds)?(?:[\s_]*(?:time|at))?["']?
        \s*(?:is|:|=|at)?\s*["']?(?P<b>{_TIME})""",
    re.I | re.X | re.S,
)
_HAS_UNIT = re.compile(r"[:a-zA-Z]")
_LETTERS = re.compile(r"[^\W\d_]+")


def read_intervals(text: str) -> list[tuple[float, float]]:
    """Return the distinct intervals that a text names, in their order.

    Two bare numbers count only where they can be nothing else: in brackets, after ``from`` or
    ``between``, or when they are the whole text.
    """
    found: list[tuple[float, float]] = []
    for pattern in (_LABELLED, _PAIR):
        for match in pattern.finditer(text):
            if pattern is _PAIR and not _is_interval(match, text):
                continue
            pair = _bounds(match["a"], match["b"])
            if pair is not None and pair not in found:
                found.append(pair)
        if found:
            break
    return found


def _is_interval(match: re.Match[str], text: str) -> bool:
    join = match["join"].strip().lower()
    units = bool(_HAS_UNIT.search(match["a"])) + bool(_HAS_UNIT.search(match["b"]))
    if join in (",", ";", "and") and not match["lead"]:
        # "at 1:23, 1:40 and 2:00" is a list of moments; "[83, 100]" is an interval.
        return match.group().strip() == text.strip(" .")
    if units:
        return True
    return bool(match["lead"]) or match.group().strip() == text.strip(" .")


def _bounds(first: str, last: str) -> tuple[float, float] | None:
    unit = _LETTERS.findall(last)
    if not _HAS_UNIT.search(first) and len(unit) == 1:
        first += unit[0]  # "1 to 2 minutes"
    start_s, end_s = read_time(first), read_time(last)
    if start_s is None or end_s is None:
        return None
    return start_s, end_s
