"""What the next job of a run learns of those before it, and of those beside it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from infer.attempts import begin_job, end_job, is_alone
from infer.journal import unended
from infer.plan import WHOLE, Shard

A, B = "a" * 64, "b" * 64
JOB = """
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
        [sys.executable, "-c", JOB, str(store), key],
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

    end_job(beside)
    end_job(path)

    assert list((tmp_path / "attempts").iterdir()) == []
