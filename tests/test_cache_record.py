"""A record's line: one line, its own check, key and outcome at fixed places."""

from __future__ import annotations

import hashlib
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cache.errors import RecordError
from cache.record import Outcome, Producer, Record, Response, Times, Usage, parse_line
from tests.builders import store_record

RECORD = store_record(
    effective={"rung": 1, "frames": [0.0, 0.5]},
    usage=Usage(input_tokens=10),
    times=Times(answer_s=0.25),
    producer=Producer(host="node-1", job="17_3", versions={"vllm": "0.32.0"}),
)


def test_a_line_reads_back_as_its_record():
    assert parse_line(RECORD.to_line()) == RECORD


def test_the_digest_covers_every_byte_before_it():
    line = RECORD.to_line()
    body, digest = line[:-77], line[-66:-2]
    assert line[-77:-66] == b',"digest":"'
    assert hashlib.sha256(body).hexdigest().encode() == digest
    assert json.loads(line)["digest"] == digest.decode()


def test_key_and_outcome_stand_at_fixed_places():
    line = RECORD.to_line()
    assert line[:8] == b'{"key":"'
    assert line[8:72] == RECORD.key.encode()
    assert line[72:88].startswith(b'","outcome":"ok"')


@pytest.mark.parametrize("at", range(0, len(RECORD.to_line()), 7))
def test_a_changed_byte_anywhere_is_found(at):
    line = bytearray(RECORD.to_line())
    line[at] ^= 1
    with pytest.raises(RecordError):
        parse_line(bytes(line))


@pytest.mark.parametrize("size", [0, 1, 60, 200, -1, -2, -70])
def test_a_cut_line_is_found(size):
    with pytest.raises(RecordError, match="cut off"):
        parse_line(RECORD.to_line()[:size])


def test_a_line_under_the_key_of_another_request_is_refused():
    line = msgspec.structs.replace(RECORD, key="0" * 64).to_line()
    with pytest.raises(RecordError, match="does not belong"):
        parse_line(line)


def test_members_that_a_later_version_adds_to_a_record_are_passed_over():
    body = RECORD.to_line()[:-77] + b',"mood":{"of":"tomorrow"}'
    line = body + b',"digest":"' + hashlib.sha256(body).hexdigest().encode() + b'"}'
    assert parse_line(line) == RECORD


def test_a_request_with_a_member_of_a_later_version_is_not_taken_for_another():
    """Its key cannot be checked here, so it is not served as something it is not."""
    body = RECORD.to_line()[:-77].replace(b'"request":{', b'"request":{"lens":"wide",')
    line = body + b',"digest":"' + hashlib.sha256(body).hexdigest().encode() + b'"}'
    with pytest.raises(RecordError, match="lens"):
        parse_line(line)


def test_only_what_a_repeat_may_change_is_asked_again():
    assert {outcome for outcome in Outcome if not outcome.is_hit} == {
        Outcome.OUT_OF_MEMORY,
        Outcome.TIMEOUT,
        Outcome.INFRA_ERROR,
    }


records = st.builds(
    store_record,
    question=st.text(max_size=20),
    response=st.builds(Response, text=st.text(), reasoning=st.text(), error=st.text()),
    outcome=st.sampled_from(Outcome),
    created=st.text(max_size=10),
)


@given(records)
def test_a_line_holds_no_newline_and_reads_back(record: Record):
    line = record.to_line()
    assert b"\n" not in line
    assert parse_line(line) == record
