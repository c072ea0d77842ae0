"""What an exception of the openai client means: an outcome, and whether the service is refusing.

    400 content filter → content_filter      400 too long → context_overflow
    timeout, 408       → timeout             429, 5xx, lost connection, odd body → infra_error
    401, 402, 403, 404, other 4xx, 429 for lack of money or with a wait of minutes
                       → infra_error, and the service *refuses*

A refusing service would refuse the next request too: key, money, model or a parameter is wrong.
Texts of errors can repeat the key, so they are cleaned here before anyone keeps them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from cache.record import Outcome

if TYPE_CHECKING:
    import openai

_FILTERED = frozenset({"content_filter", "content_policy_violation"})
_NO_MONEY = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_TOO_LONG = re.compile(r"context_length_exceeded|maximum context length|context window", re.I)
_PASSING = frozenset({408, 409, 425, 429})
_KEY_LIKE = re.compile(r"\b(sk|key)-[\w*.-]{4,}|(?<=Bearer )\S+")
_LONGEST = 500

#: A service that asks to wait longer than so many seconds is refusing.
LONGEST_WAIT_S = 120.0


@dataclass(frozen=True, slots=True)
class Fault:
    """How a call failed."""

    outcome: Outcome
    error: str
    refusal: bool = False
    """The service would refuse any other request as well."""


def classify(error: openai.APIError, secret: str) -> Fault:
    """Return what the client's exception means, its text cleaned of ``secret``."""
    import openai

    text = cleaned(_message(error), secret)
    if isinstance(error, openai.APITimeoutError):
        # The client's transport calls a connection that was lost or refused a timeout, too.
        if any(isinstance(cause, TimeoutError) for cause in _causes(error)):
            return Fault(Outcome.TIMEOUT, text)
        cause = cleaned(f"Connection lost: {error.__cause__}", secret)
        return Fault(Outcome.INFRA_ERROR, cause)
    if not isinstance(error, openai.APIStatusError):
        return Fault(Outcome.INFRA_ERROR, text)
    code = error.code or ""
    wait_s = asked_wait_s(error.response.headers) if error.status_code == 429 else 0.0
    if wait_s > LONGEST_WAIT_S:
        text += f" (it asks to wait {wait_s:,.0f} s)"
    fault = fault_of(error.status_code, code if code else error.type or "", text)
    return replace(fault, refusal=fault.refusal or wait_s > LONGEST_WAIT_S)


def asked_wait_s(headers: Mapping[str, str]) -> float:
    """The seconds that a service asks to wait before the next call; 0 where it names none."""
    text = headers.get("retry-after", "")
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        return 0.0


def says_no_money(body: bytes) -> bool:
    """Whether an error of HTTP says that nothing is left to pay with."""
    return any(code.encode() in body for code in _NO_MONEY)


def fault_of(status: int, code: str, text: str) -> Fault:
    """Return what an error that a service names means.

    Args:
        status: Of HTTP; 0 where the error came with an answer of its own.
        code: The service's own.
        text: Its words, cleaned.
    """
    if status:
        text = f"HTTP {status}: {text}"
    elif code:
        text = f"{code}: {text}"
    if status in (0, 400) and code in _FILTERED:
        return Fault(Outcome.CONTENT_FILTER, text)
    if status in (0, 400, 413) and (_TOO_LONG.search(code) or _TOO_LONG.search(text)):
        return Fault(Outcome.CONTEXT_OVERFLOW, text)
    if status == 408:
        return Fault(Outcome.TIMEOUT, text)
    refusal = code in _NO_MONEY if status in (0, 429) else status < 500 and status not in _PASSING
    return Fault(Outcome.INFRA_ERROR, text, refusal)


def cleaned(text: str, secret: str) -> str:
    """Return ``text`` on one line, short, and without the key or anything that looks like one."""
    if secret:
        text = text.replace(secret, "[api key]")
    flat = " ".join(_KEY_LIKE.sub("[api key]", text).split())
    return flat if len(flat) <= _LONGEST else flat[: _LONGEST - 1] + "…"


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause = error.__cause__
    while cause is not None:
        yield cause
        cause = cause.__cause__


def _message(error: openai.APIError) -> str:
    """The server's own words where there are any, else the client's."""
    if isinstance(error.body, dict) and isinstance(error.body.get("message"), str):
        return str(error.body["message"])
    cause = f" ({error.__cause__})" if error.__cause__ is not None else ""
    return f"{error.message}{cause}"
