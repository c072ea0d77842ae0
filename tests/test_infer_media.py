"""Frames, sound and captions are those of the asked stretch, on every codec."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cache.request import Media, Message, Preprocessing, Request, Text
from infer.errors import DecodeError
from infer.media.captions import read_captions
from infer.media.decode import prepare
from infer.media.frames import read_frames, sample_times, scaled_size
from infer.media.probe import probe
from infer.media.sound import read_sound
from tests.clips import make_clip, make_tone, read_number

CODECS = {
    "h264 closed GOP": ("clip.mp4", "libx264", {"bf": "3"}),
    "h264 open GOP": ("clip.mp4", "libx264", {"bf": "3", "x264-params": "open-gop=1"}),
    "hevc closed GOP": ("clip.mp4", "libx265", {"x265-params": "open-gop=0:log-level=none"}),
    "hevc open GOP": ("clip.mp4", "libx265", {"x265-params": "open-gop=1:log-level=none"}),
    "vp9": ("clip.webm", "libvpx-vp9", {"deadline": "realtime", "cpu-used": "8"}),
    "av1": ("clip.mp4", "libsvtav1", {"preset": "12"}),
    "mpeg4": ("clip.mp4", "mpeg4", {"b": "2000000"}),
}


@pytest.mark.parametrize("name", CODECS)
def test_frames_are_those_shown_at_the_asked_times(name: str, tmp_path: Path) -> None:
    file, codec, options = CODECS[name]
    path = make_clip(tmp_path / file, codec=codec, options=options)
    # Between key frames, across one (frame 50), on one (frame 100), neighbours, the last frame.
    asked = np.array([49, 50, 51, 53, 99, 100, 101, 137, 199]) / 25 + 0.02

    frames, _ = read_frames(path, probe(path), asked, None)

    assert [read_number(frame) for frame in frames.pixels] == [
        49,
        50,
        51,
        53,
        99,
        100,
        101,
        137,
        199,
    ]
    # WebM keeps milliseconds and opus priming moves the start by 7 ms.
    assert frames.times_s == pytest.approx(asked - 0.02, abs=0.01)


def test_frames_of_a_variable_rate_clip_follow_its_own_times(tmp_path: Path) -> None:
    times_s = [number * 0.04 if number < 50 else 2.0 + (number - 50) * 0.2 for number in range(75)]
    path = make_clip(tmp_path / "clip.mp4", times_s=times_s)

    frames, _ = read_frames(path, probe(path), np.array([1.01, 2.1, 4.39, 4.41, 6.7]), None)

    assert [read_number(frame) for frame in frames.pixels] == [25, 50, 61, 62, 73]


def test_a_clip_that_does_not_start_at_zero_is_read_on_the_players_clock(tmp_path: Path) -> None:
    path = make_clip(
        tmp_path / "clip.mp4", times_s=[5.0 + number / 25 for number in range(100)], tone_hz=None
    )

    frames, _ = read_frames(path, probe(path), np.array([0.02, 1.02, 3.5]), None)

    assert [read_number(frame) for frame in frames.pixels] == [0, 25, 87]
    assert frames.times_s == pytest.approx([0.0, 1.0, 3.48], abs=1e-3)


def test_more_times_than_frames_give_each_frame_once(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", frames=5)

    frames, _ = read_frames(path, probe(path), sample_times(0.0, 0.2, 64, None), None)

    assert [read_number(frame) for frame in frames.pixels] == [0, 1, 2, 3, 4]


def test_frames_are_scaled_down_to_the_shorter_edge_and_never_up() -> None:
    assert scaled_size(1920, 1080, 360) == (640, 360)
    assert scaled_size(1080, 1920, 360) == (360, 640)
    assert scaled_size(320, 96, 360) == (320, 96)
    assert scaled_size(853, 480, None) == (852, 480)


def test_sample_times_are_middles_of_equal_bins_and_the_smaller_count_wins() -> None:
    assert sample_times(10.0, 20.0, 4, None).tolist() == [11.25, 13.75, 16.25, 18.75]
    assert sample_times(10.0, 20.0, 256, 1.0).tolist() == [10.5 + second for second in range(10)]
    assert sample_times(0.0, 0.3, None, 1.0).tolist() == [0.15]


def test_sound_is_mono_at_the_asked_rate_and_of_the_asked_stretch(tmp_path: Path) -> None:
    path = make_tone(tmp_path / "sound.m4a", 8.0)  # silent until 4 s

    quiet, loud = (read_sound(path, start_s, start_s + 1.5, 16_000) for start_s in (1.0, 5.0))

    assert quiet is not None
    assert loud is not None
    assert len(quiet.samples) == len(loud.samples) == 24_000
    assert np.abs(quiet.samples).max() < 1e-3
    spectrum = np.abs(np.fft.rfft(loud.samples))
    assert np.argmax(spectrum) / 1.5 == pytest.approx(440.0, abs=1.0)


def test_sound_starts_at_the_asked_sample(tmp_path: Path) -> None:
    path = make_tone(tmp_path / "sound.m4a", 8.0)  # the tone begins at 4 s

    sound = read_sound(path, 3.75, 4.25, 16_000)

    assert sound is not None
    first = np.flatnonzero(np.abs(sound.samples) > 0.05)[0] / 16_000
    assert first == pytest.approx(0.25, abs=0.03)  # an AAC frame is 21 ms


def test_a_file_without_a_sound_track_has_no_sound(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", frames=25, tone_hz=None)

    assert read_sound(path, 0.0, 1.0, 16_000) is None


def test_captions_are_the_cues_that_overlap_the_segment(tmp_path: Path) -> None:
    path = tmp_path / "captions.srt"
    path.write_text(
        "1\n00:00:01,000 --> 00:00:02,500\nOne\n\n"
        "2\n00:00:02,500 --> 00:00:04,000\n<i>Two</i>\nlines\n\n"
        "3\n00:00:09,000 --> 00:00:10,000\nThree\n",
        encoding="utf-8-sig",
    )

    cues = read_captions(path, 2.5, 9.0)

    assert [(cue.start_s, cue.end_s, cue.text) for cue in cues] == [(2.5, 4.0, "Two lines")]


@pytest.mark.parametrize("content", [b"", b"\x00\x01garbage" * 500], ids=["empty", "garbage"])
def test_a_file_that_is_no_media_is_a_decode_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "clip.mp4"
    path.write_bytes(content)

    with pytest.raises(DecodeError, match=r"clip\.mp4"):
        probe(path)


def test_a_file_cut_before_its_index_is_a_decode_error(tmp_path: Path) -> None:
    whole = make_clip(tmp_path / "whole.mp4")
    path = tmp_path / "cut.mp4"
    path.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])

    assert "cut.mp4" in prepare(*_request(path, "video", 0.0, 4.0)).error


@pytest.mark.parametrize("kind", ["video", "audio"])
def test_a_half_downloaded_file_is_a_decode_error_where_it_is_cut(
    kind: str, tmp_path: Path
) -> None:
    whole = make_clip(tmp_path / "whole.mp4", index_first=True)  # 8 s
    path = tmp_path / "half.mp4"
    path.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])

    before, across = (prepare(*_request(path, kind, *times)) for times in ((0, 1), (0, 8)))

    assert before.error == ""
    assert "half.mp4" in across.error


def test_a_segment_beyond_the_end_is_clamped_and_says_so(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", frames=100)

    prepared = prepare(*_request(path, "video", 2.0, 60.0))

    assert prepared.error == ""
    facts = prepared.effective["video"][0]
    assert (facts["start_s"], facts["clamped_from_s"]) == (2.0, 60.0)
    assert facts["end_s"] == pytest.approx(4.0, abs=0.05)
    assert facts["decoder"] == "decord"


def test_a_segment_that_starts_after_the_end_is_a_decode_error(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", frames=25)

    prepared = prepare(*_request(path, "video", 30.0, 60.0))

    assert "the segment starts at 30 s, the file ends at" in prepared.error


def test_prepared_media_come_in_the_order_of_the_requests_parts(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", frames=100, tone_hz=None)
    request, files = _request(path, "video", 0.0, 4.0)
    parts = (Text(text="Look"), *request.messages[0].parts, _media("b" * 64, "audio", 0.0, 4.0))
    request = Request(
        engine="e",
        model="m",
        messages=(Message(role="user", parts=parts),),
        preprocessing=request.preprocessing,
    )

    prepared = prepare(request, files | {"b" * 64: str(path)})

    frames, sound = prepared.media
    assert [read_number(frame) for frame in frames.pixels] == [12, 37, 62, 87]
    assert sound is None
    assert prepared.effective["audio"] == [{"start_s": 0.0, "end_s": 4.0, "audio": "none"}]


def _media(sha256: str, kind: str, start_s: float, end_s: float) -> Media:
    return Media(kind=kind, sha256=sha256, start_s=start_s, end_s=end_s)


def _request(path: Path, kind: str, start_s: float, end_s: float) -> tuple[Request, dict[str, str]]:
    digest = "a" * 64
    message = Message(role="user", parts=(_media(digest, kind, start_s, end_s),))
    preprocessing = Preprocessing(frames=4)
    request = Request(engine="e", model="m", messages=(message,), preprocessing=preprocessing)
    return request, {digest: str(path)}
