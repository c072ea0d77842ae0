"""The videos of a SONIC-O1 topic: what ``metadata_enhanced.json`` says, and where the files are.

dataset/videos/<topic>/metadata_enhanced.json    a list, one object a video
dataset/videos/<topic>/video_<number>.mp4
dataset/audios/<topic>/audio_<number>.m4a        may be missing
dataset/captions/<topic>/caption_<number>.srt    may be missing
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from bench.annotations import Node, objects, read_json, relative, shown
from bench.demographics import read_tags
from bench.errors import Fault
from bench.item import Clip, Demographic, Segment

BUCKETS = ("short", "medium", "long")
_MEDIUM_FROM_S = 300.0
_LONG_FROM_S = 1200.0
# A number becomes part of file names and item ids: nothing in it may lead out of the data folder.
_NUMBER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class Video:
    """A video of a topic, as its metadata describe it."""

    id: str
    """The publisher's id; empty where it is missing."""
    number: str
    clip: Clip
    """The whole video."""
    duration_s: float | None
    bucket: str
    """short, medium, long or unknown."""
    demographics: tuple[Demographic, ...]

    def cut(self, segment: Segment) -> Clip:
        """The clip of this video's files that is ``segment``."""
        return Clip(self.clip.video, self.clip.audio, self.clip.captions, segment)


def metadata_path(root: Path, topic: str) -> Path:
    """Where a topic's metadata are."""
    return root / "dataset" / "videos" / topic / "metadata_enhanced.json"


def duration_bucket(duration_s: float) -> str:
    """Return the bucket of a length: short below 5 minutes, medium below 20, else long.

    Source: SONIC-O1, Table 7.
    """
    if duration_s < _MEDIUM_FROM_S:
        return "short"
    return "medium" if duration_s < _LONG_FROM_S else "long"


def read_videos(root: Path, topic: str, faults: list[Fault]) -> dict[str, Video] | None:
    """Return a topic's videos by number, or None where the metadata cannot be read at all.

    Args:
        root: The data folder.
        topic: The topic's folder name, ``01_Patient-Doctor_Consultations``.
        faults: Where faults go.
    """
    path = metadata_path(root, topic)
    value = read_json(path, root, faults, list)
    if value is None:
        return None
    videos: dict[str, Video] = {}
    for node in objects(relative(path, root), "", value, faults):
        video = _read_video(node, root, topic)
        if video is None:
            continue
        if video.number in videos:
            node.fault("video_number", f"found {video.number!r} a second time; expected it once")
            continue
        videos[video.number] = video
    return videos


def read_number(node: Node) -> str | None:
    """Return a video number that is safe as part of a file name, or None after noting it."""
    number = node.text("video_number")
    if number is None:
        return None
    if not _NUMBER.fullmatch(number):
        node.fault(
            "video_number",
            f"found {shown(number)}; expected letters, digits, - and _ (a path here could leave "
            "the data folder)",
        )
        return None
    return number


def _read_video(node: Node, root: Path, topic: str) -> Video | None:
    number = read_number(node)
    if number is None:
        return None
    duration_s = _read_duration(node)
    return Video(
        id=node.text("video_id") or "",
        number=number,
        clip=_files(root, topic, number),
        duration_s=duration_s,
        bucket=_read_bucket(node, duration_s),
        demographics=read_tags(node),
    )


def _read_duration(node: Node) -> float | None:
    field = "duration" if "duration_seconds" not in node.value else "duration_seconds"
    if not node.has(field):
        return None
    duration_s = node.seconds(field)
    if duration_s is not None and duration_s <= 0:
        node.fault(field, f"found {shown(duration_s)}; expected seconds, more than 0")
        return None
    return duration_s


def _read_bucket(node: Node, duration_s: float | None) -> str:
    value = node.value.get("duration_category")
    if isinstance(value, str) and value.strip().casefold() in BUCKETS:
        return value.strip().casefold()
    if value is not None:
        expected = "expected short, medium or long"
        node.fault("duration_category", f"found {shown(value)}; {expected}", blocks=False)
    if duration_s is None:
        if value is None:
            node.fault(
                "duration_category", "missing, and so is duration_seconds; expected one of them"
            )
        return "unknown"
    return duration_bucket(duration_s)


def _files(root: Path, topic: str, number: str) -> Clip:
    dataset = root / "dataset"
    audio = dataset / "audios" / topic / f"audio_{number}.m4a"
    captions = dataset / "captions" / topic / f"caption_{number}.srt"
    return Clip(
        video=dataset / "videos" / topic / f"video_{number}.mp4",
        audio=audio if audio.is_file() else None,
        captions=captions if captions.is_file() else None,
    )
