"""What engines hand over is fit for a record, whatever it was made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cache.record import Outcome, Record, Response, Usage
from cache.store import Store
from infer.engine import Answer
from infer.fault import cleaned
from infer.storable import storable, token_count
from tests.builders import store_request

#: Any code points: halves of surrogate pairs, too.
ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(ANY_TEXT, ANY_TEXT, st.integers())
def test_every_answer_can_be_stored(text: str, error: str, tokens: int) -> None:
    answer = Answer(
        Outcome.OK,
        Response(text=text, reasoning=text, finish_reason=text, error=error),
        Usage(input_tokens=tokens, reasoning_tokens=tokens),
        {"model": text, "chunks": [text, 1, None]},
    )
    request = store_request("any")

    Record(
        key=request.key(),
        outcome=answer.outcome,
        request=request,
        response=answer.response,
        usage=answer.usage,
        effective=answer.effective,
    ).to_sound_line()


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_text_that_can_be_stored_stays_as_it_is(text: str) -> None:
    assert storable(text) == text


def test_pairs_are_joined_and_halves_replaced() -> None:
    assert storable("a\ud83d\ude00b\ud800c\udc00") == "a\U0001f600b\ufffdc\ufffd"


def test_words_of_a_service_can_be_said_and_stored() -> None:
    assert cleaned("bad \ud83d\n thing", "") == "bad \ufffd thing"


@pytest.mark.parametrize(
    ("value", "count"),
    [
        (0, 0), (2**53 - 1, 2**53 - 1), (5.0, 5), (np.int64(4), 4), (np.float64(4), 4),
        (None, None), (-1, None), (2**53, None), (10**30, None), (5.5, None), (float("nan"), None),
        (float("inf"), None), ("5", None), (True, None), ([5], None),
    ],
)  # fmt: skip
def test_a_count_of_tokens_is_one_or_none(value: Any, count: int | None) -> None:
    found = token_count(value)

    assert (found, type(found)) == (count, type(count))


def test_counts_that_are_none_in_an_old_store_leave_gaps_in_its_table(tmp_path: Path) -> None:
    counts = [(2**63, 5), (10**30, 2**63 - 1), (-5, 0)]
    with Store(tmp_path / "store", create=True) as store:
        for number, (read, written) in enumerate(counts):
            request = store_request(f"{number}")
            usage = Usage(input_tokens=read, output_tokens=written)
            store.put(Record(key=request.key(), outcome=Outcome.OK, request=request, usage=usage))
        in_part = store.frame()
        store.seal()
        sealed = store.frame()

    for frame in (in_part, sealed):
        assert frame["input_tokens"].to_list() == [None, None, None]
        assert sorted(frame["output_tokens"].to_list()) == [0, 5, 2**63 - 1]
