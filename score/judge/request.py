"""A judge and a pair → the request that asks the judge about the pair.

Deterministic: the same spec, pair and sample index make the same request and so the same key. In
it are the model, the API, the rubric's rendered text, the texts, sampling, the reply's schema and
the scale; not in it are item ids, the run, the rubric's file name, the server's address, and
whether it travels in a batch. So an answer that two runs share is judged once, and a rescore
through another address costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from cache.request import Message, Request, Text, Transport
from score.judge.fence import fenced
from score.judge.spec import JudgeSpec, Scale
from score.judge.verdict import ASPECT_WORDS
from score.pair import Pair

_LONGEST_ENUM = 100
_CLOSING = "Grade the answer now. Reply with the JSON object only."


def texts_of(pair: Pair) -> dict[str, str]:
    """The texts that a judge sees, by their names: all that makes two pairs the same to it.

    ``question``, ``reference``, ``reference 2`` … where there are several, ``key points`` where
    there are any, ``answer``.
    """
    texts = {"question": pair.question, "reference": pair.reference}
    for number, text in enumerate(pair.alternatives, start=2):
        texts[f"reference {number}"] = text
    if pair.key_points:
        points = enumerate(pair.key_points, start=1)
        texts["key points"] = "\n".join(f"{number}. {' OR '.join(any_)}" for number, any_ in points)
    texts["answer"] = pair.answer
    return {name: _encodable(text) for name, text in texts.items()}


def judge_request(spec: JudgeSpec, pair: Pair, sample: int = 0) -> Request:
    """Return the request that asks ``spec`` to grade ``pair`` for the ``sample``-th time.

    Raises:
        SpecError: the rubric does not render.
    """
    parts = fenced(texts_of(pair))
    messages: tuple[Message, ...]
    if spec.is_llm:
        assert spec.rubric is not None, "load_spec refuses a language model without a rubric"
        system = Message(role="system", parts=(Text(text=spec.rubric.system(spec.scale)),))
        messages = (system, Message(role="user", parts=(*parts, Text(text=_CLOSING))))
        settings = _settings(spec)
    else:
        messages = (Message(role="user", parts=tuple(part for part in parts if part.name)),)
        settings = {"scale": msgspec.to_builtins(spec.scale)}
    base = Request(
        engine=spec.engine,
        model=spec.model,
        revision=spec.revision,
        messages=messages,
        sampling=spec.sampling,
        settings=settings,
        transport=Transport(
            base_url=spec.base_url, timeout_s=spec.timeout_s, concurrency=spec.concurrency
        ),
    )
    return resample(base, sample)


def resample(request: Request, sample: int) -> Request:
    """The same question once more: another sample index, and another seed where one is set."""
    if sample == request.sample:
        return request  # which knows its key
    seed = request.sampling.seed
    if seed is None:
        return msgspec.structs.replace(request, sample=sample)
    sampling = msgspec.structs.replace(request.sampling, seed=seed - request.sample + sample)
    return msgspec.structs.replace(request, sample=sample, sampling=sampling)


def named_texts(request: Request, name: str) -> list[str]:
    """The texts of a request's parts by their name, numbered ones included.

    For judges that are no language models.
    """
    return [
        part.text
        for message in request.messages
        for part in message.parts
        if isinstance(part, Text) and part.name.rstrip(" 0123456789") == name
    ]


def _encodable(text: str) -> str:
    """Half of a surrogate pair, which a cut JSON escape leaves behind, as U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _settings(spec: JudgeSpec) -> dict[str, Any]:
    """What is asked beyond messages and sampling; absent members are left out.

    The names are those of a chat completion's body, whichever API carries them.
    """
    settings: dict[str, Any] = {}
    if spec.api != "chat":
        settings["api"] = spec.api
    if spec.reasoning_effort:
        settings["reasoning_effort"] = spec.reasoning_effort
    if spec.structured_output:
        settings["response_format"] = _reply_schema(spec.scale, spec.aspects)
    if spec.extra_body:
        settings["extra_body"] = spec.extra_body
    return settings


def _reply_schema(scale: Scale, aspects: Sequence[str]) -> dict[str, Any]:
    score: dict[str, Any] = {"type": "integer" if scale.integer else "number"}
    # Servers differ in which numeric limits a strict schema may have; an enum all of them take.
    if scale.integer and scale.max - scale.min <= _LONGEST_ENUM:
        score["enum"] = list(range(int(scale.min), int(scale.max) + 1))
    said = {"type": "string", "enum": list(ASPECT_WORDS)}
    properties = {
        **dict.fromkeys(aspects, said),
        "score": score,
        "justification": {"type": "string"},
    }
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return {
        "type": "json_schema",
        "json_schema": {"name": "verdict", "strict": True, "schema": schema},
    }
