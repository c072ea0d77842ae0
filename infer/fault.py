"""What a service's error means: an outcome, and whether any other request would meet it too.

    400 by a content filter, 421          content_filter
    400 too long, 413                     context_overflow
    a time-out, 408, 504                  timeout
    401, 402, 403, 404, 429 without money infra_error, and a *refusal*: key, money or model is wrong
    anything else, lost connections       infra_error

Texts of errors can repeat the key, so they are cleaned here before anyone keeps them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from cache.record import Outcome
from infer.storable import storable

_FILTERED = re.compile(
    r"content_?filter|content_policy_violation|data_?inspection_?failed|sensitive_?content"
    r"|responsibleaipolicy|prohibited_content",
    re.IGNORECASE,
)
#: No money, a bad key, a wrong country: said with statuses that mean other things too.
_UNSERVED = re.compile(
    r"insufficient_quota|billing_(hard_limit_reached|not_active)|arrearage|overdue"
    r"|api_key_(invalid|expired)|api key (not valid|expired)|location is not supported",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"context_length_exceeded|(maximum|max) (context|model) length|context window"
    r"|range of input length|exceed\w* (the )?(maximum|max) (number of |message )?tokens"
    r"|exceeds the maximum number of tokens",
    re.IGNORECASE,
)
_REFUSING = frozenset({401, 402, 403, 404})
_KEY_LIKE = re.compile(r"\b(sk|key)-[\w*.-]{4,}|\bAIza[\w-]{8,}|(?<=Bearer )\S+")
_LONGEST = 500


@dataclass(frozen=True, slots=True)
class Fault:
    """How a request failed."""

    outcome: Outcome
    error: str
    refusal: bool = False
    """The service would turn down any other request as well."""


def of_status(status: int, code: str, text: str) -> Fault:
    """Return what an HTTP error means.

    Args:
        status: The HTTP status.
        code: The service's own codes, joined by spaces.
        text: Its words, cleaned.
    """
    said = f"HTTP {status}: {text}"
    if status == 421:
        return Fault(Outcome.CONTENT_FILTER, said)
    if status == 413:
        return Fault(Outcome.CONTEXT_OVERFLOW, said)
    if status in (408, 504):
        return Fault(Outcome.TIMEOUT, said)
    unserved = status in (400, 429) and bool(_UNSERVED.search(f"{code} {text}"))
    if status >= 500 or status == 429:
        return Fault(Outcome.INFRA_ERROR, said, unserved)
    fault = of_words(code, said)
    if fault.outcome is not Outcome.INFRA_ERROR:
        return fault
    return replace(fault, refusal=unserved or status in _REFUSING)


def of_words(code: str, text: str) -> Fault:
    """Return what an error means that has no HTTP status of its own.

    Args:
        code: The service's own codes, joined by spaces.
        text: Its words, cleaned.
    """
    words = f"{code} {text}"
    if _FILTERED.search(words):
        return Fault(Outcome.CONTENT_FILTER, text)
    if _TOO_LONG.search(words):
        return Fault(Outcome.CONTEXT_OVERFLOW, text)
    return Fault(Outcome.INFRA_ERROR, text)


def of_transport(error: Exception, secret: str) -> Fault | None:
    """Return what an error of the HTTP library means; None if it is not one.

    The clients of services use httpx, a fork of it under another name, or aiohttp, as installed.
    Their errors are told by the names of their classes, which all three share.
    """
    names = {kind.__name__ for kind in type(error).__mro__}
    text = cleaned(f"{type(error).__name__}: {error}", secret)
    if names & {"TimeoutException", "TimeoutError"}:
        return Fault(Outcome.TIMEOUT, text)
    if names & {"HTTPError", "StreamError", "ClientError", "OSError"}:
        return Fault(Outcome.INFRA_ERROR, text)
    return None


def cleaned(text: str, secret: str) -> str:
    """Return ``text`` on one line, short, and without the key or anything that looks like one."""
    text = storable(text)
    if secret:
        text = text.replace(secret, "[api key]")
    flat = " ".join(_KEY_LIKE.sub("[api key]", text).split())
    return flat if len(flat) <= _LONGEST else flat[: _LONGEST - 1] + "…"
