"""``rejudge bench``: list, check, show."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from bench import registry
from bench.cli import bench
from bench.errors import DataMissing, UnknownBenchmark, UnknownItem
from bench.item import IntervalReference, TaskType
from tests.trees import assistant_folder, sonic_tree, turn


def run(*args: object) -> Result:
    return CliRunner().invoke(bench, [str(arg) for arg in args])


def test_list_shows_every_benchmark_and_where_its_data_are():
    result = run("list", "--json")
    assert result.exit_code == 0
    rows = {row["name"]: row for row in json.loads(result.stdout)["benchmarks"]}
    assert list(rows) == ["demo", "demo-assistant", "sonic-o1", "omniassist"]
    assert rows["demo"]["items"]["choice"] > 0
    assert Path(rows["demo-assistant"]["data"]).is_dir()
    assert rows["sonic-o1"]["data"] is None
    assert "--data" in rows["sonic-o1"]["note"]


def test_list_counts_the_items_of_a_folder(tmp_path):
    result = run("list", "--data", sonic_tree(tmp_path, copies=3), "--json")
    rows = {row["name"]: row for row in json.loads(result.stdout)["benchmarks"]}
    assert rows["sonic-o1"]["items"] == {"summary": 1, "choice": 3, "localization": 3}
    assert "labels.csv" in rows["omniassist"]["note"]


def test_list_prints_a_table_for_people():
    text = run("list").stdout
    assert "empathic (on request)" in text
    assert "demo-assistant" in text


@pytest.mark.parametrize("name", ["demo", "demo-assistant"])
def test_the_bundled_data_have_no_faults(name):
    result = run("check", name)
    assert result.stdout == f"{name}: no faults\n"
    assert result.exit_code == 0


def test_check_lists_every_fault_and_exits_with_1(tmp_path):
    tree = sonic_tree(tmp_path, choice={"answer_index": 9, "question": ""}, media=False)
    result = run("check", "sonic-o1", "--data", tree)
    assert result.exit_code == 1
    assert "[stops loading] entries[0] answer_index: found 9" in result.stdout
    assert "[noted] missing" in result.stdout
    assert "3 fault(s) in 2 file(s); 2 of them stop loading" in result.stdout


def test_check_without_media_leaves_videos_out(tmp_path):
    tree = sonic_tree(tmp_path, media=False)
    assert run("check", "sonic-o1", "--data", tree, "--no-media").exit_code == 0
    assert run("check", "sonic-o1", "--data", tree).exit_code == 1


def test_check_of_a_bundled_benchmark_looks_where_data_says(tmp_path):
    tree = sonic_tree(tmp_path, header={"num_entries": 5})
    result = run("check", "demo", "--data", tree, "--json")
    (fault,) = json.loads(result.stdout)["faults"]
    assert fault["field"] == "num_entries"
    assert fault["blocks"] is True


def test_show_prints_item_reference_and_prompt(tmp_path):
    result = run("show", "sonic-o1", "choice/01/001/120-300/0", "--data", sonic_tree(tmp_path))
    assert result.exit_code == 0
    for piece in ("(B)", "A pen", "She writes with it.", "reference.index", "answer_letter"):
        assert piece in result.stdout


def test_show_for_machines_holds_everything(tmp_path):
    result = run("show", "sonic-o1", "localization", "--data", sonic_tree(tmp_path), "--json")
    value = json.loads(result.stdout)
    assert value["item"]["reference"]["start_s"] == 130.5
    assert value["reference_kind"] == IntervalReference.__name__
    assert value["prompt"]["messages"][0]["parts"][0]["clip"]["segment"]["end_s"] == 300


def test_show_takes_the_beginning_of_an_id_where_it_is_unique(tmp_path):
    tree = sonic_tree(tmp_path, copies=11)
    assert (
        "choice/01/001/120-300/10"
        in run("show", "demo", "choice/01/001/120-300/10", "--data", tree).stdout
    )
    # An id that is itself the beginning of another is that item.
    assert run("show", "demo", "choice/01/001/120-300/1", "--data", tree).exit_code == 0
    result = run("show", "demo", "choice", "--data", tree)
    assert isinstance(result.exception, UnknownItem)
    assert "11 items begin with 'choice'" in str(result.exception)


def test_show_answers_an_unknown_item_with_the_nearest(tmp_path):
    result = run("show", "demo", "choise/01/001/120-300/0", "--data", sonic_tree(tmp_path))
    assert isinstance(result.exception, UnknownItem)
    assert "choice/01/001/120-300/0" in str(result.exception)


def test_the_nearest_items_come_in_the_order_of_the_benchmark_where_they_are_equally_near(tmp_path):
    tree = sonic_tree(tmp_path, copies=3)
    result = run("show", "demo", "choice/09/001/120-300/9", "--data", tree)
    nearest = str(result.exception).partition("nearest are: ")[2].split(", ")
    assert nearest[:3] == [f"choice/01/001/120-300/{n}" for n in range(3)]


def test_show_finds_items_of_a_task_on_request(tmp_path):
    result = run("show", "sonic-o1", "empathic/01/001", "--data", sonic_tree(tmp_path))
    assert "summary_detailed_empathic" in result.stdout
    assert "this task has no reference" in result.stdout


def test_show_marks_where_earlier_answers_go(tmp_path):
    folder = assistant_folder(tmp_path, turn("cake", 1), turn("cake", 2))
    result = run("show", "omniassist", "assistant/cake-seg2", "--data", folder)
    assert "<the model's own answer to assistant/cake-seg1>" in result.stdout
    # Square brackets are text here, not markup of the terminal library.
    assert "[KEEP QUIET]" in result.stdout


def test_show_spells_out_control_characters(tmp_path):
    tree = sonic_tree(tmp_path, choice={"question": "red \x1b[31m?"})
    result = run("show", "sonic-o1", "choice", "--data", tree)
    assert "\x1b" not in result.stdout
    assert "\\x1b[31m" in result.stdout


def test_show_uses_a_users_templates(tmp_path):
    folder = tmp_path / "prompts"
    folder.mkdir()
    (folder / "summary.jinja").write_text(
        '{# version: mine 1 #}{{ clip() }}{% call part("instruction") %}Tell me.{% endcall %}'
    )
    tree = sonic_tree(tmp_path / "tree")
    result = run("show", "sonic-o1", "summary", "--data", tree, "--prompts", folder)
    assert result.stdout.rstrip().endswith("Tell me.")


def test_an_unknown_benchmark_is_answered_with_the_known_ones():
    result = run("check", "sonic")
    assert isinstance(result.exception, UnknownBenchmark)
    assert "demo, demo-assistant, sonic-o1, omniassist" in str(result.exception)


def test_a_benchmark_that_is_not_bundled_asks_for_data():
    assert isinstance(run("check", "sonic-o1").exception, DataMissing)


@pytest.mark.parametrize("command", [bench, *bench.commands.values()], ids=lambda c: c.name)
def test_every_command_has_help_with_an_example(command: click.Command):
    assert command.help
    assert "Example: rejudge bench" in command.help


def test_the_console_script_lists_checks_and_shows():
    script = Path(sys.executable).parent / "rejudge"
    listed = subprocess.run([script, "bench", "list"], capture_output=True, text=True, check=True)
    assert "demo" in listed.stdout
    unknown = subprocess.run([script, "bench", "check", "demmo"], capture_output=True, text=True)
    assert unknown.returncode == 2
    assert unknown.stderr.startswith("rejudge: no benchmark 'demmo'; there are: demo")
    missing = subprocess.run([script, "bench", "check", "sonic-o1"], capture_output=True, text=True)
    assert missing.returncode == 3


# --- the bundled data -------------------------------------------------------------------------


def test_the_bundled_items_have_unique_ids_and_carry_the_name_asked_for():
    for name in ("demo", "demo-assistant"):
        items = registry.get(name).load(None)
        assert len({item.id for item in items}) == len(items) > 0
        assert {item.benchmark for item in items} == {name}
        assert all(item.clip.video.is_file() for item in items)


def test_every_bundled_item_is_asked_by_one_prompt():
    for name in ("demo", "demo-assistant"):
        benchmark = registry.get(name)
        items = benchmark.load(None, benchmark.offered)
        asked = [one for prompt in benchmark.prompts(items) for one in prompt.items]
        assert sorted(asked) == sorted(item.id for item in items)


def test_the_bundled_sonic_data_hold_all_three_tasks():
    tasks = {item.task for item in registry.get("demo").load(None)}
    assert tasks == {TaskType.SUMMARY, TaskType.CHOICE, TaskType.LOCALIZATION}
