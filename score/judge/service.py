"""A judge behind a server with OpenAI's APIs, asked call by call through the official client.

The client retries 429, 5xx, timeouts and lost connections itself and honours Retry-After; what is
left after that becomes a record with a typed outcome. At most ``spec.concurrency`` calls are in
flight, each held by a worker that takes the next request as soon as it is free. The key comes from
the environment, goes to the client and nowhere else.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from cache.record import Outcome, Record
from cache.request import Request
from score.errors import JudgeUnavailable
from score.judge.breaker import Breaker
from score.judge.cost import rates
from score.judge.fault import (
    LONGEST_WAIT_S,
    Fault,
    asked_wait_s,
    classify,
    cleaned,
    says_no_money,
)
from score.judge.pace import Pace
from score.judge.said import Said, api_of
from score.judge.spec import JudgeSpec
from score.judge.work import Work

if TYPE_CHECKING:
    import openai

#: Time over which a round's first calls begin, at most.
_SPREAD_S = 1.0


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
    if not (secret.isascii() and secret.isprintable()) or " " in secret:
        raise JudgeUnavailable(
            f"the environment variable {spec.api_key_env} holds no API key: there are line breaks, "
            "blanks or characters in it that no HTTP header can have; set it anew"
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
        http_client=openai.DefaultAioHttpClient(event_hooks={"response": [_hopeless]}),
    )


async def _hopeless(response: Any) -> None:
    """Tell the client not to repeat a call that would be refused again, by its own header."""
    if response.status_code != 429:
        return
    await response.aread()
    if asked_wait_s(response.headers) > LONGEST_WAIT_S or says_no_money(response.content):
        response.headers["x-should-retry"] = "false"


class ServiceEngine:
    """Answers requests call by call."""

    def __init__(self, spec: JudgeSpec, environ: Mapping[str, str]) -> None:
        self._secret = secret_of(spec, environ)
        self._spec = spec
        self._client = client_of(spec, self._secret)
        self._pace = Pace(spec.limits)
        self._rates = rates(spec)

    async def answers(self, work: Work) -> AsyncGenerator[list[Record], None]:
        """Yield records as their requests are answered; see :class:`JudgeEngine`."""
        shift = _Shift(work, Breaker(self._spec.concurrency))
        workers = {asyncio.create_task(self._work(shift))}
        alone, began = True, time.monotonic()
        try:
            while workers or shift.done:
                await shift.news.wait()
                shift.news.clear()
                if alone and not shift.breaker.cautious:
                    alone = False
                    more = min(self._spec.concurrency - 1, len(work))
                    # Spread over the time that one call took: what begins together ends together,
                    # and then waits for its turn here.
                    gap_s = min(time.monotonic() - began, _SPREAD_S) / max(more, 1)
                    workers |= {
                        asyncio.create_task(self._work(shift, number * gap_s))
                        for number in range(more)
                    }
                if records := shift.collect():
                    yield records
                for worker in [worker for worker in workers if worker.done()]:
                    workers.remove(worker)
                    worker.result()
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        if shift.breaker.final:
            raise JudgeUnavailable(
                f"the service of judge {self._spec.name!r} at {self._spec.base_url} "
                f"{shift.breaker.final}"
            )

    async def close(self) -> None:
        """Close the client's connections."""
        await self._client.close()

    async def _work(self, shift: _Shift, after_s: float = 0.0) -> None:
        try:
            await asyncio.sleep(after_s)
            while request := await shift.take():
                start = time.monotonic()
                said = await self._ask(request, shift.work)
                if said is None:
                    shift.dropped()
                    break
                shift.answered(said, said.record(request, time.monotonic() - start))
        finally:
            shift.news.set()

    async def _ask(self, request: Request, work: Work) -> Said | None:
        """What the service says; None where the work was closed before the call's turn."""
        import aiohttp
        import openai

        api = api_of(request)
        expected = self._rates.usage(request)
        tokens = (expected.input_tokens or 0) + (expected.output_tokens or 0)
        now = time.monotonic()
        wait_s = self._pace.start(now, tokens) - now
        if wait_s > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(work.closed.wait(), wait_s)
        if work.closed.is_set():
            return None
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
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # Of HTTP that is none: the client wraps only what its own transport knows.
            text = cleaned(f"the server's answer is no HTTP: {error}", self._secret)
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
        while not (self.breaker.stop or self.work.closed.is_set()):
            if request := self.work.take():
                self._in_flight += 1
                return request
            if not self.work or not self._in_flight:
                return None
            await self._freed.wait()
        return None

    def dropped(self) -> None:
        """Note a request that was taken and not asked."""
        self._in_flight -= 1
        self._free()

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
        self._free()

    def _free(self) -> None:
        self._freed.set()
        self._freed = asyncio.Event()

    def collect(self) -> list[Record]:
        """What was answered since the last time."""
        records, self.done = self.done, []
        return records
