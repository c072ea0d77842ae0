"""Running ``rejudge infer`` on the bundled benchmark in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from infer.job import session

ROOT = Path(__file__).parent.parent


def infer(
    folder: Path, card: Path, *options: str, expect: int = 0, **environment: str
) -> dict[str, Any]:
    """Run the command to its end and return its summary."""
    process = start(folder, card, *options, **environment)
    out, err = process.communicate(timeout=400)
    assert process.returncode == expect, err
    found: dict[str, Any] = json.loads(out)
    return found


def start(folder: Path, card: Path, *options: str, **environment: str) -> subprocess.Popen[str]:
    """Start the command on the choices, with the store in ``folder``."""
    command = [sys.executable, "-m", "rejudge", "infer", "demo", "--model", str(card)]
    command += ["--store", str(folder / "store"), "--task", "choice", "--json", *options]
    return subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )


def wait_for(
    holds: Callable[[], object], process: subprocess.Popen[str] | None, limit_s: float = 240.0
) -> None:
    """Wait until something holds; the process must not end before."""
    until = time.monotonic() + limit_s
    while not holds():
        if process is not None and process.poll() is not None:
            raise AssertionError(
                f"the run ended before it could be stopped: {process.communicate()}"
            )
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.05)


def child(process: subprocess.Popen[str]) -> int:
    """The driver of a command; it leads the session of all that Ray starts."""
    wait_for(lambda: _children(process.pid), process)
    [pid] = _children(process.pid)
    return int(pid)


def engines(driver: int) -> list[int]:
    """The actors that still run in the session of a driver; they outlive it for a moment."""
    return [pid for pid in session(driver) if "MapWorker" in command(pid)]


def command(pid: int) -> str:
    """The command line of a process, empty where it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except FileNotFoundError:
        return ""


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
