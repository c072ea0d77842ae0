"""Keys: the same request has one key on every machine, and every field of it counts."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cache.canonical import canonical_bytes
from cache.errors import CanonicalError
from cache.request import (
    NOT_IN_KEY,
    Media,
    Message,
    Preprocessing,
    Request,
    Rung,
    Sampling,
    Text,
    Transport,
)
from tests.builders import store_request

FULL = Request(
    engine="vllm",
    model="Qwen/Qwen3-Omni-30B-A3B-Instruct",
    revision="abc123",
    messages=(
        Message(role="system", parts=(Text(text="Watch and listen.\n“Ünïcode” \U0001f600"),)),
        Message(
            role="user",
            parts=(
                Media(kind="video", sha256="1" * 64, start_s=120, end_s=300.5),
                Media(kind="audio", sha256="2" * 64),
                Text(text='Who says "stop"?', name="question"),
            ),
        ),
    ),
    preprocessing=Preprocessing(
        modality="video+audio",
        frames=256,
        fps=1,
        ladder=(Rung(frames=256), Rung(frames=128, audio_chunks=64)),
    ),
    sampling=Sampling(temperature=0.7, top_p=0.95, max_tokens=8192, seed=0),
    settings={"dtype": "bfloat16", "limits": [1, 2.0, None, True]},
    sample=2,
    transport=Transport(base_url="http://localhost:8000", timeout_s=60.0),
)

# The canonical form of FULL, written out by hand from the rules in docs/store-format.md; its
# sha256 was taken with coreutils' sha256sum.
FULL_CANONICAL = (
    '{"engine":"vllm","messages":[{"parts":[{"text":"Watch and listen.\\n“Ünïcode” \U0001f600",'
    '"type":"text"}],"role":"system"},{"parts":[{"end_s":300.5,"kind":"video","sha256":"'
    + "1" * 64
    + '","start_s":120.0,"type":"media"},{"kind":"audio","sha256":"'
    + "2" * 64
    + '","type":"media"},{"name":"question","text":"Who says \\"stop\\"?","type":"text"}],'
    '"role":"user"}],"model":"Qwen/Qwen3-Omni-30B-A3B-Instruct","preprocessing":{"fps":1.0,'
    '"frames":256,"ladder":[{"frames":256},{"audio_chunks":64,"frames":128}],'
    '"modality":"video+audio"},"revision":"abc123","sample":2,"sampling":{"max_tokens":8192,'
    '"seed":0,"temperature":0.7,"top_p":0.95},"settings":{"dtype":"bfloat16",'
    '"limits":[1,2.0,null,true]}}'
).encode()
FULL_KEY = "7bb32d2e0d49a2e58e3271b6bbe70fb4a629de0257d2acdb39bc402e2bf18572"
# printf '{"engine":"e","messages":[],"model":"m"}' | sha256sum
BARE_KEY = "e396a451babe691404a9873db7ccaf1f79e807e53347f751d703036b62daae6b"


def test_the_canonical_form_and_key_of_a_full_request_are_golden():
    assert FULL.canonical() == FULL_CANONICAL
    assert FULL.key() == FULL_KEY


def test_the_key_of_a_bare_request_is_golden():
    assert Request(engine="e", model="m", messages=()).key() == BARE_KEY


def variants() -> list[tuple[str, Request]]:
    """FULL with each member changed, one at a time, down to the parts of its messages."""
    replace = msgspec.structs.replace
    system, user = FULL.messages
    video, audio, text = user.parts

    def with_parts(*parts: Any) -> Request:
        return replace(FULL, messages=(system, replace(user, parts=parts)))

    found = [
        ("engine", replace(FULL, engine="openai")),
        ("model", replace(FULL, model="other")),
        ("revision", replace(FULL, revision="")),
        ("sample", replace(FULL, sample=3)),
        ("settings", replace(FULL, settings={**FULL.settings, "dtype": "float16"})),
        ("settings: 1 for 1.0", replace(FULL, settings={**FULL.settings, "limits": [1.0]})),
        ("settings: other 1", replace(FULL, settings={**FULL.settings, "limits": [1]})),
        ("settings: True", replace(FULL, settings={**FULL.settings, "limits": [True]})),
        ("messages: order", replace(FULL, messages=(user, system))),
        ("messages: fewer", replace(FULL, messages=(user,))),
        ("message: role", replace(FULL, messages=(system, replace(user, role="assistant")))),
        ("parts: order", with_parts(audio, video, text)),
        ("text", with_parts(video, audio, replace(text, text="Who says stop?"))),
        ("text: name", with_parts(video, audio, replace(text, name=""))),
        ("media: kind", with_parts(replace(video, kind="image"), audio, text)),
        ("media: sha256", with_parts(replace(video, sha256="3" * 64), audio, text)),
        ("media: start_s", with_parts(replace(video, start_s=0.0), audio, text)),
        ("media: no start_s", with_parts(replace(video, start_s=None), audio, text)),
        ("media: end_s", with_parts(replace(video, end_s=300.0), audio, text)),
    ]
    for name, value in (
        ("modality", "video"), ("frames", 128), ("frames", None), ("fps", 2.0), ("fps", None),
        ("shorter_edge_px", 360), ("sample_rate_hz", 16000), ("as_files", True), ("ladder", ()),
        ("ladder", FULL.preprocessing.ladder[::-1]),
    ):  # fmt: skip
        changed = replace(FULL.preprocessing, **{name: value})
        found.append((f"preprocessing: {name}={value}", replace(FULL, preprocessing=changed)))
    for name, value in (
        ("temperature", 0.0), ("temperature", None), ("top_p", 1.0), ("max_tokens", 1), ("seed", 1),
        ("seed", None),
    ):  # fmt: skip
        changed = replace(FULL.sampling, **{name: value})
        found.append((f"sampling: {name}={value}", replace(FULL, sampling=changed)))
    return found


def test_each_change_of_the_request_is_a_key_of_its_own():
    keys = {FULL.key(): "the request itself"}
    for name, request in variants():
        assert request.key() not in keys, f"{name} has the key of {keys[request.key()]}"
        keys[request.key()] = name


def test_every_member_of_a_request_is_changed_in_these_tests():
    """A member added later must be added to ``variants`` or to ``NOT_IN_KEY``."""
    tried = {name.split(":")[0] for name, _ in variants()}
    tried = {
        "messages" if name in ("message", "parts", "text", "media") else name for name in tried
    }
    assert tried | NOT_IN_KEY == set(Request.__struct_fields__)


def test_only_how_a_request_travels_is_not_in_the_key():
    assert {"transport"} == NOT_IN_KEY
    for transport in (Transport(), Transport(base_url="x", timeout_s=1.0, concurrency=9)):
        assert msgspec.structs.replace(FULL, transport=transport).key() == FULL.key()


def test_equal_requests_have_one_key_however_their_defaults_were_written():
    bare = Request(engine="e", model="m", messages=())
    spelled = Request(
        engine="e",
        model="m",
        messages=(),
        revision="",
        preprocessing=Preprocessing(ladder=[]),  # type: ignore[arg-type]
        sampling=Sampling(),
        settings={},
        sample=0,
        transport=Transport(),
    )
    assert spelled == bare
    assert spelled.key() == bare.key()


def test_whole_and_fractional_seconds_of_one_value_have_one_key():
    def asked(start_s: float) -> Request:
        part = Media(kind="video", sha256="0" * 64, start_s=start_s)
        return store_request(messages=(Message(role="user", parts=(part,)),))

    assert asked(3).key() == asked(3.0).key()
    assert asked(-0.0).key() == asked(0.0).key()


@pytest.mark.parametrize(
    "changes",
    [
        {"settings": {"a": float("nan")}},
        {"settings": {"a": float("inf")}},
        {"settings": {"a": {1: "one"}}},
        {"settings": {"a": b"bytes"}},
        {"settings": {"a": {1, 2}}},
        {"sampling": Sampling(temperature=float("nan"))},
        {"model": "\ud800"},
        {"settings": {"a": "\udfff"}},
    ],
)
def test_a_value_without_canonical_form_has_no_key(changes):
    with pytest.raises(CanonicalError):
        store_request(**changes).key()


def test_a_value_that_contains_itself_has_no_key():
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(CanonicalError):
        store_request(settings={"a": loop}).key()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
seconds = st.none() | st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def requests(draw: st.DrawFn) -> Request:
    parts = st.builds(Text, text=st.text(), name=st.text()) | st.builds(
        Media, kind=st.sampled_from(["video", "audio"]), sha256=st.text(), start_s=seconds,
        end_s=seconds,
    )  # fmt: skip
    message = st.builds(
        Message,
        role=st.sampled_from(["system", "user", "assistant"]),
        parts=st.lists(parts, max_size=3).map(tuple),
    )
    return Request(
        engine=draw(st.text()),
        model=draw(st.text()),
        messages=tuple(draw(st.lists(message, max_size=3))),
        preprocessing=draw(st.builds(Preprocessing, fps=seconds, frames=st.none() | st.integers())),
        sampling=draw(st.builds(Sampling, temperature=seconds, top_p=seconds)),
        settings=draw(st.dictionaries(st.text(), json_values, max_size=3)),
        sample=draw(st.integers(0, 2**63)),
    )


@given(requests())
def test_the_canonical_form_is_that_of_pythons_own_json(request_):
    """An independent way to the same bytes: plain dictionaries through the standard library."""
    members = msgspec.to_builtins(msgspec.structs.replace(request_, settings={}))
    if request_.settings:
        members["settings"] = request_.settings
    plain = json.dumps(members, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert request_.canonical() == plain.encode("utf-8")
    assert request_.key() == hashlib.sha256(plain.encode("utf-8")).hexdigest()


@given(requests())
def test_a_request_keeps_its_key_through_a_line(request_):
    read = msgspec.json.decode(msgspec.json.encode(request_), type=Request)
    assert read.key() == request_.key()


@given(requests(), requests())
def test_requests_share_a_key_if_and_only_if_they_are_equal(one, other):
    def exact(request: Request) -> bytes:
        # == calls 1, 1.0 and True equal; in a key they differ.
        return canonical_bytes(msgspec.to_builtins(request))

    assert (one.key() == other.key()) == (exact(one) == exact(other))


@given(json_values)
def test_canonical_json_reads_back_as_the_same_value(value):
    assert json.loads(canonical_bytes(value)) == value
    assert canonical_bytes(json.loads(canonical_bytes(value))) == canonical_bytes(value)
