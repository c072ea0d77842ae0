"""A judge behind a server with OpenAI's APIs, asked call by call through the official client.

The client retries 429, 5xx, timeouts and lost connections itself and honours Retry-After; what is
left after that becomes a record with a typed outcome. At most ``spec.concurrency`` calls are in
flight, each held by a worker that takes the next request as soon as it is free. The key comes from
the environment, goes to the client and nowhere else.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from cache.record import Outcome, Record
from cache.request import Request
from score.errors import JudgeUnavailable
from score.judge.breaker import Breaker
from score.judge.cost import rates
from score.judge.fault import Fault, classify, cleaned
from score.judge.pace import Pace
from score.judge.said import Said, api_of
from score.judge.spec import JudgeSpec
from score.judge.work import Work

if TYPE_CHECKING:
    import openai


def secret_of(spec: JudgeSpec, environ: Mapping[str, str]) -> str:
    """The judge's API key; empty where its server asks for none.

    Raises:
        JudgeUnavailable: the environment lacks it.
    """
    secret = environ.get(spec.api_key_env, "") if spec.api_key_env else ""
    if spec.api_key_env and not secret:
        raise JudgeUnavailable(
            f"judge {spec.name!r} needs an API key: set the environment variable {spec.api_key_env}"
        )
    return secret


def client_of(spec: JudgeSpec, secret: str) -> openai.AsyncOpenAI:
    """The official client for the judge's server."""
    import openai

    return openai.AsyncOpenAI(
        api_key=secret or "none",
        base_url=spec.base_url,
        timeout=spec.timeout_s,
        max_retries=spec.max_retries,
        # httpx's own transport looks at every connection of its pool for every call.
        http_client=openai.DefaultAioHttpClient(),
    )


class ServiceEngine:
    """Answers requests call by call."""

    def __init__(self, spec: JudgeSpec, environ: Mapping[str, str]) -> None:
        self._secret = secret_of(spec, environ)
        self._spec = spec
        self._client = client_of(spec, self._secret)
        self._pace = Pace(spec.limits)
        self._rates = rates(spec)

    async def answers(self, work: Work) -> AsyncIterator[list[Record]]:
        """Yield records as their requests are answered; see :class:`JudgeEngine`."""
        shift = _Shift(work, Breaker(self._spec.concurrency))
        workers = {asyncio.create_task(self._work(shift))}
        alone = True
        try:
            while workers or shift.done:
                await shift.news.wait()
                shift.news.clear()
                if alone and not shift.breaker.cautious:
                    alone = False
                    more = min(self._spec.concurrency - 1, len(work))
                    workers |= {asyncio.create_task(self._work(shift)) for _ in range(more)}
                if records := shift.collect():
                    yield records
                for worker in [worker for worker in workers if worker.done()]:
                    workers.remove(worker)
                    worker.result()
        finally:
            for worker in workers:
                worker.cancel()
        if shift.breaker.final:
            raise JudgeUnavailable(
                f"the service of judge {self._spec.name!r} at {self._spec.base_url} "
                f"{shift.breaker.final}"
            )

    async def close(self) -> None:
        """Close the client's connections."""
        await self._client.close()

    async def _work(self, shift: _Shift) -> None:
        try:
            while request := await shift.take():
                start = time.monotonic()
                said = await self._ask(request)
                shift.answered(said, said.record(request, time.monotonic() - start))
        finally:
            shift.news.set()

    async def _ask(self, request: Request) -> Said:
        import openai

        api = api_of(request)
        expected = self._rates.usage(request)
        tokens = (expected.input_tokens or 0) + (expected.output_tokens or 0)
        now = time.monotonic()
        await asyncio.sleep(self._pace.start(now, tokens) - now)
        try:
            answer = await self._client.post(
                api.path, cast_to=str, content=msgspec.json.encode(api.body(request))
            )
            said = api.read(answer.encode())
        except openai.APIError as error:
            return Said(fault=classify(error, self._secret))
        except (msgspec.MsgspecError, UnicodeError) as error:
            text = cleaned(f"the server's answer is none of this API: {error}", self._secret)
            return Said(fault=Fault(Outcome.INFRA_ERROR, text))
        taken = (said.usage.input_tokens or 0) + (said.usage.output_tokens or 0)
        if taken:
            self._pace.correct(tokens, taken)
        return said


class _Shift:
    """What the workers of one round share."""

    def __init__(self, work: Work, breaker: Breaker) -> None:
        self.work = work
        self.breaker = breaker
        self.done: list[Record] = []
        """Answered, and not yet collected."""
        self.news = asyncio.Event()
        """Something was answered, or a worker went home."""
        self._in_flight = 0
        self._freed = asyncio.Event()

    async def take(self) -> Request | None:
        """The next request. While there is no money for it, calls in flight may give some back."""
        while not self.breaker.stop:
            if request := self.work.take():
                self._in_flight += 1
                return request
            if not self.work or not self._in_flight:
                return None
            await self._freed.wait()
        return None

    def answered(self, said: Said, record: Record) -> None:
        """Note an answer."""
        self._in_flight -= 1
        self.work.done(record)
        if said.fault is not None and said.fault.refusal:
            self.breaker.refused(record.response.error)
        elif record.outcome.is_hit:
            self.breaker.answered()
        else:
            self.breaker.failed(record.response.error)
        self.done.append(record)
        self.news.set()
        self._freed.set()
        self._freed = asyncio.Event()

    def collect(self) -> list[Record]:
        """What was answered since the last time."""
        records, self.done = self.done, []
        return records
