"""Judging replies of an assistant: alternatives, key points, and seven aspects beside the score."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import registry
from bench.item import AssistantReference, Clip, Item, TaskType
from cache.store import Store
from score.answers import SCORED, Answer
from score.judge.decide import decide
from score.judge.grade import grade
from score.judge.lookup import verdicts
from score.judge.request import judge_request, named_texts
from score.judge.rubric import RUBRICS, load_rubric
from score.judge.spec import JudgeSpec, Scale, load_spec
from score.judge.verdict import Verdict, parse_verdict
from score.pairs import pairs
from score.parse.prediction import AssistantPrediction
from tests.builders import chat_judge, judge_pair, judge_record
from tests.judged import graded
from tests.openai_server import chat

TO_FIVE = Scale(min=0, max=5)
OMNI = load_rubric("omniassist.jinja", RUBRICS)
CUP = judge_pair(
    "It is the blue mug.",
    question="Which cup is mine?",
    reference="The blue cup.",
    alternatives=("The one on the left.",),
    key_points=(("blue", "left"), ("cup",)),
)
SAID = {
    "question_understanding": "yes",
    "semantic_alignment": "Partly",
    "polarity_consistency": "not applicable",
    "keypoint_coverage": "no",
    "silence_protocol": "N/A",
    "score": 3,
    "justification": "a key point is missing",
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store", create=True) as opened:
        yield opened


def omni_judge(base_url: str = "http://127.0.0.1:9/v1", **changes: object) -> JudgeSpec:
    return chat_judge(base_url, **({"scale": TO_FIVE, "rubric": OMNI} | changes))


def assistant_item(*answers: str, key_points: tuple[tuple[str, ...], ...] = ()) -> Item:
    return Item(
        id="assistant/cup",
        benchmark="omniassist",
        task=TaskType.ASSISTANT,
        topic="linguistic reference",
        cluster="cup",
        clip=Clip(Path("cup.mp4")),
        question="Which cup is mine?",
        reference=AssistantReference(answers, key_points),
    )


def test_a_pair_of_an_assistant_item_has_all_accepted_answers_and_the_key_points() -> None:
    item = assistant_item("The blue cup.", "The left one.", key_points=(("blue", "left"),))
    answer = Answer(item, 0, "key", SCORED, prediction=AssistantPrediction("The blue mug."))
    (pair,) = pairs([answer])
    assert (pair.reference, pair.alternatives) == ("The blue cup.", ("The left one.",))
    assert pair.key_points == (("blue", "left"),)


def test_a_turn_that_is_published_without_an_answer_is_not_judged() -> None:
    answer = Answer(assistant_item(), 0, "key", SCORED, prediction=AssistantPrediction("Hi."))
    assert pairs([answer]) == []


def test_alternatives_and_key_points_are_data_between_fences() -> None:
    request = judge_request(omni_judge(), CUP)
    assert named_texts(request, "reference") == ["The blue cup.", "The one on the left."]
    assert named_texts(request, "key points") == ["1. blue OR left\n2. cup"]
    user = "".join(getattr(part, "text", "") for part in request.messages[1].parts)
    assert user.count("<<<REFERENCE 2 ") == user.count("<<<END KEY POINTS ") == 1


def test_each_alternative_and_key_point_is_in_the_key() -> None:
    one = judge_pair("a", alternatives=("b",))
    other = judge_pair("a", key_points=(("b",),))
    keys = {judge_request(omni_judge(), pair).key() for pair in (judge_pair("a"), one, other)}
    assert len(keys) == 3


def test_a_schema_asks_for_every_aspect_in_its_words() -> None:
    request = judge_request(omni_judge(structured_output=True), CUP)
    schema = request.settings["response_format"]["json_schema"]["schema"]
    assert schema["required"] == [*OMNI.aspects, "score", "justification"]
    assert schema["properties"]["redundancy"]["enum"] == ["yes", "partly", "no", "not applicable"]
    assert schema["properties"]["score"]["enum"] == [0, 1, 2, 3, 4, 5]


def test_a_judge_without_schemas_is_told_the_same_in_words() -> None:
    system = OMNI.system(TO_FIVE)
    assert all(
        f'"{name}": "<yes, partly, no or not applicable>"' in system for name in OMNI.aspects
    )
    assert '"score": <whole number from 0 to 5>' in system
    assert "[KEEP QUIET]" in system


def test_aspects_are_read_in_their_words_and_never_made_up() -> None:
    verdict = parse_verdict(json.dumps(SAID), TO_FIVE, OMNI.aspects)
    assert isinstance(verdict, Verdict)
    assert verdict.score == 3
    # "N/A" is not one of the words, and the last two were not said.
    assert verdict.aspects == {
        "question_understanding": 2,
        "semantic_alignment": 1,
        "polarity_consistency": None,
        "keypoint_coverage": 0,
    }


def test_several_samples_have_the_mean_of_each_aspect() -> None:
    spec = omni_judge(samples=2)
    later = json.dumps(SAID | {"score": 5, "keypoint_coverage": "yes"})
    records = {
        number: judge_record(spec, CUP, said, number)
        for number, said in enumerate([json.dumps(SAID), later])
    }
    verdict = decide(spec, records)
    assert isinstance(verdict, Verdict)
    assert (verdict.score, verdict.samples) == (4, (3, 5))
    assert verdict.aspects["keypoint_coverage"] == 1
    assert verdict.aspects["polarity_consistency"] is None


def test_a_reply_without_aspects_is_a_score_all_the_same(store: Store) -> None:
    done, _, found = graded(
        store, chat('{"score": 4}'), [CUP], scale=TO_FIVE, rubric=OMNI, attempts=1
    )
    assert (done.ok, found) == (1, [Verdict(4, "")])


def test_a_formula_counts_the_closest_of_several_references(store: Store) -> None:
    spec = load_spec("lexical")
    pair = judge_pair("The one on the left.", reference="Blue.", alternatives=("The left one.",))
    alone = judge_pair("The one on the left.", reference="Blue.")
    grade(store, spec, [pair, alone], environ={})
    scores = [one.score for one in verdicts(store, spec, [pair, alone]) if isinstance(one, Verdict)]
    assert scores[0] > scores[1] == 0


def test_every_scored_turn_of_the_bundled_dialogues_can_be_judged() -> None:
    items = registry.get("demo-assistant").load(None)
    answers = [
        Answer(item, 0, item.id, SCORED, prediction=AssistantPrediction("Yes.")) for item in items
    ]
    spec = load_spec("gpt-5")
    keys = {judge_request(spec, pair).key() for pair in pairs(answers)}
    assert len(keys) == len(items) == 13
