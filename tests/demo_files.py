"""The bundled benchmark's files as they lie, read without the loaders that are under test."""

import json
from functools import cache

from bench.demo import EVENTS, OMNIASSIST, SONIC_O1

VIDEOS = sorted((SONIC_O1 / "dataset/videos").glob("*/video_*.mp4"))
CLIPS = sorted(OMNIASSIST.glob("*.mp4"))


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def entries(task):
    """Every entry of a task with its topic."""
    return [
        (path.stem, entry)
        for path in sorted((SONIC_O1 / "vqa" / task).glob("*.json"))
        for entry in load(path)["entries"]
    ]


@cache
def happenings():
    """What happens in each video, by topic and number."""
    return {(video["topic"], video["video_number"]): video for video in load(EVENTS)}


def questions():
    """Every temporal question with its topic and entry."""
    return [
        (topic, entry, question)
        for topic, entry in entries("task3_temporal_localization")
        for question in entry["questions"]
    ]
