"""What reaches Gemini through Google's own client: uploaded files, text, settings, the key."""

from __future__ import annotations

import asyncio
import base64
import io
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import pytest

from cache.record import Outcome
from cache.request import Text
from infer.engine import create_engine
from infer.engines.gemini import GeminiEngine
from infer.uploads import Source, Uploads
from tests.gemini_server import SAID, GeminiServer, gemini
from tests.services import SECRET, ask, ask_text, clip, make_request, prepare_from

pytest_plugins = ("tests.service_fixtures",)
pytestmark = pytest.mark.usefixtures("api_key")

QUESTION = Text(text="What happens?", name="question")


@pytest.fixture
def server() -> Iterator[GeminiServer]:
    with GeminiServer(SAID) as running:
        yield running


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


# ── what is asked ─────────────────────────────────────────────────────────────────────────────


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
