"""``rejudge tables`` as it is called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from analysis.errors import OutputUnwritable
from analysis.table import printed
from rejudge import cli
from tests.paper_scores import omni_folder
from tests.score_folders import run_rows, score_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return score_folder(tmp_path_factory.mktemp("scores"), run_rows())


def call(*words: object) -> Result:
    return CliRunner().invoke(cli, ["tables", *map(str, words)])


def test_tables_go_to_stdout_as_markdown(folder: Path) -> None:
    done = call(folder, "--table", "main")
    assert done.exit_code == 0
    assert done.stdout.startswith("**SONIC-O1: summaries")
    assert done.stdout.endswith("\n")


@pytest.mark.parametrize(
    ("form", "suffix"), [("latex", "tex"), ("markdown", "md"), ("html", "html"), ("csv", "csv")]
)
def test_out_takes_a_file_for_each_table_and_stdout_names_them(
    folder: Path, tmp_path: Path, form: str, suffix: str
) -> None:
    done = call(folder, "--format", form, "--out", tmp_path, "--table", "3", "--table", "A5")
    names = [f"sonic-o1-main.{suffix}", f"sonic-o1-summary-by-topic.{suffix}"]
    assert done.stdout.splitlines() == [str(tmp_path / name) for name in names]
    made = [f"{name}.made.json" for name in names]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*names, *made])


def test_json_has_every_cell_with_its_counts(folder: Path) -> None:
    (table,) = json.loads(call(folder, "--table", "main", "--json").stdout)["tables"]
    first = table["blocks"][0]["rows"][0]["cells"][0]
    assert (first["text"], first["n_scored"], first["n_expected"]) == ("5.00", 3, 3)


def test_an_unknown_paper_is_answered_with_the_known_ones(folder: Path) -> None:
    done = call(folder, "--paper", "sonic-o2")
    assert str(done.exception) == "no paper 'sonic-o2'; there are: omniassistbench, sonic-o1"


def test_the_published_values_can_be_read_beside_the_runs(folder: Path) -> None:
    assert "| gemini-3.0-pro" in call(folder, "--table", "main", "--published").stdout


def test_an_out_that_is_a_file_is_one_line_and_exit_code_3(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    for out in (file, file / "below"):
        error = call(folder, "--out", out).exception
        assert isinstance(error, OutputUnwritable)
        assert error.exit_code == 3
        assert str(error).startswith(f"the tables cannot be written to {out}: ")
    assert file.read_text() == "mine"


def test_a_value_of_hundreds_of_digits_is_printed_with_its_power_of_ten() -> None:
    assert printed(1.5e308, 1) == "1.5e+308"
    assert printed(123456.25, 1) == "123456.2"


def test_statistics_of_the_annotations_are_a_command_of_their_own(tmp_path: Path) -> None:
    done = call("statistics", "demo", "--table", "A2", "--format", "csv", "--out", tmp_path)
    assert done.stdout == f"{tmp_path / 'sonic-o1-domains.csv'}\n"
    made = json.loads((tmp_path / "sonic-o1-domains.csv.made.json").read_text("utf-8"))
    assert made["benchmark"] == "demo"


def test_the_paper_is_the_one_that_has_the_scores_tasks(tmp_path: Path) -> None:
    omni_folder(tmp_path)
    done = call(tmp_path, "--table", "2", "--judge", "gpt-5")
    assert done.stdout.startswith("**OmniAssistBench: basic")


def test_runs_are_chosen_and_renamed(tmp_path: Path) -> None:
    rows = [row for name in ("alpha", "beta", "gamma") for row in run_rows(name)]
    folder = score_folder(tmp_path, rows)
    chosen = ["--run", "gamma=Ours", "--run", "alpha"]
    (table,) = json.loads(call(folder, "--table", "main", *chosen, "--json").stdout)["tables"]
    assert [row["label"] for row in table["blocks"][0]["rows"]] == ["Ours", "alpha"]
    error = call(folder, "--run", "delta").exception
    assert str(error) == "no run 'delta'; there are: alpha, beta, gamma"


def test_a_table_that_is_wider_than_a_page_is_told_of(tmp_path: Path) -> None:
    folder = score_folder(tmp_path, run_rows("a-very-long-name-" * 12))
    done = call(folder, "--table", "main", "--format", "latex")
    assert done.exit_code == 0
    assert done.stderr == (
        "sonic-o1-main is wider than a page: give runs shorter names with --run NAME=LABEL\n"
    )
    assert call(folder, "--table", "main").stderr == "", "other formats have no page"
    short = ["--run", "a-very-long-name-" * 12 + "=A"]
    assert call(folder, "--table", "main", "--format", "latex", *short).stderr == ""
