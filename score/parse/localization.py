"""Answers to temporal questions: intervals, for up to three questions asked at once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from score.parse.clock import read_intervals, read_time
from score.parse.document import Document, documents
from score.parse.prediction import IntervalPrediction, ParseFailure
from score.parse.text import RATIONALES, folded, stated_confidence, text_member
from score.parse.visible import visible

_STARTS = frozenset({
    "start_s", "start", "start_time", "start_time_s", "start_sec", "start_seconds",
    "start_timestamp", "begin", "begin_s", "from",
})  # fmt: skip
_ENDS = frozenset({
    "end_s", "end", "end_time", "end_time_s", "end_sec", "end_seconds", "end_timestamp", "stop",
    "finish", "to",
})  # fmt: skip
#: No "segment": that is what was asked about, not an answer.
_BOTH = frozenset({"interval", "timestamp", "timestamps", "time", "times", "time_range", "answer"})
_IDS = ("question_id", "id", "qid", "question_number")

Answers = dict[str, IntervalPrediction]


def parse_localization(text: str, asked: Sequence[str]) -> Answers | ParseFailure:
    """Read the answers to the questions ``asked`` (their ids, in the order asked).

    Returns:
        question id → prediction, for the questions that were answered; a failure if no answer at
        all could be read. Of two answers to one question the first counts, and is flagged.
    """
    said = visible(text)
    if not said:
        return ParseFailure("nothing but thinking" if text.strip() else "the response is empty")
    given: list[tuple[str | None, IntervalPrediction]] = []
    seen_questions = False
    for document in documents(said):
        seen_questions |= isinstance(document.value, dict) and "questions" in folded(document.value)
        given += _of_value(document.value, document, ())
    if given:
        return _assigned(given, asked)
    if seen_questions:
        return {}
    if "{" in said:
        return ParseFailure("JSON without an interval, or cut off before one is complete")
    return _of_prose(said, asked)


def _of_value(
    value: Any, document: Document, path: tuple[str | int, ...], name: str | None = None
) -> list[tuple[str | None, IntervalPrediction]]:
    if isinstance(value, list):
        return [
            answer
            for index, member in enumerate(value)
            if isinstance(member, (dict, list))
            for answer in _of_value(member, document, (*path, index))
        ]
    if not isinstance(value, dict):
        return []
    names = folded(value)
    questions = names.get("questions")
    if isinstance(questions, (list, dict)):
        key = next(key for key in value if value[key] is questions)
        return _of_value(questions, document, (*path, key))
    identity = _identity(names)
    prediction = _of_members(names, identity, document, path)
    if prediction is not None:
        return [(identity or name, prediction)]
    answers: list[tuple[str | None, IntervalPrediction]] = []
    for key, member in value.items():
        named = _id_of_key(key)
        pair = _pair(member) if named and document.is_whole(*path, key) else None
        if pair is not None:
            answers.append((named, IntervalPrediction(*pair, flags=_flags(document))))
        elif isinstance(member, (dict, list)):
            answers += _of_value(member, document, (*path, key), named)
    return answers


def _identity(names: Mapping[str, Any]) -> str | None:
    for name in _IDS:
        value = names.get(name)
        if isinstance(value, (str, int)):
            return str(value)
    return None


def _id_of_key(key: str) -> str | None:
    return key if re.fullmatch(r"(?:q(?:uestion)?[\s_-]*)?\d{1,3}", key.strip(), re.I) else None


def _of_members(
    names: Mapping[str, Any], identity: str | None, document: Document, path: tuple[str | int, ...]
) -> IntervalPrediction | None:
    """Read one object; None if it is not the answer to a question."""
    start, end, both, nested = _by_role(names)
    if len(both) == 1 and isinstance(both[0], dict) and not start and not end:
        # {"question_id": "001", "answer": {"start_s": 1, "end_s": 2}}
        lifted = {name: value for name, value in names.items() if value is not both[0]}
        inner = {**lifted, **folded(both[0])}
        return _of_members(inner, _identity(inner), document, path)
    rationale, _ = text_member(names, RATIONALES)
    sure = stated_confidence(names)
    flags = _flags(document)
    if both and not start and not end and (pair := _pair(both[0])) is not None:
        return IntervalPrediction(*pair, rationale, flags, confidence=sure)
    if not start and not end and (identity is None or nested):
        return None
    start_s, end_s = _time(start), _time(end)
    if start_s is not None and end_s is not None:
        return IntervalPrediction(start_s, end_s, rationale, flags, confidence=sure)
    cut = "" if document.is_whole(*path) else " (cut off)"
    said = f"start {_said(start)}, end {_said(end)}" if start or end else "no times"
    return IntervalPrediction(start_s, end_s, rationale, flags, f"{said}{cut}", sure)


def _by_role(names: Mapping[str, Any]) -> tuple[list[Any], list[Any], list[Any], bool]:
    """Values that are a start, an end, and both; and whether there is an object beside them."""
    start: list[Any] = []
    end: list[Any] = []
    both: list[Any] = []
    nested = False
    for name, value in names.items():
        if name in _STARTS:
            start.append(value)
        elif name in _ENDS:
            end.append(value)
        elif name in _BOTH:
            both.append(value)
        elif isinstance(value, dict):
            nested = True
    return start, end, both, nested


def _flags(document: Document) -> tuple[str, ...]:
    return ("repaired",) if document.repaired else ()


def _time(values: list[Any]) -> float | None:
    if len(values) == 1:
        return read_time(values[0])
    times = {read_time(value) for value in values}
    return times.pop() if len(times) == 1 else None


def _said(values: list[Any]) -> str:
    return ", ".join(repr(value)[:40] for value in values) if values else "missing"


def _pair(value: Any) -> tuple[float, float] | None:
    if isinstance(value, str):
        found = read_intervals(value)
        return found[0] if len(found) == 1 else None
    if isinstance(value, list) and len(value) == 2:
        start_s, end_s = read_time(value[0]), read_time(value[1])
        if start_s is not None and end_s is not None:
            return start_s, end_s
    return None


def _assigned(
    given: list[tuple[str | None, IntervalPrediction]], asked: Sequence[str]
) -> Answers | ParseFailure:
    if all(identity is None for identity, _ in given):
        if len(given) != len(asked):
            return ParseFailure(f"{len(given)} answers without ids to {len(asked)} questions")
        flags = ("by order",) if len(asked) > 1 else ()
        return {
            question: msgspec.structs.replace(prediction, flags=(*prediction.flags, *flags))
            for question, (_, prediction) in zip(asked, given, strict=True)
        }
    answers: Answers = {}
    for identity, prediction in given:
        question = _asked_as(identity, asked)
        if question is None:
            continue
        if question in answers:
            answers[question] = _first(answers[question], prediction)
        else:
            answers[question] = prediction
    if not answers:
        named = ", ".join(repr(identity) for identity, _ in given[:5])
        return ParseFailure(f"no answer to the questions asked; answered: {named}")
    return answers


def _first(first: IntervalPrediction, second: IntervalPrediction) -> IntervalPrediction:
    if (first.start_s, first.end_s) == (second.start_s, second.end_s):
        return first
    if "answered twice" in first.flags:
        return first
    return msgspec.structs.replace(first, flags=(*first.flags, "answered twice"))


def _asked_as(identity: str | None, asked: Sequence[str]) -> str | None:
    """Return the id asked that ``identity`` stands for: ``1``, ``Q1`` and ``001`` are the same."""
    if identity is None:
        return None
    if identity in asked:
        return identity
    number = re.search(r"(?<!\d)(\d{1,9})\s*\Z", identity)
    if number is None:
        return None
    same = [name for name in asked if name.isdecimal() and int(name) == int(number[1])]
    return same[0] if len(same) == 1 else None


_MARK = re.compile(
    r"(?:^|\n)[\s*#>-]*(?:(?:question|q)[\s_#]*(?:id)?[\s:#]*(?P<named>\d{1,3})\b|(?P<bare>\d{1,3})"
    r"(?=\s*[.):]\s))[\s*).:\-–—]*",
    re.I,
)


def _of_prose(text: str, asked: Sequence[str]) -> Answers | ParseFailure:
    marks = list(_MARK.finditer(text))
    if not marks:
        return _of_stretch(text, asked)
    answers: Answers = {}
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    for mark, end in zip(marks, ends, strict=True):
        question = _asked_as(mark["named"] or mark["bare"], asked)
        found = read_intervals(text[mark.end() : end])
        if question is None or len(found) != 1:
            continue
        prediction = IntervalPrediction(*found[0], flags=("prose",))
        answers[question] = (
            _first(answers[question], prediction) if question in answers else prediction
        )
    return answers or _of_stretch(text, asked)


def _of_stretch(text: str, asked: Sequence[str]) -> Answers | ParseFailure:
    found = read_intervals(text)
    if len(found) != len(asked) or len(found) != 1:
        return ParseFailure(f"{len(found)} intervals in prose for {len(asked)} questions")
    return {asked[0]: IntervalPrediction(*found[0], flags=("prose",))}
