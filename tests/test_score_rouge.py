"""ROUGE-L equals rouge-score to the last bit, on any text."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from score.rouge import RougeL

REFERENCE = RougeScorer(["rougeL"], use_stemmer=True)
OURS = RougeL()

# Words with the endings that Porter's rules know, and with letters that lower case changes.
words = st.one_of(
    st.sampled_from(
        [
            "running",
            "flies",
            "denied",
            "ponies",
            "caresses",
            "sky",
            "dying",
            "generalizations",
            "relational",
        ]
    ),
    st.sampled_from(
        [
            "hopping",
            "happy",
            "formalize",
            "electricity",
            "adjustment",
            "3rd",
            "12",
            "I'm",
            "café",
            "naïve",
            "Ünter",
        ]
    ),
    st.from_regex(r"[A-Za-z]{1,12}(ing|ed|ies|ational|ness|ly|s)?", fullmatch=True),
    st.text(max_size=8),
)
texts = st.one_of(st.lists(words, max_size=40).map(" ".join), st.text(max_size=120))


@given(texts, texts)
@settings(max_examples=300, deadline=None)
@example("", "")
@example("a", "")
@example(
    "\u212aELVIN", "kelvin \u0130stanbul \ufb01ne \u017foft"
)  # letters that become ASCII in lower case
@example("a_b-c'd", "a b c d")
@example("the the the", "the")
def test_every_pair_of_texts_has_the_same_bits(reference, prediction):
    expected = REFERENCE.score(reference, prediction)["rougeL"].fmeasure
    assert OURS.f1(reference, prediction) == expected


def test_a_text_without_words_has_zero():
    assert OURS.f1("…", "A man waves.") == 0.0


def test_scores_come_in_the_order_of_the_pairs():
    found = OURS.scores(["a b c d", "x", "a b"], ["a c d", "y", "a b"])
    # P 3/3, R 3/4: F1 = 2 · 0.75 / 1.75, by hand.
    assert found.tolist() == pytest.approx([6 / 7, 0.0, 1.0])
