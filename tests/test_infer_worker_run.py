"""A worker model through `rejudge infer`, on real Ray."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cache.store import Store
from tests.bare_python import make_bare_python
from tests.test_infer_worker import ADAPTER, group, loads, wait_for

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent


def test_a_worker_model_is_run_stored_and_resumed_without_a_call(tmp_path: Path) -> None:
    python = make_bare_python(tmp_path / "environment")
    card = write_card(tmp_path)

    first = infer(tmp_path, card, python)
    again = infer(tmp_path, card, python)

    assert first["outcomes"] == {"ok": first["called"]} == {"ok": 4}
    assert (again["called"], again["cached"]) == (0, 4)
    assert len(loads(tmp_path)) == 1
    wait_for(lambda: not group(loads(tmp_path)[0]))
    with Store(tmp_path / "store", read_only=True) as store:
        records = list(store.scan())
    assert {record.response.text.partition(":")[0] for record in records} == {"done"}
    # Where the interpreter is does not make another request of it.
    assert python not in repr([record.request for record in records])
    assert all(record.effective["worker"]["python"] for record in records)


def write_card(folder: Path) -> Path:
    card = folder / "scripted.toml"
    card.write_text(
        'name = "scripted"\nengine = "worker"\nmodality = "video+audio"\n'
        'tasks = ["choice"]\ndescription = "For tests."\nverified = "no weights"\n'
        '[worker]\npython = "$WORKER_PYTHON"\n'
        "[preprocessing]\nframes = 2\nshorter_edge_px = 36\nsample_rate_hz = 16000\n"
        f'[settings]\nadapter = "{ADAPTER}"\nlog = "{folder}/log"\nmax_batch = 3\n'
        "[resources]\ncpus = 0.5\nconcurrency = 4\n"
    )
    return card


def infer(folder: Path, card: Path, python: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "rejudge", "infer", "demo", "--model", str(card)]
    command += ["--store", str(folder / "store"), "--task", "choice", "--limit", "4", "--json"]
    ran = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "WORKER_PYTHON": python},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found
