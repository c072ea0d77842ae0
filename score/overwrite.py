"""What is left of answers when entries are matched by video and segment alone.

The published scorer of SONIC-O1 keeps entries and predictions in dictionaries under
(video, start, end). Of entries that share a name only the last one is scored, and it meets the last
prediction under that name, whichever entry that was made for.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from bench.item import Item, TaskType
from score.answers import Answer


def overwritten(answers: Sequence[Answer]) -> list[Answer]:
    """Return the answers of the entries that are left, in their order."""
    last_entry = {_place(answer.item): _entry(answer.item) for answer in answers}
    last_answer = {_slot(answer): answer for answer in answers if answer.key}
    left = []
    for answer in answers:
        if last_entry[_place(answer.item)] == _entry(answer.item):
            given = last_answer.get(_slot(answer), answer)
            left.append(msgspec.structs.replace(given, item=answer.item))
    return left


def _place(item: Item) -> tuple[object, ...]:
    return item.task, item.topic, item.cluster, item.clip.segment


def _slot(answer: Answer) -> tuple[object, ...]:
    return _place(answer.item), answer.item.question_id, answer.sample


def _entry(item: Item) -> str:
    # A localization entry holds several questions, whose ids end in the question's own.
    return item.id.rpartition("/")[0] if item.task is TaskType.LOCALIZATION else item.id
