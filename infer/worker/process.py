"""A worker process: started, asked and ended from here; ``serve.py`` is its other side.

Who holds a worker uses it from one thread at a time. Two pipes carry the messages; a third, of
which only this side has the writing end, tells the worker's guard when this side is gone.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from infer.worker.serve import PROTOCOL

_SERVE = Path(__file__).parent / "serve.py"
#: Of what a worker prints, so much is kept for the message that says why it ended.
_TAIL_BYTES = 8192
#: No answer is as long as this: whatever writes so much without a line break is no worker of ours.
_LONGEST_LINE = 1 << 28
_TICK_S = 0.2
#: What would make the worker import this program's packages, or Python's own from elsewhere.
_OURS = ("PYTHONPATH", "PYTHONHOME", "PYTHONEXECUTABLE", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")


class WorkerLost(Exception):
    """The worker ended, hangs, or writes what is no message. It is not running any more."""

    def __init__(self, message: str, *, timed_out: bool = False) -> None:
        super().__init__(message)
        self.timed_out = timed_out


class LoadFailed(Exception):
    """The worker runs, but its adapter did not load the model; another try would end the same."""


class WorkerProcess:
    """One process of a model's environment."""

    def __init__(
        self, python: str, adapter: Path, folder: Path, import_paths: tuple[str, ...] = ()
    ) -> None:
        """Start the process; it loads nothing before :meth:`load`.

        Args:
            python: Path of the interpreter of the model's environment.
            adapter: The adapter's file.
            folder: Where media are put; the guard removes it if this process dies.
            import_paths: Folders that the worker imports from, besides its environment.

        Raises:
            OSError: the interpreter cannot be started.
        """
        self._gone = False
        self._pending = bytearray()
        self._printed = bytearray()
        with _Pipes() as pipes:
            self._requests, self._answers = pipes.write["requests"], pipes.read["answers"]
            self._life = pipes.write["life"]
            theirs = {
                "requests": pipes.read["requests"],
                "answers": pipes.write["answers"],
                "life": pipes.read["life"],
            }
            given = {**theirs, "folder": str(folder), "adapter": str(adapter)}
            self._process = subprocess.Popen(  # noqa: S603 - the interpreter is the user's own choice
                [python, "-u", str(_SERVE), json.dumps(given)],
                stdin=subprocess.DEVNULL,
                stdout=pipes.write["printed"],
                stderr=pipes.write["printed"],
                pass_fds=list(theirs.values()),
                start_new_session=True,
                env=_environment(os.environ, python, import_paths),
            )
            pipes.keep(self._requests, self._answers, self._life, pipes.read["printed"])
        os.set_blocking(self._requests, False)
        self._listener = threading.Thread(
            target=self._listen, args=(pipes.read["printed"],), daemon=True
        )
        self._listener.start()

    def load(self, message: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        """Have the model loaded; return what the worker says of itself.

        Raises:
            LoadFailed: the adapter raised an error.
            WorkerLost: the worker ended or was not ready in time.
        """
        until = time.monotonic() + timeout_s
        hello = self._receive(until, "start")
        if hello.get("op") != "hello" or hello.get("protocol") != PROTOCOL:
            raise self._lost(f"expected protocol {PROTOCOL}, the worker said {hello}")
        self._send({"op": "load", **message}, until)
        ready = self._receive(until, "load its model")
        if ready.get("op") != "ready":
            failure = ready.get("error", ready)
            self.kill()
            raise LoadFailed(f"{failure}{self._tail()}")
        return ready

    def ask(self, asks: list[dict[str, Any]], timeout_s: float) -> list[dict[str, Any]]:
        """Return the replies to some requests, in their order.

        Raises:
            WorkerLost: the worker ended, did not answer in time, or wrote something else.
        """
        until = time.monotonic() + timeout_s
        self._send({"op": "ask", "asks": asks}, until)
        replies = self._receive(until, "answer").get("replies")
        named = [
            reply.get("id") if isinstance(reply, dict) else None
            for reply in (replies if isinstance(replies, list) else [])
        ]
        if not isinstance(replies, list) or named != [ask["id"] for ask in asks]:
            raise self._lost("the worker answered something that was not asked")
        return replies

    def interrupt(self) -> None:
        """Kill the worker from another thread; whoever is asking it loses it."""
        if self._gone:
            return
        # The guard stays in the group after the worker, so that the group's id is still theirs.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def close(self, grace_s: float = 5.0) -> None:
        """End the worker: by itself if it does so in time, else by force."""
        if self._requests >= 0:
            os.close(self._requests)
            self._requests = -1
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(grace_s)
        self.kill()

    def kill(self) -> None:
        """Kill the worker, its children and its guard."""
        self.interrupt()
        self._gone = True
        self._process.wait()
        for name in ("_requests", "_answers", "_life"):
            if getattr(self, name) >= 0:
                os.close(getattr(self, name))
                setattr(self, name, -1)
        self._listener.join(1.0)

    def _send(self, message: Mapping[str, Any], until: float) -> None:
        data = memoryview(json.dumps(message).encode("ascii") + b"\n")
        while data:
            if time.monotonic() >= until:
                raise self._lost("the worker did not take the request in time", timed_out=True)
            if not _is_ready(self._requests, select.POLLOUT, _TICK_S):
                continue
            try:
                data = data[os.write(self._requests, data) :]
            except BlockingIOError:
                continue
            except BrokenPipeError as error:
                raise self._lost(f"the worker ended{self._how()}") from error

    def _receive(self, until: float, what: str) -> dict[str, Any]:
        line = self._line(until, what)
        if line is None:
            raise self._lost(f"the worker ended{self._how()}")
        try:
            message = json.loads(line)
        except (UnicodeDecodeError, json.JSONDecodeError):
            message = None
        if not isinstance(message, dict):
            raise self._lost(f"the worker wrote what is no message: {line[:40]!r}")
        return message

    def _line(self, until: float, what: str) -> bytes | None:
        """Return the next line; None where the worker ends before."""
        searched = 0
        while (end := self._pending.find(b"\n", searched)) < 0:
            searched = len(self._pending)
            if searched > _LONGEST_LINE:
                raise self._lost(f"the worker wrote {searched} bytes without a line's end")
            if time.monotonic() >= until:
                raise self._lost(f"the worker did not {what} in time", timed_out=True)
            ended = self._process.poll() is not None
            ready = _is_ready(self._answers, select.POLLIN, 0.0 if ended else _TICK_S)
            block = os.read(self._answers, 1 << 20) if ready else b""
            self._pending += block
            # A child of the worker may hold the pipe open: then only its exit tells.
            if not block and (ready or ended):
                return None
        line = bytes(self._pending[:end])
        del self._pending[: end + 1]
        return line

    def _listen(self, printed: int) -> None:
        """Pass on what the worker prints, and keep the end of it."""
        with os.fdopen(printed, "rb", buffering=0) as pipe:
            while block := pipe.read(65536):
                self._printed = (self._printed + block)[-_TAIL_BYTES:]
                with suppress(OSError, ValueError):
                    sys.stderr.write(block.decode("utf-8", "replace"))

    def _lost(self, message: str, *, timed_out: bool = False) -> WorkerLost:
        self.kill()
        return WorkerLost(f"{message}{self._tail()}", timed_out=timed_out)

    def _how(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(1.0)
            return f" by {signal.Signals(-code).name}" if code < 0 else f" with exit code {code}"
        return " its side of the pipe"

    def _tail(self) -> str:
        # One line, as the messages that carry it are cut to their last line.
        lines = bytes(self._printed).decode("utf-8", "replace").splitlines()
        said = [line.strip() for line in lines if line.strip()][-3:]
        return f"; it printed last: {' | '.join(said)[-600:]}" if said else ""


class _Pipes:
    """Four pipes; at the end of the block all ends are closed but those that are kept."""

    def __init__(self) -> None:
        ends = {name: os.pipe() for name in ("requests", "answers", "life", "printed")}
        self.read = {name: pair[0] for name, pair in ends.items()}
        self.write = {name: pair[1] for name, pair in ends.items()}
        self._open = {end for pair in ends.values() for end in pair}

    def __enter__(self) -> _Pipes:
        return self

    def __exit__(self, *error: object) -> None:
        for end in self._open:
            os.close(end)

    def keep(self, *ends: int) -> None:
        """Leave these open."""
        self._open -= set(ends)


def _is_ready(end: int, event: int, wait_s: float) -> bool:
    # poll and not select: an actor may well have more than 1,024 files open.
    poll = select.poll()
    poll.register(end, event)
    return bool(poll.poll(wait_s * 1000))


def _environment(
    ours: Mapping[str, str], python: str, import_paths: tuple[str, ...]
) -> dict[str, str]:
    theirs = {name: value for name, value in ours.items() if name not in _OURS}
    # As if the environment were activated: its programs (ffmpeg …) come first.
    theirs["PATH"] = os.pathsep.join([str(Path(python).parent), ours.get("PATH", os.defpath)])
    if import_paths:
        theirs["PYTHONPATH"] = os.pathsep.join(import_paths)
    return theirs
