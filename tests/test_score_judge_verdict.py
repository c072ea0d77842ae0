"""A judge's reply is read where its value is certain, and never bent into a score."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from score.judge.spec import Scale
from score.judge.verdict import JudgeFailure, Verdict, parse_verdict

TO_TEN = Scale(min=0, max=10, integer=True)
TO_FIVE = Scale(min=0, max=5, integer=True)
DECIMAL = Scale(min=0, max=5, integer=False)


@pytest.mark.parametrize(
    "reply",
    [
        '{"score": 7, "justification": "close"}',
        '```json\n{"score": 7}\n```',
        "```\n7\n```",
        'Here is my grade:\n{"score": 7, "justification": "close"}',
        '{"score": 7, "justification": "it {almost} fits"} Anything else?',
        "7/10",
        "7 / 10.",
        "Score: 7/10",
        "**Score:** 7",
        "I would give a score of 7 out of 10.",
        "[[7]]",
        "7",
        "7.0",
        '{"score": "7"}',
        '{"score": "7/10"}',
        '{"Score": 7.0}',
        '{"score": 7, "justification": "close",}',
        "{'score': 7, 'justification': 'close'}",
        '{"score": 7, "justification": "never ends',
        '{"verdict": {"score": 7}}',
        '<think>maybe 3/10, or {"score": 2}</think>{"score": 7}',
        '{"score": 7} I repeat: {"score": 7}',
    ],
)
def test_seven_is_read_however_it_is_wrapped(reply: str) -> None:
    verdict = parse_verdict(reply, TO_TEN)
    assert isinstance(verdict, Verdict), verdict
    assert verdict.score == 7


@pytest.mark.parametrize(
    ("reply", "scale", "reason"),
    [
        ("", TO_TEN, "empty"),
        ("  \n ", TO_TEN, "empty"),
        ("I cannot grade this", TO_TEN, "no score"),
        ("[[90]]", TO_FIVE, "outside the scale 0–5"),
        ('{"score": 11}', TO_TEN, "outside the scale"),
        ('{"score": -1}', TO_TEN, "outside the scale"),
        ("NaN", TO_TEN, "no score"),
        ('{"score": NaN}', TO_TEN, "no number"),
        ('{"score": "NaN"}', TO_TEN, "no number"),
        ('{"score": 1e999}', TO_TEN, "inf"),
        ("3.5", TO_FIVE, "no whole number"),
        ('{"score": 3.5}', TO_FIVE, "no whole number"),
        ('{"score": null}', TO_TEN, "no number"),
        ('{"score": true}', TO_TEN, "no number"),
        ('{"score": [7]}', TO_TEN, "no number"),
        ('{"score": "seven"}', TO_TEN, "no number"),
        ("7/10", TO_FIVE, "another scale"),
        ('{"score": "70/100"}', TO_TEN, "another scale"),
        ("between 6 and 8", TO_TEN, "no score"),
        ("score: 6-8", TO_TEN, "no score"),
        ("score: 70%", TO_TEN, "no score"),
        ("Correctness 6/10. Completeness 8/10.", TO_TEN, "several scores: 6, 8"),
        ('{"score": 3} or rather {"score": 7}', TO_TEN, "several scores"),
        ('{"score": 3, "score": 7}', TO_TEN, "several scores"),
        ('{"score": 1', TO_TEN, "no score"),
        ('<think>the score: 7, but', TO_TEN, "reasoning"),
        ("{" * 50_000, TO_TEN, "no score"),
        ('{"a":' * 20_000, TO_TEN, "no score"),
        ("7" * 200_000, TO_TEN, "characters"),
        ('{"score": ' + "9" * 6000 + "}", TO_TEN, ""),
    ],
)  # fmt: skip
def test_an_uncertain_reply_is_a_failure_with_its_reason(
    reply: str, scale: Scale, reason: str
) -> None:
    failure = parse_verdict(reply, scale)
    assert isinstance(failure, JudgeFailure), failure
    assert failure.status == "judge_failed"
    assert reason in failure.reason


def test_a_decimal_scale_takes_decimals() -> None:
    assert parse_verdict('{"score": 3.5}', DECIMAL) == Verdict(3.5, "")


def test_the_justification_is_kept_as_it_was_said() -> None:
    reply = '{"score": 2, "justification": "It says \\"10/10\\" of itself."}'
    assert parse_verdict(reply, TO_TEN) == Verdict(2, 'It says "10/10" of itself.')


@given(st.text(max_size=300))
def test_whatever_a_judge_says_a_score_is_on_the_scale(reply: str) -> None:
    verdict = parse_verdict(reply, TO_FIVE)
    if isinstance(verdict, Verdict):
        assert verdict.score in {0, 1, 2, 3, 4, 5}


@given(st.integers(-50, 50), st.sampled_from(["{}", '{{"score": {}}}', "[[{}]]", "{}/5"]))
def test_a_number_is_taken_as_it_is_or_not_at_all(value: int, form: str) -> None:
    verdict = parse_verdict(form.format(value), TO_FIVE)
    if 0 <= value <= 5:
        assert isinstance(verdict, Verdict)
        assert verdict.score == value
    else:
        assert isinstance(verdict, JudgeFailure)
