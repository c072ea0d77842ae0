"""Prompts of assistant dialogues: what was shown and said so far, then the turn's clip.

    system      how the assistant is to behave, and that it may keep quiet
    user        the example video, if there is one, and the first turn's clip
    assistant   the model's own answer to the first turn
    user        the second turn's clip
    …

The user's question is spoken or shown in the clip; its text is not sent. Where a run leaves the
sound out, what is spoken in a clip follows it as text. labels.csv does not say what is spoken, so
its ``question`` is, but for

    OCR-based prompts       nothing: the question is written in the picture
    gesture-based prompts   the first turn's question, which says what the gestures mean; remarks in
                            brackets are no speech; later prompts are the gestures themselves
    an empty question       "What is the next step?" where a process is tracked, else nothing

Source: OmniAssistBench, sections 4.1 and 4.3.1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.errors import BenchError
from bench.item import Item
from bench.labels import UNSAID_QUESTION
from bench.prompt import EarlierAnswer, Prompt, PromptMessage, PromptPart, Spoken
from bench.template import Template, load_template

FAMILY = "omniassist"

_WRITTEN = "OCR-based prompt following"
_GESTURES = "gesture-based prompt following"
_REMARK = re.compile(r"\s*\([^()]*\)")


def dialogue_prompts(items: Sequence[Item], folder: Path | None = None) -> list[Prompt]:
    """Return one prompt for each item, with all earlier turns of its dialogue.

    Args:
        items: Assistant items; of a dialogue, all turns before the last one given.
        folder: A user's folder of templates.

    Raises:
        BenchError: an earlier turn is not among ``items``: its clip cannot be shown.
        PromptError: a template is not usable.
    """
    assistant = load_template(FAMILY, "assistant", folder)
    example = load_template(FAMILY, "example", folder)
    system = PromptMessage("system", assistant.render({}, ["instruction"]))
    turns = {(item.cluster, item.turn): item for item in items}
    return [_prompt(item, turns, system, example) for item in items]


def _prompt(
    item: Item, turns: Mapping[tuple[str, int], Item], system: PromptMessage, example: Template
) -> Prompt:
    messages = [system]
    opening = () if item.example is None else example.render({}, [], item.example)
    for number in range(1, item.turn):
        earlier = turns.get((item.cluster, number))
        if earlier is None:
            raise BenchError(
                f"{item.id} needs the earlier turns of {item.cluster}, and turn {number} is not "
                "among the items: ask for a dialogue from its first turn on"
            )
        messages.append(_shown(opening, earlier))
        messages.append(PromptMessage("assistant", (EarlierAnswer(earlier.id),)))
        opening = ()
    messages.append(_shown(opening, item))
    return Prompt(items=(item.id,), task=item.task, messages=tuple(messages))


def _shown(opening: tuple[PromptPart, ...], item: Item) -> PromptMessage:
    said = spoken(item)
    return PromptMessage("user", (*opening, item.clip, *((Spoken(said),) if said else ())))


def spoken(item: Item) -> str:
    """Return what is said aloud to the assistant in a turn's clip; empty where nothing is."""
    where = item.attributes
    if where.sub_task == _WRITTEN or (where.sub_task == _GESTURES and item.turn > 1):
        return ""
    if item.question == UNSAID_QUESTION and where.major_task != "process tracking":
        return ""
    if where.sub_task == _GESTURES:
        return _REMARK.sub("", item.question).strip()
    return item.question
