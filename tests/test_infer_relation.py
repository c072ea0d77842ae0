"""A temporal question is split into the event asked for, the relation and the anchor."""

from __future__ import annotations

import pytest

from infer.relation import split_question

CASES = {
    "When does she sit down after the doctor knocks?": (
        "When does she sit down",
        "after",
        "the doctor knocks",
    ),
    "After the doctor knocks, when does she sit down?": (
        "when does she sit down",
        "after",
        "the doctor knocks",
    ),
    "What is said immediately after the bell rings?": ("What is said", "after", "the bell rings"),
    "Before the bell rings, what is written?": ("what is written", "before", "the bell rings"),
    "What does he hold while she speaks?": ("What does he hold", "during", "she speaks"),
    "When is the fee named?": ("When is the fee named?", "", ""),
}


@pytest.mark.parametrize("question", CASES)
def test_a_question_is_split_at_its_relation(question: str) -> None:
    assert split_question(question) == CASES[question]
