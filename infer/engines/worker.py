"""Models whose code neither vLLM nor transformers carries, each in an environment of its own.

    [worker]                 where the model runs: infer/worker/environment.py
    [settings]
    adapter = "vita_1_5"     a file of infer/worker/adapters/, or the path of your own, from the
                             card's folder on; its name and sha256 are in the key, not its place

The engine starts one worker process and asks it. As many requests as the adapter takes go into one
call. A batch that fails is asked again one by one, so that only what cannot be answered fails:

    the worker dies               infra_error, and a new worker for the others
    it does not answer            timeout, likewise
    it cannot be started again    the run ends, with everything that is pending left pending
"""

from __future__ import annotations

import asyncio
import itertools
import os
import queue
import shutil
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from cache.record import Outcome, Response, Usage
from cache.request import Request
from infer.card import ModelCard
from infer.chat import make_chat
from infer.checkpoint import locate
from infer.engine import Answer
from infer.errors import EngineFailed
from infer.media.decode import Prepared
from infer.worker.environment import find_adapter
from infer.worker.media import make_folder, write_ask
from infer.worker.process import LoadFailed, WorkerLost, WorkerProcess

#: A worker that ends while it starts is started again; after so many times in a row it is given up.
_STARTS = 3
#: Requests of one actor arrive one after the other: so long a batch waits to become full.
_LINGER_S = 0.02
_CLOSED = "the engine was closed"
#: Failures that may be another request's of the same batch.
_SHARED = (Outcome.OUT_OF_MEMORY, Outcome.INFRA_ERROR, Outcome.TIMEOUT)


@dataclass(slots=True)
class Job:
    """A request that waits for the worker."""

    ask: dict[str, Any]
    answer: Future[Answer] = field(default_factory=Future)


class _Reply(msgspec.Struct):
    """A reply to one request; ``serve.py`` sees to it that it is one."""

    outcome: Outcome
    text: str = ""
    finish_reason: str = ""
    error: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None


class WorkerEngine:
    """Asks one worker process, and replaces it where it is lost."""

    def __init__(self, card: ModelCard, python: str, adapter: Path) -> None:
        self._card, self._python, self._adapter = card, python, adapter
        self._folder = make_folder()
        self._numbers = itertools.count()
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._worker: WorkerProcess | None = None
        self._max_batch = 1
        self._versions: dict[str, str] = {}
        self._closing = False
        self._broken = ""
        self._thread = threading.Thread(target=self._run, name="worker", daemon=True)

    def start(self) -> None:
        """Start the worker and have it load the model.

        Raises:
            EngineFailed: it does not start.
        """
        try:
            self._ready()
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        self._thread.start()

    async def answer(self, request: Request, prepared: Prepared) -> Answer:
        """Return the worker's answer.

        Raises:
            EngineFailed: the worker was lost and cannot be started again.
        """
        if self._closing:
            raise EngineFailed(_CLOSED)
        number = next(self._numbers)
        chat = make_chat(request, prepared)
        try:
            job = Job(await asyncio.to_thread(write_ask, request, chat, number, self._folder))
            self._jobs.put(job)
            return await asyncio.wrap_future(job.answer)
        finally:
            await asyncio.to_thread(shutil.rmtree, self._folder / str(number), ignore_errors=True)

    def close(self) -> None:
        """End the worker and remove the media that it was given."""
        self._closing = True
        self._jobs.put(None)
        while self._thread.is_alive():
            self._thread.join(0.2)  # an idle worker ends by itself
            if self._thread.is_alive() and (worker := self._worker) is not None:
                worker.interrupt()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self) -> None:
        while jobs := self._take():
            self._work(jobs)
        if self._worker is not None:
            self._worker.close()
        while not self._jobs.empty():
            if job := self._jobs.get():
                job.answer.set_exception(EngineFailed(_CLOSED))

    def _take(self) -> list[Job]:
        """Wait for requests; return a batch, empty at the end."""
        jobs: list[Job] = []
        until = None
        while len(jobs) < self._max_batch:
            wait_s = None if until is None else max(0.0, until - time.monotonic())
            try:
                job = self._jobs.get(timeout=wait_s)
            except queue.Empty:
                break
            if job is None:
                self._jobs.put(None)
                break
            if job.answer.set_running_or_notify_cancel():
                jobs.append(job)
                until = until or time.monotonic() + _LINGER_S
        return jobs

    def _work(self, jobs: list[Job]) -> None:
        try:
            self._ask(jobs)
        except BaseException as error:  # this thread is the only one, and jobs wait for it
            if self._worker is not None:  # who knows what it is about to say
                self._worker.kill()
                self._worker = None
            # Others than these would end the event loop that they are raised in.
            said = error if isinstance(error, Exception) else RuntimeError(repr(error))
            for job in jobs:
                if not job.answer.done():
                    job.answer.set_exception(said)

    def _ask(self, jobs: list[Job]) -> None:
        replies: list[Any]
        try:
            replies = self._ready().ask([job.ask for job in jobs], self._card.worker.timeout_s)
        except WorkerLost as lost:
            self._worker = None
            outcome = Outcome.TIMEOUT if lost.timed_out else Outcome.INFRA_ERROR
            replies = [{"outcome": outcome, "error": str(lost)} for _ in jobs]
        for job, reply in zip(jobs, replies, strict=True):
            answer = self._read(reply)
            if len(jobs) > 1 and answer.outcome in _SHARED:
                self._work([job])
            else:
                job.answer.set_result(answer)

    def _ready(self) -> WorkerProcess:
        """Return a worker with its model loaded.

        Raises:
            EngineFailed: it does not start.
        """
        if self._broken or self._closing:
            raise EngineFailed(self._broken or _CLOSED)
        if self._worker is not None:
            return self._worker
        reason = ""
        for _ in range(_STARTS):
            try:
                return self._start()
            except WorkerLost as lost:
                reason = str(lost) if lost.timed_out else f"{lost} ({_STARTS} starts)"
                if lost.timed_out or self._closing:
                    break
            except (LoadFailed, OSError) as error:
                reason = str(error)
                break
        self._worker = None
        self._broken = (
            f"model {self._card.name!r}: the worker {self._python} with the adapter "
            f"{self._adapter.name} does not start: {reason}"
        )
        raise EngineFailed(self._broken)

    def _start(self) -> WorkerProcess:
        source = locate(self._card)
        paths = self._card.worker.folders(self._card.name, os.environ)
        worker = WorkerProcess(self._python, self._adapter, self._folder, paths)
        self._worker = worker
        said = worker.load(
            {
                "checkpoint": source.place,
                "revision": source.revision,
                "settings": self._card.settings,
                "trust_remote_code": self._card.trust_remote_code,
            },
            self._card.worker.load_timeout_s,
        )
        self._max_batch = max(1, int(said["max_batch"]))
        self._versions = said["versions"]
        return worker

    def _read(self, reply: Any) -> Answer:
        try:
            said = msgspec.convert(reply, _Reply)
        except msgspec.ValidationError as error:
            said = _Reply(Outcome.INFRA_ERROR, error=f"the worker's reply does not hold: {error}")
        return Answer(
            said.outcome,
            Response(text=said.text, finish_reason=said.finish_reason, error=said.error),
            Usage(input_tokens=said.input_tokens, output_tokens=said.output_tokens),
            {"worker": self._versions},
        )


def create(card: ModelCard) -> WorkerEngine:
    """Start the worker of the card's model.

    Raises:
        CardError: no such adapter, or the card names no interpreter.
        FeatureMissing: the interpreter is not there.
        EngineFailed: the worker does not start or its model does not load.
    """
    python = card.worker.interpreter(card.name, os.environ)
    adapter = card.worker.adapter or str(card.settings.get("adapter", ""))
    engine = WorkerEngine(card, python, find_adapter(adapter, card.name))
    engine.start()
    return engine
