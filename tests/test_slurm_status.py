"""How a part stands, from what SLURM says of it and what its job noted.

Real clusters say more than the one that the tests can start: here ``squeue`` and ``sacct`` are
scripts that print what SLURM prints.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from rejudge import cli
from slurm.load import load_chain
from slurm.stage import SCRIPTS, make_stages
from slurm.status import ChainStatus, PartStatus, State, chain_status
from slurm.submission import Submission, Submitted, write_submission
from slurm.view import status_text
from tests.builders import answered_demo_store

CHAIN = """
benchmark = "demo"
store = "store"
out = "scores"
[[infer]]
model = "chance"
shards = 2
"""


class Site:
    """A cluster that says what it is told to, and the folder of one inference stage."""

    def __init__(self, folder: Path) -> None:
        (folder / "chain.toml").write_text(CHAIN)
        chain = load_chain(folder / "chain.toml")
        self.stage = make_stages(chain)[0]
        self.submission = Submission(
            chain="chain", store=chain.store, benchmark="demo", data="", at="2026-03-01T09:00:00Z",
            stages=(Submitted(stage=self.stage, job="12", parts=(1, 2)),),
        )  # fmt: skip
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.squeue()
        Path(self.stage.folder).mkdir(parents=True)

    def squeue(self, *lines: str) -> None:
        self._command("squeue", lines)

    def sacct(self, *lines: str) -> None:
        self._command("sacct", lines)

    def _command(self, name: str, lines: tuple[str, ...]) -> None:
        said = "\n".join(lines)
        (self.bin / name).write_text(f"#!/bin/sh\ncat <<'END'\n{said}\nEND\n".replace("\n\n", "\n"))
        (self.bin / name).chmod(0o755)

    def noted(self, *events: str, part: int = 1, restart: int = 0, code: int = 0) -> None:
        path = Path(self.stage.folder) / f"{part}of2.events"
        with path.open("a") as file:
            for event in events:
                line = {"at": "", "event": event, "code": code, "job": "12", "restart": restart}
                file.write(json.dumps(line | {"node": "n1"}) + "\n")

    def left(self, name: str, text: str) -> None:
        (Path(self.stage.folder) / name).write_text(text)

    def status(self) -> ChainStatus:
        return chain_status(self.submission, {"PATH": f"{self.bin}:/bin:/usr/bin"})

    def part(self, k: int = 1) -> PartStatus:
        return self.status().stages[0].parts[k - 1]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_a_preempted_job_is_waited_for_until_it_has_completed(site: Site) -> None:
    """The same id is PREEMPTED, then RUNNING, then COMPLETED."""
    site.noted("started")
    site.squeue("12_1|PREEMPTED|None|n1", "12_2|COMPLETED|None|n2")
    assert (site.part().state, site.status().is_over) == (State.PREEMPTED, False)

    site.squeue("12_1|PENDING|BeginTime|", "12_2|COMPLETED|None|n2")
    assert (site.part().state, site.part().restarts) == (State.REQUEUED, 1)

    site.noted("started", restart=1)
    site.squeue("12_1|RUNNING|None|n3", "12_2|COMPLETED|None|n2")
    assert (site.part().state, site.part().node) == (State.RUNNING, "n3")
    assert "part 1of2 running on n3, started 2 times" in status_text(site.status())

    site.noted("ended", restart=1)
    site.squeue("12_1|COMPLETED|None|n3", "12_2|COMPLETED|None|n2")
    assert (site.part().state, site.status().is_over) == (State.DONE, True)


@pytest.mark.parametrize(
    ("line", "state", "why"),
    [
        ("12_1|PENDING|Resources|", State.PENDING, "Resources"),
        ("12_1|PENDING|PartitionTimeLimit|", State.PENDING, "it will never start"),
        ("12_1|CONFIGURING|None|n1", State.RUNNING, ""),
        ("12_1|PENDING|DependencyNeverSatisfied|", State.CANCELLED, "did not end well"),
        ("12_1|CANCELLED|Dependency|", State.CANCELLED, "did not end well"),
        ("12_1|OUT_OF_MEMORY|OutOfMemory|n1", State.FAILED, "out of memory"),
        ("12_1|TIMEOUT|TimeLimit|n1", State.FAILED, "warning_s"),
        ("12_1|NODE_FAIL|None|n1", State.FAILED, "its node failed"),
    ],
)
def test_what_slurm_says_of_a_job(site: Site, line: str, state: State, why: str) -> None:
    site.squeue(line)

    assert site.part().state is state
    assert why in site.part().why


@pytest.mark.parametrize(
    ("events", "why"),
    [
        (["started", "signal USR1", "ended", "requeued"], "warned by SLURM"),
        (["started", "signal TERM", "ended"], "ended by SLURM"),
        (["started", "ended", "lost", "requeued"], "lost Ray"),
        (["started"], "its node failed, or it was killed"),
    ],
)
def test_a_part_in_the_queue_again_says_why(site: Site, events: list[str], why: str) -> None:
    site.noted(*events, code=75)
    site.squeue("12_1|PENDING|BeginTime|")

    assert site.part().state is State.REQUEUED
    assert why in site.part().why


def test_a_failed_part_says_why_in_the_words_of_its_command(site: Site) -> None:
    site.noted("started")
    site.noted("ended", code=3)
    site.left("1of2.json", json.dumps({"error": "no weights at /w", "exit_code": 3}))
    site.squeue("12_1|FAILED|NonZeroExitCode|n1")

    assert site.part().why == "exit code 3: no weights at /w"


def test_a_crash_says_its_last_line(site: Site) -> None:
    site.noted("started")
    site.noted("ended", code=1)
    site.left("1of2.json", "")
    site.left("1of2.log", "Traceback …\nKeyError: 'x'\n\nrejudge: 1of2: ended 1\n")
    site.squeue("12_1|FAILED|NonZeroExitCode|n1")

    assert site.part().why == "exit code 1: KeyError: 'x'"


def test_items_that_failed_are_said_of_a_part_that_is_done(site: Site) -> None:
    site.noted("started", "ended", code=1)
    found = {"requested": 9, "failed": 2, "first_failure": "ab12: refused: no"}
    site.left("1of2.json", json.dumps(found))
    site.squeue("12_1|COMPLETED|None|n1")

    assert site.part().state is State.DONE
    assert site.part().why == "2 of 9 requests failed; ab12: refused: no"


def test_a_judge_whose_budget_was_used_up_is_done_and_says_so(site: Site) -> None:
    site.noted("started", "ended", code=1)
    found = {"requests": 9, "called": 3, "ok": 3, "missing": 6, "stopped": "3 calls were made"}
    site.left("1of2.json", json.dumps(found))
    site.squeue("12_1|COMPLETED|None|n1")

    assert site.part().state is State.DONE
    assert site.part().why == "6 of 9 answers have no verdict; stopped: 3 calls were made"


def test_a_job_that_was_restarted_in_vain_says_so(site: Site) -> None:
    site.noted("started", "signal USR1", "ended", "idle", "restarted in vain", code=75, restart=3)
    site.squeue("12_1|FAILED|NonZeroExitCode|n1")

    assert site.part().state is State.FAILED
    assert "restarted 3 times with nothing answered between" in site.part().why
    assert site.part().why.endswith("warned by SLURM (time limit or preemption)")


def test_a_judges_file_that_was_moved_hides_nothing_but_its_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundled = (SCRIPTS.parent / "score/judge/specs/lexical.toml").read_text()
    own = bundled.replace('name = "lexical"', 'name = "own"')
    (tmp_path / "own.toml").write_text(own)
    (tmp_path / "chain.toml").write_text(CHAIN + '[[judge]]\nname = "own.toml"\n')
    chain = load_chain(tmp_path / "chain.toml")
    answered_demo_store(tmp_path / "store")
    stages = tuple(Submitted(stage=one, job="12", parts=(1,)) for one in make_stages(chain)[1:2])
    write_submission(
        chain,
        Submission(chain="chain", store=chain.store, benchmark="demo", data="", at="",
                   stages=stages),
    )  # fmt: skip
    (tmp_path / "squeue").write_text("#!/bin/sh\necho '12|RUNNING|None|n1'\n")
    (tmp_path / "squeue").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    (tmp_path / "own.toml").rename(tmp_path / "moved.toml")

    done = CliRunner().invoke(cli, ["slurm", "status", str(tmp_path / "chain.toml")])

    assert done.exit_code == 0, done.exception
    assert "running" in done.output
    assert "verdicts not counted: no judge" in done.output


def test_what_squeue_has_forgotten_the_accounting_remembers(site: Site) -> None:
    site.noted("started")
    site.sacct("12_1|OUT_OF_MEMORY|n1", "12_2|CANCELLED by 1000|None assigned")

    assert "out of memory" in site.part(1).why
    assert site.part(2).state is State.CANCELLED


def test_what_nobody_remembers_the_jobs_have_noted(site: Site) -> None:
    site.noted("started", "ended")
    site.noted("started", part=2)
    site.left("2of2.log", "some output\n")

    assert site.part(1).state is State.DONE
    assert site.part(2).state is State.FAILED
    assert site.part(2).why == "it ended without a word: some output"


def test_a_crash_is_no_result_though_its_exit_code_is_that_of_one(site: Site) -> None:
    site.noted("started")
    site.noted("ended", code=1)
    site.left("1of2.json", "")

    assert site.part().state is State.FAILED


def test_a_line_that_a_dying_node_left_half_written_is_passed_over(site: Site) -> None:
    site.noted("started")
    with (Path(site.stage.folder) / "1of2.events").open("a") as file:
        file.write('{"at":"2026-03')
        file.write("\n")
    site.noted("started", restart=1)
    site.squeue("12_1|RUNNING|None|n1")

    assert site.part().restarts == 1


def test_a_stage_stands_as_its_worst_part(site: Site) -> None:
    site.squeue("12_1|COMPLETED|None|n1", "12_2|FAILED|NonZeroExitCode|n2")

    found = site.status()
    assert (found.stages[0].state, found.is_over, found.is_well) == (State.FAILED, True, False)
    assert "1 failed, 1 done" in status_text(found)
