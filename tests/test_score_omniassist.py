"""OmniAssistBench's scores: silence by rule, no verdict is no number, means over pairs times 20."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.classes import class_names, sub_task
from bench.item import Item
from bench.omniassist import OmniAssist
from cache.export import export
from cache.imports.imported import store_answers
from cache.imports.omniassist import read_replies
from cache.record import Outcome, Record, Response
from cache.store import Store
from score.answers import STATUSES
from score.assistant import assistant_means, means_of, means_text
from score.errors import ScoreError
from score.frames import SCORE_COLUMNS
from score.judge.request import judge_request
from score.judge.spec import load_spec
from score.judged import ASPECTS, COLUMNS, JudgedRow, judged_text, read_judged, rows_of
from score.judged_cli import export_judged, import_judged
from score.judged_scores import scores_of
from score.output import write
from score.pairs import run_pairs
from score.profile import get_profile
from score.scoring import Scores, score
from tests.trees import assistant_folder, turn

PUBLISHED = Path(__file__).parent.parent / "analysis" / "published" / "tables.csv"
GPT5 = load_spec("gpt-5")

# Pairs of each major task: OmniAssistBench, Table 1, without the two open-ended real-case turns.
PAIRS = {
    "social perception": ("social", 67),
    "temporal perception": ("temporal", 47),
    "referential perception": ("referential", 49),
    "non-audio prompt following": ("non_audio_prompt", 76),
    "context-aware response": ("CR", 20),
    "proactive response": ("proactive", 133),
    "process tracking": ("process", 246),
    "real-world cases": ("real_world", 45),
}
TIERS = {sub_task(name, "blind").major: sub_task(name, "blind").tier for name in class_names()}


def published() -> dict[str, dict[str, float]]:
    """Model → group → score, of Tables 2 and 3."""
    found: dict[str, dict[str, float]] = {}
    with PUBLISHED.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["paper"] == "omniassistbench" and row["table"] in ("2", "3"):
                found.setdefault(row["model"], {})[row["group"]] = float(row["value"])
    return found


@pytest.fixture(scope="module")
def ours() -> dict[str, dict[str, float]]:
    """Model → group → the project's means, where every pair of a major task has its mean."""
    scores, items = [], {}
    for model, values in published().items():
        for major, (group, n_pairs) in PAIRS.items():
            for number in range(n_pairs):
                item = f"assistant/{group}-{number}"
                scores.append((model, item, values[group] / 20))
                items[item] = (item, major, TIERS[major])
    frame = pl.DataFrame(scores, schema=["run", "item", "value"], orient="row").with_columns(
        *(pl.lit("x").alias(name) for name in ("model", "benchmark", "topic", "cluster")),
        pl.lit("assistant").alias("task"), pl.lit("answer_judge").alias("metric"),
        pl.lit("gpt-5").alias("judge"), pl.lit(0).alias("sample"), pl.lit("").alias("reason"),
        pl.lit("scored").cast(pl.Enum(STATUSES)).alias("status"),
    ).select(SCORE_COLUMNS)  # fmt: skip
    held = pl.DataFrame(
        list(items.values()), schema=["item", "major_task", "tier"], orient="row"
    ).with_columns(pl.lit("x").alias("sub_task"))
    found: dict[str, dict[str, float]] = {}
    for row in assistant_means(frame, held).iter_rows(named=True):
        found.setdefault(row["run"], {})[row["group"]] = row["mean"]
    return found


def test_means_over_pairs_give_the_published_overall_scores(ours):
    """Ten models within 0.1. MiMo-V2-Omni's printed 53.8 is 0.2 above what its own row gives."""
    off = {model: ours[model]["overall"] - row["overall"] for model, row in published().items()}
    assert len(off) == 11
    assert off.pop("MiMo-V2-Omni") == pytest.approx(-0.2, abs=0.05)
    assert max(abs(value) for value in off.values()) < 0.1, off


@pytest.mark.parametrize("tier", ["basic", "advanced"])
def test_means_over_pairs_give_the_published_tiers(ours, tier):
    """Within 0.2, but for Gemini-3-Pro's Advanced average: the plain mean of its sub-tasks."""
    rows = published()
    off = {model: ours[model][tier] - row[tier] for model, row in rows.items()}
    if tier == "advanced":
        assert off.pop("Gemini-3-Pro") == pytest.approx(-0.34, abs=0.01)
        row = rows["Gemini-3-Pro"]
        plain = [row[name] for name in ("CR", "SER", "MER", "ST", "CT", "MT")]
        assert row[tier] == pytest.approx(sum(plain) / 6, abs=0.05)
    assert max(abs(value) for value in off.values()) < 0.2, off


# What a run says to five turns of a meeting, of which the fifth has no accepted answer.
ROWS = [
    turn("meeting", 1, **{"class": "real case", "gt_answer": "Anna spoke.", "key_points": "Anna"}),
    turn("meeting", 2, **{"class": "real case", "gt_answer": "[KEEP QUIET]", "key_points": ""}),
    turn("meeting", 3, **{"class": "real case", "gt_answer": "[KEEP QUIET]", "key_points": ""}),
    turn("meeting", 4, **{"class": "real case", "gt_answer": "Two.", "key_points": "two"}),
    turn("meeting", 5, **{"class": "real case", "gt_answer": "", "key_points": ""}),
    {"video_name": "count", "class": "dynamic counting", "gt_answer": "['Three.', '3']"},
]
SAID = [
    'It was\r Anna, "she"\nsaid.',
    "*Keep quiet*.",
    "I see a table.",
    "[KEEP QUIET]",
    "A view.",
    "Three.",
]
NAMES = [row["video_name"] for row in ROWS]


def replies(folder: Path, texts: list[str] = SAID) -> Path:
    path = folder / "m.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(
            [["video_name", "output_text", "token_retries"],
             *([name, text, n] for n, (name, text) in enumerate(zip(NAMES, texts, strict=True)))]
        )  # fmt: skip
    return path


@pytest.fixture
def made(tmp_path: Path):
    items = OmniAssist("omniassist").load(assistant_folder(tmp_path / "data", *ROWS, media=False))
    with Store(tmp_path / "store", create=True) as store:
        store_answers(store, read_replies(replies(tmp_path)))
        yield store, items


def judge_says(store: Store, items: list[Item], *texts: str) -> None:
    """Store what the judge says to each pair, in their order; each time it is asked."""
    for pair, text in zip(run_pairs(store, "m", items), texts, strict=True):
        for sample in range(GPT5.most_requests):
            request = judge_request(GPT5, pair, sample)
            store.put(
                Record(
                    key=request.key(), request=request, outcome=Outcome.OK,
                    response=Response(text=text), created="2026-01-01T00:00:00.000Z",
                )
            )  # fmt: skip
    store.flush()


def verdict(value: Any, **aspects: Any) -> str:
    said = dict.fromkeys(ASPECTS, "yes") | aspects
    return json.dumps(said | {"score": value, "justification": "why"})


def scored(store: Store, items: list[Item], profile: str = "strict") -> Scores:
    return score(store, items, ["m"], judges=[GPT5], profile=get_profile(profile))


def cells(found: Scores) -> dict[str, tuple[float | None, str]]:
    rows = found.scores.filter(pl.col("metric") == "answer_judge")
    return {
        item.removeprefix("assistant/"): (value, status)
        for item, value, status in rows.select("item", "value", "status").iter_rows()
    }


def test_silence_where_it_is_right_needs_no_judge_and_all_else_goes_to_it(made):
    store, items = made
    pairs = run_pairs(store, "m", items)
    assert [pair.item.removeprefix("assistant/") for pair in pairs] == [
        "meeting-seg1", "meeting-seg3", "meeting-seg4", "count"
    ]  # fmt: skip
    assert [pair.reference for pair in pairs][1] == "[KEEP QUIET]"
    assert [pair.answer for pair in pairs][2] == "[KEEP QUIET]"
    assert pairs[3].alternatives == ("3",)
    before = cells(scored(store, items))
    assert before["meeting-seg2"] == (5.0, "scored")
    assert before["meeting-seg1"] == (None, "missing")


@pytest.mark.parametrize("profile", ["strict", "omniassist-reference"])
def test_what_a_judge_did_not_say_is_no_number_and_the_open_ended_turn_is_in_no_mean(made, profile):
    store, items = made
    judge_says(
        store,
        items,
        verdict(4),
        verdict("N/A"),
        "no",
        verdict(5, redundancy="N/A", silence_protocol=""),
    )
    found = scored(store, items, profile)
    assert cells(found) == {
        "meeting-seg1": (4.0, "scored"),
        "meeting-seg2": (5.0, "scored"),
        "meeting-seg3": (None, "judge_failed"),
        "meeting-seg4": (None, "judge_failed"),
        "count": (5.0, "scored"),
    }
    means = {row["group"]: row for row in means_of(found).iter_rows(named=True)}
    # (4 + 5 + 5) / 3 × 20 and, with the two that have no verdict as 0, (4 + 5 + 5) / 5 × 20.
    overall, case = means["overall"], means["meeting"]
    assert (overall["mean"], overall["mean_all"]) == pytest.approx((280 / 3, 56.0))
    assert (overall["n_scored"], overall["n_expected"]) == (3, 5)
    assert (case["mean"], case["n_scored"], case["n_expected"]) == (90.0, 2, 4)
    assert set(means) == {
        "overall", "basic", "real-world", "temporal perception", "real-world cases",
        "dynamic counting", "meeting",
    }  # fmt: skip
    assert "93.3 (3/5)" in means_text(means_of(found))


def test_aspects_in_any_case_are_read_and_one_without_an_answer_is_left_out(made):
    store, items = made
    said = verdict(3, question_understanding="yes", redundancy="Partly.", silence_protocol="")
    judge_says(store, items, said, *[verdict(1)] * 3)
    found = scored(store, items)
    rows = rows_of(found.verdicts, items, "m", "gpt-5")
    assert rows[0].aspects["question_understanding"] == 2
    assert rows[0].aspects["redundancy"] == 1
    assert "silence_protocol" not in rows[0].aspects


def test_our_verdicts_leave_as_a_judged_file_and_come_back_as_the_same_scores(made, tmp_path):
    store, items = made
    judge_says(store, items, verdict(4, redundancy="not applicable"), "no", verdict(0), verdict(5))
    found = scored(store, items)
    path = tmp_path / "m.csv"
    path.write_bytes(judged_text(rows_of(found.verdicts, items, "m", "gpt-5")).encode())

    back = scores_of({"m": read_judged(path)}, items, "gpt-5", "omniassist")

    assert cells(back) == cells(found)
    assert [row.score for row in read_judged(path)] == [4, 5, -1, 0, 5]
    ours, theirs = (means_of(one).drop("model") for one in (found, back))
    assert ours.equals(theirs)
    assert judged_text(rows_of(back.verdicts, items, "m", "gpt-5")).encode() == path.read_bytes()


def test_the_commands_write_and_take_a_judged_file_of_a_judge_with_its_scale(made, tmp_path):
    store, items = made
    judge_says(store, items, *[verdict(3)] * 4)
    lexical = load_spec("lexical")
    write(score(store, items, ["m"], judges=[GPT5, lexical]), tmp_path / "scores")
    data = ["--data", str(tmp_path / "data"), "--json"]
    leave = [str(tmp_path / "scores"), "--run", "m", "--out", str(tmp_path / "out.csv"), *data]

    left = CliRunner().invoke(export_judged, ["omniassist", *leave, "--judge", "gpt-5"])
    refused = CliRunner().invoke(export_judged, ["omniassist", *leave, "--judge", "lexical"])
    back = ["--judge", "gpt-5", "--out", str(tmp_path / "back")]
    taken = CliRunner().invoke(
        import_judged, ["omniassist", str(tmp_path / "out.csv"), *back, *data]
    )

    assert (left.exit_code, json.loads(left.stdout)["rows"]) == (0, 5)
    assert "scale 0 to 10" in str(refused.exception)
    assert taken.exit_code == 0, taken.output
    overall = json.loads(taken.stdout)["assistant"][0]
    assert (overall["run"], overall["mean"]) == ("out", pytest.approx((4 * 3 + 5) / 5 * 20))
    assert pl.read_parquet(tmp_path / "back" / "scores.parquet").height == 5


def test_a_reply_file_comes_back_as_it_was(made, tmp_path):
    store, _ = made
    out = tmp_path / "out.csv"
    assert export(store, out, "omniassist", run="m").records == len(ROWS)
    both = [list(csv.reader(path.open(newline=""))) for path in (tmp_path / "m.csv", out)]
    assert both[0] == both[1]


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
JUDGED = st.builds(
    JudgedRow,
    video_name=st.from_regex(r"[a-z]{1,6}(-seg[1-9])?", fullmatch=True),
    video_class=TEXTS,
    aspects=st.fixed_dictionaries(
        dict.fromkeys(ASPECTS, st.sampled_from([2.0, 1.0, 0.0, -1.0, None]))
    ),
    score=st.sampled_from([-1.0, 0.0, 1.0, 2.5, 5.0]),
    rationale=TEXTS,
)


@settings(max_examples=50, deadline=None)
@given(rows=st.lists(JUDGED, unique_by=lambda row: row.video_name))
def test_a_judged_file_is_read_as_it_was_written(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("judged") / "m.csv"
    path.write_bytes(judged_text(rows).encode())
    assert read_judged(path) == rows


# (a row's change, what the message says)
BAD = [
    ({"score": "6"}, "line 2: score is '6'"),
    ({"score": "x"}, "expected 0 to 5, or -1"),
    ({"redundancy": "3"}, "line 2: redundancy is '3'"),
    ({"video_name": " "}, "video_name is empty"),
]


@pytest.mark.parametrize(("change", "says"), BAD)
def test_a_row_that_is_no_verdict_names_its_line(tmp_path, change, says):
    row = dict.fromkeys(COLUMNS, "1") | {"video_name": "a"} | change
    path = tmp_path / "m.csv"
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerow(row)
    with pytest.raises(ScoreError, match=says):
        read_judged(path)


def test_words_in_a_judged_file_are_read_and_a_missing_column_or_strange_video_is_named(
    made, tmp_path
):
    _, items = made
    path = tmp_path / "j.csv"
    path.write_text(
        ",".join(COLUMNS) + "\nelsewhere,x,yes,No,N/A,partly,,Not Applicable,2.0,N/A,r\n"
    )
    [row] = read_judged(path)
    assert list(row.aspects.values()) == [2, 0, -1, 1, None, -1, 2]
    assert row.score == -1
    with pytest.raises(ScoreError, match="assistant/elsewhere"):
        scores_of({"j": [row]}, items, "gpt-5", "omniassist")
    path.write_text("video_name,score\na,1\n")
    with pytest.raises(ScoreError, match="rationale"):
        read_judged(path)
