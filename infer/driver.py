"""The Ray driver of a job: a process of its own, because Ray may end it at any time.

When Ray's raylet or its control store is gone, Ray's C++ core ends the driver on the spot, with no
word and no Python. So the command (job.py) stays outside and hears of every answer:

    stdin     what to do: a line with the header, then a line for each request
    CONTROL   "drain", or its end: the command is gone
    stdout    a line for each answer, and at last how it ended
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from infer.actor import Done
from infer.card import ModelCard
from infer.dialogue import Talk
from infer.errors import EngineFailed, InferError, RayLost, last_line
from infer.ledger import Ledger
from infer.plan import Planned

#: Time for engines to close in order, once nothing is asked any more.
CLOSE_S = 10.0


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """A job, but for its requests."""

    card: ModelCard
    store: str
    journals: str
    """The folder of the job's journals."""
    grace_s: float
    """How long what is in flight may take to end when the job is asked to stop."""
    dialogues: bool = False
    """The lines that follow are dialogues, not single requests."""


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How a job ended."""

    error: str = ""
    """Class of the error, of infer.errors; empty: all is asked, or the drain is complete."""
    message: str = ""
    in_flight: int = 0
    """Requests that the drain did not wait for any longer."""


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line on stdout."""

    done: Done | None = None
    ended: Ended | None = None


def main() -> None:
    """Do the job that stdin describes."""
    control = int(sys.argv[1])
    # Signals are the command's business, which says "drain". Ray's processes inherit this: SLURM
    # may send a signal to all processes of a job step.
    for number in (signal.SIGINT, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)
    logging.basicConfig(level=logging.WARNING, format="rejudge: %(message)s")
    events = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # Ray prints to stdout, which is for events here
    lines = iter(sys.stdin.buffer)
    try:
        header = msgspec.json.decode(next(lines), type=Header)
    except msgspec.MsgspecError as error:  # else it would look as if Ray were lost
        _write(events, Event(ended=_ended(InferError(f"the job cannot be read: {error}"))))
        os._exit(1)
    decode = msgspec.json.Decoder(Talk if header.dialogues else Planned).decode
    ended = work(header, (decode(line) for line in lines), control, events)
    _write(events, Event(ended=ended))
    os._exit(0)  # threads may still wait for Ray; what they hold ends with this process


def work(header: Header, planned: Iterator[Any], control: int, events: BinaryIO) -> Ended:
    """Run the pipeline until it ends, is asked to stop, or halts by itself."""
    inbox: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
    _in_thread(lambda: _listen(control, inbox))
    try:
        ledger = _start(header)
    except InferError as error:
        return _ended(error)
    stop = threading.Event()
    pipeline = _in_thread(lambda: _pump(header, planned, ledger, stop, inbox))
    _in_thread(lambda: _watch(ledger, inbox))
    if header.dialogues:
        _in_thread(lambda: _hear(ledger, inbox))
    told: set[str] = set()
    while True:
        what, value = inbox.get()
        if what == "done":
            _tell(events, value, told)
        elif what == "drain":
            ended = Ended(in_flight=_drain(ledger, header.grace_s))
            break
        elif what == "halted" and value.error != EngineFailed.__name__:
            _drain(ledger, min(CLOSE_S, header.grace_s))
            ended = value
            break
        else:
            ended = value if isinstance(value, Ended) else _ended(value)
            if not ended.error:
                _await_closed(ledger)
            return ended
    # Before the pipeline ends: it does not let go of its actors in order when it is stopped.
    _await_closed(ledger)
    stop.set()
    pipeline.join(CLOSE_S)
    while not inbox.empty():
        what, value = inbox.get()
        if what == "done":
            _tell(events, value, told)
    return ended


def _start(header: Header) -> Any:
    from infer.cluster import require_resources, start_ray
    from infer.pipeline import decode_cpus

    start_ray()
    require_resources(header.card, decode_cpus())

    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    actor = ray.remote(num_cpus=0, max_concurrency=10_000, scheduling_strategy=here)(Ledger)
    return actor.remote(header.journals)


def _pump(
    header: Header,
    planned: Iterator[Any],
    ledger: Any,
    stop: threading.Event,
    inbox: queue.SimpleQueue[tuple[str, Any]],
) -> None:
    try:
        from infer.converse import run_dialogues
        from infer.pipeline import run_pipeline

        run = run_dialogues if header.dialogues else run_pipeline
        for done in run(planned, header.card, Path(header.store), ledger):
            if done is not None:
                inbox.put(("done", done))
            if stop.is_set():
                return
    except InferError as error:
        inbox.put(("ended", error))
    except BaseException as error:  # the command must hear of it whatever it is
        traceback.print_exc()
        inbox.put(("ended", InferError(f"the job failed: {type(error).__name__}: {error}")))
    else:
        inbox.put(("ended", Ended()))


def _listen(control: int, inbox: queue.SimpleQueue[tuple[str, Any]]) -> None:
    if os.read(control, 64):
        inbox.put(("drain", None))
    if not os.read(control, 64):
        os._exit(1)  # the command is gone; Ray's processes end with this one


def _watch(ledger: Any, inbox: queue.SimpleQueue[tuple[str, Any]]) -> None:
    import ray

    try:
        kind, why = ray.get(ledger.halted.remote())
        inbox.put(("halted", Ended(error=kind, message=why)))
    except ray.exceptions.RayError as error:
        inbox.put(("ended", RayLost(f"Ray ended under the job: {last_line(error)}")))


def _hear(ledger: Any, inbox: queue.SimpleQueue[tuple[str, Any]]) -> None:
    # A dialogue is one row of the pipeline: of its turns the ledger hears as they are answered.
    import ray

    with contextlib.suppress(ray.exceptions.RayError):  # the watch tells of it
        while True:
            for one in ray.get(ledger.news.remote()):
                inbox.put(("done", msgspec.json.decode(one, type=Done)))


def _drain(ledger: Any, grace_s: float) -> int:
    import ray

    try:
        return int(ray.get(ledger.drain.remote(grace_s)))
    except ray.exceptions.RayError:
        return 0


def _await_closed(ledger: Any) -> None:
    # Engines may have to clean up elsewhere, such as files at a service.
    import ray

    with contextlib.suppress(ray.exceptions.RayError):
        ray.get(ledger.await_closed.remote(CLOSE_S))


def _ended(error: InferError) -> Ended:
    return Ended(error=type(error).__name__, message=str(error))


def _tell(events: BinaryIO, done: Done, told: set[str]) -> None:
    if done.key not in told:
        told.add(done.key)
        _write(events, Event(done=done))


def _write(events: BinaryIO, event: Event) -> None:
    events.write(msgspec.json.encode(event) + b"\n")


def _in_thread(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


if __name__ == "__main__":
    main()
