"""A judge spec: one TOML file that says who grades, by which rubric, on which scale.

    name = "gpt-5-mini"             how scores and tables call the judge
    engine = "openai"               openai | lexical | embedding
    model = "gpt-5-mini-2025-08-07"
    api = "chat"                    chat | responses
    rubric = "sonic-o1.jinja"       beside the spec, else a bundled one
    base_url, api_key_env           where, and the environment variable that holds the key
    samples, attempts               verdicts averaged; requests spent on each at most
    [scale]                         min, max, integer
    [sampling]                      temperature, top_p, max_tokens, seed
    [limits]                        requests_per_minute, tokens_per_minute
    [prices]                        US dollars per million tokens

``docs/judges.md`` explains every field.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Sequence
from datetime import date, datetime
from datetime import time as time_of_day
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec

from cache.canonical import sha256_hex
from cache.request import Sampling
from score.errors import SpecError, UnknownJudge
from score.judge.mismatch import mismatch
from score.judge.rubric import Rubric, load_rubric

_DATES = (datetime, date, time_of_day)

SPECS = Path(__file__).parent / "specs"

#: What rejudge itself writes into a request, by API, and the field that decides it.
_OURS = {
    "chat": {
        "model": "model",
        "messages": "",
        "n": "samples",
        "stream": "",
        "temperature": "sampling.temperature",
        "top_p": "sampling.top_p",
        "max_tokens": "sampling.max_tokens",
        "max_completion_tokens": "sampling.max_tokens",
        "seed": "sampling.seed",
        "response_format": "structured_output",
        "reasoning_effort": "reasoning_effort",
    },
    "responses": {
        "model": "model",
        "input": "",
        "store": "",
        "stream": "",
        "background": "",
        "temperature": "sampling.temperature",
        "top_p": "sampling.top_p",
        "max_output_tokens": "sampling.max_tokens",
        "text": "structured_output",
        "reasoning": "reasoning_effort",
    },
}

_AtLeastOne = Annotated[int, msgspec.Meta(ge=1, description="a whole number, 1 or more")]
_NotNegative = Annotated[int, msgspec.Meta(ge=0, description="a whole number, 0 or more")]
_Price = Annotated[float, msgspec.Meta(ge=0, description="a number, 0 or more")]
_Rate = Annotated[float, msgspec.Meta(gt=0, description="a number a minute, more than 0")]
_Seconds = Annotated[float, msgspec.Meta(gt=0, description="a number of seconds, more than 0")]
_Text = Annotated[str, msgspec.Meta(min_length=1, description="text that is not empty")]
_Name = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        description="letters, digits, dots, - and _, the first a letter or a digit",
    ),
]


class Scale(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The numbers a judge may give."""

    min: float
    max: float
    integer: bool = True

    def __post_init__(self) -> None:
        # 10 and 10.0 are one scale, but would be two in a key.
        for name in ("min", "max"):
            msgspec.structs.force_setattr(self, name, float(getattr(self, name)))

    @property
    def low(self) -> str:
        """The minimum as people write it: ``0``, not ``0.0``."""
        return f"{self.min:g}"

    @property
    def high(self) -> str:
        """The maximum as people write it."""
        return f"{self.max:g}"

    @property
    def unit(self) -> str:
        """What a score is, in words."""
        return "whole number" if self.integer else "number"

    def __str__(self) -> str:
        return f"{self.low}–{self.high}"


class Prices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """US dollars for a million tokens."""

    input_usd_per_million: _Price
    output_usd_per_million: _Price
    cached_input_usd_per_million: _Price | None = None
    """For input that the service had kept from an earlier call; None: as any other input."""
    batch_factor: _Price = 1.0
    """What a batch costs beside the same calls one by one."""


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much a service takes in a minute; None: no limit is known."""

    requests_per_minute: _Rate | None = None
    tokens_per_minute: _Rate | None = None
    """Input and output together."""


class JudgeSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who grades, and how."""

    name: _Name
    """Bundled judges' names are theirs alone: scores call a judge by its name."""
    engine: Literal["openai", "lexical", "embedding"]
    """``lexical`` and ``embedding`` are formulas, no language models: see ``local.py``."""
    model: _Text
    scale: Scale
    revision: str = ""
    api: Literal["chat", "responses"] = "chat"
    """How the server is asked: chat completions, or OpenAI's responses."""
    base_url: str = ""
    api_key_env: str = ""
    """Name of the environment variable with the key; empty: the server asks for none."""
    rubric: Rubric | None = None
    """In the file: the rubric's file name."""
    sampling: Sampling = Sampling()
    reasoning_effort: str = ""
    structured_output: bool = False
    """Whether the server takes a JSON schema as ``response_format``."""
    extra_body: dict[str, Any] = {}
    """Further members of the HTTP request's body, for servers with settings of their own."""
    samples: _AtLeastOne = 1
    """Verdicts asked for each answer; the score is their mean."""
    attempts: _AtLeastOne = 3
    """Requests spent on each of them at most, where replies are unreadable."""
    concurrency: _AtLeastOne = 8
    timeout_s: _Seconds = 120.0
    max_retries: _NotNegative = 5
    """Repeats of one HTTP request after 429, 5xx, a timeout or a lost connection."""
    expected_output_tokens: _AtLeastOne = 200
    """Output tokens a call, for estimates made before the store has any call of this judge."""
    limits: Limits = Limits()
    prices: Prices | None = None
    """None: unknown, which is not nothing."""

    @property
    def aspects(self) -> tuple[str, ...]:
        """What the judge says yes, partly or no to, beside the score."""
        return self.rubric.aspects if self.rubric is not None else ()

    @property
    def is_llm(self) -> bool:
        """Whether a language model grades, and not a formula."""
        return self.engine == "openai"

    @property
    def most_requests(self) -> int:
        """Sample indices that one answer may use up."""
        return self.samples * self.attempts if self.is_llm else 1

    def signature(self) -> dict[str, Any]:
        """All that determines a verdict, for the signature of scores."""
        members: dict[str, Any] = msgspec.to_builtins(self)
        for name in ("base_url", "api_key_env", "concurrency", "timeout_s", "max_retries"):
            del members[name]
        del members["prices"], members["limits"], members["expected_output_tokens"]
        if self.rubric is not None:
            text = self.rubric.system(self.scale)
            members["rubric"] = {
                "name": self.rubric.name,
                "version": self.rubric.version,
                "sha256": sha256_hex(text.encode()),
            }
        return members


def spec_names() -> list[str]:
    """Names of the bundled judges."""
    return sorted(path.stem for path in SPECS.glob("*.toml"))


def load_spec(name_or_path: str | Path) -> JudgeSpec:
    """Load a bundled judge by name, or any judge by the path of its TOML file.

    Raises:
        UnknownJudge: neither a bundled name nor a file.
        SpecError: a field of the spec is unknown, missing or of the wrong kind, its name is a
            bundled judge's, or its rubric is not usable.
    """
    name = str(name_or_path)
    path = SPECS / f"{name}.toml" if name in spec_names() else Path(name_or_path)
    if not path.is_file():
        raise UnknownJudge(
            f"no judge {name!r}: give the path of a TOML file, or one of {', '.join(spec_names())}"
        )
    try:
        members = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SpecError(f"{path}: no valid TOML: {error}") from error
    rubric = members.pop("rubric", "")
    if not isinstance(rubric, str):
        raise SpecError(f"{path}: rubric: expected a file name")
    try:
        spec = msgspec.convert(members, JudgeSpec)
    except msgspec.ValidationError as error:
        raise SpecError(f"{path}: {mismatch(error, JudgeSpec)}") from error
    if rubric:
        spec = msgspec.structs.replace(spec, rubric=load_rubric(rubric, path.parent))
    _check(spec, path)
    if spec.name.casefold() in spec_names() and path.resolve().parent != SPECS.resolve():
        raise SpecError(
            f"{path}: name: {spec.name} is a bundled judge, for which this one would pass; choose "
            "another name"
        )
    return spec


def load_specs(names: Sequence[str | Path]) -> list[JudgeSpec]:
    """Load judges that stand side by side.

    Raises:
        SpecError: two have the same name, by which scores would take one for the other.
        UnknownJudge, SpecError: as :func:`load_spec`.
    """
    found: dict[str, str | Path] = {}
    specs = [load_spec(name) for name in names]
    for spec, given in zip(specs, names, strict=True):
        if spec.name in found:
            raise SpecError(
                f"judge {spec.name!r} stands twice: --judge {found[spec.name]} and --judge "
                f"{given}; scores call a judge by its name, so name each once, or give one "
                "another name"
            )
        found[spec.name] = given
    return specs


def moved(spec: JudgeSpec, base_url: str | None) -> JudgeSpec:
    """Return the judge behind another address; its keys and verdicts stay the same.

    Raises:
        SpecError: the address is no plain http or https URL.
    """
    if not base_url:
        return spec
    found = msgspec.structs.replace(spec, base_url=base_url)
    _check(found, Path("--base-url"))
    return found


def _check_values(value: object, path: Path, field: str = "") -> None:
    """Refuse what TOML can say and JSON cannot."""
    if isinstance(value, dict):
        for name, member in value.items():
            _check_values(member, path, f"{field}.{name}" if field else name)
    elif isinstance(value, list):
        for member in value:
            _check_values(member, path, field)
    elif isinstance(value, _DATES):
        raise SpecError(f"{path}: {field}: found a date or time, which JSON has not; quote it")
    elif isinstance(value, float) and not math.isfinite(value):
        raise SpecError(f"{path}: {field}: expected a finite number, found {value}")


def _check_sampling(sampling: Sampling, path: Path) -> None:
    for name, low, high, expected in (
        ("temperature", 0, math.inf, "a number, 0 or more"),
        ("top_p", 0, 1, "a number from 0 to 1"),
        ("max_tokens", 1, math.inf, "a whole number, 1 or more"),
        ("seed", 0, math.inf, "a whole number, 0 or more"),
    ):
        value = getattr(sampling, name)
        if value is not None and not low <= value <= high:
            raise SpecError(f"{path}: sampling.{name}: expected {expected}, found {value}")


def _check(spec: JudgeSpec, path: Path) -> None:
    """Refuse what single fields cannot show."""
    scale = spec.scale
    _check_values(msgspec.to_builtins(spec, builtin_types=_DATES), path)
    if not scale.min < scale.max:
        raise SpecError(f"{path}: scale: min {scale.low} is not below max {scale.high}")
    if scale.integer and not (scale.min.is_integer() and scale.max.is_integer()):
        raise SpecError(f"{path}: scale: an integer scale has whole numbers as min and max")
    if not spec.is_llm:
        return
    if spec.rubric is None:
        raise SpecError(f"{path}: rubric: a judge of engine {spec.engine} needs one")
    spec.rubric.system(scale)
    _check_sampling(spec.sampling, path)
    for name in spec.extra_body:
        if name in _OURS[spec.api]:
            field = _OURS[spec.api][name]
            raise SpecError(
                f"{path}: extra_body.{name}: rejudge itself writes this member of a request"
                f"{f'; set {field}' if field else ''}"
            )
    # The parts of a URL after the host's name, and before it, are where keys hide.
    try:
        url = urlsplit(spec.base_url)
        holds = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:  # half of an IPv6 address, a port that is no number
        holds = False
    if not holds:
        raise SpecError(f"{path}: base_url: expected http://HOST/v1 or https://HOST/v1")
    if url.username or url.password or url.query:
        raise SpecError(f"{path}: base_url: no user, password or query may be part of it")
    if spec.api == "responses" and spec.sampling.seed is not None:
        raise SpecError(f"{path}: sampling.seed: the responses API takes none; leave it out")
    if spec.api_key_env and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", spec.api_key_env):
        raise SpecError(
            f"{path}: api_key_env: expected the name of an environment variable, not a key"
        )
