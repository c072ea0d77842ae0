"""The engine for OpenAI-compatible servers, against a real server that is told what to say."""

from __future__ import annotations

import base64
import io
import threading
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

from cache.record import Outcome
from cache.request import Text
from cache.store import Store
from infer.engine import Answer, create_engine
from infer.errors import CardError, FeatureMissing, ServiceRefused
from infer.media.decode import Prepared
from tests.clips import make_clip, read_number
from tests.openai_server import Call, OpenAIServer, Reply, chat, drop, error, faults, streamed
from tests.services import (
    SECRET,
    ask,
    ask_each_in_turn,
    ask_text,
    bytes_of,
    clip,
    infer,
    make_card,
    make_request,
    prepare_from,
    write_card,
)

QUESTION = Text(text="What happens?", name="question")


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJUDGE_TEST_KEY", SECRET)


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight seconds whose frames carry their number, with a tone."""
    return make_clip(tmp_path_factory.mktemp("film") / "film.mp4")


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(chat("A man waits.")) as running:
        yield running


def sent(server: OpenAIServer, film: Path, *bounds: float, **members: Any) -> list[dict[str, Any]]:
    """Ask about the film; return the parts of the message that arrived."""
    card = make_card("openai", server.base_url, **members)
    kinds = [kind for kind in ("video", "audio") if kind in card.modality]
    request = make_request(card, *(clip(film, kind, *bounds) for kind in kinds), QUESTION)
    prepared = prepare_from(request, film)
    assert not prepared.error
    [answer] = ask(card, (request, prepared))
    assert answer.outcome is Outcome.OK
    parts: list[dict[str, Any]] = server.calls[-1].body["messages"][0]["content"]
    return parts


def loaded(url: str) -> bytes:
    return base64.b64decode(url.partition(";base64,")[2])


def frames_of(data: bytes) -> list[tuple[float, int]]:
    """(time, number shown) of each frame of a video."""
    with av.open(io.BytesIO(data)) as container:
        return [
            (float(frame.time), read_number(frame.to_ndarray(format="rgb24")))
            for frame in container.decode(video=0)
        ]


def sound_s(data: bytes) -> float:
    """Seconds of sound in a video; 0 without a track."""
    with av.open(io.BytesIO(data)) as container:
        if not container.streams.audio:
            return 0.0
        return sum(frame.samples / frame.sample_rate for frame in container.decode(audio=0))


# ── how media travel ──────────────────────────────────────────────────────────────────────────


def test_frames_travel_as_pictures_with_their_times_and_sound_as_wav(
    server: OpenAIServer, film: Path
) -> None:
    parts = sent(server, film, 2.0, 6.0, settings={"frame_times": True})

    assert [part["type"] for part in parts] == ["text", "image_url"] * 4 + ["input_audio", "text"]
    assert [part["text"] for part in parts[:8:2]] == [
        "Frame at 2.48 s:", "Frame at 3.48 s:", "Frame at 4.48 s:", "Frame at 5.48 s:"
    ]  # fmt: skip
    pictures = [Image.open(io.BytesIO(loaded(part["image_url"]["url"]))) for part in parts[1:8:2]]
    assert [picture.format for picture in pictures] == ["JPEG"] * 4
    # 25 frames a second: the frame shown at the middle of each second.
    assert [read_number(np.asarray(picture)) for picture in pictures] == [62, 87, 112, 137]
    assert parts[-2]["input_audio"]["format"] == "wav"
    with wave.open(io.BytesIO(base64.b64decode(parts[-2]["input_audio"]["data"]))) as sound:
        assert sound.getparams()[:4] == (1, 2, 16_000, 64_000)
        samples = np.frombuffer(sound.readframes(64_000), dtype="<i2")
    strongest_hz = np.abs(np.fft.rfft(samples)).argmax() / 4.0
    assert strongest_hz == pytest.approx(440, abs=1)
    assert parts[-1] == {"type": "text", "text": "What happens?"}


def test_a_segment_travels_as_a_video_with_its_frames_and_its_sound(
    server: OpenAIServer, film: Path
) -> None:
    preprocessing = {"fps": 2.0, "shorter_edge_px": 96}
    [video, _] = sent(
        server,
        film,
        2.0,
        6.0,
        settings={"video": "video_url", "audio": "in_video"},
        preprocessing=preprocessing,
    )

    data = loaded(video["video_url"]["url"])
    # Eight bins of half a second, from the segment's start on; the frame at the middle of each.
    assert frames_of(data) == [
        (0.0, 56), (0.5, 68), (1.0, 81), (1.5, 93), (2.0, 106), (2.5, 118), (3.0, 131), (3.5, 143)
    ]  # fmt: skip
    assert sound_s(data) == pytest.approx(4.0, abs=0.15)  # AAC pads to blocks of 1024 samples


def test_a_segment_without_sound_is_a_video_without_a_track(
    server: OpenAIServer, film: Path
) -> None:
    [video, _] = sent(server, film, 2.0, 6.0, modality="video", settings={"video": "video_url"})

    data = loaded(video["video_url"]["url"])
    assert sound_s(data) == 0
    assert [number for _, number in frames_of(data)] == [62, 87, 112, 137]
    assert [at_s for at_s, _ in frames_of(data)] == pytest.approx([0, 1, 2, 3], abs=0.04)


def test_a_whole_file_travels_byte_for_byte(server: OpenAIServer, film: Path) -> None:
    [video, _] = sent(server, film, preprocessing={"fps": 1.0, "as_files": True})

    assert video["video_url"]["url"].startswith("data:video/mp4;base64,")
    assert loaded(video["video_url"]["url"]) == film.read_bytes()


def test_a_whole_file_is_sent_without_the_sound_that_must_not_be_heard(
    server: OpenAIServer, film: Path
) -> None:
    [video, _] = sent(server, film, modality="video", preprocessing={"fps": 1.0, "as_files": True})

    data = loaded(video["video_url"]["url"])
    assert sound_s(data) == 0
    assert frames_of(data) == frames_of(film.read_bytes())


def test_sound_of_a_file_of_its_own_is_heard_beside_a_silent_whole_video(
    server: OpenAIServer, film: Path, tmp_path: Path
) -> None:
    silent = make_clip(tmp_path / "silent.mp4", tone_hz=None, frames=50)
    card = make_card("openai", server.base_url, preprocessing={"fps": 1.0, "as_files": True})
    request = make_request(card, clip(silent), clip(film, "audio"), QUESTION)

    ask(card, (request, prepare_from(request, silent, film)))

    [message] = server.calls[0].body["messages"]
    kinds = [part["type"] for part in message["content"]]
    assert kinds == ["video_url", "input_audio", "text"]


def test_a_stretch_of_a_whole_file_cannot_be_asked(server: OpenAIServer, film: Path) -> None:
    with pytest.raises(CardError, match="as_files to false"):
        sent(server, film, 2.0, 6.0, preprocessing={"fps": 1.0, "as_files": True})

    assert not server.calls


def test_a_file_that_is_cut_off_is_found_before_it_is_sent(film: Path, tmp_path: Path) -> None:
    whole = make_clip(tmp_path / "whole.mp4", index_first=True)
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    card = make_card("openai", "http://x", preprocessing={"fps": 1.0, "as_files": True})

    prepared = prepare_from(make_request(card, clip(broken)), broken)

    assert "cut off" in prepared.error


@pytest.mark.parametrize(
    ("form", "kind", "start"),
    [
        ("input_audio", "input_audio", "UklGR"),  # RIFF in base64
        ("input_audio_url", "input_audio", "data:audio/wav;base64,UklGR"),
        ("audio_url", "audio_url", "data:audio/wav;base64,UklGR"),
    ],
)
def test_sound_travels_in_the_form_that_the_server_takes(
    form: str, kind: str, start: str, server: OpenAIServer, film: Path
) -> None:
    [part, _] = sent(server, film, modality="audio", settings={"audio": form})

    held = part[kind]
    assert part["type"] == kind
    assert held.get("data", held.get("url")).startswith(start)


def test_parts_and_body_get_the_members_that_the_card_adds(
    server: OpenAIServer, film: Path
) -> None:
    parts = {
        "image_url": {"image_url": {"detail": "low"}},
        "input_audio": {"resolution": "default"},
    }

    found = sent(server, film, settings={"parts": parts, "body": {"enable_thinking": False}})

    assert {part["image_url"]["detail"] for part in found[:4]} == {"low"}
    assert found[0]["image_url"]["url"].startswith("data:image/jpeg")
    assert found[4]["resolution"] == "default"
    assert server.calls[0].body["enable_thinking"] is False


# ── what is asked and what comes back ─────────────────────────────────────────────────────────


def test_what_the_card_leaves_open_is_left_to_the_server(server: OpenAIServer) -> None:
    ask_text(make_card("openai", server.base_url), "Hello?", system="Be brief.")

    assert server.calls[0].body == {
        "model": "scripted-1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hello?"},
        ],
    }
    assert server.calls[0].headers["authorization"] == f"Bearer {SECRET}"


def test_sampling_is_sent_and_every_sample_has_its_seed(server: OpenAIServer) -> None:
    card = make_card("openai", server.base_url, settings={"limit": "max_tokens"})

    ask_text(card, sample=2, temperature=0.7, top_p=0.95, max_tokens=8192, seed=40)

    body = server.calls[0].body
    assert (body["temperature"], body["top_p"], body["max_tokens"]) == (0.7, 0.95, 8192)
    assert body["seed"] == 42


def test_an_answer_comes_back_untouched_with_what_it_cost() -> None:
    reply = chat("  The answer.\n", reasoning="Let me see.")
    assert isinstance(reply.body, dict)
    reply.body["usage"] |= {
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 7},
    }
    reply.body["system_fingerprint"] = "fp_1"
    with OpenAIServer(reply) as server:
        answer = ask_text(make_card("openai", server.base_url))

    assert answer.outcome is Outcome.OK
    assert (answer.response.text, answer.response.reasoning) == ("  The answer.\n", "Let me see.")
    usage = answer.usage
    assert (usage.input_tokens, usage.output_tokens) == (100, 20)
    assert (usage.cached_tokens, usage.reasoning_tokens) == (64, 7)
    assert (answer.effective["model"], answer.effective["fingerprint"]) == ("scripted-1", "fp_1")
    assert answer.effective["sent"]["jpeg_quality"] == 90


def test_a_streamed_answer_is_put_together() -> None:
    pieces = [{"role": "assistant"}, {"reasoning_content": "Hm. "}, {"reasoning_content": "Yes."}]
    pieces += [{"content": "A man"}, {"content": " waits."}]
    usage = {"prompt_tokens": 900, "completion_tokens": 12, "total_tokens": 912}
    with OpenAIServer(streamed(*pieces, usage=usage)) as server:
        answer = ask_text(make_card("openai", server.base_url, settings={"stream": True}))
        body = server.calls[0].body

    assert answer.outcome is Outcome.OK
    assert answer.response.text == "A man waits."
    assert answer.response.reasoning == "Hm. Yes."
    assert answer.response.finish_reason == "stop"
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (900, 12)
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})


def test_requests_are_in_flight_together_once_the_service_was_heard_to_work() -> None:
    together = threading.Barrier(4, timeout=20)

    def script(call: Call) -> Reply:
        if call.number:
            together.wait()
        return chat("Yes.")

    with OpenAIServer(script) as server:
        card = make_card("openai", server.base_url, concurrency=4)
        asked = [(make_request(card, Text(text=f"{number}?")), Prepared()) for number in range(5)]
        answers = ask(card, *asked)

    assert [answer.outcome for answer in answers] == [Outcome.OK] * 5
    assert server.most_in_flight == 4


# ── how it fails ──────────────────────────────────────────────────────────────────────────────

_LONG = "This model's maximum context length is 8192 tokens."
FAILURES: dict[str, tuple[Reply, Outcome, str]] = {
    "500": (error(500), Outcome.INFRA_ERROR, "HTTP 500: scripted fault"),
    "429 for ever": (error(429, retry_after_ms="1"), Outcome.INFRA_ERROR, "HTTP 429"),
    "dropped": (drop(), Outcome.INFRA_ERROR, "Connection error"),
    "no JSON": (Reply(body=b"<html>"), Outcome.INFRA_ERROR, "no chat completion"),
    "other JSON": (Reply(body={"choices": 3}), Outcome.INFRA_ERROR, "no chat completion"),
    "no choices": (Reply(body={"choices": []}), Outcome.INFRA_ERROR, "no choices"),
    "filtered": (chat("Up to", finish_reason="content_filter"), Outcome.CONTENT_FILTER, "filter"),
    "filtered input": (error(400, code="content_filter"), Outcome.CONTENT_FILTER, "HTTP 400"),
    "filtered by DashScope": (
        error(400, code="data_inspection_failed"), Outcome.CONTENT_FILTER, "HTTP 400"
    ),
    "refused": (chat(None, refusal="I will not."), Outcome.REFUSED, "I will not."),
    "cut": (chat("Half an", finish_reason="length"), Outcome.TRUNCATED, "token limit"),
    "only reasoning": (
        chat(None, reasoning="Hm", finish_reason="length"), Outcome.TRUNCATED, "only reasoning"
    ),
    "too long": (error(400, _LONG), Outcome.CONTEXT_OVERFLOW, "8192 tokens"),
    "too large": (error(413), Outcome.CONTEXT_OVERFLOW, "HTTP 413"),
    "gateway": (error(504), Outcome.TIMEOUT, "HTTP 504"),
    "bad request": (error(400, "bad image"), Outcome.INFRA_ERROR, "bad image"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_an_answer_with_its_outcome(name: str) -> None:
    reply, outcome, words = FAILURES[name]
    with OpenAIServer(reply) as server:
        answer = ask_text(make_card("openai", server.base_url))

    assert answer.outcome is outcome
    assert words in answer.response.error


def test_what_came_before_the_cut_is_kept() -> None:
    with OpenAIServer(chat("Half an", finish_reason="length")) as server:
        answer = ask_text(make_card("openai", server.base_url))

    assert (answer.response.text, answer.response.finish_reason) == ("Half an", "length")


def test_the_words_of_a_refusal_are_what_was_said() -> None:
    """So they stand in the history of a dialogue."""
    with OpenAIServer(chat(None, refusal="I will not.")) as server:
        answer = ask_text(make_card("openai", server.base_url))

    assert (answer.outcome, answer.response.text) == (Outcome.REFUSED, "I will not.")


_ERROR_EVENT = Reply(
    body=b'data: {"error": {"message": "no", "code": "data_inspection_failed"}}\n\n',
    content_type="text/event-stream",
)
STREAM_FAILURES: dict[str, tuple[Reply, Outcome, str]] = {
    "cut": (streamed({"content": "Half"}, cut=True), Outcome.INFRA_ERROR, ""),
    "no end": (streamed({"content": "Half"}, finish_reason=None), Outcome.INFRA_ERROR, "ended"),
    "length": (streamed({"content": "a"}, finish_reason="length"), Outcome.TRUNCATED, "limit"),
    "no JSON": (
        Reply(body=b"data: {\n\n", content_type="text/event-stream"), Outcome.INFRA_ERROR, "no chat"
    ),
    "filter": (_ERROR_EVENT, Outcome.CONTENT_FILTER, "no"),
}  # fmt: skip


@pytest.mark.parametrize("name", STREAM_FAILURES)
def test_a_stream_that_fails_is_an_answer_with_its_outcome(name: str) -> None:
    reply, outcome, words = STREAM_FAILURES[name]
    with OpenAIServer(reply) as server:
        answer = ask_text(make_card("openai", server.base_url, settings={"stream": True}))

    assert answer.outcome is outcome
    assert answer.response.error
    assert words in answer.response.error


@pytest.mark.parametrize("stream", [False, True])
def test_a_server_that_says_nothing_is_a_timeout(stream: bool) -> None:
    asked = threading.Event()

    def script(call: Call) -> Reply:
        asked.wait(20)
        return chat("Too late.")

    with OpenAIServer(script) as server:
        card = make_card(
            "openai", server.base_url, settings={"stream": stream}, service={"timeout_s": 0.2}
        )
        answer = ask_text(card)
        asked.set()

    assert answer.outcome is Outcome.TIMEOUT


def test_a_busy_server_is_asked_again_when_it_says() -> None:
    soon = {"retry_after_ms": "10"}
    busy = [drop(), error(429, retry_after="0.01"), error(429, **soon), error(500, **soon)]
    with OpenAIServer(faults(busy, chat("At last."))) as server:
        answer = ask_text(make_card("openai", server.base_url, service={"max_retries": 4}))

    assert (answer.outcome, answer.response.text) == (Outcome.OK, "At last.")
    assert len(server.calls) == 5


# ── when nobody would be answered ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize("reply", [
    error(401), error(402), error(403), error(404),
    error(429, code="insufficient_quota"), error(400, "Arrearage: the account is overdue"),
])  # fmt: skip
def test_a_service_that_refuses_ends_the_run_after_one_call(reply: Reply) -> None:
    with OpenAIServer(reply) as server:
        card = make_card("openai", server.base_url)
        asked = [(make_request(card, Text(text=f"{number}?")), Prepared()) for number in range(8)]
        with pytest.raises(ServiceRefused, match=rf"'served' at {server.base_url} refuses"):
            ask(card, *asked)

    assert len(server.calls) == 1


def test_one_refusal_among_answers_is_that_requests_failure() -> None:
    replies = [chat("1"), error(403, "not this one"), chat("3"), error(403), error(403), error(403)]
    with OpenAIServer(faults(replies, chat("never"))) as server:
        found = ask_each_in_turn(make_card("openai", server.base_url), 8)

    assert [type(one) for one in found[:5]] == [Answer] * 5
    outcomes = [one.outcome for one in found[:5] if isinstance(one, Answer)]
    assert outcomes == ["ok", "infra_error", "ok", "infra_error", "infra_error"]
    assert [type(one) for one in found[5:]] == [ServiceRefused] * 3
    assert len(server.calls) == 6


def test_a_service_that_answers_nobody_ends_the_run() -> None:
    with OpenAIServer(drop()) as server:
        found = ask_each_in_turn(make_card("openai", server.base_url, concurrency=2), 12)

    assert [type(one) for one in found] == [Answer] * 9 + [ServiceRefused] * 3
    assert len(server.calls) == 10


def test_failures_of_single_requests_never_end_the_run() -> None:
    with OpenAIServer(chat("Up to", finish_reason="content_filter")) as server:
        found = ask_each_in_turn(make_card("openai", server.base_url, concurrency=2), 25)

    assert {one.outcome for one in found if isinstance(one, Answer)} == {Outcome.CONTENT_FILTER}
    assert len(found) == len(server.calls) == 25


# ── the card ──────────────────────────────────────────────────────────────────────────────────


def test_a_key_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REJUDGE_TEST_KEY")

    with pytest.raises(FeatureMissing, match="REJUDGE_TEST_KEY"):
        create_engine(make_card("openai", "http://localhost:1/v1"))


def test_a_key_that_the_server_repeats_is_not_kept() -> None:
    with OpenAIServer(error(500, f"cannot serve {SECRET} and sk-other-key-123")) as server:
        answer = ask_text(make_card("openai", server.base_url))

    assert "key-" not in answer.response.error
    assert "cannot serve [api key] and [api key]" in answer.response.error


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"settings": {"vidoe": "images"}}, "vidoe"),
        ({"settings": {"jpeg_quality": 0}}, "jpeg_quality"),
        ({"settings": {"model": "m", "body": {"messages": []}}}, "settings.body.messages"),
        ({"service": {"base_url": ""}}, "service.base_url"),
        ({"service": {"base_url": "ftp://x/v1"}}, "http"),
        ({"service": {"base_url": "https://me:pass@x/v1"}}, "secrets"),
    ],
)
def test_a_card_that_does_not_hold_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(CardError, match=words):
        create_engine(make_card("openai", "http://localhost:1/v1", **changes))


def test_the_environment_may_name_another_server(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REJUDGE_TEST_URL", server.base_url)
    card = make_card(
        "openai", "http://localhost:1/v1", service={"base_url_env": "REJUDGE_TEST_URL"}
    )

    assert ask_text(card).outcome is Outcome.OK


# ── the whole run ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_a_run_asks_the_server_once_for_everything_and_keeps_no_key(tmp_path: Path) -> None:
    def script(call: Call) -> Reply:
        if call.number == 3:
            return chat("Half", finish_reason="length")
        return chat('{"answer_letter": "A"}', reasoning="Hm.")

    with OpenAIServer(script) as server:
        card = write_card(tmp_path / "card.toml", make_card("openai", server.base_url))
        first = infer(tmp_path / "store", card, "--task", "choice", "--limit", "5", expect=1)
        again = infer(tmp_path / "store", card, "--task", "choice", "--limit", "5", expect=1)
        asked = len(server.calls)

    assert first["outcomes"] == {"ok": 4, "truncated": 1}
    assert asked == 5
    assert (again["called"], again["cached"]) == (0, 5)
    with Store(tmp_path / "store", read_only=True) as store:
        records = list(store.scan())
    assert {record.request.transport.base_url for record in records} == {server.base_url}
    assert all(record.effective["video"][0]["frames"] == 4 for record in records)
    assert {record.usage.input_tokens for record in records} == {100}
    assert SECRET.encode() not in bytes_of(tmp_path)


def test_a_run_whose_key_is_not_set_ends_before_ray_starts(tmp_path: Path) -> None:
    card = write_card(tmp_path / "card.toml", make_card("openai", "http://localhost:1/v1"))

    infer(tmp_path / "store", card, "--task", "choice", "--limit", "5", expect=3, key="")

    assert not (tmp_path / "store" / "attempts").exists()  # the job's ledger


@pytest.mark.slow
def test_a_run_with_a_wrong_key_ends_early_and_leaves_everything_pending(tmp_path: Path) -> None:
    with OpenAIServer(error(401, f"Incorrect API key provided: {SECRET}")) as server:
        card = write_card(tmp_path / "card.toml", make_card("openai", server.base_url))
        infer(tmp_path / "store", card, "--task", "choice", "--limit", "5", expect=3)
    left = infer(tmp_path / "store", card, "--task", "choice", "--limit", "5", "--dry-run")

    assert len(server.calls) == 1
    assert (left["cached"], left["pending"], left["outcomes"]) == (0, 5, {})
    assert SECRET.encode() not in bytes_of(tmp_path)
