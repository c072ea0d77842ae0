"""Answers to multiple-choice questions: an option and a rationale."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from score.parse.document import Clash, Document, documents
from score.parse.option import LETTERS, letter_index, read_option
from score.parse.prediction import ChoicePrediction, ParseFailure
from score.parse.text import RATIONALES, folded, stated_confidence, text_member
from score.parse.visible import visible

#: Members that hold an option's letter or text. Those that could also be an index are read as such
#: only when the number is a string of letters.
_LETTERS = (
    "answer_letter", "answer", "final_answer", "correct_answer", "letter", "choice", "option",
    "selected_option", "prediction", "correct_option",
)  # fmt: skip
_INDICES = ("answer_index", "index", "option_index", "choice_index")


def parse_choice(text: str, options: Sequence[str]) -> ChoicePrediction | ParseFailure:
    """Read the chosen option from a response.

    Args:
        text: The response, untouched.
        options: The option texts without their letters.
    """
    said = visible(text)
    if not said:
        return ParseFailure("nothing but thinking" if text.strip() else "the response is empty")
    answers = [
        answer
        for document in documents(said)
        for members in _objects(document.value)
        if (answer := _of_members(folded(members), document, options)) is not None
    ]
    if answers:
        return _agreed(answers)
    if said.lstrip("`json \n").startswith("{"):
        return ParseFailure("JSON that names no option, or breaks off before it does")
    index = read_option(said, options)
    if isinstance(index, ParseFailure):
        return index
    return ChoicePrediction(index, rationale=_prose_rationale(said), flags=("prose",))


def _objects(value: Any) -> list[Mapping[str, Any]]:
    if isinstance(value, dict):
        inner = [member for member in value.values() if isinstance(member, dict)]
        return [value, *inner]
    if isinstance(value, list):
        return [member for member in value if isinstance(member, dict)]
    return []


def _of_members(
    names: Mapping[str, Any], document: Document, options: Sequence[str]
) -> ChoicePrediction | None:
    """Read one JSON object; None if it is not an answer."""
    letters = [names[name] for name in _LETTERS if name in names and _says(names[name])]
    indices = [names[name] for name in _INDICES if name in names and _says(names[name])]
    if not letters and not indices:
        return None
    answer = _of_values(names, letters, indices, document, options)
    sure = stated_confidence(names)
    return answer if sure is None else msgspec.structs.replace(answer, confidence=sure)


def _of_values(
    names: Mapping[str, Any],
    letters: Sequence[Any],
    indices: Sequence[Any],
    document: Document,
    options: Sequence[str],
) -> ChoicePrediction:
    flags = ("repaired",) if document.repaired else ()
    rationale, problem = text_member(names, RATIONALES)
    by_letter = _one([_letter(value, options) for value in letters])
    by_index = _one([_index(value, len(options)) for value in indices])
    if isinstance(by_letter, ParseFailure):
        other = by_index if isinstance(by_index, int) else None
        return ChoicePrediction(None, rationale, flags, by_letter.reason, other_index=other)
    if isinstance(by_index, ParseFailure):
        if by_letter is None:
            return ChoicePrediction(None, rationale, flags, by_index.reason)
        by_index, flags = None, (*flags, "index unreadable")
    if by_letter is None:
        return ChoicePrediction(by_index, rationale, flags, problem)
    if by_index is None or by_index == by_letter:
        return ChoicePrediction(by_letter, rationale, flags, problem)
    flags = (*flags, "letter and index disagree")
    return ChoicePrediction(by_letter, rationale, flags, problem, other_index=by_index)


def _says(value: Any) -> bool:
    if value is None or value == "" or isinstance(value, dict):
        return False
    return not (isinstance(value, float) and math.isnan(value))


def _one(values: list[int | ParseFailure]) -> int | ParseFailure | None:
    for value in values:
        if isinstance(value, ParseFailure):
            return value
    distinct = {value for value in values if isinstance(value, int)}
    if len(distinct) > 1:
        named = ", ".join(LETTERS[index] for index in sorted(distinct))
        return ParseFailure(f"{len(distinct)} different options: {named}")
    return distinct.pop() if distinct else None


def _letter(value: Any, options: Sequence[str]) -> int | ParseFailure:
    if isinstance(value, Clash):
        return ParseFailure("the option is given twice, differently")
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, str):
        return ParseFailure(f"{value!r} is no letter; whether it counts from 0 or 1 is not certain")
    return read_option(value, options)


def _index(value: Any, n_options: int) -> int | ParseFailure:
    if isinstance(value, Clash):
        return ParseFailure("the index is given twice, differently")
    if isinstance(value, str) and re.fullmatch(r"\s*\d{1,9}\s*", value):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str) and (index := letter_index(value.strip(), n_options)) is not None:
        return index
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < n_options:
        return ParseFailure(f"{value!r} is no index of {n_options} options")
    return value


def _agreed(answers: list[ChoicePrediction]) -> ChoicePrediction | ParseFailure:
    chosen = {answer.index for answer in answers if answer.index is not None}
    if len(chosen) > 1:
        named = ", ".join(LETTERS[index] for index in sorted(chosen))
        return ParseFailure(f"{len(chosen)} different answers: {named}")
    readable = [answer for answer in answers if answer.index is not None]
    return (readable or answers)[-1]


_PROSE_RATIONALE = re.compile(
    r"(?:^|\n)\W*(?:rationale|explanation|reasoning|reason|justification)\W*:\W*(.+)\Z",
    re.I | re.S,
)


def _prose_rationale(text: str) -> str:
    match = _PROSE_RATIONALE.search(text)
    return match[1].strip() if match else ""
