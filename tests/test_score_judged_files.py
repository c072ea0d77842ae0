"""Judged files come back as they were, and what is printed of scores is the paper's mean."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from bench.item import Item
from bench.omniassist import OmniAssist
from cache.imports.imported import store_answers
from cache.imports.omniassist import read_replies
from cache.record import Outcome, Record, Response
from cache.store import Store
from rejudge import cli
from score.assistant import LEVELS, means_text
from score.errors import OutputUnwritable, ScoreError
from score.judge.request import judge_request
from score.judge.spec import load_spec
from score.judged import ASPECTS, COLUMNS, read_judged, read_runs, rows_of, write_judged
from score.pairs import run_pairs
from score.profile import STRICT
from score.scoring import Scores, score, with_intervals
from score.summary import as_text, summarise
from tests.trees import assistant_folder, turn

GPT5 = load_spec("gpt-5")
CASE = {"class": "real case"}
ROWS = [
    turn("meeting", 1, **CASE, gt_answer="Anna spoke.", key_points="Anna"),
    turn("meeting", 2, **CASE, gt_answer="[KEEP QUIET]", key_points=""),
    turn("meeting", 3, **CASE, gt_answer="[KEEP QUIET]", key_points=""),
    turn("meeting", 4, **CASE, gt_answer="Two.", key_points="two"),
    turn("meeting", 5, **CASE, gt_answer="", key_points=""),
    {"video_name": "count", "class": "dynamic counting", "gt_answer": "Three."},
]
# A turn that is in no mean, other words for a class, aspects beside no verdict, an order of its
# own, and no row of meeting-seg2 and meeting-seg4.
JUDGED = [
    ["meeting-seg5", "real case", *"2101200", "3", "open-ended"],
    ["count.mp4", "Dynamic Counting", "2", "", "-1", "0", "1", "2", "2", "4", 'say "3",\r\nor'],
    ["meeting-seg1", "real case", "2", "-1", "1", "0", "2", "", "1", "-1", "content filter"],
    ["meeting-seg3", "real case", *["-1"] * 7, "-1", ""],
]  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return assistant_folder(tmp_path / "data", *ROWS, media=False)


def written(path: Path, rows: list[list[str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    return path


def run(*command: object, expect: int = 0) -> str:
    done = CliRunner().invoke(cli, [str(word) for word in command])
    assert done.exit_code == expect, done.output
    return done.stdout


def taken(path: Path, data: Path, out: Path) -> Path:
    run("score", "import", "omniassist", path, "--data", data, "--judge", "gpt-5", "--out", out)
    return out


def left(scores: Path, data: Path, name: str, out: Path) -> Path:
    run("score", "export", "omniassist", scores, "--data", data, "--judge", "gpt-5",
        "--run", name, "--out", out)  # fmt: skip
    return out


def test_every_row_of_a_judged_file_comes_back_field_by_field_and_no_other(data, tmp_path):
    path = written(tmp_path / "m.csv", JUDGED)
    first = taken(path, data, tmp_path / "first")
    back = left(first, data, "m", tmp_path / "x.csv")
    with back.open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [list(COLUMNS), *JUDGED]

    again = taken(back.rename(tmp_path / "back.csv"), data, tmp_path / "again")
    frames = [
        pl.read_parquet(folder / f"{table}.parquet").drop("run", "model")
        for folder in (first, again)
        for table in ("scores", "verdicts")
    ]
    assert frames[0].equals(frames[2])
    assert frames[1].equals(frames[3])
    statuses = dict(frames[0].select("item", "status").iter_rows())
    assert statuses == {
        "assistant/meeting-seg1": "judge_failed",
        "assistant/meeting-seg2": "missing",
        "assistant/meeting-seg3": "judge_failed",
        "assistant/meeting-seg4": "missing",
        "assistant/count": "scored",
    }


def test_what_is_kept_is_not_given_for_scores_that_were_made_otherwise(data, tmp_path):
    scores = taken(written(tmp_path / "m.csv", JUDGED), data, tmp_path / "scores")
    said = tmp_path / "replies" / "m.csv"
    said.parent.mkdir()
    said.write_text("video_name,output_text\nmeeting-seg2,[KEEP QUIET]\n")
    store = tmp_path / "store"
    run("cache", "import", said, "--format", "omniassist", "--store", store)
    run("score", "omniassist", "--data", data, "--store", store, "--out", scores,
        "--judge", "gpt-5", "--no-similarity")  # fmt: skip
    back = left(scores, data, "m", tmp_path / "back.csv")
    assert [(row.video_name, row.video_class, row.score) for row in read_judged(back)] == [
        ("meeting-seg2", "real case", 5.0)
    ]


def test_tables_are_filled_from_a_judged_file(data, tmp_path):
    scores = taken(written(tmp_path / "m.csv", JUDGED), data, tmp_path / "scores")
    signed = json.loads((scores / "signature.json").read_text())
    assert signed["judges"]["gpt-5"]["scale"] == {"min": 0.0, "max": 5.0, "integer": True}
    # One pair of five has a verdict: 4 of 5.
    assert "80.0" in run("tables", scores, "--paper", "omniassistbench", "--table", "2")


def test_a_judged_file_that_cannot_be_written_is_one_message(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputUnwritable, match="cannot be written"):
        write_judged([], tmp_path / "file" / "m.csv")
    write_judged([], tmp_path / "new" / "m.csv")
    assert read_judged(tmp_path / "new" / "m.csv") == []


def test_columns_of_a_judged_file_that_are_not_taken_in_are_named(tmp_path, caplog):
    path = tmp_path / "m.csv"
    row = dict.fromkeys(COLUMNS, "1") | {"video_name": "a", "": "0", "model": "x"}
    path.write_text(",".join(row) + "\n" + ",".join(row.values()) + "\n")
    assert [one.video_name for one in read_judged(path)] == ["a"]
    assert caplog.messages[0].endswith("not taken in are the columns '', 'model'")


def test_two_files_of_one_name_are_two_runs_of_one_name(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        written(tmp_path / name / "m.csv", JUDGED)
    with pytest.raises(ScoreError, match="two files are named m"):
        read_runs([tmp_path / "a" / "m.csv", tmp_path / "b" / "m.csv"])


# Said to the six turns; the fourth reply is empty.
SAID = ["Anna spoke.", "[KEEP QUIET]", "I see a table.", "", "A view.", "Three."]


@pytest.fixture
def made(data: Path, tmp_path: Path):
    path = tmp_path / "m.csv"
    names = [row["video_name"] for row in ROWS]
    with path.open("w", newline="") as file:
        rows = zip(names, SAID, strict=True)
        csv.writer(file).writerows([["video_name", "output_text"], *rows])
    items = OmniAssist("omniassist").load(data)
    with Store(tmp_path / "store", create=True) as store:
        store_answers(store, read_replies(path))
        yield store, items


def judged(store: Store, items: list[Item], *values: int | str) -> Scores:
    """Score after the judge said these to the first pairs; a word cannot be read."""
    for pair, value in zip(run_pairs(store, "m", items), values, strict=False):
        said = dict.fromkeys(ASPECTS, "yes") | {"score": value, "justification": "why"}
        for sample in range(GPT5.most_requests):
            request = judge_request(GPT5, pair, sample)
            store.put(
                Record(
                    key=request.key(), request=request, outcome=Outcome.OK,
                    response=Response(text=json.dumps(said)), created="2026-01-01T00:00:00.000Z",
                )
            )  # fmt: skip
    store.flush()
    return score(store, items, ["m"], judges=[GPT5])


def test_an_empty_reply_is_no_silence_and_has_no_score(made):
    """The token is what says silence. So its turn is in no mean, and 0 where failures are wrong."""
    store, items = made
    found = judged(store, items, 4, 0, 5)
    row = found.scores.filter(
        pl.col("item") == "assistant/meeting-seg4", pl.col("metric") == "answer_judge"
    )
    assert row.select("status", "reason").row(0) == ("unparsed", "the response is empty")


def test_our_judged_file_has_the_replies_that_the_judge_was_heard_on(made):
    """An empty reply and a pair that was not judged have no row; the class is the file's word."""
    store, items = made
    found = judged(store, items, 4, "none")
    rows = {row.video_name: row for row in rows_of(found.verdicts, items, "m", "gpt-5")}
    assert {name: row.score for name, row in rows.items()} == {
        "meeting-seg1": 4.0, "meeting-seg2": 5.0, "meeting-seg3": -1.0
    }  # fmt: skip
    assert {row.video_class for row in rows.values()} == {"real case"}


def test_what_is_printed_first_is_the_mean_over_pairs_in_points_of_100(made):
    """(4 + 5 + 0 + 5) / 4 × 20 = 70, of five (4 + 5 + 0 + 5) / 5 × 20 = 56.

    Over topics it would be ((4 + 5 + 0) / 3 + 5) / 2 = 4.
    """
    store, items = made
    found = with_intervals(judged(store, items, 4, 0, 5))
    rows = summarise(found, STRICT)
    [row] = [row for row in rows if row["metric"] == "answer_judge"]
    assert (row["headline"], row["headline_all"], row["unit"]) == (70.0, 56.0, "of 100")
    assert row["mean"] == 4.0
    kept = found.estimates.filter(by="", mean="over-items", reading="scored-only")
    [bounds] = kept.filter(metric="answer_judge").select("low", "high").iter_rows()
    if bounds[0] is not None:
        assert (row["headline_low"], row["headline_high"]) == tuple(20 * one for one in bounds)
    text = as_text([row], found.signature)
    assert " 70.0 " in text
    assert " 56.0 " in text
    assert "of 100" in text
    assert "Means are over question–answer pairs" in text
    assert "macro" not in text


def test_many_runs_with_long_names_can_be_told_apart():
    runs = [f"omniassist-qwen3-omni-30b-a3b-instruct-at-1-fps-{n:02}" for n in range(12)]
    means = pl.DataFrame(
        [(run, "gpt-5", "overall", "overall", 685, 685, 100.0) for run in runs],
        schema=["run", "judge", "level", "group", "n_scored", "n_expected", "mean"],
        orient="row",
    ).with_columns(pl.col("level").cast(pl.Enum(LEVELS)))
    text = means_text(means)
    assert "…" not in text
    assert text.count("100.0 (685)") == 12
    assert all(f"-{n:02}" in text for n in range(12))
