"""Ray as a cluster: what an engine needs must be there, and workers run the driver's code."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from cache.store import Store
from infer import cluster
from infer.card import load_card
from infer.errors import FeatureMissing
from tests.infer_command import ROOT, wait_for


@pytest.mark.slow
def test_workers_of_a_cluster_run_the_drivers_code_wherever_they_were_started(
    tmp_path: Path, head: str
) -> None:
    """The cluster knows another rejudge, the one that is installed; the driver is a copy of it."""
    code = tmp_path / "code"
    ignored = shutil.ignore_patterns("*.mp4", "__pycache__")
    for name in ("bench", "cache", "infer", "score", "analysis"):
        shutil.copytree(ROOT / name, code / name, ignore=ignored)
    shutil.copytree(ROOT / "bench" / "demo", code / "bench" / "demo", dirs_exist_ok=True)
    front = (ROOT / "rejudge.py").read_text()
    (code / "rejudge.py").write_text(re.sub('__version__ = ".*"', '__version__ = "copy"', front))

    arguments = ["infer", "demo", "--model", "chance", "--modality", "captions", "--limit", "4"]
    ran = subprocess.run(
        [sys.executable, "-m", "rejudge", *arguments, "--store", str(tmp_path / "store")],
        cwd=code,
        env=os.environ | {"RAY_ADDRESS": head},
        capture_output=True,
        text=True,
        timeout=180,
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr
    records = list(Store(tmp_path / "store").scan())
    assert [record.producer.versions["rejudge"] for record in records] == ["copy"] * 4


@pytest.fixture
def head(tmp_path: Path) -> Iterator[str]:
    """A cluster of one node with two CPUs, started in a folder without any code."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path / "empty"
    folder.mkdir()
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        options = [f"--port={port}", "--num-cpus=2", f"--temp-dir={short}", "--block"]
        options += ["--include-dashboard=false"]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        process = subprocess.Popen(
            [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", *options],
            cwd=folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            wait_for(lambda: (Path(short) / "ray_current_cluster").exists(), process)
            yield (Path(short) / "ray_current_cluster").read_text()
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.mark.parametrize(
    ("asked", "nodes", "message"),
    [
        ({"gpus": 2, "actors": 2}, [{"CPU": 8.0, "GPU": 2.0}], r"4 GPU\(s\), the cluster has 2"),
        ({"cpus": 4, "actors": 2}, [{"CPU": 8.0}], r"9 CPU\(s\), the cluster has 8"),
        (
            {"gpus": 4},
            [{"CPU": 8.0, "GPU": 2.0}, {"CPU": 8.0, "GPU": 2.0}],
            r"1 engine\(s\) of 1 CPU\(s\) and 4 GPU\(s\), each on one node; the 2 node\(s\) hold 0",
        ),
    ],
)
def test_more_than_there_is_is_refused_with_what_is_asked_and_what_is_there(
    asked: dict[str, Any],
    nodes: list[dict[str, float]],
    message: str,
) -> None:
    card = load_card("chance")
    card = replace(card, resources=replace(card.resources, **{"cpus": 1, **asked}))

    with pytest.raises(FeatureMissing, match=message):
        cluster.refuse_too_much(card, nodes, decode_cpus=1.0)
    roomy = [{name: 4 * value for name, value in node.items()} for node in nodes]
    cluster.refuse_too_much(card, roomy, decode_cpus=1.0)


def test_a_temporary_folder_too_long_for_sockets_is_not_used() -> None:
    short, long = {"RAY_TMPDIR": "/scratch"}, {"RAY_TMPDIR": f"/scratch/{'x' * 60}"}

    assert "_temp_dir" not in cluster.starting(short)
    assert cluster.starting(long)["_temp_dir"].startswith("/tmp/")
