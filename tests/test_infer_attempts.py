"""What the next job of a run learns of those before it, and of those beside it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cache.errors import StoreUnavailable
from cache.store import Store
from infer.attempts import begin_job, end_job, is_alone, tidy
from infer.journal import JOB, unended
from infer.plan import WHOLE, Shard

A, B = "a" * 64, "b" * 64
KILLED = """
import sys
from pathlib import Path
from infer.attempts import begin_job
from infer.plan import WHOLE
own = begin_job(Path(sys.argv[1]), "run", WHOLE)
(own / "actor-1.log").write_text("+" + sys.argv[2] + "\\n")
print(own, flush=True)
sys.stdin.read()
"""


def job(store: Path, key: str) -> subprocess.Popen[str]:
    """A job that has a request in flight until it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(store), key],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip()
    return process


def test_what_a_killed_job_left_is_known_once_and_what_a_living_one_asks_is_not(
    tmp_path: Path,
) -> None:
    dead, alive = job(tmp_path, A), job(tmp_path, B)
    dead.kill()
    dead.wait()
    try:
        first, second = (begin_job(tmp_path, "run", WHOLE) for _ in range(2))
        assert unended(first) == {A: 1}
        assert unended(second) == {}
        assert len(list(first.parent.iterdir())) == 3  # the living one's, and these
    finally:
        alive.kill()
        alive.wait()
    assert unended(begin_job(tmp_path, "run", WHOLE)) == {B: 1}


def test_counts_of_several_jobs_are_added_and_other_parts_are_not(tmp_path: Path) -> None:
    for key in (A, A, B):
        process = job(tmp_path, key)
        process.kill()
        process.wait()

    assert unended(begin_job(tmp_path, "run", Shard(2, 4))) == {}
    assert unended(begin_job(tmp_path, "other", WHOLE)) == {}
    assert unended(begin_job(tmp_path, "run", WHOLE)) == {A: 2, B: 1}


@pytest.mark.parametrize("run", ["a/b", "..", "run with spaces, and \u00e9 = %"])
def test_a_ledger_that_has_nothing_to_tell_leaves_nothing_behind(run: str, tmp_path: Path) -> None:
    path = begin_job(tmp_path, run, WHOLE)
    assert path.parent.parent == tmp_path / "attempts"
    assert is_alone(path)
    beside = begin_job(tmp_path, run, WHOLE)
    assert not is_alone(path)

    with Store(tmp_path / "elsewhere", create=True) as store:
        end_job(beside, store, innocent=False)
        end_job(path, store, innocent=False)

    assert list((tmp_path / "attempts").iterdir()) == []


@pytest.mark.parametrize(("innocent", "kept"), [(True, {A: 2}), (False, {A: 2, B: 1})])
def test_what_a_job_did_not_reach_stays_suspect_whatever_ended_the_job(
    innocent: bool, kept: dict[str, int], tmp_path: Path
) -> None:
    with Store(tmp_path, create=True) as store:
        path = begin_job(tmp_path, "run", WHOLE)
        (path / JOB).write_text(f"+{A}\n+{A}\n")
        (path / "alone.log").write_text("")
        (path / "actor-1.log").write_text(f"+{B}\n")

        end_job(path, store, innocent=innocent)

    assert unended(path) == kept


def test_a_job_that_was_killed_while_it_took_over_loses_nothing(tmp_path: Path) -> None:
    process = job(tmp_path, A)
    process.kill()
    process.wait()
    [dead] = (tmp_path / "attempts" / "run.1of1").iterdir()
    taker = dead.with_name(dead.name[:-32] + "1" * 32)  # of the same process
    taker.mkdir()
    dead.rename(taker / "taken-0")

    assert unended(begin_job(tmp_path, "run", WHOLE)) == {A: 1}


def test_a_job_of_another_machine_lives_as_long_as_it_shows_itself(tmp_path: Path) -> None:
    own = begin_job(tmp_path, "run", WHOLE)
    other = own.with_name(f"elsewhere-7-{'0' * 32}")
    own.rename(other)
    (other / "actor-1.log").write_text(f"+{A}\n")

    assert unended(begin_job(tmp_path, "run", WHOLE)) == {}
    past = time.time() - 600
    for path in other.iterdir():
        os.utime(path, (past, past))
    assert unended(begin_job(tmp_path, "run", WHOLE)) == {A: 1}


def test_what_is_no_folder_of_a_job_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "attempts" / "run.1of1"
    (folder / "mine").mkdir(parents=True)
    (folder / "mine" / "results.csv").write_text("1")
    (folder / "notes.log").write_text("x")
    (folder / f"h-1-{'0' * 32}").symlink_to(tmp_path / "nothing")

    path = begin_job(tmp_path, "run", WHOLE)
    (path / "odd.log").mkdir()

    assert is_alone(path)
    assert unended(path) == {}
    assert (folder / "mine" / "results.csv").exists()


def test_a_place_where_nothing_can_be_noted_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "attempts").write_text("")

    with pytest.raises(StoreUnavailable, match="cannot note there what it is asking"):
        begin_job(tmp_path, "run", WHOLE)


def test_a_run_with_nothing_to_ask_removes_what_a_killed_job_left(tmp_path: Path) -> None:
    with Store(tmp_path, create=True) as store:
        process = job(tmp_path, "0" * 64)
        process.kill()
        process.wait()
        [dead] = (tmp_path / "attempts" / "run.1of1").iterdir()
        (dead / "actor-1.log").write_text(f"+{A}\n-{A}\n")
        tidy(store, "run", WHOLE)

    assert list((tmp_path / "attempts").iterdir()) == []
