"""Raw answers to predictions: the corpus of broken answers, and what each task promises."""

import json
import time
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from score.parse.assistant import SILENCE, parse_assistant
from score.parse.choice import parse_choice
from score.parse.localization import parse_localization
from score.parse.option import LETTERS
from score.parse.prediction import ParseFailure
from score.parse.summary import parse_summary

OPTIONS = (
    "The man waves",
    "A dog barks",
    "The door closes",
    "Nobody speaks",
    "Not enough evidence",
)
CORPUS = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "parse_corpus.jsonl").read_text().splitlines()
]


def read(case):
    """What the parser makes of a case, in the corpus's own terms; None: nothing certain."""
    text = case["text"]
    if case["task"] == "choice":
        found = parse_choice(text, OPTIONS)
        if isinstance(found, ParseFailure) or found.index is None:
            return None
        return LETTERS[found.index]
    if case["task"] == "localization":
        found = parse_localization(text, case["asked"])
        if isinstance(found, ParseFailure):
            return None
        return {
            name: [one.start_s, one.end_s] if one.has_times else None for name, one in found.items()
        }
    found = parse_summary(text)
    if isinstance(found, ParseFailure):
        return None
    return {"detailed": found.detailed, "short": list(found.short)}


@pytest.mark.parametrize(
    "case", CORPUS, ids=[f"{n}-{one['task']}" for n, one in enumerate(CORPUS, 1)]
)
def test_an_answer_of_the_corpus_is_read_as_it_should(case):
    assert read(case) == case["want"], case


def test_the_corpus_is_large_enough_to_measure_with():
    assert len(CORPUS) >= 150


DAMAGE = st.sampled_from(
    ["{", "}", "[", "]", '"', "'", ",", ":", "\\", "//", "<think>", "</think>", "```", "\n", "NaN",
     '"answer_letter"', '"B"', '"questions"', '"start_s"', "83", "1:23", " to ", "(b)", "not ", "A",
     "9" * 400, "9" * 5000, "[" * 300 + "]" * 300, "s"]
)  # fmt: skip
anything = st.one_of(st.text(max_size=80), st.lists(DAMAGE, max_size=25).map("".join))


@given(anything)
@settings(max_examples=400, deadline=None)
def test_no_text_breaks_a_parser(text):
    choice = parse_choice(text, OPTIONS)
    if not isinstance(choice, ParseFailure):
        assert choice.index is None or 0 <= choice.index < len(OPTIONS)
    intervals = parse_localization(text, ["001", "002"])
    if not isinstance(intervals, ParseFailure):
        assert set(intervals) <= {"001", "002"}
    parse_summary(text)


@given(st.integers(0, 300))
def test_of_an_answer_cut_off_anywhere_nothing_wrong_is_read(length):
    whole = (
        '{"questions": [{"question_id": "001", "start_s": 83.25, "end_s": 100.5, '
        '"rationale_model": "He \\"waves\\" {twice}."}, {"question_id": "002", "start_s": 110, '
        '"end_s": 125, "rationale_model": "He sits."}]}'
    )
    found = parse_localization(whole[:length], ["001", "002"])
    right = {"001": (83.25, 100.5, 'He "waves" {twice}.'), "002": (110.0, 125.0, "He sits.")}
    for name, one in ({} if isinstance(found, ParseFailure) else found).items():
        start_s, end_s, rationale = right[name]
        assert one.start_s in (start_s, None)
        assert one.end_s in (end_s, None)
        assert one.rationale in (rationale, "")


@pytest.mark.parametrize(
    "text",
    ['{"a":' * 8000, "[{" * 8000, "[" * 30_000, "00:01 " * 6000, "1 min " * 6000, "." * 30_000,
     "<think>" * 4000, "the answer is " * 3000, '{"a":"' + "\\" * 30_000, "start 1 " * 5000],
    ids=lambda text: text[:12],
)  # fmt: skip
def test_a_model_that_repeats_itself_is_read_in_bounded_time(text):
    started = time.process_time()
    parse_choice(text, OPTIONS)
    parse_localization(text, ["001", "002"])
    parse_summary(text)
    assert time.process_time() - started < 10


def test_a_members_text_keeps_what_looks_like_json_or_a_time():
    text = '{"answer_letter": "B", "rationale": "at time: 12s, {\\"a\\": 1}, // see", "x": 1,}'
    found = parse_choice(text, OPTIONS)
    assert (found.index, found.rationale) == (1, 'at time: 12s, {"a": 1}, // see')


def test_a_problem_names_what_was_found():
    found = parse_localization('{"start_s": "soon", "end_s": 100}', ["001"])
    assert found["001"].problem == "start 'soon', end 100"
    assert parse_choice("<think>A", OPTIONS) == ParseFailure("nothing but thinking")


def test_silence_is_silence_with_or_without_brackets():
    assert parse_assistant("KEEP QUIET.").text == parse_assistant("[KEEP QUIET]").text == SILENCE
    assert parse_assistant("Please keep quiet while I think.").text.startswith("Please")
    assert isinstance(parse_assistant("<think>hm"), ParseFailure)


@pytest.mark.parametrize(
    ("stated", "read_as"),
    [
        ("0.8", 0.8),
        ("1", 1.0),
        ('"85%"', 0.85),
        ('"0.4"', 0.4),
        # A bare 85 may be per cent or nonsense.
        ("85", None),
        ('"high"', None),
        ("true", None),
        ("null", None),
        ("-0.1", None),
        ("9" * 400, None),
    ],
)
def test_confidence_is_read_where_it_is_certain_and_changes_nothing_else(stated, read_as):
    choice = parse_choice(f'{{"answer_letter": "B", "confidence": {stated}}}', OPTIONS)
    without = parse_choice('{"answer_letter": "B"}', OPTIONS)
    assert choice == msgspec.structs.replace(without, confidence=read_as)
    times = f'{{"question_id": "1", "start_s": 1, "end_s": 2, "confidence": {stated}}}'
    assert parse_localization(f'{{"questions": [{times}]}}', ["1"])["1"].confidence == read_as
