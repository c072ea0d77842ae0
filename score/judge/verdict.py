"""The parsed decision of a judge, or the reason why there is none.

A reply is read only where its value is certain. What is read: a JSON object with a ``score`` (bare,
in a code fence, after prose, with the small faults that models make), ``[[7]]``, ``7/10`` where 10
is the scale's maximum, ``score: 7``, a number alone. What is never done: a value moved into the
scale, another scale's value converted, the first of two different values taken, silence read as 0.
Aspects are read beside a score; one that was not answered in its words is left out.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import stdev
from typing import Any, Literal

import json_repair

from score.judge.spec import Scale

FailureStatus = Literal["judge_failed", "missing", "infra_failed"]

#: What a judge says to an aspect, and what it is worth; None: the aspect does not apply.
ASPECT_WORDS: Mapping[str, int | None] = {"yes": 2, "partly": 1, "no": 0, "not applicable": None}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge decided about one answer."""

    score: float
    """On the scale of the judge's rubric; the mean where the judge was asked several times."""
    justification: str
    aspects: Mapping[str, float | None] = field(default_factory=dict)
    """Aspect → 2 (yes) to 0 (no), the mean of several samples; None where it does not apply."""
    samples: tuple[float, ...] = ()
    """The scores of which ``score`` is the mean, where the judge was asked several times."""

    @property
    def spread(self) -> float | None:
        """Standard deviation of the samples (n − 1); None where the judge was asked once."""
        return stdev(self.samples) if len(self.samples) > 1 else None


@dataclass(frozen=True, slots=True)
class JudgeFailure:
    """Why an answer has no verdict."""

    status: FailureStatus
    """``missing``: never asked; ``infra_failed``: asked again by the next run."""
    reason: str


_LONGEST = 100_000
_NUMBER = r"[-+]?[0-9]+(?:\.[0-9]+)?"
# The number must end here: no 7 of "7-8", "7.5.1", "7%", "7th", "7/1x".
_ENDS = r"(?![0-9.]*[0-9%\w])(?!\s*(?:-|–|/|to\b|or\b)\s*[0-9])"
_OUT_OF = rf"(?P<over>\s*(?:/|out of)\s*(?P<of>{_NUMBER}))?"
_PLAIN = re.compile(rf"(?P<value>{_NUMBER}){_OUT_OF}")
_SAID = (
    re.compile(rf"\[\[\s*(?P<value>{_NUMBER}){_OUT_OF}\s*\]\]"),
    re.compile(
        rf"\b(?:score|rating|grade)\b[*_\"'`]*\s*(?::|=|\bis\b|\bof\b)\s*[*_\"'`]*\s*"
        rf"(?P<value>{_NUMBER}){_OUT_OF}{_ENDS}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?<![\w./-])(?P<value>{_NUMBER})"
        rf"(?P<over>\s*(?:/|out of)\s*(?P<of>{_NUMBER})){_ENDS}(?!\s*/)"
    ),
)
_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"^\s*```[\w-]*\s*$", re.MULTILINE)


class _Unreadable(Exception):
    """The reply holds no certain value; the message is the reason."""


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name.lower() for name, _ in pairs]
    if names.count("score") > 1:
        raise _Unreadable("the reply has an object with several scores")
    return dict(pairs)


_DECODER = json.JSONDecoder(parse_constant=str, object_pairs_hook=_members)


def parse_verdict(text: str, scale: Scale, aspects: Sequence[str] = ()) -> Verdict | JudgeFailure:
    """Read a judge's reply.

    Args:
        text: The reply.
        scale: The numbers that a score may be.
        aspects: Further members of the reply.

    Returns:
        The verdict with a score on ``scale``, or a ``judge_failed`` with the reason.
    """
    try:
        return _read(text, scale, aspects)
    except _Unreadable as error:
        return JudgeFailure("judge_failed", str(error))


def _read(text: str, scale: Scale, aspects: Sequence[str]) -> Verdict:
    text = _THOUGHT.sub("", text).strip()
    if not text:
        raise _Unreadable("the reply is empty")
    if len(text) > _LONGEST:
        raise _Unreadable(f"the reply has {len(text)} characters; at most {_LONGEST} are read")
    if "<think>" in text.lower():
        raise _Unreadable("the reply stops in the middle of its reasoning")
    objects = list(_objects_with_score(text))
    if objects:
        values = {_as_number(found["score"], scale) for found in objects}
        score = _on_scale(_the_only(values), scale)
        justification = objects[0].get("justification")
        why = justification if isinstance(justification, str) else ""
        return Verdict(score, why, _aspects(objects[0], aspects))
    said = {_number(match, scale) for match in _matches(_FENCE.sub("", text).strip())}
    if not said:
        raise _Unreadable(f"no score in the reply: {_excerpt(text)}")
    return Verdict(_on_scale(_the_only(said), scale), text)


def _aspects(members: Mapping[str, Any], names: Sequence[str]) -> dict[str, float | None]:
    said = {name: str(members.get(name)).strip().rstrip(".").lower() for name in names}
    return {name: ASPECT_WORDS[word] for name, word in said.items() if word in ASPECT_WORDS}


def _the_only(values: set[float]) -> float:
    if len(values) > 1:
        listed = ", ".join(f"{value:g}" for value in sorted(values))
        raise _Unreadable(f"the reply has several scores: {listed}")
    return values.pop()


def _objects_with_score(text: str) -> Iterator[dict[str, Any]]:
    """JSON objects of the text that have a member ``score`` (in any case), outermost first."""
    start = text.find("{")
    while start != -1:
        found, end = _object_at(text, start)
        members = {name.lower(): value for name, value in found.items()} if found else {}
        if "score" in members:
            yield members
            start = text.find("{", end)
        else:
            start = text.find("{", start + 1)


def _object_at(text: str, start: int) -> tuple[dict[str, Any] | None, int]:
    """The object that starts here with the index after it; (None, start) where there is none."""
    try:
        found, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        # A repair may invent what was cut off, so only a closed object without objects is repaired.
        closed = re.compile(r"\{[^{}]*\}").match(text, start)
        if closed is None:
            return None, start
        found, end = json_repair.loads(closed.group()), closed.end()
    return (found, end) if isinstance(found, dict) else (None, start)


def _matches(text: str) -> Iterator[re.Match[str]]:
    alone = _PLAIN.fullmatch(text.rstrip("."))
    if alone:
        yield alone
    for pattern in _SAID:
        for match in pattern.finditer(text):
            # The 1 at the end of an object that stops there may be the start of 10.
            if match.end() < len(text) or "{" not in text:
                yield match


def _as_number(value: Any, scale: Scale) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return math.inf
    if isinstance(value, str):
        match = _PLAIN.fullmatch(value.strip())
        if match:
            return _number(match, scale)
    raise _Unreadable(f"the score is no number: {_excerpt(repr(value))}")


def _number(match: re.Match[str], scale: Scale) -> float:
    value = float(match["value"])
    if match["over"] and float(match["of"]) != scale.max:
        raise _Unreadable(f"{match.group().strip()!r} is on another scale than {scale}")
    return value


def _on_scale(value: float, scale: Scale) -> float:
    if not math.isfinite(value):
        raise _Unreadable(f"the score is {value}")
    if not scale.min <= value <= scale.max:
        raise _Unreadable(f"the score {value:g} is outside the scale {scale}")
    if scale.integer and not value.is_integer():
        raise _Unreadable(f"the score {value:g} is no whole number, as the scale {scale} asks")
    return value


def _excerpt(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 120 else flat[:119] + "…"
