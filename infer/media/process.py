"""The decoding process, seen from its parent: started once, replaced when it dies or hangs.

    parent ──Job──► child (infer.media.child)
       └──◄── memory file with the arrays (infer.media.handover) ──┘

A pool from a library (concurrent.futures, loky) cannot end a worker that hangs, or loses the others
when one crashes. Pebble's can, but hands arrays over through a pipe, imports Ray's worker again in
each child, and its hung children outlive a killed parent.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import msgspec

from infer.errors import EngineFailed
from infer.media import handover
from infer.media.child import LONGEST_MESSAGE, READY, Job
from infer.media.decode import Prepared

#: Imports from a cold network disk are slow.
_START_S = 120.0


class Died(Exception):
    """The child ended; the message says how."""


class DecodingProcess:
    """A child that decodes, one job at a time. Not for several threads at once."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._link: socket.socket | None = None
        self._lifeline = -1

    def run(self, job: Job, limit_s: float) -> Prepared:
        """Have a job done.

        Raises:
            TimeoutError: it took longer than the limit; the child was killed.
            Died: the child died.
            EngineFailed: the child does not start.
        """
        link = self._link or self._start()
        link.settimeout(limit_s)
        try:
            link.send(msgspec.json.encode(job))
            message, descriptors, _, _ = socket.recv_fds(link, LONGEST_MESSAGE, 1)
        except TimeoutError:
            self.end()
            raise
        except ConnectionError as error:
            raise Died(self._how_it_ended()) from error
        if not descriptors:
            raise Died(self._how_it_ended())
        return handover.read(message, descriptors[0])

    def end(self) -> None:
        """Kill the child, if there is one."""
        if self._process is None or self._link is None:
            return
        self._process.kill()
        self._process.wait()
        self.forget()

    def forget(self) -> None:
        """Let go of the child; it ends when the last process lets go of it."""
        if self._link is not None:
            self._link.close()
            os.close(self._lifeline)
        self._process = self._link = None

    def _start(self) -> socket.socket:
        self._link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        held, self._lifeline = os.pipe()
        passed = theirs.fileno(), held
        path = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path)
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            # -P: a user's folder that is called like one of our packages must not be found.
            [sys.executable, "-P", "-m", "infer.media.child", *map(str, passed)],
            pass_fds=passed,
            env=os.environ | {"PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # ctrl-C is for the driver, which ends the job in order
        )
        theirs.close()
        os.close(held)
        self._link.settimeout(_START_S)
        try:
            said = self._link.recv(LONGEST_MESSAGE)
        except (TimeoutError, ConnectionError):
            said = b""
        if said != READY:
            raise EngineFailed(
                f"the decoding process did not start ({self._how_it_ended()}); "
                "the log of the worker has its message"
            )
        return self._link

    def _how_it_ended(self) -> str:
        assert self._process is not None
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:  # it closed its end, or never got ready
            self.end()
            return "no answer"
        self.end()
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"
