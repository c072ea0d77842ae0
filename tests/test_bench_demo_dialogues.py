"""The bundled benchmark's dialogues: clips in playing order, alternatives, and silence.

labels.csv            a turn a line
SAMPLE-segN.mp4       what is on film in turn N of a dialogue
SAMPLE.mp4            the same where there is one turn
SAMPLE-example.mp4    what is shown first
"""

import ast
import csv
import re
from functools import cache

import av

from bench.demo import OMNIASSIST
from tests.demo_files import CLIPS

CLASSES = {
    "step tracking",
    "gesture-based prompt following",
    "multi events-triggered response",
    "OCR-based prompt following",
    "event retrieval",
}


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
