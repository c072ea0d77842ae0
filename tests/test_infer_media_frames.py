"""Frames are exactly those that a player shows at the asked times, whatever the file is like."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from infer.errors import DecodeError
from infer.media import frames as frames_module
from infer.media.frames import Frames, read_frames, sample_times, scaled_size
from infer.media.probe import probe
from tests.clips import make_clip, read_number

# Key frames every 50 frames (2 s).
CLIPS = {
    "h264 closed GOP": ("clip.mp4", "libx264", {"bf": "3"}),
    "h264 open GOP": ("clip.mp4", "libx264", {"bf": "3", "x264-params": "open-gop=1"}),
    "h264 one key frame": ("clip.mp4", "libx264", {"bf": "3", "g": "1000"}),
    "h264 gradual refresh": (
        "clip.mp4",
        "libx264",
        {"x264-params": "intra-refresh=1:bframes=0:keyint=50"},
    ),
    "h264 open GOP in MPEG-TS": ("clip.ts", "libx264", {"bf": "3", "x264-params": "open-gop=1"}),
    "h264 in Matroska": ("clip.mkv", "libx264", {"bf": "3"}),
    "h264 in AVI": ("clip.avi", "libx264", {"bf": "3"}),
    "hevc closed GOP": ("clip.mp4", "libx265", {"x265-params": "open-gop=0:log-level=none"}),
    "hevc open GOP": ("clip.mp4", "libx265", {"x265-params": "open-gop=1:log-level=none"}),
    "vp8 with hidden frames": (
        "clip.webm",
        "libvpx",
        {"auto-alt-ref": "1", "lag-in-frames": "16", "cpu-used": "5", "b": "300k"},
    ),
    "vp9": ("clip.webm", "libvpx-vp9", {"deadline": "realtime", "cpu-used": "8"}),
    "av1": ("clip.mp4", "libsvtav1", {"preset": "12"}),
    "mpeg4": ("clip.mp4", "mpeg4", {"b": "2000000"}),
}


@pytest.fixture(params=CLIPS, scope="module")
def clip(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file, codec, options = CLIPS[request.param]
    return make_clip(tmp_path_factory.mktemp("clip") / file, codec=codec, options=options)


def test_frames_are_those_shown_at_the_asked_times(clip: Path) -> None:
    # Between key frames, across one (frame 50), on one (frame 100), neighbours, the last frame.
    asked = np.array([49, 50, 51, 53, 99, 100, 101, 137, 199])
    probed = probe(clip)
    # MPEG-TS, AVI and opus priming move the first frame away from the player's zero.
    first_s = played(clip).times_s[0]

    frames = read_frames(clip, probed, asked / 25 + first_s + 0.02, None)

    assert [read_number(frame) for frame in frames.pixels] == asked.tolist()
    # WebM and AVI keep milliseconds.
    assert frames.times_s == pytest.approx(asked / 25 + first_s, abs=0.01)


def test_frames_of_any_stretch_equal_those_of_playing_the_whole_file(clip: Path) -> None:
    """Bit by bit: seeking, and leaving frames out, changes nothing."""
    whole, probed = played(clip), probe(clip)
    rng = np.random.default_rng(7)
    for _ in range(8):
        start_s, end_s = np.sort(rng.uniform(0.1, 7.9, size=2))
        times_s = sample_times(start_s, end_s, int(rng.integers(1, 12)), None)

        frames = read_frames(clip, probed, times_s, None)

        shown = np.unique(np.searchsorted(whole.times_s, times_s + 1e-6, side="right") - 1)
        assert np.array_equal(frames.pixels, whole.pixels[shown])


def test_without_an_index_the_same_frames_are_found(
    clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times_s = sample_times(2.9, 7.3, 5, None)
    indexed = read_frames(clip, probe(clip), times_s, None)
    monkeypatch.setattr(frames_module, "_decode_indexed", lambda *_: None)

    all_decoded = read_frames(clip, probe(clip), times_s, None)

    assert np.array_equal(all_decoded.pixels, indexed.pixels)


def test_frames_of_a_variable_rate_clip_follow_its_own_times(tmp_path: Path) -> None:
    times_s = [number * 0.04 if number < 50 else 2.0 + (number - 50) * 0.2 for number in range(75)]
    path = make_clip(tmp_path / "clip.mp4", times_s=times_s)

    frames = read_frames(path, probe(path), np.array([1.01, 2.1, 4.39, 4.41, 6.7]), None)

    assert [read_number(frame) for frame in frames.pixels] == [25, 50, 61, 62, 73]


def test_a_clip_that_does_not_start_at_zero_is_read_on_the_players_clock(tmp_path: Path) -> None:
    path = make_clip(
        tmp_path / "clip.mp4", times_s=[5.0 + number / 25 for number in range(100)], tone_hz=None
    )

    frames = read_frames(path, probe(path), np.array([0.02, 1.02, 3.5]), None)

    assert [read_number(frame) for frame in frames.pixels] == [0, 25, 87]
    assert frames.times_s == pytest.approx([0.0, 1.0, 3.48], abs=1e-3)


def test_frames_that_an_edit_list_hides_are_not_shown(tmp_path: Path) -> None:
    # What lies before zero is in the file, and hidden: frame 25 is the first that is shown.
    path = make_clip(
        tmp_path / "clip.mp4", times_s=[number / 25 - 1 for number in range(100)], tone_hz=None
    )

    frames = read_frames(path, probe(path), np.array([0.0, 0.02, 0.5, 1.02, 2.99]), None)

    assert probe(path).duration_s == pytest.approx(3.0)
    assert [read_number(frame) for frame in frames.pixels] == [25, 37, 50, 99]


def test_a_clip_turned_by_its_metadata_is_turned_as_players_do(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", frames=60)
    turn_a_quarter_clockwise(path)

    frames = read_frames(path, probe(path), np.array([0.5, 2.1]), 48)

    assert frames.pixels.shape == (2, 160, 48, 3)  # 320 × 96, turned and halved
    back = np.rot90(frames.pixels, k=1, axes=(1, 2))
    assert [read_number(frame) for frame in back] == [12, 52]


def test_wide_pixels_are_made_square(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", frames=5, wide=Fraction(3, 2))

    frames = read_frames(path, probe(path), np.zeros(1), None)

    assert frames.pixels.shape == (1, 96, 480, 3)


def test_a_clip_of_one_frame_shows_it_at_any_time(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", frames=1, tone_s=2.0)

    frames = read_frames(path, probe(path), sample_times(0.0, 2.0, 8, None), None)

    assert [read_number(frame) for frame in frames.pixels] == [0]


def test_a_recording_that_does_not_know_its_length_is_measured(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mkv", live=True)
    probed = probe(path)

    frames = read_frames(path, probed, np.array([4.02, 7.9]), None)

    assert probed.duration_s == pytest.approx(8.0, abs=0.05)
    assert [read_number(frame) for frame in frames.pixels] == [100, 197]


def test_a_picture_is_read_as_one_frame(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "picture.png", codec="png", frames=1, tone_hz=None)

    frames = read_frames(path, probe(path), np.zeros(1), 48)

    assert frames.pixels.shape == (1, 48, 160, 3)


def test_more_times_than_frames_give_each_frame_once(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", frames=5)

    frames = read_frames(path, probe(path), sample_times(0.0, 0.2, 64, None), None)

    assert [read_number(frame) for frame in frames.pixels] == [0, 1, 2, 3, 4]


def test_a_cover_picture_of_a_sound_file_is_no_video(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", frames=1, codec="png", tone_s=2.0, cover=True)

    assert probe(path).video_codec == ""
    with pytest.raises(DecodeError, match="no video track"):
        read_frames(path, probe(path), np.zeros(1), None)


def test_a_file_that_claims_300_frames_and_has_280_gives_what_it_has(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", frames=300, index_first=True, tone_hz=None)
    with av.open(str(path)) as container:
        packets = [packet for packet in container.demux(video=0) if packet.size]
    cut = next(packet.pos for packet in packets if packet.pts >= 280 * 512)
    path.write_bytes(path.read_bytes()[:cut])
    probed = probe(path)

    frames = read_frames(path, probed, np.array([0.5, 7.5, 11.1]), None)

    assert probed.duration_s == pytest.approx(12.0)
    assert [read_number(frame) for frame in frames.pixels] == [12, 187, 277]
    with pytest.raises(DecodeError, match=r"clip\.mp4: the file is cut off: its video ends at 11"):
        read_frames(path, probed, np.array([0.5, 11.9]), None)


def test_frames_are_scaled_down_to_the_shorter_edge_and_never_up() -> None:
    assert scaled_size(1920, 1080, 360) == (640, 360)
    assert scaled_size(1080, 1920, 360) == (360, 640)
    assert scaled_size(320, 96, 360) == (320, 96)
    assert scaled_size(853, 480, None) == (853, 480)


def test_sample_times_are_middles_of_equal_bins_and_the_smaller_count_wins() -> None:
    assert sample_times(10.0, 20.0, 4, None).tolist() == [11.25, 13.75, 16.25, 18.75]
    assert sample_times(10.0, 20.0, 256, 1.0).tolist() == [10.5 + second for second in range(10)]
    assert sample_times(10.0, 20.0, 4, 1.0).tolist() == [11.25, 13.75, 16.25, 18.75]
    assert sample_times(0.0, 0.3, None, 1.0).tolist() == [0.15]


def played(path: Path) -> Frames:
    """Every frame of a file with its time: what PyAV gives without seeking."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        decoded = list(container.decode(stream))
        origin_s = (container.start_time or 0) / 1_000_000
        # AVI has the right times, but not at the right frames; frames come in order of showing.
        times_s = np.array(sorted(frame.pts for frame in decoded)) * float(stream.time_base)
    pixels = np.stack([frame.to_ndarray(format="rgb24") for frame in decoded])
    return Frames(pixels, times_s - origin_s)


def turn_a_quarter_clockwise(path: Path) -> None:
    """Write the matrix that phones write for upright films (ISO 14496-12, track header box)."""
    content = path.read_bytes()
    upright = bytes.fromhex("00010000 00000000 00000000 00000000 00010000 00000000")
    turned = bytes.fromhex("00000000 00010000 00000000 ffff0000 00000000 00000000")
    header = content.index(b"tkhd")
    assert upright in content[header:]
    path.write_bytes(content[:header] + content[header:].replace(upright, turned, 1))
