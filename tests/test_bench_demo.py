"""The bundled benchmark's files: how many there are, what they name, how large they may be.

sonic-o1/dataset/    videos and their metadata, sound, captions, by topic
sonic-o1/vqa/        entries of each task, by topic
omniassist/          clips and their labels
events.json          what happens in every video
"""

import re
from pathlib import Path

import av
import pytest

from bench.demo import EVENTS, OMNIASSIST, SONIC_O1
from tests.demo_files import VIDEOS, entries, load, questions

TOPICS = {
    "01_Patient-Doctor_Consultations",
    "04_Customer_Service_Interactions",
    "06_Emergency_Response_Scenarios",
    "09_HousingApartment_Tours",
}


def test_all_files_together_stay_under_eight_megabytes():
    files = [p for root in (SONIC_O1, OMNIASSIST) for p in root.rglob("*") if p.is_file()]
    assert sum(p.stat().st_size for p in [*files, EVENTS]) <= 8_000_000


def test_the_amounts_are_those_that_the_readme_names():
    assert len(VIDEOS) == 9
    assert {video.parent.name for video in VIDEOS} == TOPICS
    assert len(entries("task1_summarization")) == 9
    assert len(entries("task2_mcq")) == 35
    assert len(questions()) == 45


@pytest.mark.parametrize(
    "task", ["task1_summarization", "task2_mcq", "task3_temporal_localization"]
)
def test_a_task_file_names_its_topic_and_counts_its_entries(task):
    paths = sorted((SONIC_O1 / "vqa" / task).glob("*.json"))
    assert {path.stem for path in paths} == TOPICS
    for path in paths:
        content = load(path)
        assert content["task"] == task
        assert content["topic_id"] == int(path.stem[:2])
        assert content["num_entries"] == len(content["entries"])


def test_metadata_lists_every_video_with_its_real_length():
    for topic in TOPICS:
        folder = SONIC_O1 / "dataset/videos" / topic
        for video in load(folder / "metadata_enhanced.json"):
            path = folder / f"video_{video['video_number']}.mp4"
            with av.open(str(path)) as container:
                stream = container.streams.video[0]
                length = float(stream.duration * stream.time_base)
            assert video["duration_seconds"] == pytest.approx(length, abs=0.002)
            assert video["duration_category"] == "short"
            assert 20 <= length <= 90


def test_every_entry_is_about_a_video_of_its_topic():
    known = {
        (topic, video["video_id"], video["video_number"])
        for topic in TOPICS
        for video in load(SONIC_O1 / "dataset/videos" / topic / "metadata_enhanced.json")
    }
    tasks = ("task1_summarization", "task2_mcq", "task3_temporal_localization")
    for topic, entry in [pair for task in tasks for pair in entries(task)]:
        assert (topic, entry["video_id"], entry["video_number"]) in known


def test_every_file_of_the_demo_is_one_that_the_formats_know():
    known = re.compile(
        r"dataset/(videos/[^/]+/(video_\d{3}\.mp4|metadata_enhanced\.json)"
        r"|audios/[^/]+/audio_\d{3}\.m4a|captions/[^/]+/caption_\d{3}\.srt)"
        r"|vqa/task(1_summarization|2_mcq|3_temporal_localization)/[^/]+\.json"
    )
    for path in SONIC_O1.rglob("*"):
        if path.is_file():
            assert known.fullmatch(path.relative_to(SONIC_O1).as_posix()), path
    assert {p.suffix for p in Path(OMNIASSIST).iterdir()} == {".mp4", ".csv"}
