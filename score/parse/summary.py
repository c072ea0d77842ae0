"""Answers to summary items: a detailed text and bullets; to empathic ones: one text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from score.parse.document import Clash, Document, documents
from score.parse.prediction import ParseFailure, SummaryPrediction
from score.parse.text import folded, text_member
from score.parse.visible import visible

_EMPATHIC = "summary_detailed_empathic"
_DETAILED = ("summary_detailed", "detailed_summary", _EMPATHIC, "detailed", "summary_long")
_SHORT = ("summary_short", "short_summary", "short", "bullets", "key_points")
_HEADING = re.compile(
    r"^[ \t#*>_-]*(?:\d{1,2}[.)][ \t*_]*)?"
    r"(?:(?P<kind>detailed|short)[ _-]?summary\b[^\n:]*:?[ \t*_]*$|"
    r"(?P<inline>detailed|short)[ _-]?summary[ \t*_]*:[ \t*]*(?=\S))",
    re.I | re.M,
)
_BULLET = re.compile(r"^\s*(?:[-*•–]|\d+[.)])\s+", re.M)


def parse_summary(text: str) -> SummaryPrediction | ParseFailure:
    """Read both summaries from a response. What is cut off is left out."""
    return _read(text, _DETAILED, _SHORT)


def parse_empathic(text: str) -> SummaryPrediction | ParseFailure:
    """Read an empathic summary from a response; it is the detailed text, and there is no short."""
    return _read(text, (_EMPATHIC, *_DETAILED), ())


def _read(
    text: str, details: Sequence[str], shorts: Sequence[str]
) -> SummaryPrediction | ParseFailure:
    said = visible(text)
    if not said:
        return ParseFailure("nothing but thinking" if text.strip() else "the response is empty")
    found = [
        prediction
        for document in documents(said)
        if (prediction := _of_document(document, details, shorts)) is not None
    ]
    if found:
        distinct = {(one.detailed, one.short) for one in found}
        return found[-1] if len(distinct) == 1 else ParseFailure(f"{len(distinct)} summaries")
    if "{" in said:
        return ParseFailure("JSON without a summary, or cut off inside it")
    return _of_headings(said)


def _of_document(
    document: Document, details: Sequence[str], shorts: Sequence[str]
) -> SummaryPrediction | None:
    if not isinstance(document.value, dict):
        return None
    names = folded(document.value)
    if not any(name in names for name in (*details, *shorts)):
        inner = [member for member in document.value.values() if isinstance(member, dict)]
        if len(inner) != 1 or document.cut is not None:
            return None
        names = folded(inner[0])
        if not any(name in names for name in (*details, *shorts)):
            return None
    detailed, problem = text_member(names, details)
    short, short_problem = _short(names, document) if shorts else ((), "")
    flags = ("repaired",) if document.repaired else ()
    if document.cut is not None:
        flags = (*flags, "cut off")
    problems = "; ".join(found for found in (problem, short_problem) if found)
    return SummaryPrediction(detailed, short, flags, problems)


def _short(names: Mapping[str, Any], document: Document) -> tuple[tuple[str, ...], str]:
    name = next((name for name in _SHORT if name in names), None)
    if name is None:
        return (), "no summary_short"
    value = names[name]
    if document.cut and folded({str(document.cut[0]): None}).keys() == {name}:
        return (), f"{name} is cut off"
    if isinstance(value, Clash):
        return (), f"{name} is given twice, differently"
    if isinstance(value, str):
        return _bullets(value), "" if value.strip() else f"{name} is empty"
    if isinstance(value, list) and all(isinstance(bullet, str) for bullet in value):
        bullets = tuple(bullet for bullet in value if bullet.strip())
        return bullets, "" if bullets else f"{name} is empty"
    return (), f"{name} is no list of texts"


def _bullets(text: str) -> tuple[str, ...]:
    lines = [_BULLET.sub("", line).strip() for line in text.splitlines()]
    return tuple(line for line in lines if line)


def _of_headings(text: str) -> SummaryPrediction | ParseFailure:
    headings = list(_HEADING.finditer(text))
    parts: dict[str, str] = {}
    ends = [*(heading.start() for heading in headings[1:]), len(text)]
    for heading, end in zip(headings, ends, strict=False):
        kind = (heading["kind"] or heading["inline"]).lower()
        if kind in parts:
            return ParseFailure(f"two {kind} summaries")
        parts[kind] = text[heading.end() : end].strip()
    if "detailed" not in parts:
        return ParseFailure("no JSON object, and no heading that says which summary is which")
    short = _bullets(parts.get("short", ""))
    problem = "" if short else "no short summary"
    return SummaryPrediction(parts["detailed"], short, ("prose",), problem)
