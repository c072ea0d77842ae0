"""Dialogues: chained requests, what a turn is shown, and where they go on after a stop."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from bench import registry
from bench.item import Item
from bench.omniassist import OmniAssist
from cache.record import Outcome, Record, Response
from cache.request import Media, Preprocessing, Text
from cache.run import RunHeader
from cache.store import Store
from infer.ablation import Ablation
from infer.actor import Done
from infer.card import InDialogues, ModelCard, Verified, load_card
from infer.converse import side_by_side
from infer.dialogue import Cut, Dialogue, look_up, make_dialogues
from infer.dialogue_run import DialogueRun
from infer.errors import ModalityAbsent, PlanError
from infer.plan import WHOLE, Planned, Shard
from infer.run import Choice, infer
from tests.trees import assistant_folder, turn

CARD = ModelCard(
    name="m",
    engine="echo",
    modality="video+audio",
    tasks=("assistant",),
    description="",
    verified=Verified.NOT_RUN,
    preprocessing=Preprocessing(fps=1.0),
)
FORCED = replace(CARD, dialogue=InDialogues(teacher_forcing=True))


@pytest.fixture
def store(tmp_path: Path):
    with Store(tmp_path / "store", create=True) as opened:
        yield opened


def load(folder: Path | None = None, name: str = "demo-assistant") -> tuple[list[Item], list]:
    benchmark = OmniAssist("omniassist") if folder else registry.get(name)
    items = benchmark.load(folder)
    return items, benchmark.prompts(items)


def dialogues_of(store: Store, card: ModelCard = CARD, folder: Path | None = None, **options):
    items, prompts = load(folder)
    return make_dialogues(prompts, items, card, store, **options).dialogues


def answered(planned: Planned, text: str = "", outcome: Outcome = Outcome.OK) -> Record:
    return Record(
        key=planned.key,
        request=planned.request,
        outcome=outcome,
        response=Response(text=text, error="" if outcome is Outcome.OK else "why"),
        effective={"context": {"begins": {"clip": 1, "pieces": 0}}},
        created="2026-01-01T00:00:00.000Z",
    )


def texts(planned: Planned) -> list[tuple[str, list[str]]]:
    return [
        (message.role, [part.text for part in message.parts if isinstance(part, Text)])
        for message in planned.request.messages[1:]
    ]


def spoken(dialogue: Dialogue) -> list[list[str]]:
    return [[part.text for part in step.clip if isinstance(part, Text)] for step in dialogue.steps]


def test_an_example_is_shown_once_and_each_turn_adds_a_clip_and_an_answer(store):
    sandwich = dialogues_of(store)[0]
    said = [Text(text=f"said {n}", name="answer") for n in range(3)]

    last = sandwich.planned(3, said)

    assert [role for role, _ in texts(last)] == ["user", "assistant"] * 3 + ["user"]
    assert [some for role, some in texts(last) if role == "assistant"] == [
        ["said 0"], ["said 1"], ["said 2"]
    ]  # fmt: skip
    kinds = [
        [part.kind for part in message.parts if isinstance(part, Media)]
        for message in last.request.messages
        if message.role == "user"
    ]
    assert kinds == [["video", "audio"] * 2] + [["video", "audio"]] * 3
    assert "[KEEP QUIET]" in last.request.messages[0].parts[0].text
    assert len(sandwich.steps[0].example) == 4
    assert not any(step.example for step in sandwich.steps[1:])


@pytest.mark.parametrize("stored", range(5))
def test_a_dialogue_goes_on_at_its_next_turn_wherever_it_was_stopped(store, stored):
    """The store's answers alone lead to the next request, which is as if nothing had happened."""
    sandwich = dialogues_of(store)[0]
    said: list[Text] = []
    expected = []
    for number in range(4):
        planned = sandwich.planned(number, said)
        expected.append(planned.key)
        if number < stored:
            store.put(answered(planned, f"said {number}"))
        said.append(Text(text=f"said {number}", name="answer"))
    store.flush()

    [talk] = look_up([sandwich], store)

    assert list(talk.keys) == expected[: stored + 1]
    assert talk.answered == tuple(range(stored))
    assert talk.pending == list(range(stored, 4))
    assert [text.text for text in talk.said] == [f"said {n}" for n in range(stored)]
    assert talk.cut.clip == (1 if stored else 0)


def test_another_answer_makes_other_requests_of_all_later_turns(store):
    sandwich = dialogues_of(store)[0]
    one, other = ([Text(text=said, name="answer")] for said in ("yes", "no"))
    assert sandwich.planned(0, []).key == sandwich.planned(0, []).key
    assert sandwich.planned(1, one).key != sandwich.planned(1, other).key


# (how a turn ended, its text, what the next turn is shown of it)
ENDED = [
    (Outcome.OK, "Butter.", ("answer", "Butter.")),
    (Outcome.OK, " ", ("silence", "[KEEP QUIET]")),
    (Outcome.TRUNCATED, "Butter and", ("answer", "Butter and")),
    (Outcome.CONTENT_FILTER, "", ("silence", "[KEEP QUIET]")),
    (Outcome.REFUSED, "I cannot.", ("answer", "I cannot.")),
    (Outcome.CONTEXT_OVERFLOW, "", ("silence", "[KEEP QUIET]")),
]


@pytest.mark.parametrize(("outcome", "text", "shown"), ENDED)
def test_a_turn_that_ended_for_good_counts_as_what_it_said_or_as_silence(
    store, outcome, text, shown
):
    sandwich = dialogues_of(store)[0]
    store.put(answered(sandwich.planned(0, []), text, outcome))
    store.flush()

    [talk] = look_up([sandwich], store)

    assert [(one.name, one.text) for one in talk.said] == [shown]
    assert talk.pending == [1, 2, 3]
    assert len(talk.keys) == 2


def test_behind_a_failure_that_may_pass_a_dialogue_waits(store):
    sandwich = dialogues_of(store)[0]
    store.put(answered(sandwich.planned(0, []), "", Outcome.INFRA_ERROR))
    store.flush()

    [talk] = look_up([sandwich], store)

    assert (talk.pending, len(talk.keys), talk.said) == ([0, 1, 2, 3], 1, ())


def test_with_teacher_forcing_all_requests_are_known_and_hold_the_accepted_answers(store):
    sandwich = dialogues_of(store, FORCED)[0]
    store.put(answered(sandwich.planned(1, [step.forced for step in sandwich.steps]), "mine"))
    store.flush()

    [talk] = look_up([sandwich], store)

    assert len(set(talk.keys)) == 4
    assert (talk.answered, talk.pending) == ((1,), [0, 2, 3])
    assert talk.cut == Cut()  # what the second turn had no room for, the first may have
    shown = [some for role, some in texts(sandwich.planned(3, talk.said)) if role == "assistant"]
    assert shown == [
        ["Now spread butter on the bread."],
        ["Put two slices of tomato on the cheese."],
        ["[KEEP QUIET]"],
    ]
    assert [text.name for text in talk.said] == ["reference"] * 4


def test_of_an_open_ended_turn_teacher_forcing_shows_silence(store, tmp_path):
    rows = [turn("meeting", n, **{"class": "real case"}) for n in (1, 2)]
    rows[0]["gt_answer"] = ""
    [meeting] = dialogues_of(store, FORCED, assistant_folder(tmp_path / "data", *rows))
    assert meeting.steps[0].forced == Text(text="[KEEP QUIET]", name="silence")


def test_without_sound_what_is_spoken_becomes_text_and_what_is_shown_does_not(store):
    """Section 4.3.1: spoken prompts and the gestures' meanings; not what is written or gestured."""
    silent = dialogues_of(store, replace(CARD, modality="video"))
    sandwich, gate, signs, bottles, umbrella = map(spoken, silent)
    assert sandwich[0] == [
        "I want to make this sandwich exactly as in the example. What comes next?"
    ]
    assert sandwich[1] == ["What is the next step?"]
    assert gate[0] == ["Whenever a van stops at the gate, tell me the name on it."]
    assert gate[1] == gate[2] == []
    assert signs == [
        ["A raised arm means: tell me the colour of the cup. "
         "A hand on the hip means: count the books."], [], [],
    ]  # fmt: skip
    assert bottles == [[]]
    assert umbrella == [["Which colour was the umbrella that passed when she spoke of lunch?"]]
    heard = dialogues_of(store, CARD)
    assert not any(some for dialogue in heard for some in spoken(dialogue))


@pytest.mark.parametrize("modality", ["video", "audio"])
def test_one_modality_is_given_alone(store, modality):
    for dialogue in dialogues_of(store, replace(CARD, modality=modality)):
        parts = [part for step in dialogue.steps for part in (*step.example, *step.clip)]
        assert {part.kind for part in parts if isinstance(part, Media)} == {modality}


def test_a_clip_that_is_not_there_is_an_error_or_the_end_of_its_dialogue(store, tmp_path):
    rows = [turn("cake", n) for n in (1, 2, 3)] + [{"video_name": "x"}]
    folder = assistant_folder(tmp_path / "data", *rows)
    (folder / "cake-seg2.mp4").unlink()

    with pytest.raises(PlanError, match=r"cake-seg2\.mp4"):
        dialogues_of(store, CARD, folder)
    items, prompts = load(folder)
    plan = make_dialogues(prompts, items, CARD, store, skip_absent=True)

    assert [[step.item for step in one.steps] for one in plan.dialogues] == [
        ["assistant/cake-seg1"], ["assistant/x"]
    ]  # fmt: skip
    assert plan.absent == (folder / "cake-seg2.mp4",)


def test_a_clip_that_has_nothing_of_the_modality_is_an_error_or_the_end_of_its_dialogue(
    store, tmp_path
):
    folder = assistant_folder(tmp_path / "data", *(turn("cake", n) for n in (1, 2)))
    items, prompts = load(folder)
    captions = replace(CARD, modality="captions")

    with pytest.raises(ModalityAbsent, match="--skip-absent-media"):
        make_dialogues(prompts, items, captions, store)
    plan = make_dialogues(prompts, items, captions, store, skip_absent=True)

    assert not plan.dialogues
    assert {path.name for path in plan.absent} == {"cake-seg1.mp4"}


def test_samples_are_conversations_of_their_own(store):
    one, two = dialogues_of(store, samples=2)[:2]
    assert (one.base.sample, two.base.sample) == (0, 1)
    assert one.planned(0, []).key != two.planned(0, []).key


def test_dialogues_that_begin_alike_are_had_one_after_the_other_and_the_longest_first(
    store, tmp_path
):
    """Their first request is one, and it is not asked twice at the same time."""
    rows = [{"video_name": "a"}, *(turn("cake", n) for n in (1, 2))]
    talks = look_up(dialogues_of(store, CARD, assistant_folder(tmp_path / "data", *rows)), store)
    together = side_by_side(talks)
    assert [[len(talk.dialogue.steps) for talk in some] for some in together] == [[1, 2]]
    demo = side_by_side(look_up(dialogues_of(store), store))
    assert _turns(demo) == [4, 4, 3, 1, 1]


def _turns(together: Sequence) -> list[int]:
    return [sum(len(talk.dialogue.steps) for talk in some) for some in together]


# The paper's models that take several turns here: OmniAssistBench, section 4.1.
OPEN = ("qwen3-omni-30b-a3b-instruct", "qwen2.5-omni-7b", "minicpm-o-4.5", "minicpm-o-2.6")
SERVED = ("doubao-seed-2.0-lite", "mimo-v2-omni", "qwen3.5-omni-plus")


@pytest.mark.parametrize("name", OPEN + SERVED)
def test_in_dialogues_frames_are_taken_once_a_second_at_the_files_own_size(name):
    asked = load_card(name).in_dialogues().preprocessing
    assert (asked.fps, asked.frames, asked.shorter_edge_px, asked.ladder) == (1.0, None, None, ())
    assert asked.context_tokens == (32768 if name in OPEN else None)


@pytest.mark.parametrize("name", ["gemini-2.5-pro", "gemini-3-pro"])
def test_gemini_is_given_the_video_as_it_is_and_samples_as_its_provider_says(name):
    card = load_card(name).in_dialogues()
    assert card.preprocessing.as_files
    assert (card.sampling.temperature, card.sampling.top_p) == (None, None)


def test_what_a_run_changes_holds_in_dialogues_too_and_is_in_its_name():
    card = load_card("qwen3-omni-30b-a3b-instruct").in_dialogues()
    changes = Ablation(shorter_edge_px=360, modality="video", teacher_forcing=True)
    changed = changes.apply(card)
    assert changed.preprocessing.shorter_edge_px == 360
    assert changed.dialogue.teacher_forcing
    assert changed.settings["engine"]["limit_mm_per_prompt"] == {"video": 32, "audio": 32}
    assert changed.settings["engine"]["max_model_len"] == 65536
    assert changes.label() == "-size360-video-teacher-forcing"


def test_teacher_forcing_is_refused_where_there_are_no_dialogues(tmp_path):
    choice = Choice("demo", ablation=Ablation(teacher_forcing=True))
    with pytest.raises(PlanError, match="is for dialogues"):
        infer(choice, load_card("chance"), tmp_path / "store", dry_run=True)


HEADER = RunHeader(name="r", benchmark="demo-assistant", model="m", tasks=("assistant",))


def run_of(store: Store, shard: Shard = WHOLE) -> DialogueRun:
    items, prompts = load()
    run = DialogueRun(make_dialogues(prompts, items, CARD, store), HEADER, store, shard)
    run.write()
    return run


def test_a_runs_lines_are_added_as_turns_are_answered(store, monkeypatch):
    """The first file has the first turns; an answer leads to a line in a file beside it."""
    monkeypatch.setattr("infer.dialogue_run._WRITE_EVERY_S", 0.0)
    run = run_of(store)
    before = {line.item for line in store.run("r").lines}
    done = Done("0" * 64, Outcome.OK, "", 0.0, 0.0, 0.0, 0, 0, "here", item="assistant/gate-seg2")

    run.heard(done)

    firsts = ("sandwich-seg1", "gate-seg1", "signs-seg1", "bottles", "umbrella")
    assert before == {f"assistant/{name}" for name in firsts}
    added = [line for line in store.run("r").lines if line.item not in before]
    assert [(line.item, line.key) for line in added] == [("assistant/gate-seg2", "0" * 64)]
    assert len(list((store.path / "runs").iterdir())) == 2


def test_shards_are_whole_dialogues_and_each_dialogue_is_in_one(store):
    parts = [run_of(store, Shard(k, 3)) for k in (1, 2, 3)]
    first = [[talk.keys[0] for talk in part.talks] for part in parts]
    assert sum(part.turns for part in parts) == 13
    assert sorted(key for keys in first for key in keys) == sorted(
        talk.keys[0] for talk in run_of(store).talks
    )


def test_turns_behind_one_that_failed_for_now_are_counted_as_waiting(store):
    sandwich = dialogues_of(store)[0]
    store.put(answered(sandwich.planned(0, []), "", Outcome.TIMEOUT))
    store.flush()
    run = run_of(store)
    assert (run.turns, run.pending) == (13, 13)
    assert run.waiting == 8  # of 13 turns, the five first ones are known
    assert len(list(run.nominal())) == 13
