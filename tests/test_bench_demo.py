"""The bundled benchmark: real media, and answers that are true by construction."""

import ast
import csv
import json
import re
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import pysubs2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.demo import EVENTS, OMNIASSIST, SONIC_O1
from bench.demo.mark import cells, draw_frame_number, read_frame_number

FRAME_RATE = 12
TOPICS = {
    "01_Patient-Doctor_Consultations",
    "04_Customer_Service_Interactions",
    "06_Emergency_Response_Scenarios",
    "09_HousingApartment_Tours",
}
CLASSES = {
    "step tracking",
    "gesture-based prompt following",
    "multi events-triggered response",
    "OCR-based prompt following",
    "event retrieval",
}
CANONICAL = {
    "race": {"White", "Black", "Asian", "Indigenous", "Arab", "Hispanic"},
    "gender": {"Male", "Female"},
    "age": {"18-24", "25-39", "40+"},
}


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


VIDEOS = sorted((SONIC_O1 / "dataset/videos").glob("*/video_*.mp4"))
CLIPS = sorted(OMNIASSIST.glob("*.mp4"))


def companion(video, kind, extension):
    """The audio or caption file that belongs to a video."""
    name = video.stem.replace("video", kind) + extension
    return SONIC_O1 / f"dataset/{kind}s" / video.parent.name / name


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


def demographic_entries():
    tasks = ("task1_summarization", "task2_mcq", "task3_temporal_localization")
    return [entry for task in tasks for _, entry in entries(task)]


def mono(path):
    """The sound of a file as samples and their rate in Hz."""
    with av.open(str(path)) as container:
        stream = container.streams.audio[0]
        resampler = av.AudioResampler(format="flt", layout="mono", rate=stream.rate)
        frames = [f for frame in container.decode(stream) for f in resampler.resample(frame)]
        return np.concatenate([f.to_ndarray()[0] for f in frames]), stream.rate


def brightness(frame):
    """The luma plane of a decoded frame, which needs no conversion: (height, width), uint8."""
    plane = frame.planes[0]
    return np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size)[:, : plane.width]


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


@pytest.mark.parametrize("path", [*VIDEOS, *CLIPS], ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_every_frame_carries_its_own_number_and_time(path):
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.name == "h264"
        assert stream.codec_context.pix_fmt == "yuv420p"
        assert (stream.width, stream.height) == (480, 270)
        count = 0
        for frame in container.decode(stream):
            assert read_frame_number(brightness(frame)) == count
            assert frame.time == pytest.approx(count / FRAME_RATE, abs=1e-6)
            count += 1
        assert count == stream.frames


@pytest.mark.parametrize("path", VIDEOS, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_resized_frames_can_still_be_read(path):
    with av.open(str(path)) as container:
        frame = next(f for i, f in enumerate(container.decode(video=0)) if i == 205)
    for width, height in ((960, 540), (448, 252), (336, 336), (240, 135), (120, 68)):
        small = frame.reformat(width=width, height=height, format="rgb24", interpolation="AREA")
        assert read_frame_number(small.to_ndarray()) == 205


@given(st.integers(0, 4095))
def test_a_drawn_number_is_read_back(number):
    frame = np.full((270, 480, 3), 128, dtype=np.uint8)
    draw_frame_number(frame, number)
    assert read_frame_number(frame) == number


def test_one_square_and_the_parity_change_from_one_frame_to_the_next():
    for number in range(300):
        pairs = zip(cells(number), cells(number + 1), strict=True)
        assert sum(a != b for a, b in pairs) == 2


def test_a_frame_without_a_mark_is_refused():
    with pytest.raises(ValueError, match="no frame mark"):
        read_frame_number(np.zeros((270, 480, 3), dtype=np.uint8))


def test_a_damaged_mark_is_refused():
    frame = np.zeros((270, 480, 3), dtype=np.uint8)
    draw_frame_number(frame, 77)
    frame[258:266, 8 + 5 * 8 : 8 + 6 * 8] = 255 - frame[258:266, 8 + 5 * 8 : 8 + 6 * 8]
    with pytest.raises(ValueError, match="parity"):
        read_frame_number(frame)


def test_exactly_one_video_is_silent_and_has_no_sound_file():
    silent = []
    for video in VIDEOS:
        with av.open(str(video)) as container:
            has_track = bool(container.streams.audio)
        assert has_track == companion(video, "audio", ".m4a").exists()
        if not has_track:
            silent.append(f"{video.parent.name[:2]}/{video.stem}")
    assert silent == ["06/video_002"]


def test_exactly_one_video_has_no_captions():
    missing = [v for v in VIDEOS if not companion(v, "caption", ".srt").exists()]
    assert [f"{v.parent.name[:2]}/{v.stem}" for v in missing] == ["09/video_002"]


def test_sound_files_are_aac_at_48_khz_in_stereo():
    for path in sorted((SONIC_O1 / "dataset/audios").glob("*/*.m4a")):
        with av.open(str(path)) as container:
            stream = container.streams.audio[0]
            assert stream.codec_context.name == "aac"
            assert (stream.rate, stream.channels) == (48_000, 2)


def test_the_sound_track_of_videos_and_clips_is_aac():
    for path in [*VIDEOS, *CLIPS]:
        with av.open(str(path)) as container:
            assert all(s.codec_context.name == "aac" for s in container.streams.audio)


def caption_files():
    return sorted((SONIC_O1 / "dataset/captions").glob("*/*.srt"))


def test_captions_follow_one_another_inside_the_video():
    for path in caption_files():
        number = path.stem.removeprefix("caption_")
        length_ms = happenings()[path.parent.name, number]["duration_s"] * 1000
        lines = list(pysubs2.load(str(path)))
        assert lines
        assert all(line.text and 0 <= line.start < line.end <= length_ms for line in lines)
        assert all(a.end <= b.start for a, b in pairwise(lines))


def test_speech_is_loud_exactly_where_the_events_say():
    for video in VIDEOS:
        path = companion(video, "audio", ".m4a")
        if not path.exists():
            continue
        samples, rate = mono(path)
        number = video.stem.removeprefix("video_")
        events = happenings()[video.parent.name, number]["events"]
        heard = [e for e in events if e["kind"] in ("speech", "sound")]
        loud = np.zeros(len(samples), dtype=bool)
        for event in heard:
            start, end = (round(event[key] * rate) for key in ("start_s", "end_s"))
            # Coding smears sound by one AAC block of 1,024 samples, and may shift it by as much.
            loud[max(0, start - 3072) : end + 3072] = True
            for edge in (start, end - rate // 5):
                assert np.abs(samples[edge : edge + rate // 5]).max() > 0.01, (video, event)
        assert np.abs(samples[~loud]).max() < 0.01


def test_every_answer_is_the_interval_of_the_event_that_it_names():
    for topic, entry, question in questions():
        events = happenings()[topic, entry["video_number"]]["events"]
        target = [e for e in events if e["what"] == question["target_event"]]
        assert len(target) == 1
        assert question["answer"] == {key: target[0][key] for key in ("start_s", "end_s")}


def test_every_answer_lies_inside_its_segment_and_video():
    for topic, entry, question in questions():
        segment, answer = entry["segment"], question["answer"]
        length = happenings()[topic, entry["video_number"]]["duration_s"]
        assert 0 <= segment["start"] <= answer["start_s"]
        assert answer["start_s"] < answer["end_s"] <= segment["end"] <= length


def test_every_temporal_relation_holds_between_the_two_events():
    for topic, entry, question in questions():
        events = {e["what"]: e for e in happenings()[topic, entry["video_number"]]["events"]}
        anchor, target = events[question["anchor_event"]], events[question["target_event"]]
        gap = target["start_s"] - anchor["end_s"]
        overlaps = gap < 0 and target["end_s"] > anchor["start_s"]
        assert {
            "before": target["end_s"] <= anchor["start_s"],
            "after": gap >= 0,
            "immediately after": 0 <= gap <= 2.5,
            "during": overlaps,
        }[question["temporal_relation"]]


def test_all_four_temporal_relations_occur_often():
    counts = Counter(question["temporal_relation"] for _, _, question in questions())
    assert set(counts) == {"before", "after", "during", "immediately after"}
    assert min(counts.values()) >= 5


def test_entries_hold_one_to_three_questions_numbered_from_one():
    sizes = Counter()
    for _, entry in entries("task3_temporal_localization"):
        ids = [question["question_id"] for question in entry["questions"]]
        assert ids == [f"{n:03d}" for n in range(1, len(ids) + 1)]
        sizes[len(ids)] += 1
    assert set(sizes) == {1, 2, 3}


def test_some_segments_overlap_and_do_not_start_at_zero():
    segments = {}
    for topic, entry in entries("task3_temporal_localization"):
        key = topic, entry["video_number"]
        segments.setdefault(key, set()).add(tuple(entry["segment"].values()))
    overlapping = [s for s in map(sorted, segments.values()) if len(s) > 1 and s[1][0] < s[0][1]]
    assert len(overlapping) >= 6
    assert all(second[0] > 0 for _, second in overlapping)


def test_several_choice_questions_share_a_video_and_segment():
    keys = Counter(
        (topic, entry["video_number"], *entry["segment"].values())
        for topic, entry in entries("task2_mcq")
    )
    assert max(keys.values()) >= 3


def test_options_are_five_different_texts_with_letters():
    for _, entry in entries("task2_mcq"):
        assert [option[:4] for option in entry["options"]] == [f"({c}) " for c in "ABCDE"]
        assert entry["options"][4] == "(E) Not enough evidence"
        assert len({option[4:] for option in entry["options"]}) == 5
        assert entry["answer_letter"] == "ABCDE"[entry["answer_index"]]


def test_right_letters_are_balanced_and_e_is_sometimes_right():
    counts = Counter(entry["answer_letter"] for _, entry in entries("task2_mcq"))
    assert max(counts[c] for c in "ABCD") - min(counts[c] for c in "ABCD") <= 2
    assert 1 <= counts["E"] <= 4


def test_questions_with_and_without_need_of_sound_occur():
    choice = Counter(entry["requires_audio"] for _, entry in entries("task2_mcq"))
    localization = Counter(question["requires_audio"] for _, _, question in questions())
    assert min(choice.values()) >= 10
    assert min(localization.values()) >= 10


def test_nothing_about_the_silent_video_needs_sound():
    about = [e for topic, e in entries("task2_mcq") if topic[:2] == "06"]
    asked = [q for topic, e, q in questions() if topic[:2] == "06" and e["video_number"] == "002"]
    assert not any(e["requires_audio"] for e in about if e["video_number"] == "002")
    assert not any(q["requires_audio"] for q in asked)


def test_summaries_have_the_length_and_parts_that_are_asked_for():
    for _, entry in entries("task1_summarization"):
        assert 80 <= len(entry["summary_detailed"].split()) <= 250
        assert 3 <= len(entry["summary_short"]) <= 5
        assert entry["glossary"]
        for line in entry["timeline"]:
            assert re.fullmatch(r"\d\d:\d\d:\d\d", line["start"])
            assert line["start"] <= line["end"]
            assert line["title"]
            assert line["note"]


def test_demographics_are_canonical_and_add_up():
    for entry in demographic_entries():
        groups = entry["demographics"]
        assert groups
        assert sum(group["count"] for group in groups) == entry["demographics_total_individuals"]
        assert entry["demographics_explanation"]
        for group in groups:
            assert all(group[name] in values for name, values in CANONICAL.items())
            assert group["language"] in {"English", "Spanish"}


@cache
def labels():
    with (OMNIASSIST / "labels.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_labels_have_the_columns_and_a_clip_for_every_row():
    assert list(labels()[0]) == [
        "video_name", "class", "turns", "question", "gt_answer", "key_points", "example_video",
    ]  # fmt: skip
    for row in labels():
        assert (OMNIASSIST / f"{row['video_name']}.mp4").exists()
        assert row["class"] in CLASSES


def test_every_clip_lasts_five_to_twelve_seconds_and_is_used():
    used = {row[key] for row in labels() for key in ("video_name", "example_video")} - {""}
    assert used == {clip.stem for clip in CLIPS}
    for clip in CLIPS:
        with av.open(str(clip)) as container:
            assert 5 <= container.duration / av.time_base <= 12


def test_dialogues_have_three_or_four_turns_in_playing_order():
    samples = {}
    for row in labels():
        sample, _, turn = row["video_name"].partition("-seg")
        if row["turns"] == "multi":
            samples.setdefault(sample, []).append(int(turn))
        else:
            assert row["turns"] == "single"
            assert not turn
    assert samples == {"sandwich": [1, 2, 3, 4], "gate": [1, 2, 3, 4], "signs": [1, 2, 3]}


def test_one_dialogue_starts_with_an_example_video():
    rows = [row for row in labels() if row["example_video"]]
    assert [row["video_name"] for row in rows] == ["sandwich-seg1"]
    assert (OMNIASSIST / f"{rows[0]['example_video']}.mp4").exists()


def test_silence_is_right_in_some_turns():
    quiet = [row["video_name"] for row in labels() if row["gt_answer"] == "[KEEP QUIET]"]
    assert quiet == ["sandwich-seg3", "gate-seg2"]


def test_some_answers_and_key_points_are_lists_of_alternatives():
    answers = [r["gt_answer"] for r in labels() if r["gt_answer"].startswith('["')]
    assert len(answers) >= 3
    assert all(len(ast.literal_eval(answer)) >= 2 for answer in answers)
    points = [line for r in labels() for line in r["key_points"].splitlines()]
    assert all(re.match(r"\d\. \S", point) for point in points)
    listed = [p for p in points if p[3:].startswith("['")]
    assert len(listed) >= 3
    assert all(ast.literal_eval(point[3:]) for point in listed)


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
