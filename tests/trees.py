"""Small benchmark folders in the published shapes: valid by default, with one thing overridden."""

from __future__ import annotations

import copy
import csv
import json
from pathlib import Path
from typing import Any

TOPIC = "01_Patient-Doctor_Consultations"
MISSING = object()
"""As a field's value: leave the field out."""

PERSON = {"race": "White", "gender": "Female", "age": "25-39", "language": "English", "count": 1}
COLUMNS = ("video_name", "class", "turns", "question", "gt_answer", "key_points", "example_video")

_VIDEO = {
    "video_id": "abc",
    "video_number": "001",
    "duration_category": "medium",
    "duration_seconds": 400,
    "demographics_detailed_reviewed": {
        "race": ["Black", "Asian"],
        "gender": ["Male"],
        "age": ["40+"],
        "language": ["English"],
    },
}
_ENTRY = {"video_id": "abc", "video_number": "001", "demographics": [PERSON], "confidence": 0.9}
_SUMMARY = {
    **_ENTRY,
    "summary_short": ["A nurse asks.", "A patient answers."],
    "summary_detailed": "A nurse asks a patient how the night was.",
    "timeline": [{"start": "00:00:05", "end": "00:01:00", "title": "Hello", "note": ""}],
    "glossary": [],
}
_CHOICE = {
    **_ENTRY,
    "segment": {"start": 120, "end": 300},
    "question": "What does the nurse hold?",
    "options": ["(A) A cup", "(B) A pen", "(C) A map", "(D) A key", "(E) Not enough evidence"],
    "answer_index": 1,
    "answer_letter": "B",
    "rationale": "She writes with it.",
    "evidence_tags": [],
    "requires_audio": False,
}
_QUESTION = {
    "question_id": "001",
    "question": "When does the patient stand up?",
    "temporal_relation": "after",
    "anchor_event": "The nurse asks.",
    "target_event": "The patient stands up.",
    "answer": {"start_s": 130.5, "end_s": 140},
    "rationale_model": "He rises from the chair.",
    "requires_audio": True,
    "confidence": 0.8,
}
_LOCALIZATION = {**_ENTRY, "segment": {"start": 120, "end": 300}, "questions": [_QUESTION]}
_FOLDERS = {
    "summary": "task1_summarization",
    "choice": "task2_mcq",
    "localization": "task3_temporal_localization",
}
_ROW = {
    "video_name": "count-1",
    "class": "dynamic counting",
    "turns": "single",
    "question": "How many cups are there?",
    "gt_answer": "There are three cups.",
    "key_points": "three",
    "example_video": "",
}


def sonic_tree(
    root: Path,
    *,
    topic: str = TOPIC,
    video: dict[str, Any] | None = None,
    videos: Any = None,
    summary: dict[str, Any] | None = None,
    choice: dict[str, Any] | None = None,
    localization: dict[str, Any] | None = None,
    question: dict[str, Any] | None = None,
    header: dict[str, Any] | None = None,
    copies: int = 1,
    tasks: tuple[str, ...] = tuple(_FOLDERS),
    media: bool = True,
) -> Path:
    """Write a SONIC-O1 tree of one video and one entry a task; return its folder.

    ``video``, ``summary``, ``choice``, ``localization`` and ``question`` override fields of the
    one object of that kind, ``header`` fields of the choice file. ``copies`` repeats the choice
    and localization entries. ``videos`` replaces the metadata's whole list.
    """
    folder = root / "dataset" / "videos" / topic
    one = _with(_VIDEO, video)
    write_json(folder / "metadata_enhanced.json", [one] if videos is None else videos)
    if media:
        (folder / "video_001.mp4").write_bytes(b"film")
    entries = {
        "summary": [_with(_SUMMARY, summary)],
        "choice": [_with(_CHOICE, choice)] * copies,
        "localization": [
            _with({**_LOCALIZATION, "questions": [_with(_QUESTION, question)]}, localization)
        ]
        * copies,
    }
    for task in tasks:
        head = {
            "topic_id": int(topic[:2]),
            "topic_name": topic[3:].replace("_", " "),
            "task": _FOLDERS[task],
            "num_entries": len(entries[task]),
            "entries": entries[task],
        }
        value = _with(head, header) if task == "choice" else head
        write_json(root / "vqa" / _FOLDERS[task] / f"{topic}.json", value)
    return root


def choice_file(root: Path, topic: str = TOPIC) -> Path:
    """Where the choice entries of a tree are."""
    return root / "vqa" / _FOLDERS["choice"] / f"{topic}.json"


def assistant_folder(root: Path, *rows: dict[str, str], media: bool = True) -> Path:
    """Write a labels.csv with a row for each override of a valid one, and clips; return its folder.

    Without rows: one single-turn sample.
    """
    root.mkdir(parents=True, exist_ok=True)
    full = [{**_ROW, **row} for row in rows or ({},)]
    with (root / "labels.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(full)
    if media:
        for name in {row[field] for row in full for field in ("video_name", "example_video")}:
            if name and "/" not in name:
                (root / f"{name}.mp4").write_bytes(b"film")
    return root


def turn(sample: str, number: int, **texts: str) -> dict[str, str]:
    """The override that makes a row the turn ``number`` of a multi-turn sample."""
    name = f"{sample}-seg{number}"
    return {"video_name": name, "turns": "multi", "class": "step tracking", **texts}


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON; NaN and infinity come out as Python writes them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def _with(value: dict[str, Any], override: dict[str, Any] | None) -> dict[str, Any]:
    merged = {**copy.deepcopy(value), **(override or {})}
    return {name: member for name, member in merged.items() if member is not MISSING}
