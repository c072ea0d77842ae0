"""Scores by several judges: what needs one of them to be chosen, and what does not."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from analysis.errors import JudgeNotChosen
from rejudge import cli
from tests.paper_scores import omni_folder
from tests.score_folders import DOCTOR, metric_rows, score_folder

CHOOSE = "it shows the scores of one judge; choose with --judge: glm-5, gpt-5"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return omni_folder(tmp_path_factory.mktemp("omni"))


def call(*words: object) -> Result:
    return CliRunner().invoke(cli, list(map(str, words)))


@pytest.mark.parametrize(("number", "name"), [("7", "basic"), ("8", "advanced")])
def test_a_table_of_all_judges_needs_none_to_be_chosen(
    folder: Path, number: str, name: str
) -> None:
    done = call("tables", folder, "--table", number, "--json")
    assert done.exit_code == 0
    (table,) = json.loads(done.stdout)["tables"]
    assert table["name"] == f"omniassistbench-{name}-by-judge"
    (block,) = table["blocks"]
    rows = {row["label"]: row["cells"] for row in block["rows"]}
    assert [*rows] == [
        "gemini-3-pro† (glm-5)",
        "gemini-3-pro† (gpt-5)",
        "qwen (glm-5)",
        "qwen (gpt-5)",
    ]
    # By hand: each of the 19 sub-tasks has a score of 2.5 by gpt-5, and one of 2.5 less 0.2 times
    # its number's rest by 7, which make 0 … 6, 0 … 6 and 0 … 4: 52 · 0.2 = 10.4 less in all.
    # In points: (38 · 2.5 − 10.4) / 38 · 20 = 44.526; the other judge's first scores are 0.1 less.
    assert rows["qwen (gpt-5)"][0]["value"] == pytest.approx(20 * (38 * 2.5 - 10.4) / 38)
    assert rows["qwen (glm-5)"][0]["value"] == pytest.approx(20 * (38 * 2.5 - 10.4 - 1.9) / 38)
    chosen = json.loads(
        call("tables", folder, "--table", number, "--judge", "gpt-5", "--json").stdout
    )
    assert chosen["tables"][0]["blocks"] == table["blocks"], "the same whichever is chosen"
    assert table["made"]["judge"] == "glm-5, gpt-5"


def test_the_heat_map_of_judges_needs_none_to_be_chosen(folder: Path, tmp_path: Path) -> None:
    done = call("figures", folder, "--out", tmp_path, "--figure", "judges", "--format", "svg")
    assert done.exit_code == 0
    assert done.stdout == f"{tmp_path / 'judges.svg'}\n"


def test_tables_without_a_choice_are_all_that_need_none(folder: Path) -> None:
    done = call("tables", folder, "--json")
    assert done.exit_code == 0
    answer = json.loads(done.stdout)
    names = ["omniassistbench-basic-by-judge", "omniassistbench-advanced-by-judge"]
    assert [table["name"] for table in answer["tables"]] == names
    assert answer["left_out"]["basic"] == answer["left_out"]["advanced"] == CHOOSE
    assert f"left out: basic: {CHOOSE}\n" in done.stderr


def test_figures_without_a_choice_are_all_that_need_none(folder: Path, tmp_path: Path) -> None:
    done = call("figures", folder, "--out", tmp_path, "--format", "svg")
    assert done.exit_code == 0
    assert done.stdout.startswith(f"{tmp_path / 'judges.svg'}\nleft out: ")
    assert f"left out: distributions: {CHOOSE}\n" in done.stdout


@pytest.mark.parametrize(
    "words", [("tables", "--table", "2"), ("figures", "--figure", "distributions")]
)
def test_what_shows_one_judge_asks_for_it(
    folder: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    command, *options = words
    out = ["--out", tmp_path] if command == "figures" else []
    error = call(command, folder, *options, *out).exception
    assert isinstance(error, JudgeNotChosen)
    assert str(error).endswith(CHOOSE)
    assert error.exit_code == 2


def test_where_nothing_can_be_made_without_a_choice_it_is_asked_for(tmp_path: Path) -> None:
    rows = [
        row
        for judge in ("gpt-5-mini", "lexical")
        for row in metric_rows("detailed_judge", {DOCTOR: [4.0]}, task="summary", judge=judge)
    ]
    error = call("tables", score_folder(tmp_path, rows)).exception
    assert isinstance(error, JudgeNotChosen)
    assert "choose with --judge: gpt-5-mini, lexical" in str(error)


def test_a_table_without_judges_columns_needs_no_choice(tmp_path: Path) -> None:
    rows = metric_rows("recall_0.5", {DOCTOR: [1.0, 0.0]}, task="localization")
    for judge in ("gpt-5-mini", "lexical"):
        rows += metric_rows("rationale_judge", {DOCTOR: [4.0]}, task="localization", judge=judge)
    folder = score_folder(tmp_path, rows)
    items = {row["item"] for row in rows}
    pl.DataFrame(
        [
            {"item": item, "task": "localization", "race": ["Asian"], "gender": ["Male"],
             "age": ["40+"]}
            for item in sorted(items)
        ]
    ).write_parquet(folder / "items.parquet")  # fmt: skip
    done = call("tables", folder, "--table", "localization-by-group", "--format", "csv")
    assert done.exit_code == 0
    assert "Asian (n = 2)" in done.stdout
    assert ",50.0," in done.stdout
