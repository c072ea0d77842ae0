"""OmniAssistBench's own label file from dialogues."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from bench.demo.make.script import Dialogue

_COLUMNS = (
    "video_name",
    "class",
    "turns",
    "question",
    "gt_answer",
    "key_points",
    "example_video",
)


def write_labels(path: Path, dialogues: Sequence[Dialogue]) -> None:
    """Write ``labels.csv``, one row a clip, in playing order."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for dialogue in dialogues:
            turns = "multi" if len(dialogue.turns) > 1 else "single"
            for turn in dialogue.turns:
                writer.writerow(
                    (
                        turn.name,
                        dialogue.sub_task,
                        turns,
                        turn.question,
                        turn.answer,
                        turn.key_points,
                        turn.example,
                    )
                )
