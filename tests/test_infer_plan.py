"""The plan: keys follow content, shards are disjoint and whole, absent media are named."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from bench.item import Clip, Segment, TaskType
from bench.prompt import NamedText, Prompt, PromptMessage
from cache.record import Outcome, Record, Response
from cache.store import Store
from infer.asked import read_asked
from infer.card import ModelCard, load_card
from infer.errors import PlanError
from infer.pipeline import LARGEST_GROUP, groups
from infer.plan import Shard, make_plan, parse_shard, pending


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", create=True)


def test_the_same_bytes_under_another_path_have_the_same_key(store: Store, tmp_path: Path) -> None:
    first = media(tmp_path / "a" / "clip.mp4", b"one")
    moved = media(tmp_path / "b" / "other.mp4", b"one")

    assert keys(store, prompt(first)) == keys(store, prompt(moved))


def test_other_bytes_under_the_same_path_have_another_key(store: Store, tmp_path: Path) -> None:
    a, b = media(tmp_path / "a" / "clip.mp4", b"one"), media(tmp_path / "b" / "clip.mp4", b"two")
    before = keys(store, prompt(a)) + keys(store, prompt(b))
    media(a, b"three")

    assert len({*before, *keys(store, prompt(a))}) == 3


def test_samples_of_one_prompt_have_keys_of_their_own(store: Store, tmp_path: Path) -> None:
    plan = make_plan([prompt(media(tmp_path / "clip.mp4"))], card(), store, samples=3)

    assert len({planned.key for planned in plan.requests}) == 3
    assert [line.sample for line in plan.lines] == [0, 1, 2]


def test_a_prompt_that_asks_several_items_is_one_request(store: Store, tmp_path: Path) -> None:
    asked = prompt(media(tmp_path / "clip.mp4"), items=("q1", "q2", "q3"))

    plan = make_plan([asked], card(), store)

    assert len(plan.requests) == 1
    assert [line.item for line in plan.lines] == ["q1", "q2", "q3"]
    assert {line.key for line in plan.lines} == {plan.requests[0].key}


def test_other_settings_have_other_keys(store: Store, tmp_path: Path) -> None:
    asked = prompt(media(tmp_path / "clip.mp4"))
    base = card()
    more_frames = msgspec.structs.replace(base.preprocessing, frames=64)
    others = [
        base,
        msgspec.structs.replace(base, preprocessing=more_frames),
        msgspec.structs.replace(base, modality="video"),
        msgspec.structs.replace(base, revision="2"),
        msgspec.structs.replace(base, settings={"dtype": "float32"}),
    ]

    assert len({key for other in others for key in keys(store, asked, other)}) == len(others)


def test_sound_comes_from_its_own_file_and_captions_only_where_asked(
    store: Store, tmp_path: Path
) -> None:
    clip = Clip(
        video=media(tmp_path / "v.mp4", b"v"),
        audio=media(tmp_path / "a.m4a", b"a"),
        captions=media(tmp_path / "c.srt", b"c"),
        segment=Segment(30.0, 75.0),
    )
    [planned] = make_plan([prompt(clip)], card(), store).requests

    kinds = [(part.kind, part.start_s) for part in planned.request.messages[0].parts[:-1]]
    assert kinds == [("video", 30.0), ("audio", 30.0)]
    assert sorted(Path(path).name for path in planned.files.values()) == ["a.m4a", "v.mp4"]


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_shards_are_disjoint_and_whole(n: int, store: Store, tmp_path: Path) -> None:
    clip = media(tmp_path / "clip.mp4")
    plan = make_plan([prompt(clip, text=f"Question {i}") for i in range(22)], card(), store)

    shards = [pending(plan, store, Shard(k, n))[0] for k in range(1, n + 1)]

    found = [planned.key for shard in shards for planned in shard]
    assert len(found) == len(set(found)) == 22


def test_a_shard_does_not_shift_when_answers_come_in(store: Store, tmp_path: Path) -> None:
    clip = media(tmp_path / "clip.mp4")
    plan = make_plan([prompt(clip, text=f"Question {i}") for i in range(22)], card(), store)
    before, requested = pending(plan, store, Shard(1, 3))
    store.put(
        Record(
            key=before[0].key,
            request=before[0].request,
            outcome=Outcome.OK,
            response=Response(text="{}"),
        )
    )

    after, requested_again = pending(plan, store, Shard(1, 3))

    assert [planned.key for planned in after] == [planned.key for planned in before[1:]]
    assert [p.key for p in requested] == [p.key for p in requested_again]


def test_absent_media_are_an_error_that_names_them(store: Store, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"gone\.mp4"):
        make_plan([prompt(tmp_path / "gone.mp4")], card(), store)


def test_absent_media_can_be_left_out_and_are_reported(store: Store, tmp_path: Path) -> None:
    there, gone = media(tmp_path / "clip.mp4"), tmp_path / "gone.mp4"

    plan = make_plan(
        [prompt(there, items=("a",)), prompt(gone, items=("b",))], card(), store, skip_absent=True
    )

    assert [line.item for line in plan.lines] == ["a"]
    assert plan.absent == (gone,)


def test_a_clip_that_has_nothing_of_the_modality_is_an_error(store: Store, tmp_path: Path) -> None:
    asked = prompt(media(tmp_path / "clip.mp4"))

    with pytest.raises(PlanError, match=r"item: its clip .*clip\.mp4 has nothing of .*captions"):
        make_plan([asked], msgspec.structs.replace(card(), modality="captions"), store)


def test_clips_without_the_modality_are_left_out_where_absent_media_may_be(
    store: Store, tmp_path: Path
) -> None:
    without = prompt(media(tmp_path / "clip.mp4"))

    plan = make_plan(
        [without], msgspec.structs.replace(card(), modality="captions"), store, skip_absent=True
    )

    assert not plan.lines
    assert [path.name for path in plan.absent] == ["clip.mp4"]


def test_requests_about_the_same_media_are_decoded_together_and_neighbours_in_time(
    store: Store, tmp_path: Path
) -> None:
    first, second = media(tmp_path / "1.mp4", b"1"), media(tmp_path / "2.mp4", b"2")
    order = [(first, 60.0), (second, 0.0), (first, 0.0), (first, 60.0), (second, 0.0)]
    prompts = [
        prompt(Clip(video=video, segment=Segment(at_s, at_s + 30.0)), text=f"Question {number}")
        for number, (video, at_s) in enumerate(order)
    ]

    made = groups(make_plan(prompts, card(), store).requests)

    questions = [[read_asked(one.request).question[-1] for one in group] for group in made]
    assert questions == [["2"], ["0", "3"], ["1", "4"]]


def test_a_group_has_at_most_so_many_requests(store: Store, tmp_path: Path) -> None:
    clip = media(tmp_path / "clip.mp4")
    plan = make_plan([prompt(clip)], card(), store, samples=2 * LARGEST_GROUP + 1)

    assert [len(group) for group in groups(plan.requests)] == [LARGEST_GROUP, LARGEST_GROUP, 1]


@pytest.mark.parametrize("text", ["0/4", "5/4", "2", "a/b", "1/0", "-1/3"])
def test_a_shard_that_is_no_shard_is_an_error(text: str) -> None:
    with pytest.raises(PlanError, match="k/n"):
        parse_shard(text)


def card() -> ModelCard:
    return load_card("chance")


def media(path: Path, content: bytes = b"bytes") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def prompt(
    clip: Path | Clip, *, text: str = "What happens?", items: tuple[str, ...] = ("item",)
) -> Prompt:
    clip = Clip(video=clip) if isinstance(clip, Path) else clip
    message = PromptMessage(role="user", parts=(clip, NamedText(text, "question")))
    return Prompt(items=items, task=TaskType.CHOICE, messages=(message,))


def keys(store: Store, asked: Prompt, model: ModelCard | None = None) -> list[str]:
    return [planned.key for planned in make_plan([asked], model or card(), store).requests]
