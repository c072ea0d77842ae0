"""The Gemini engine through Google's own client, against a real server of the same protocol."""

from __future__ import annotations

import asyncio
import base64
import io
import threading
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import pytest

from cache.record import Outcome
from cache.request import Text
from cache.store import Store
from infer.engine import create_engine
from infer.engines.gemini import GeminiEngine
from infer.errors import CardError, FeatureMissing, ServiceRefused
from infer.media.decode import Prepared
from infer.uploads import Source, Uploads
from tests.clips import make_clip
from tests.gemini_server import GeminiServer, blocked, candidate, error
from tests.openai_server import Call, Reply, drop, faults
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

WHOLE = {"fps": 1.0, "as_files": True, "sample_rate_hz": 16_000}
QUESTION = Text(text="What happens?", name="question")
SAID = candidate({"text": "A man waits."})


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJUDGE_TEST_KEY", SECRET)


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight seconds whose frames carry their number, with a tone."""
    return make_clip(tmp_path_factory.mktemp("film") / "film.mp4")


@pytest.fixture
def server() -> Iterator[GeminiServer]:
    with GeminiServer(SAID) as running:
        yield running


def gemini(server: GeminiServer, **members: Any) -> Any:
    return make_card("gemini", server.base_url, **({"preprocessing": WHOLE} | members))


def sent(
    server: GeminiServer, film: Path, *bounds: float, **members: Any
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Ask about the film; return the parts of the turn and the body that arrived."""
    card = gemini(server, **members)
    kinds = [kind for kind in ("video", "audio") if kind in card.modality]
    request = make_request(card, *(clip(film, kind, *bounds) for kind in kinds), QUESTION)
    prepared = prepare_from(request, film)
    assert not prepared.error
    [answer] = ask(card, (request, prepared))
    assert answer.outcome is Outcome.OK, answer.response.error
    body = server.calls[-1].body
    [turn] = body["contents"]
    return turn["parts"], body


# ── how media travel ──────────────────────────────────────────────────────────────────────────


def test_a_whole_file_is_uploaded_as_it_is_and_sampled_at_one_frame_a_second(
    server: GeminiServer, film: Path
) -> None:
    [video, text], _ = sent(server, film)

    assert server.files == {"files/f0": film.read_bytes()}
    assert video == {
        "fileData": {"fileUri": f"{server.base_url}/v1/files/f0", "mimeType": "video/mp4"},
        "videoMetadata": {"fps": 1.0},
    }
    assert text == {"text": "What happens?"}


def test_a_segment_is_the_whole_file_with_its_bounds(server: GeminiServer, film: Path) -> None:
    [video, _], _ = sent(server, film, 2.5, 6.0)

    assert server.files["files/f0"] == film.read_bytes()
    assert video["videoMetadata"] == {"startOffset": "2.500s", "endOffset": "6.000s", "fps": 1.0}


def test_a_video_alone_is_uploaded_without_its_sound(server: GeminiServer, film: Path) -> None:
    sent(server, film, modality="video")

    with av.open(io.BytesIO(server.files["files/f0"])) as container:
        assert not container.streams.audio
        assert sum(1 for _ in container.decode(video=0)) == 200


def test_sound_alone_is_uploaded_as_wav_of_the_segment(server: GeminiServer, film: Path) -> None:
    [sound, _], _ = sent(server, film, 2.0, 6.0, modality="audio")

    assert sound["fileData"]["mimeType"] == "audio/wav"
    with wave.open(io.BytesIO(server.files["files/f0"])) as file:
        assert (file.getframerate(), file.getnframes()) == (16_000, 64_000)


def test_frames_travel_as_pictures_where_files_are_not_asked_for(
    server: GeminiServer, film: Path
) -> None:
    parts, _ = sent(
        server,
        film,
        modality="video",
        preprocessing={"frames": 2, "shorter_edge_px": 96},
        settings={"frame_times": True},
    )

    assert [part.get("text") for part in parts] == [
        "Frame at 2.00 s:", None, "Frame at 6.00 s:", None, "What happens?"
    ]  # fmt: skip
    assert {part["inlineData"]["mimeType"] for part in parts[1:4:2]} == {"image/jpeg"}
    assert base64.urlsafe_b64decode(parts[1]["inlineData"]["data"]).startswith(b"\xff\xd8")


def test_a_file_is_uploaded_once_for_all_its_questions_and_deleted_in_the_end(
    server: GeminiServer, film: Path
) -> None:
    card = gemini(server)
    asked = []
    for number in range(6):
        part = clip(film, "video", float(number), 8.0)
        request = make_request(card, part, Text(text=f"Question {number}?"))
        asked.append((request, prepare_from(request, film)))

    answers = ask(card, *asked)

    assert [answer.outcome for answer in answers] == [Outcome.OK] * 6
    assert list(server.files) == server.deleted == ["files/f0"]


def test_a_file_is_awaited_until_the_service_has_read_it(film: Path) -> None:
    with GeminiServer(SAID, states=["PROCESSING", "PROCESSING", "ACTIVE"]) as server:
        sent(server, film)


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        ({"code": 3, "message": "unsupported codec"}, Outcome.DECODE_ERROR),
        ({"code": 13, "message": "internal"}, Outcome.INFRA_ERROR),
        ({}, Outcome.INFRA_ERROR),
    ],
)
def test_a_file_that_the_service_cannot_read_is_a_failure_of_its_requests(
    fault: dict[str, Any], outcome: Outcome, film: Path
) -> None:
    with GeminiServer(SAID, states=["PROCESSING", "FAILED"]) as server:
        server.state_error = fault
        card = gemini(server)
        request = make_request(card, clip(film), QUESTION)
        [answer] = ask(card, (request, prepare_from(request, film)))

    assert answer.outcome is outcome
    assert fault.get("message", "no reason") in answer.response.error
    assert not server.calls
    assert server.deleted == ["files/f0"]


def test_a_file_that_is_never_read_is_a_timeout(film: Path) -> None:
    with GeminiServer(SAID, states=["PROCESSING"]) as server:
        card = gemini(server, service={"timeout_s": 0.5})
        request = make_request(card, clip(film), QUESTION)
        [answer] = ask(card, (request, prepare_from(request, film)))

    assert answer.outcome is Outcome.TIMEOUT


def test_a_file_that_the_service_will_soon_forget_is_uploaded_again(
    server: GeminiServer, film: Path
) -> None:
    server.expires = "2001-01-01T00:00:00Z"
    card = gemini(server)
    request = make_request(card, clip(film), QUESTION)

    async def run() -> None:
        engine = create_engine(card)
        for _ in range(2):
            await engine.answer(request, prepare_from(request, film))
        engine.close()

    asyncio.run(run())

    assert list(server.files) == ["files/f0", "files/f1"]
    assert sorted(server.deleted) == ["files/f0", "files/f1"]


def test_files_make_room_for_others_when_nobody_uses_them(server: GeminiServer) -> None:
    def source(name: str) -> Source:
        return Source(name, "audio/wav", 100, lambda: io.BytesIO(b"x" * 100))

    async def run() -> None:
        engine = create_engine(gemini(server))
        assert isinstance(engine, GeminiEngine)
        uploads = Uploads(engine._client, 10.0, kept_bytes=250)
        async with uploads.hold(source("used")):
            for name in ("a", "b", "a", "c"):
                async with uploads.hold(source(name)):
                    pass
            assert server.deleted == ["files/f1", "files/f2", "files/f3"]
        uploads.close()

    asyncio.run(run())

    assert len(server.files) == 5
    assert sorted(server.deleted) == sorted(server.files)


# ── what is asked and what comes back ─────────────────────────────────────────────────────────


def test_what_the_card_leaves_open_is_left_to_the_service(server: GeminiServer) -> None:
    ask_text(gemini(server), "Hello?", system="Be brief.")

    [call] = server.calls
    assert call.path.endswith("/models/scripted-1:generateContent")
    assert call.headers["x-goog-api-key"] == SECRET
    assert call.body == {
        "contents": [{"role": "user", "parts": [{"text": "Hello?"}]}],
        "systemInstruction": {"role": "user", "parts": [{"text": "Be brief."}]},
        "generationConfig": {},
    }


def test_settings_and_sampling_are_sent(server: GeminiServer) -> None:
    card = gemini(
        server,
        settings={
            "media_resolution": "low",
            "safety": "BLOCK_NONE",
            "thinking": {"thinking_budget": 128, "include_thoughts": True},
            "config": {"response_mime_type": "application/json"},
        },
    )

    ask_text(card, sample=1, temperature=0.7, top_p=0.95, max_tokens=8192, seed=7)

    body = server.calls[0].body
    assert body["generationConfig"] == {
        "temperature": 0.7,
        "topP": 0.95,
        "maxOutputTokens": 8192,
        "seed": 8,
        "mediaResolution": "MEDIA_RESOLUTION_LOW",
        "thinkingConfig": {"thinkingBudget": 128, "includeThoughts": True},
        "responseMimeType": "application/json",
    }
    assert {one["threshold"] for one in body["safetySettings"]} == {"BLOCK_NONE"}
    assert len(body["safetySettings"]) == 4


def test_an_answer_comes_back_with_its_thoughts_and_what_it_cost() -> None:
    usage = {
        "promptTokenCount": 900,
        "candidatesTokenCount": 12,
        "thoughtsTokenCount": 30,
        "cachedContentTokenCount": 64,
    }
    parts = [{"text": "Hm.", "thought": True}, {"text": "A man"}, {"text": " waits."}]
    with GeminiServer(candidate(*parts, usage=usage)) as server:
        answer = ask_text(gemini(server))

    assert (answer.outcome, answer.response.text) == (Outcome.OK, "A man waits.")
    assert (answer.response.reasoning, answer.response.finish_reason) == ("Hm.", "STOP")
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (900, 42)
    assert (answer.usage.cached_tokens, answer.usage.reasoning_tokens) == (64, 30)
    assert answer.effective == {"model": "scripted-1"}


def test_requests_are_in_flight_together_once_the_service_was_heard_to_work() -> None:
    together = threading.Barrier(4, timeout=20)

    def script(call: Call) -> Reply:
        if call.number:
            together.wait()
        return SAID

    with GeminiServer(script) as server:
        card = gemini(server, concurrency=4)
        asked = [(make_request(card, Text(text=f"{number}?")), Prepared()) for number in range(5)]
        answers = ask(card, *asked)

    assert [answer.outcome for answer in answers] == [Outcome.OK] * 5


# ── how it fails ──────────────────────────────────────────────────────────────────────────────

_LONG = "The input token count (2097152) exceeds the maximum number of tokens allowed (1048576)."
FAILURES: dict[str, tuple[Reply, Outcome, str]] = {
    "500": (error(500, name="INTERNAL"), Outcome.INFRA_ERROR, "HTTP 500: scripted fault"),
    "429 for ever": (error(429, name="RESOURCE_EXHAUSTED"), Outcome.INFRA_ERROR, "HTTP 429"),
    "deadline": (error(504, name="DEADLINE_EXCEEDED"), Outcome.TIMEOUT, "HTTP 504"),
    "dropped": (drop(), Outcome.INFRA_ERROR, "disconnected"),
    "no JSON": (Reply(body=b"<html>"), Outcome.INFRA_ERROR, "not of its protocol"),
    "other JSON": (Reply(body={"candidates": 3}), Outcome.INFRA_ERROR, "not of its protocol"),
    "no candidates": (Reply(body={}), Outcome.INFRA_ERROR, "no candidates"),
    "too long": (error(400, _LONG, name="INVALID_ARGUMENT"), Outcome.CONTEXT_OVERFLOW, "2097152"),
    "blocked": (blocked("PROHIBITED_CONTENT"), Outcome.CONTENT_FILTER, "PROHIBITED_CONTENT"),
    "safety": (candidate(finish_reason="SAFETY"), Outcome.CONTENT_FILTER, "SAFETY"),
    "recitation": (candidate(finish_reason="RECITATION"), Outcome.CONTENT_FILTER, "RECITATION"),
    "cut": (candidate({"text": "Half"}, finish_reason="MAX_TOKENS"), Outcome.TRUNCATED, "limit"),
    "other": (candidate(finish_reason="OTHER"), Outcome.INFRA_ERROR, "OTHER"),
    "no end": (candidate({"text": "Half"}, finish_reason=None), Outcome.INFRA_ERROR, "no reason"),
    "bad request": (error(400, "bad", name="INVALID_ARGUMENT"), Outcome.INFRA_ERROR, "bad"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_an_answer_with_its_outcome(name: str) -> None:
    reply, outcome, words = FAILURES[name]
    with GeminiServer(reply) as server:
        answer = ask_text(gemini(server))

    assert answer.outcome is outcome
    assert words in answer.response.error


def test_what_came_before_the_cut_is_kept() -> None:
    with GeminiServer(candidate({"text": "Half"}, finish_reason="MAX_TOKENS")) as server:
        answer = ask_text(gemini(server))

    assert (answer.response.text, answer.response.finish_reason) == ("Half", "MAX_TOKENS")


def test_a_service_that_says_nothing_is_a_timeout() -> None:
    asked = threading.Event()

    def script(call: Call) -> Reply:
        asked.wait(20)
        return SAID

    with GeminiServer(script) as server:
        answer = ask_text(gemini(server, service={"timeout_s": 0.2}))
        asked.set()

    assert answer.outcome is Outcome.TIMEOUT


def test_a_busy_service_is_asked_again() -> None:
    with GeminiServer(faults([error(429, name="RESOURCE_EXHAUSTED")], SAID)) as server:
        answer = ask_text(gemini(server, service={"max_retries": 1}))

    assert answer.outcome is Outcome.OK
    assert len(server.calls) == 2


# ── when nobody would be answered ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize("reply", [
    error(400, "API key not valid. Please pass a valid API key.", name="INVALID_ARGUMENT"),
    error(400, "no", name="INVALID_ARGUMENT", reason="API_KEY_INVALID"),
    error(400, "User location is not supported for the API use.", name="FAILED_PRECONDITION"),
    error(401), error(403, name="PERMISSION_DENIED"), error(404, name="NOT_FOUND"),
])  # fmt: skip
def test_a_service_that_refuses_ends_the_run_after_one_call(reply: Reply) -> None:
    with GeminiServer(reply) as server:
        card = gemini(server)
        asked = [(make_request(card, Text(text=f"{number}?")), Prepared()) for number in range(8)]
        with pytest.raises(ServiceRefused, match="refuses every request"):
            ask(card, *asked)

    assert len(server.calls) == 1


def test_a_service_that_answers_nobody_ends_the_run() -> None:
    with GeminiServer(error(503)) as server:
        found = ask_each_in_turn(gemini(server, concurrency=2), 12)

    assert [isinstance(one, ServiceRefused) for one in found] == [False] * 9 + [True] * 3


# ── the card ──────────────────────────────────────────────────────────────────────────────────


def test_a_key_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REJUDGE_TEST_KEY")

    with pytest.raises(FeatureMissing, match="REJUDGE_TEST_KEY"):
        create_engine(make_card("gemini", ""))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"modle": "x"}, "modle"),
        ({"media_resolution": "huge"}, "huge"),
        ({"thinking": {"depth": 3}}, "depth"),
        ({"config": {"temprature": 1.0}}, "temprature"),
    ],
)
def test_a_setting_that_does_not_hold_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(CardError, match=words):
        create_engine(make_card("gemini", "", settings=settings))


# ── the whole run ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_a_run_uploads_each_video_once_asks_once_and_keeps_no_key(tmp_path: Path) -> None:
    with GeminiServer(candidate({"text": '{"answer_letter": "A"}'})) as server:
        card = write_card(tmp_path / "card.toml", gemini(server))
        first = infer(tmp_path / "store", card, "--task", "choice", "--limit", "6")
        again = infer(tmp_path / "store", card, "--task", "choice", "--limit", "6")
        asked = len(server.calls)

    assert first["outcomes"] == {"ok": 6}
    assert asked == 6
    assert (again["called"], again["cached"]) == (0, 6)
    with Store(tmp_path / "store", read_only=True) as store:
        records = list(store.scan())
    videos = {record.request.messages[-1].parts[0].sha256 for record in records}  # type: ignore[union-attr]
    assert len(server.files) == len(videos) < 6
    assert sorted(server.deleted) == sorted(server.files)
    assert {record.effective["video"][0]["file"] for record in records} == {"with its sound"}
    assert SECRET.encode() not in bytes_of(tmp_path)
