"""Rates of a run, from when its answers were there and not from when they were heard of."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from cache.record import Outcome
from infer.actor import Done
from infer.progress import Rates, follow


def done(at_s: float, answer_s: float, outcome: Outcome = Outcome.OK) -> Done:
    return Done("k", outcome, "", 0.0, answer_s, at_s, 10, 5, "here")


def noted(answers: Iterable[Done]) -> Rates:
    rates = Rates(total=100)
    for one in answers:
        rates.note(one)
    return rates


def test_answers_that_are_heard_of_at_once_are_counted_from_the_first_question_on() -> None:
    # Two at a time, 2 s each: asked at 100, 100, 102, 102; answered by 104.
    rates = noted([done(102, 2), done(102, 2), done(104, 2), done(104, 2, Outcome.INFRA_ERROR)])

    assert rates.per_s == pytest.approx(1.0)
    assert str(rates) == "4 of 100, 1 failed, 1.00/s, 5 tokens/s, 1:36 left"


def test_a_moment_says_nothing_of_the_speed() -> None:
    assert noted([]).per_s is None
    assert noted([done(100.0, 0.00001), done(100.00002, 0.00001)]).per_s is None


def test_answers_pass_through_and_a_line_says_how_far_they_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answers = [done(100 + n, 1.0) for n in range(3)]

    assert list(follow(answers, Rates(3), "model on run", every_s=0.0)) == answers

    assert "model on run: 3 of 3, 1.00/s" in capsys.readouterr().err
