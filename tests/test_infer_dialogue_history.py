"""The history of a dialogue before its model: first in, first out, to the second."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cache.record import Outcome, Response, Usage
from cache.request import Media, Message, Preprocessing, Request, Text
from infer.dialogue import Cut, Dialogue, Step
from infer.engine import Answer
from infer.errors import FileUncut
from infer.history import History, Shown, ask_within, clips_of
from infer.media.decode import Prepared
from infer.media.file import MediaFile
from infer.media.frames import Frames, sample_times
from infer.media.sound import Sound

RATE_HZ = 10


@dataclass
class Asked:
    """An engine that takes so many tokens: one a frame, one a second of sound, ten a message."""

    limit: int
    sent: list[tuple[Request, Prepared]] = field(default_factory=list)

    async def answer(self, request: Request, prepared: Prepared) -> Answer:
        self.sent.append((request, prepared))
        if tokens(request, prepared) > self.limit:
            return Answer(Outcome.CONTEXT_OVERFLOW, Response(error="too long"))
        return Answer(Outcome.OK, Response(text="said"))

    def close(self) -> None: ...


@dataclass
class Counting(Asked):
    """One that says beforehand how many tokens there are."""

    input_limit: int | None = None

    def __post_init__(self) -> None:
        self.input_limit = self.limit

    async def count_tokens(self, request: Request, prepared: Prepared) -> int | None:
        return tokens(request, prepared)


def tokens(request: Request, prepared: Prepared) -> int:
    seconds = sum(len(one.samples) for one in prepared.media if isinstance(one, Sound)) / RATE_HZ
    frames = sum(len(one.times_s) for one in prepared.media if isinstance(one, Frames))
    return frames + round(seconds) + 10 * (len(request.messages) - 1)


def clip(name: str) -> tuple[Media, ...]:
    return (Media(kind="video", sha256=name), Media(kind="audio", sha256=name))


def decoded(length_s: float, fps: float = 1.0) -> Prepared:
    times_s = sample_times(0.0, length_s, None, fps)
    whole = {"start_s": 0.0, "end_s": length_s}
    return Prepared(
        (
            Frames(np.zeros((len(times_s), 1, 1, 3), np.uint8), times_s),
            Sound(np.arange(round(length_s * RATE_HZ), dtype=np.float32), RATE_HZ),
        ),
        {"video": [whole | {"frames": len(times_s), "mean_luma": 0.5}], "audio": [dict(whole)]},
    )


def history(
    lengths_s: list[float],
    example_s: float = 0.0,
    least: Cut | None = None,
    limit: int | None = None,
) -> History:
    """Return the history of a dialogue whose last turn is asked."""
    steps = [
        Step(
            item=f"clip {n}",
            clip=clip(f"clip {n}"),
            example=(Text(text="watch"), *clip("example")) if example_s and n == 0 else (),
        )
        for n in range(len(lengths_s))
    ]
    base = Request(
        engine="e", model="m", messages=(), preprocessing=Preprocessing(context_tokens=limit)
    )
    opening = (Message(role="system", parts=(Text(text="help"),)),)
    dialogue = Dialogue(base=base, opening=opening, steps=tuple(steps), files={})
    lengths = ([example_s] if example_s else []) + lengths_s
    shown = [
        Shown(step, name, parts, decoded(length_s))
        for (step, name, parts), length_s in zip(clips_of(dialogue), lengths, strict=True)
    ]
    said = [Text(text=f"answer {n}") for n in range(len(lengths_s) - 1)]
    return History(dialogue, len(lengths_s) - 1, said, shown, least or Cut())


def as_given(request: Request, prepared: Prepared) -> list[Any]:
    """Return what a model sees: texts, and of each clip its name, first second and seconds left."""
    seen: list[Any] = []
    media = iter(prepared.media)
    for message in request.messages[1:]:
        for part in message.parts:
            if isinstance(part, Text):
                seen.append(part.text)
                continue
            one = next(media)
            if isinstance(one, Frames):
                seen.append((part.sha256, part.start_s or 0.0, len(one.times_s)))
            elif one is not None:
                seen.append(round(len(one.samples) / RATE_HZ, 1))
    return seen


def by_the_word(lengths_s: list[float], example_s: float, limit: int) -> list[Any]:
    """Do what the rule says, step by step, on plain lists."""
    queue: list[dict[str, Any]] = []
    if example_s:
        queue.append({"name": "example", "length": example_s, "gone": 0.0, "after": None})
    last = len(lengths_s) - 1
    for n, length_s in enumerate(lengths_s):
        after = f"answer {n}" if n < last else None
        queue.append({"name": f"clip {n}", "length": length_s, "gone": 0.0, "after": after})

    def frames(one: dict[str, Any]) -> int:
        times = sample_times(0.0, one["length"], None, 1.0)
        return max(1, sum(at >= one["gone"] - 1e-6 for at in times))

    def size() -> int:
        turns = {one["name"] for one in queue if one["name"] != "example"}
        messages = 2 * len(turns) - 1
        seconds = sum(
            len(range(round(one["gone"] * RATE_HZ), round(one["length"] * RATE_HZ)))
            for one in queue
        ) / RATE_HZ  # fmt: skip
        return sum(map(frames, queue)) + round(seconds) + 10 * messages

    while size() > limit:
        oldest = queue[0]
        if oldest["gone"] + 10 >= oldest["length"]:
            if len(queue) == 1:
                break
            queue.pop(0)
        else:
            oldest["gone"] += 10.0
    seen: list[Any] = []
    for one in queue:
        seen += ["watch"] if one["name"] == "example" else []
        left = round(one["length"] * RATE_HZ) - round(one["gone"] * RATE_HZ)
        seen += [(one["name"], one["gone"], frames(one))] + (
            [round(left / RATE_HZ, 1)] if left else []
        )
        seen += [one["after"]] if one["after"] else []
    return seen


LENGTHS = st.lists(st.floats(0.5, 70.0).map(lambda s: round(s, 1)), min_size=1, max_size=5)


@settings(max_examples=60, deadline=None)
@given(LENGTHS, st.sampled_from([0.0, 8.0, 25.5]), st.integers(10, 400))
def test_what_is_dropped_is_what_the_rule_says_however_the_engine_tells(
    lengths_s, example_s, limit
):
    whole = history(lengths_s, example_s)
    expected = by_the_word(lengths_s, example_s, limit)
    for engine in (Counting(limit), Asked(limit)):
        attempt = asyncio.run(ask_within(engine, whole))
        assert as_given(*engine.sent[-1]) == expected
        begins = attempt.effective["context"]["begins"]
        # A turn may begin where the one before it had to: it comes to the same.
        again = history(lengths_s, example_s, Cut(begins["clip"], begins["pieces"]))
        asyncio.run(ask_within(engine, again))
        assert as_given(*engine.sent[-1]) == expected


def test_pieces_go_from_the_oldest_clip_on_and_an_answer_goes_with_its_clip():
    three = history([25.0, 12.0, 8.0], example_s=15.0)
    cuts = list(three.cuts())
    assert cuts == [
        Cut(0, 0), Cut(0, 1), Cut(1, 0), Cut(1, 1), Cut(1, 2), Cut(2, 0), Cut(2, 1), Cut(3, 0)
    ]  # fmt: skip
    seen = [as_given(*three.sent(cut)) for cut in cuts]
    clips = [("clip 0", 0.0, 25), 25.0, "answer 0", ("clip 1", 0.0, 12), 12.0, "answer 1",
             ("clip 2", 0.0, 8), 8.0]  # fmt: skip
    assert seen[0] == ["watch", ("example", 0.0, 15), 15.0, *clips]
    assert seen[1] == ["watch", ("example", 10.0, 5), 5.0, *clips]
    assert seen[2] == clips
    assert seen[3] == [("clip 0", 10.0, 15), 15.0, *clips[2:]]
    assert seen[5] == clips[3:]
    assert seen[7] == clips[6:]


def test_the_record_says_what_was_dropped_and_how_that_was_found():
    attempt = asyncio.run(ask_within(Counting(85), history([25.0, 12.0, 8.0], example_s=15.0)))
    # 30 + 50 + 24 + 16 tokens of media and 10 for each of 5 messages; without the example, clip 0
    # and answer 0: 24 + 16 + 30 = 70. With the last 5 s of clip 0: 10 + 40 + 50 = 100.
    assert attempt.effective["context"] == {
        "limit_tokens": 85,
        "input_tokens": 70,
        "begins": {"clip": 2, "pieces": 0},
        "dropped": [{"clip": "example", "whole": True}, {"clip": "clip 0", "whole": True}],
        "turns_dropped": 1,
        "counted": 5,
        "asked": 1,
    }
    assert [facts["frames"] for facts in attempt.effective["video"]] == [12, 8]


def test_a_run_may_set_a_lower_limit_than_the_engine_has():
    lower = history([30.0, 5.0], limit=60)
    attempt = asyncio.run(ask_within(Counting(1000), lower))
    assert attempt.effective["context"]["limit_tokens"] == 60
    assert attempt.effective["context"]["dropped"] == [{"clip": "clip 0", "seconds": 20}]


def test_the_last_piece_of_the_turn_itself_stays_and_its_overflow_is_the_outcome():
    engine = Asked(3)
    attempt = asyncio.run(ask_within(engine, history([25.0])))
    assert attempt.answer.outcome is Outcome.CONTEXT_OVERFLOW
    assert as_given(*engine.sent[-1]) == [("clip 0", 20.0, 5), 5.0]
    assert attempt.effective["context"]["asked"] == 3


@pytest.mark.parametrize(("fps", "left"), [(1.0, [10.5, 11.5, 12.5]), (0.1, [6.5])])
def test_of_a_clip_that_is_left_at_least_the_last_frame_is(fps, left):
    shown = Shown(0, "c", clip("c"), decoded(13.0, fps))
    frames, sound = shown.without(1).prepared.media
    assert frames.times_s.tolist() == pytest.approx(left)
    assert sound.samples.tolist() == list(range(100, 130))


def test_a_file_that_travels_whole_begins_later_instead():
    file = MediaFile("v.mp4", "v", None, None, sound=True, silence=False)
    facts = {"video": [{"start_s": 0.0, "end_s": 30.0}], "audio": [{"audio": "in the video file"}]}
    shown = Shown(0, "v", clip("v"), Prepared((file, None), facts)).without(2)
    assert shown.prepared.media[0].start_s == 20.0
    assert [part.start_s for part in shown.parts] == [20.0, 20.0]
    assert shown.prepared.media[1] is None


def test_clips_that_have_no_room_any_more_need_not_be_decoded():
    whole = history([25.0, 12.0, 8.0])
    rest = History(whole.dialogue, 2, whole.said, [None, *whole.clips[1:]], Cut(1, 1))
    engine = Counting(1000)
    attempt = asyncio.run(ask_within(engine, rest))
    assert as_given(*engine.sent[-1]) == [
        ("clip 1", 10.0, 2),
        2.0,
        "answer 1",
        ("clip 2", 0.0, 8),
        8.0,
    ]
    assert attempt.effective["context"]["dropped"] == [
        {"clip": "clip 0", "whole": True}, {"clip": "clip 1", "seconds": 10}
    ]  # fmt: skip


def test_a_clip_that_does_not_decode_fails_the_turns_that_still_contain_it():
    whole = history([5.0, 5.0])
    broken = replace(whole.clips[0], prepared=Prepared(error="cut off"))
    with_it = replace(whole, clips=[broken, whole.clips[1]])
    assert with_it.sent(Cut())[1].error == "cut off"
    assert with_it.sent(Cut(1))[1].error == ""


@dataclass
class Telling(Asked):
    """One that takes everything, and tells afterwards how many tokens it was: a service."""

    async def answer(self, request: Request, prepared: Prepared) -> Answer:
        self.sent.append((request, prepared))
        usage = Usage(input_tokens=tokens(request, prepared))
        return Answer(Outcome.OK, Response(text=f"answer {len(self.sent)}"), usage)


@pytest.mark.parametrize("limit", [30, 85, 100, 119, 130, 1000])
def test_what_a_service_says_it_was_given_is_held_to_the_limit(limit):
    """It ends where counting beforehand would, or one cut on; an answer to more is not taken."""
    told, counted = Telling(0), Counting(limit)
    whole = history([25.0, 12.0, 8.0, 31.0], example_s=15.0, limit=limit)
    attempt = asyncio.run(ask_within(told, whole))
    best = asyncio.run(ask_within(counted, whole)).effective["context"]["begins"]
    context = attempt.effective["context"]
    cuts = list(whole.cuts())
    first = cuts.index(Cut(best["clip"], best["pieces"]))
    begins = context["begins"]
    assert Cut(begins["clip"], begins["pieces"]) in cuts[first : first + 2]
    assert context["input_tokens"] == tokens(*told.sent[-1]) <= limit
    assert attempt.answer.response.text == f"answer {len(told.sent)}"
    assert context["asked"] == len(told.sent) <= 4


def test_the_turn_itself_is_answered_though_it_is_over_the_limit_and_the_record_says_both():
    attempt = asyncio.run(ask_within(Telling(0), history([25.0, 8.0], limit=5)))
    context = attempt.effective["context"]
    assert attempt.answer.outcome is Outcome.OK
    assert (context["limit_tokens"], context["input_tokens"]) == (5, 26)
    assert context["begins"] == {"clip": 1, "pieces": 0}


@dataclass
class Uncut(Asked):
    """One that sends whole files, so many at most."""

    async def answer(self, request: Request, prepared: Prepared) -> Answer:
        files = [one for one in prepared.media if isinstance(one, MediaFile)]
        if any(one.start_s for one in files):
            raise FileUncut("whole files")
        self.sent.append((request, prepared))
        too_long = len(files) > self.limit
        outcome = Outcome.CONTEXT_OVERFLOW if too_long else Outcome.OK
        return Answer(outcome, Response(error="too long" if too_long else ""))


def as_files(lengths_s: list[float]) -> History:
    found = history(lengths_s)
    shown = [
        replace(
            one,
            parts=one.parts[:1],
            prepared=Prepared(
                (MediaFile(one.item, one.item, None, None, sound=True, silence=False),),
                {"video": one.prepared.effective["video"]},
            ),
        )
        for one in found.clips
    ]
    return replace(found, clips=shown)


def test_of_files_that_cannot_be_cut_whole_clips_are_dropped():
    engine = Uncut(1)
    attempt = asyncio.run(ask_within(engine, as_files([35.0, 25.0, 30.0])))
    assert attempt.answer.outcome is Outcome.OK
    assert [[one.path for one in prepared.media] for _, prepared in engine.sent] == [
        ["clip 0", "clip 1", "clip 2"],
        ["clip 1", "clip 2"],
        ["clip 2"],
    ]
    assert attempt.effective["context"]["begins"] == {"clip": 2, "pieces": 0}
    assert attempt.effective["context"]["asked"] == 3


def test_a_file_that_does_not_fit_at_all_fails_its_turn_alone():
    attempt = asyncio.run(ask_within(Uncut(0), as_files([35.0, 25.0])))
    assert attempt.answer.outcome is Outcome.CONTEXT_OVERFLOW
    assert attempt.effective["context"]["begins"] == {"clip": 1, "pieces": 0}
