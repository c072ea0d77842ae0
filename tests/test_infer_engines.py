"""The two engines that need no GPU: what they answer, and that nothing else changes it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from cache.record import Outcome
from cache.request import Media, Message, Request, Text
from infer.card import MODELS, load_card, names
from infer.engine import Engine, create_engine
from infer.errors import CardError, UnknownModel
from infer.media.captions import Cue
from infer.media.decode import Prepared

CUES = (
    Cue(0.0, 4.0, "Good morning, please come in and take a seat."),
    Cue(4.0, 9.0, "My left knee has been hurting since the marathon in April."),
    Cue(9.0, 14.0, "I will prescribe an anti-inflammatory gel, twice a day."),
    Cue(14.0, 18.0, "Do not run for three weeks, swimming is fine."),
    Cue(18.0, 22.0, "Thank you, doctor. When should I come back?"),
    Cue(22.0, 26.0, "Come back on the ninth of May for an ultrasound."),
)
OPTIONS = ("The right elbow", "The left knee", "The lower back", "A tooth", "Not enough evidence")


@pytest.fixture(scope="module")
def captions() -> Engine:
    return create_engine(load_card("captions"))


@pytest.fixture(scope="module")
def chance() -> Engine:
    return create_engine(load_card("chance"))


def test_captions_chooses_the_option_that_the_captions_speak_of(captions: Engine) -> None:
    answer = ask(captions, choice("Which part of the body hurts the patient?", OPTIONS))

    assert answer["answer_letter"] == "B"
    assert answer["answer_index"] == 1
    assert "left knee" in answer["rationale"]


def test_captions_finds_no_evidence_where_nothing_is_similar(captions: Engine) -> None:
    question = "How many galaxies does the telescope photograph?"

    answer = ask(
        captions, choice(question, ("Two", "Nine", "Forty", "None", "Not enough evidence"))
    )

    assert answer["answer_letter"] == "E"


def test_captions_locates_the_window_of_the_event(captions: Engine) -> None:
    answer = ask(captions, localization({"001": "When does the doctor prescribe a gel?"}))

    [found] = answer["questions"]
    assert found["question_id"] == "001"
    assert found["start_s"] <= 9.0
    assert found["end_s"] >= 14.0
    assert found["end_s"] - found["start_s"] <= 10.0


def test_captions_takes_the_relation_into_account(captions: Engine) -> None:
    # "come back" is said twice; only one of them is before the ultrasound is named.
    questions = {"001": "When is coming back mentioned before the ultrasound is named?"}

    [found] = ask(captions, localization(questions))["questions"]

    assert found["end_s"] <= 22.0


def test_captions_stays_inside_the_segment(captions: Engine) -> None:
    request = localization({"001": "When does the doctor prescribe a gel?"}, 10.0, 12.0)

    [found] = ask(captions, request)["questions"]

    assert (found["start_s"], found["end_s"]) == (10.0, 12.0)


def test_captions_summarizes_in_time_order_without_inventing(captions: Engine) -> None:
    answer = ask(captions, summary())

    texts = [cue.text for cue in CUES]
    positions = [texts.index(bullet) for bullet in answer["summary_short"]]
    assert positions == sorted(positions)
    assert 3 <= len(positions) <= 5
    assert all(text in answer["summary_detailed"] for text in answer["summary_short"])


def test_captions_without_captions_answers_from_nothing_and_says_so(captions: Engine) -> None:
    answer = ask(captions, choice("Which part hurts?", OPTIONS), cues=())

    assert answer["answer_letter"] == "E"
    assert answer["rationale"] == "There are no captions."


def test_chance_answers_a_request_always_alike_and_draws_every_letter(chance: Engine) -> None:
    request = choice("Which part of the body hurts the patient?", OPTIONS)

    assert ask(chance, request) == ask(chance, request)
    letters = {ask(chance, choice(f"Question {n}?", OPTIONS))["answer_letter"] for n in range(60)}
    assert letters == set("ABCDE")


def test_chance_keeps_its_intervals_inside_the_segment(chance: Engine) -> None:
    for number in range(50):
        request = localization({"001": f"When {number}?", "002": "When else?"}, 30.0, 75.0)
        found = ask(chance, request)["questions"]
        assert [entry["question_id"] for entry in found] == ["001", "002"]
        assert all(30.0 <= entry["start_s"] < entry["end_s"] <= 75.0 for entry in found)


def test_an_unknown_model_is_answered_with_the_known() -> None:
    with pytest.raises(UnknownModel, match="captions, chance"):
        load_card("captoins")


def test_a_card_with_a_wrong_field_names_file_and_field(tmp_path: Any) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\nengine = "chance"\nframes = 3\n')

    with pytest.raises(CardError, match=r"mine\.toml"):
        load_card(str(path))


@pytest.mark.parametrize(
    "line", ["preprocessing.frames = -8", "preprocessing.fps = 0", "resources.concurrency = 0"]
)
def test_a_card_asks_for_more_than_nothing(line: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f"{line}\n{(MODELS / 'chance.toml').read_text().partition(chr(10) + '[')[0]}\n")

    with pytest.raises(CardError, match=line.partition(".")[2].split()[0]):
        load_card(str(path))


@pytest.mark.parametrize("name", names())
def test_every_bundled_card_is_named_like_its_file_and_says_how_far_it_was_tried(name: str) -> None:
    card = load_card(name)

    assert card.name == name
    assert card.verified


def ask(engine: Engine, request: Request, cues: tuple[Cue, ...] = CUES) -> dict[str, Any]:
    prepared = Prepared((cues,), {"captions": [{"end_s": 30.0}]})
    answer = asyncio.run(engine.answer(request, prepared))
    assert answer.outcome == Outcome.OK
    found: dict[str, Any] = json.loads(answer.response.text)
    return found


def choice(question: str, options: tuple[str, ...]) -> Request:
    texts = [
        Text(text=f"({letter}) {text}", name=f"option:{letter}")
        for letter, text in zip("ABCDE", options, strict=True)
    ]
    return _request(0.0, 30.0, Text(text=question, name="question"), *texts)


def localization(questions: dict[str, str], start_s: float = 0.0, end_s: float = 30.0) -> Request:
    texts = [Text(text=text, name=f"question:{name}") for name, text in questions.items()]
    return _request(start_s, end_s, *texts)


def summary() -> Request:
    return _request(0.0, 30.0, Text(text="Summarize the video.", name="instruction"))


def _request(start_s: float, end_s: float, *texts: Text) -> Request:
    media = Media(kind="captions", sha256="c" * 64, start_s=start_s, end_s=end_s)
    message = Message(role="user", parts=(media, *texts))
    return Request(engine="captions", model="captions", messages=(message,))
