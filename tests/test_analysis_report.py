"""A report's files: what is in them, and what is not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import OutputUnwritable
from analysis.report.board import boards
from analysis.report.catalog import metrics_of
from analysis.report.failed import endings, reasons
from analysis.report.pages import signature_text
from analysis.report.script import as_json, as_script
from analysis.report.shown import Metric, number
from analysis.report.site import make_report
from analysis.report.source import open_source
from analysis.report.texts import MOST
from rejudge import cli
from score.answers import STATUSES
from score.errors import ScoresMissing
from tests.reported import HOSTILE, LONG, Folders, demo_folders
from tests.score_folders import run_rows, score_folder

MB = 1_000_000


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    return demo_folders(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def site(folders: Folders) -> Path:
    out = folders.scores.with_name("site")
    make_report(folders.scores, out, store=folders.store)
    return out


def call(*words: object) -> Result:
    return CliRunner().invoke(cli, ["report", *map(str, words)])


def data(site: Path, name: str) -> Any:
    """What a data file hands over."""
    text = (site / "data" / f"{name}.js").read_text("utf-8")
    found = re.fullmatch(r'rejudge\.put\("([^"]+)",(.*)\);\n', text, re.DOTALL)
    assert found is not None
    assert found[1] == name
    return json.loads(found[2])


def entries(site: Path) -> dict[str, Any]:
    """Every item's entry."""
    chunks = sorted((site / "data").glob("chunk-*.js"))
    return {entry["id"]: entry for path in chunks for entry in data(site, path.stem)}


@given(st.text())
def test_any_text_comes_back_from_its_script_and_cannot_leave_it(text: str) -> None:
    script = as_script("name", as_json([text])).decode("utf-8")
    assert not set("<>&\u2028\u2029") & set(script)
    assert json.loads(script.removeprefix('rejudge.put("name",').removesuffix(");\n")) == [text]


def test_a_lone_surrogate_is_written_as_its_escape() -> None:
    assert b'["\\udc80"]' in as_script("name", as_json(["\udc80"]))


def test_every_item_has_the_answer_of_every_run(site: Path, folders: Folders) -> None:
    found = entries(site)
    assert list(found) == [item.id for item in folders.items]
    assert {len(entry["answers"]) for entry in found.values()} == {2}


def test_an_answer_has_its_text_verdicts_scores_and_error_type(
    site: Path, folders: Folders
) -> None:
    item = folders.named("localization")[0]
    _, beta = entries(site)[item.id]["answers"]
    assert json.loads(beta["said"]["text"])["questions"][0]["rationale_model"] == HOSTILE
    assert beta["interval"] == [18.0, 27.0]
    assert [one["judge"] for one in beta["verdicts"]] == ["lexical", "strict"]
    assert "a formula" in beta["verdicts"][0]["justification"]
    assert [kind for _, kind, _ in beta["errors"]] == ["too_late", "too_late"]
    metrics = data(site, "catalog")["metrics"]
    scores = {metrics[at]["name"]: value for at, value, *_ in beta["scores"]}
    assert scores["recall_0.5"] == 0.0


def test_an_answer_that_failed_says_how(site: Path) -> None:
    failed = [e["answers"][1] for e in entries(site).values() if e["answers"][1]["reason"]]
    timeouts = [answer for answer in failed if answer["reason"] == "timeout"]
    assert timeouts
    assert {answer["status"] for answer in timeouts} == {"infra_failed"}
    assert {answer["said"]["outcome"] for answer in timeouts} == {"timeout"}


def test_a_text_of_a_megabyte_lies_in_files_of_its_own(site: Path) -> None:
    summary = next(iter(entries(site).values()))
    text = summary["answers"][1]["said"]["text"]
    assert len(text["head"]) == MOST
    whole = "".join(data(site, name) for name in text["files"])
    assert len(whole) == text["length"]
    assert json.loads(whole)["summary_detailed"] == LONG


def test_no_file_of_a_page_is_over_five_megabytes(site: Path) -> None:
    sizes = {p: p.stat().st_size for p in site.rglob("*") if p.suffix in (".js", ".html", ".css")}
    assert max(sizes.values()) < 5 * MB


def test_the_catalog_says_in_one_character_how_each_answer_ended(site: Path) -> None:
    catalog = data(site, "catalog")
    items = data(site, "items-000")
    assert [len(states) for states in catalog["states"]] == [len(items)] * 2
    found = entries(site)
    infra = "0123456789abcdefghijklmnopqrstuv"
    bit = 1 << catalog["statuses"].index("infra_failed")
    for (name, *_), state in zip(items, catalog["states"][1], strict=True):
        failed = found[name]["answers"][1]["status"] == "infra_failed"
        assert bool(infra.index(state) & bit) == failed, name


def test_values_of_a_metric_are_those_of_the_scores(site: Path, folders: Folders) -> None:
    catalog = data(site, "catalog")
    at = next(i for i, one in enumerate(catalog["metrics"]) if one["name"] == "accuracy")
    alpha, beta = data(site, f"metric-{at:03}")
    assert alpha == [100] * len(folders.named("choice"))
    assert beta[0] == 0


def test_the_beginning_of_each_key_is_found_by_its_place(site: Path) -> None:
    catalog = data(site, "catalog")
    width = catalog["keyDigits"]
    digits = data(site, "keys-001")
    for place, entry in enumerate(entries(site).values()):
        assert entry["answers"][1]["key"][:width] == digits[place * width : (place + 1) * width]


def test_names_are_text_in_the_pages_and_never_markup(site: Path) -> None:
    page = (site / "index.html").read_text("utf-8")
    assert "&lt;b&gt;beta&lt;/b&gt;" in page
    assert "<b>beta" not in page


def test_the_overview_has_means_with_intervals_agreement_and_failures(site: Path) -> None:
    page = (site / "index.html").read_text("utf-8")
    assert "<strong>100.0</strong>" in page
    assert "Headline metrics" in page
    assert "Multiple choice: Accuracy, %, by topic" in page
    assert "lexical (rows) and strict (columns)" in page
    assert 'href="answers.html#run=beta&amp;task=choice&amp;status=infra_failed"' in page
    assert "None was made." in page


def test_an_error_in_seconds_has_no_mean_in_which_failures_count(folders: Folders) -> None:
    with open_source(folders.scores, None, None) as source:
        (board,) = [one for one in boards(source, metrics_of(source)) if one.id == "localization"]
    at = [label for label, _ in board.columns].index("Error of start, s")
    alpha, beta = (row.cells[at] for row in board.rows)
    assert (alpha["scored-only"].text, alpha["failures-as-wrong"].text) == ("0.0", "0.0")
    assert beta["failures-as-wrong"].text == "–"
    scored = pl.read_parquet(folders.scores / "scores.parquet").filter(
        pl.col("run") == "beta", pl.col("metric") == "mae_start", pl.col("value").is_not_null()
    )
    assert beta["scored-only"].count == f"{len(scored)}/{len(folders.named('localization'))}"


def test_failures_of_a_judge_are_counted_with_their_reason(
    folders: Folders, tmp_path: Path
) -> None:
    for table in folders.scores.iterdir():
        (tmp_path / table.name).write_bytes(table.read_bytes())
    scores = pl.read_parquet(tmp_path / "scores.parquet")
    here = (pl.col("run") == "alpha") & (pl.col("judge") == "strict") & (pl.col("task") == "choice")
    status = pl.when(here).then(pl.lit("judge_failed")).otherwise(pl.col("status").cast(pl.String))
    # Edited by hand: the signature knows another content.
    made = json.loads((tmp_path / "signature.json").read_text("utf-8"))
    (tmp_path / "signature.json").write_text(json.dumps(made | {"tables": {}}))
    scores.with_columns(
        pl.when(~here).then("value").alias("value"),
        status.cast(scores.schema["status"]).alias("status"),
        pl.when(here).then(pl.lit("unreadable")).otherwise("reason").alias("reason"),
    ).write_parquet(tmp_path / "scores.parquet")
    with open_source(tmp_path, None, None) as source:
        ended = next(one for one in endings(source, STATUSES) if one.task == "Multiple choice")
        reason = next(one for one in reasons(source) if one.run == "alpha")
    n = len(folders.named("choice"))
    counts = dict(zip(STATUSES, (count.n for count in ended.counts), strict=True))
    assert (ended.run, ended.n, counts["scored"], counts["judge_failed"]) == ("alpha", n, n, n)
    assert (reason.status, reason.reason, reason.n) == ("judge_failed", "unreadable", n)


def test_of_a_path_in_the_signature_only_the_last_part_is_shown() -> None:
    shown = signature_text({"similarity": {"model": "/home/me/encoders/mini"}, "rouge_l": "F1"})
    assert json.loads(shown) == {"similarity": {"model": "mini"}, "rouge_l": "F1"}


def test_comparisons_are_read_from_the_folder_and_from_right_below(
    folders: Folders, tmp_path: Path
) -> None:
    for table in folders.scores.iterdir():
        (tmp_path / table.name).write_bytes(table.read_bytes())
    words = ["compare", str(tmp_path), "--baseline", "beta", "--metric", "accuracy"]
    words += ["--by", "topic", "--resamples", "200", "--out", str(tmp_path / "compared")]
    assert CliRunner().invoke(cli, words).exit_code == 0
    make_report(tmp_path, tmp_path / "site")
    page = (tmp_path / "site" / "index.html").read_text("utf-8")
    assert "Compared with beta" in page
    assert "topic: 01_Patient-Doctor_Consultations" in page
    (tmp_path / "compared" / "comparison.json").write_text("{")
    with pytest.raises(ScoresMissing, match=r"comparison\.json or a table beside it cannot be"):
        make_report(tmp_path, tmp_path / "site")


def test_bundled_media_are_copied_and_linked_from_the_report(site: Path) -> None:
    links = {entry["media"]["video"] for entry in entries(site).values()}
    assert all((site / link).is_file() for link in links)


def test_media_of_a_data_folder_are_linked_by_a_relative_path(
    folders: Folders, tmp_path: Path
) -> None:
    from bench.demo import SONIC_O1

    (tmp_path / "my data").symlink_to(SONIC_O1)
    made = make_report(folders.scores, tmp_path / "site", data=tmp_path / "my data")
    entry = next(iter(entries(tmp_path / "site").values()))
    assert entry["media"]["video"].startswith("../my%20data/dataset/videos/01_Patient")
    assert not (tmp_path / "site" / "media").exists()
    assert made.notes == (
        "Answers as the models gave them are not shown: name the store with --store.",
    )


def test_no_path_of_this_machine_is_in_a_report(site: Path, folders: Folders) -> None:
    from bench.demo import SONIC_O1

    there = [str(SONIC_O1), str(folders.store), str(Path.home())]
    for path in site.rglob("*"):
        if path.suffix in (".js", ".html", ".json"):
            text = path.read_text("utf-8")
            assert not [one for one in there if one in text], path.name


def test_a_report_replaces_an_earlier_one_and_nothing_else(
    folders: Folders, tmp_path: Path
) -> None:
    out = tmp_path / "site"
    make_report(folders.scores, out, store=folders.store)
    (out / "mine.txt").write_text("kept")
    assert list(out.glob("data/text-*"))
    make_report(folders.scores, out)
    assert (out / "mine.txt").read_text() == "kept"
    assert not list(out.glob("data/text-*"))
    listed = json.loads((out / "report.json").read_text())
    there = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert there == {*listed["files"], "report.json", "mine.txt"}
    assert (listed["items"], listed["answers"]) == (len(folders.items), 2 * len(folders.items))


def test_a_folder_that_holds_something_else_is_left_alone(folders: Folders, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    done = call(folders.scores, "--out", tmp_path)
    assert isinstance(done.exception, OutputUnwritable)
    assert done.exception.exit_code == 3
    assert "holds something that is no report" in str(done.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_folder_without_predictions_is_refused_with_the_command_that_writes_them(
    tmp_path: Path,
) -> None:
    folder = score_folder(tmp_path / "scores", run_rows())
    with pytest.raises(ScoresMissing, match="is not there; write it with"):
        make_report(folder, tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_json_says_what_was_written(folders: Folders, tmp_path: Path) -> None:
    done = call(folders.scores, "--out", tmp_path / "site", "--store", folders.store, "--json")
    found = json.loads(done.stdout)
    assert found["index"] == str(tmp_path / "site" / "index.html")
    assert (found["n_items"], found["n_answers"], found["notes"]) == (89, 178, [])


def test_a_metric_is_named_in_words_with_unit_judge_and_direction() -> None:
    assert Metric("localization", "mae_start").title == "Error of start, s"
    assert Metric("localization", "mae_start").better == "lower"
    assert Metric("choice", "rationale_judge", "gpt").title == "Rationale: judge (gpt)"
    assert Metric("choice", "accuracy").show(0.4861) == "48.6"
    assert Metric("empathic", "category:insight").better == "neither"


def test_a_number_that_is_not_there_is_a_dash_and_a_huge_one_has_its_power_of_ten() -> None:
    assert [number(None), number(float("nan")), number(-1.5e308, 1)] == ["–", "–", "−1.5e+308"]
