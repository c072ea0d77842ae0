"""A record: one answered request, one JSON line of the store.

    {"key": …, "outcome": "ok", "request": {…}, "response": {…}, "effective": {…}, "usage": {…},
     "times": {…}, "producer": {…}, "created": "2026-01-31T12:00:00.000Z", "digest": "…"}

The line carries its own check: ``digest``, always last, is the sha256 of the line's bytes before
``,"digest"``. So a changed byte anywhere in the line is found without parsing it; and as key and
outcome come first, a reader finds both at fixed places.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from cache.canonical import sha256_hex
from cache.errors import CanonicalError, RecordError
from cache.request import Request, Transport, key_of_decoded

_TAIL = b',"digest":"'
#: Bytes at a line's end that its digest does not cover.
TAIL_SIZE = len(_TAIL) + 64 + len(b'"}')


class Outcome(StrEnum):
    """How a request ended."""

    OK = "ok"
    CONTEXT_OVERFLOW = "context_overflow"
    OUT_OF_MEMORY = "out_of_memory"
    DECODE_ERROR = "decode_error"
    CONTENT_FILTER = "content_filter"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    TIMEOUT = "timeout"
    INFRA_ERROR = "infra_error"

    @property
    def is_hit(self) -> bool:
        """Whether a repeat would end the same way, so that the store answers for the model."""
        return self not in _TRY_AGAIN


_TRY_AGAIN = frozenset({Outcome.OUT_OF_MEMORY, Outcome.TIMEOUT, Outcome.INFRA_ERROR})


class Response(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came back, untouched."""

    text: str = ""
    reasoning: str = ""
    finish_reason: str = ""
    error: str = ""
    """The failure in words; empty when the outcome is ``ok``."""


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens, as counted by the engine; None where it does not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    """Reasoning included."""
    cached_tokens: int | None = None
    """Those of the input that a service had kept and charges less for."""
    reasoning_tokens: int | None = None


class Times(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Seconds spent on this request."""

    decode_s: float | None = None
    answer_s: float | None = None


class Producer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who wrote the record."""

    host: str = ""
    job: str = ""
    """SLURM job id, with the array task where there is one."""
    versions: dict[str, str] = {}


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One answered request."""

    key: str
    outcome: Outcome
    request: Request
    response: Response = Response()
    effective: dict[str, Any] = {}
    """Settings as they really were: rung used, frames and their times, audio chunks, clamping."""
    usage: Usage = Usage()
    times: Times = Times()
    producer: Producer = Producer()
    created: str = ""
    """UTC, ISO 8601 with milliseconds and ``Z``."""

    def to_line(self) -> bytes:
        """Return the record as one line without its newline, digest last.

        Raises:
            RecordError: a member has no JSON form (a lone surrogate, a type JSON lacks).
        """
        try:
            encoded = _encoder.encode(self)
        except (TypeError, ValueError) as error:
            raise RecordError(f"record {self.key[:12]}… has no JSON form: {error}") from error
        body = memoryview(encoded)[:-1]  # without the closing brace
        return b"".join((body, _TAIL, sha256_hex(body).encode(), b'"}'))

    def to_sound_line(self) -> bytes:
        """Return :meth:`to_line`, checked: what a reader would refuse is refused here.

        Raises:
            RecordError: the key is not the request's, or a member is not of its type.
        """
        try:
            key = self.request.key()
        except CanonicalError as error:
            raise RecordError(f"record {self.key[:12]}…: {error}") from error
        if key != self.key:
            raise RecordError(f"key {self.key[:12]}… does not belong to the record's request")
        line = self.to_line()
        try:
            # The request was checked when its key was made, but for what is in no key.
            _besides_request.decode(line)
            if self.request.transport is not _NO_TRANSPORT:
                _transport.decode(_encoder.encode(self.request.transport))
        except msgspec.MsgspecError as error:
            raise RecordError(f"record {key[:12]}… would be no record: {error}") from error
        return line


class _BesidesRequest(msgspec.Struct):
    outcome: Outcome
    response: Response = Response()
    effective: dict[str, Any] = {}
    usage: Usage = Usage()
    times: Times = Times()
    producer: Producer = Producer()
    created: str = ""


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Record)
_besides_request = msgspec.json.Decoder(_BesidesRequest)
_transport = msgspec.json.Decoder(Transport)
_NO_TRANSPORT = next(
    field.default for field in msgspec.structs.fields(Request) if field.name == "transport"
)


def verify_line(line: bytes) -> None:
    """Check a line's own digest.

    Raises:
        RecordError: the digest is missing or does not match the line's bytes.
    """
    if len(line) <= TAIL_SIZE or not line.endswith(b'"}') or line[-TAIL_SIZE:-66] != _TAIL:
        raise RecordError("the line has no digest at its end: cut off, or not a record")
    if sha256_hex(line[:-TAIL_SIZE]).encode() != line[-66:-2]:
        raise RecordError("the digest does not match the line's bytes: the line was changed")


def parse_line(line: bytes) -> Record:
    """Verify a line (without its newline) and return its record.

    Raises:
        RecordError: the digest, the JSON, a field or the key does not hold.
    """
    verify_line(line)
    return decode_line(line)


def decode_line(line: bytes) -> Record:
    """Return the record of a line whose digest is known to be right.

    Raises:
        RecordError: the JSON, a field or the key does not hold.
    """
    try:
        record = _decoder.decode(line)
        key = key_of_decoded(record.request)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise RecordError(f"the line is no record: {error}") from error
    except CanonicalError as error:
        raise RecordError(f"the line's request has no key: {error}") from error
    if key != record.key:
        raise RecordError(f"key {record.key[:12]}… does not belong to the record's request")
    return record
