"""Builders for files of other suites, after the formats' descriptions, and for taking them in."""

from __future__ import annotations

import json
from pathlib import Path

from cache.imports.imported import store_answers
from cache.imports.read import read_answers
from cache.store import Store

TOPIC = "01_Patient-Doctor_Consultations"


def predictions(root: Path, task: str, entries: list[dict], topic: str = TOPIC, **changes) -> Path:
    content = {
        "model": "VideoLLaMA2",
        "topic_name": "Patient-Doctor Consultations",
        "task": task,
        "generated_at": "2025-11-03T12:00:00",
        "num_entries": len(entries),
        "entries": entries,
    }
    path = root / "predictions" / "VideoLLaMA2" / task / f"{topic}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content | changes), encoding="utf-8")
    return path


def entry(video: str = "001", segment: tuple | None = None, **changes) -> dict:
    found = {
        "video_id": "abc",
        "video_number": video,
        "preprocessing": {"max_frames": 128, "max_audio_chunks": None},
        "timestamp": "2025-11-03T12:00:01",
    }
    if segment is not None:
        found["segment"] = {"start": segment[0], "end": segment[1]}
    return found | changes


def take(store: Store, source: Path, form: str, run: str | None = None, model: str | None = None):
    return store_answers(store, read_answers(source, form, model), run=run)


def answers_by_item(store: Store, run: str) -> dict[str, str]:
    lines = store.run(run).lines
    records = store.get_many(line.key for line in lines)
    return {line.item: records[line.key].response.text for line in lines}
