"""Prompts that ask about one clip: summaries, choices, and the questions of a segment.

The answer's field names are fixed, the wording is in ``templates/sonic-o1/``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.entries import LETTERS
from bench.item import Item, TaskType, seconds_text
from bench.prompt import Prompt, PromptMessage
from bench.template import Template, load_template

FAMILY = "sonic-o1"


def question_prompts(items: Sequence[Item], folder: Path | None = None) -> list[Prompt]:
    """Return one prompt for each item, and one for all localization items of an entry.

    Args:
        items: Summary, empathic, choice and localization items.
        folder: A user's folder of templates.

    Raises:
        PromptError: a template is not usable.
    """
    groups: dict[str, list[Item]] = {}
    for item in items:
        together = item.task is TaskType.LOCALIZATION
        groups.setdefault(item.id.rpartition("/")[0] if together else item.id, []).append(item)
    templates = {
        task: load_template(FAMILY, task.value, folder)
        for task in dict.fromkeys(item.task for item in items)
    }
    return [_prompt(group, templates[group[0].task]) for group in groups.values()]


def _prompt(group: list[Item], template: Template) -> Prompt:
    first = group[0]
    values: dict[str, Any] = {}
    if first.clip.segment is not None:
        values["start_s"] = seconds_text(first.clip.segment.start_s)
        values["end_s"] = seconds_text(first.clip.segment.end_s)
    names: list[str] = []
    match first.task:
        case TaskType.LOCALIZATION:
            values["questions"] = [
                {"id": item.question_id, "text": item.question} for item in group
            ]
            names = [f"question:{item.question_id}" for item in group]
        case TaskType.CHOICE:
            values["question"] = first.question
            values["options"] = [
                {"letter": letter, "text": text}
                for letter, text in zip(LETTERS, first.options, strict=True)
            ]
            names = ["question", *(f"option:{letter}" for letter in LETTERS)]
        case _:
            values["question"] = first.question
    return Prompt(
        items=tuple(item.id for item in group),
        task=first.task,
        messages=(PromptMessage("user", template.render(values, names, first.clip)),),
    )
