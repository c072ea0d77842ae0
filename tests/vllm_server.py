"""`vllm serve` of a tiny checkpoint on this machine's CPU: one for all tests of a process.

It takes a minute to start, so it is started once, by the first test that asks for it, and ended
with the process. Its checkpoint takes text, pictures, video and sound, and says noise.
"""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.services import SECRET
from tests.tiny_omni import make_tiny_omni

_START_S = 400.0
_OPTIONS = [
    *("--served-model-name", "tiny", "--host", "127.0.0.1", "--dtype", "float32"),
    *("--enforce-eager", "--max-model-len", "4096", "--max-num-batched-tokens", "4096"),
    *("--max-num-seqs", "4", "--limit-mm-per-prompt", '{"image": 8, "video": 1, "audio": 1}'),
]
# What `vllm serve` runs; the command itself looks for a distribution that the CPU build is not.
_SERVER = "vllm.entrypoints.openai.api_server"


@dataclass(frozen=True)
class Served:
    """A server that takes one key, ``tests.services.SECRET``, and has one model, ``tiny``."""

    base_url: str


@cache
def vllm_server() -> Served:
    """The server, started where it is not yet."""
    folder = tempfile.TemporaryDirectory(prefix="vllm-server-")
    log = Path(folder.name) / "log"
    checkpoint = make_tiny_omni(Path(folder.name) / "checkpoint")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", _SERVER, "--model", str(checkpoint), *_OPTIONS]
    command += ["--port", str(port), "--api-key", SECRET]
    environ = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}
    with log.open("wb") as file:
        process = subprocess.Popen(command, env=environ, stdout=file, stderr=file)
    atexit.register(_end, process, folder)
    _await(f"http://127.0.0.1:{port}/health", process, log)
    return Served(f"http://127.0.0.1:{port}/v1")


def _end(process: subprocess.Popen[bytes], folder: tempfile.TemporaryDirectory[str]) -> None:
    process.terminate()
    process.wait(timeout=60)
    folder.cleanup()


def _await(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _START_S
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"vllm serve did not start:\n{log.read_text()[-4000:]}")
