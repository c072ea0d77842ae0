"""The judges that are formulas."""

from __future__ import annotations

from pathlib import Path

import pytest

from cache.store import Store
from score.judge.grade import grade
from score.judge.local import rescaled, token_f1
from score.judge.lookup import verdicts
from score.judge.spec import Scale, load_spec
from score.judge.verdict import Verdict
from tests.builders import judge_pair


def scores(folder: Path, judge: str, *answers: str) -> list[float]:
    """Scores of answers to the reference "A man enters the shop and buys bread."."""
    spec, pairs = load_spec(judge), [judge_pair(answer) for answer in answers]
    with Store(folder / "store", create=True) as store:
        assert grade(store, spec, pairs, environ={}).complete
        found = verdicts(store, spec, pairs)
    return [verdict.score for verdict in found if isinstance(verdict, Verdict)]


def test_token_f1_counts_shared_words_as_often_as_both_have_them() -> None:
    # By hand: 4 and 3 words, "the" once and "dog" once are shared: 2·2 / (4 + 3).
    assert token_f1("The cat, the dog", "the dog barks") == pytest.approx(4 / 7)
    assert token_f1("", "words") == token_f1("a b", "c") == 0


@pytest.mark.parametrize(
    ("fraction", "scale", "score"),
    [
        (0.0, Scale(min=0, max=10), 0),
        (1.0, Scale(min=0, max=10), 10),
        (0.25, Scale(min=0, max=10), 3),
        (0.5, Scale(min=1, max=5), 3),
        (0.1234567, Scale(min=0, max=10, integer=False), 1.2346),
    ],
)
def test_a_fraction_is_rescaled_with_halves_up(fraction: float, scale: Scale, score: float) -> None:
    assert rescaled(fraction, scale) == score


def test_the_lexical_judge_grades_by_shared_words(tmp_path: Path) -> None:
    # Third: lcs "a man … bread" is 3 of 8 and 3 words, as are the shared tokens: 6/11, so 5.45.
    same = "A man enters the shop and buys bread."
    assert scores(tmp_path, "lexical", same, "Nothing alike.", "a man bread") == [10, 0, 5]


@pytest.mark.slow
def test_the_embedding_judge_grades_by_cosine(tmp_path: Path) -> None:
    same = "A man enters the shop and buys bread."
    near = "Somebody went into a store to get a loaf."
    first, second, third = scores(tmp_path, "embedding", same, near, "Quantum chromodynamics")
    assert first == 10
    assert 3 <= second <= 9
    assert third <= 2


def test_a_formula_needs_no_key_and_costs_nothing(tmp_path: Path) -> None:
    with Store(tmp_path / "store", create=True) as store:
        done = grade(store, load_spec("lexical"), [judge_pair()], environ={})
    assert (done.called, done.cost_usd, done.input_tokens) == (1, 0.0, 0)
