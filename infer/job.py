"""A job: asking requests in a process of its own (driver.py), and staying in charge of it.

The command outlives whatever happens to Ray, so it can always say what is stored and end with the
right exit code. The first signal lets what is in flight end, the second one ends the job at once.
When the command itself is killed, the driver notices and ends, and Ray's processes with it.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import IO

import msgspec

from infer import errors
from infer.actor import Done
from infer.dialogue import Talk
from infer.driver import CLOSE_S, Ended, Event, Header
from infer.errors import InferError, Interrupted, RayLost
from infer.plan import Planned

_SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Event).decode


class Signals:
    """What SIGTERM, SIGUSR1 and ctrl-C do while a run is at work; a context."""

    def __init__(self) -> None:
        self.react: Callable[[int], None] = _interrupt
        self._old: dict[int, object] = {}

    def __enter__(self) -> Signals:
        # Elsewhere than in the main thread Python takes no handlers; signals stay as they are.
        if threading.current_thread() is threading.main_thread():
            self._old = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.react(number)


class Job:
    """Requests that are being asked."""

    def __init__(self, header: Header, planned: Iterable[Planned | Talk], signals: Signals) -> None:
        self._header = header
        self._planned = planned
        self._signals = signals
        self._process: subprocess.Popen[bytes] | None = None
        self._control = -1
        self._draining = False
        self.interrupted = ""
        """Why the job ended before its work was done; empty when it did not."""
        self.settled = False
        """Nothing died of what was in flight: all is asked, or we killed what was not."""

    def answers(self) -> Iterator[Done]:
        """Yield each answer when it is stored, in the order in which they end.

        Raises:
            InferError: what ended the job early, of the classes in ``errors.py``, but for signals
                and the loss of Ray, which :attr:`interrupted` tells.
        """
        with tempfile.TemporaryFile() as todo:
            todo.write(_encode(self._header) + b"\n")
            todo.writelines(_encode(one) + b"\n" for one in self._planned)
            todo.seek(0)
            held, self._control = os.pipe()
            process = self._process = self._launch(todo, held)
            os.close(held)
        self._signals.react = self._stop
        assert process.stdout is not None
        ended: Ended | None = None
        try:
            with process.stdout as events:
                for line in _lines(events):
                    event = _decode(line)
                    ended = event.ended
                    if event.done is not None:
                        yield event.done
        finally:
            self._signals.react = lambda _: None  # what follows is short: counting and saying
            os.close(self._control)
            if ended is None:
                self._end()
            process.wait()
            self._end()
        self._conclude(ended)

    def _launch(self, todo: IO[bytes], control: int) -> subprocess.Popen[bytes]:
        root = str(Path(__file__).parent.parent)
        path = os.pathsep.join([root, *filter(None, sys.path)])
        return subprocess.Popen(  # noqa: S603 - our own module
            # -P: a user's folder that is called like one of our packages must not be found.
            [sys.executable, "-P", "-m", "infer.driver", str(control)],
            stdin=todo,
            stdout=subprocess.PIPE,
            pass_fds=(control,),
            env=os.environ | {"PYTHONPATH": path},
            start_new_session=True,  # ctrl-C comes to the command alone
        )

    def _stop(self, number: int) -> None:
        name = signal.Signals(number).name
        if self._draining:
            self.interrupted = f"{name}, twice"
            self.settled = True
            self._end()
            return
        self._draining, self.interrupted = True, name
        grace_s = self._header.grace_s
        _say(f"{name}: what is in flight may take {grace_s:g} s more; a second signal ends at once")
        with contextlib.suppress(OSError):
            os.write(self._control, b"drain\n")
        timer = threading.Timer(grace_s + 2 * CLOSE_S + 8.0, self._end)  # it waits twice
        timer.daemon = True
        timer.start()

    def _end(self) -> None:
        """Kill what is left of the job; the driver leads a session of its own."""
        if self._process is None:
            return
        for process in session(self._process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def _conclude(self, ended: Ended | None) -> None:
        code = self._process.returncode if self._process is not None else None
        if self._draining and (ended is None or ended.error == RayLost.__name__):
            # SLURM signals every process of a job that it ends: no engine died of a request.
            self.settled = True
        if ended is None and not self.interrupted:
            self.interrupted = f"the loss of Ray (its driver ended with exit code {code})"
        elif ended is not None and ended.error == RayLost.__name__:
            self.interrupted = self.interrupted or ended.message
        elif ended is not None and not ended.error:
            self.settled = not self._draining
        elif ended is not None:
            kind = getattr(errors, ended.error, InferError)
            raise kind(ended.message)
        if ended is not None and ended.in_flight:
            self.interrupted += f"; {ended.in_flight} request(s) were still in flight"


def _lines(events: IO[bytes]) -> Iterator[bytes]:
    # Of two signals that come at once, the kernel may give both to a library's thread. Then nothing
    # wakes this one, and it is here that handlers run: so it looks up every second.
    kept = b""
    while True:
        if select.select([events], [], [], 1.0)[0]:
            data = os.read(events.fileno(), 65_536)
            if not data:
                return
            *lines, kept = (kept + data).split(b"\n")
            yield from lines


def session(leader: int) -> list[int]:
    """Return the processes of the session that ``leader`` began."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, IndexError, ValueError):
            # After the name, which may hold anything: state, parent, group, session.
            fields = (entry / "stat").read_text(encoding="latin-1").rpartition(")")[2].split()
            if int(fields[3]) == leader:
                found.append(int(entry.name))
    return found


def _interrupt(number: int) -> None:
    raise Interrupted(
        f"interrupted by {signal.Signals(number).name} before anything was asked; "
        "the same command goes on"
    )


def _say(text: str) -> None:
    os.write(2, f"rejudge: {text}\n".encode())
