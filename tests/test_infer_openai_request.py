"""What reaches an OpenAI-compatible server: media in the card's form, text, sampling, the key."""

from __future__ import annotations

import base64
import io
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
from infer.errors import CardError
from tests.clips import make_clip, read_number
from tests.openai_server import OpenAIServer, chat
from tests.services import SECRET, ask, ask_text, clip, make_card, make_request, prepare_from

pytest_plugins = ("tests.service_fixtures",)
pytestmark = pytest.mark.usefixtures("api_key")

QUESTION = Text(text="What happens?", name="question")


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


# ── what is asked, and where ──────────────────────────────────────────────────────────────────


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


def test_the_environment_may_name_another_server(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REJUDGE_TEST_URL", server.base_url)
    card = make_card(
        "openai", "http://localhost:1/v1", service={"base_url_env": "REJUDGE_TEST_URL"}
    )

    assert ask_text(card).outcome is Outcome.OK
