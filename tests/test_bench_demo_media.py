"""The bundled benchmark's media: real films with numbered frames, sound and captions."""

from itertools import pairwise

import av
import numpy as np
import pysubs2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.demo import SONIC_O1
from bench.demo.mark import cells, draw_frame_number, read_frame_number
from tests.demo_files import CLIPS, VIDEOS, happenings

FRAME_RATE = 12


def companion(video, kind, extension):
    """The audio or caption file that belongs to a video."""
    name = video.stem.replace("video", kind) + extension
    return SONIC_O1 / f"dataset/{kind}s" / video.parent.name / name


def mono(path):
    """The sound of a file as samples and their rate in Hz."""
    with av.open(str(path)) as container:
        stream = container.streams.audio[0]
        resampler = av.AudioResampler(format="flt", layout="mono", rate=stream.rate)
        frames = [f for frame in container.decode(stream) for f in resampler.resample(frame)]
        return np.concatenate([f.to_ndarray()[0] for f in frames]), stream.rate


def brightness(frame):
    """The luma plane of a decoded frame, which needs no conversion: (height, width), uint8."""
    plane = frame.planes[0]
    return np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size)[:, : plane.width]


@pytest.mark.parametrize("path", [*VIDEOS, *CLIPS], ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_every_frame_carries_its_own_number_and_time(path):
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.name == "h264"
        assert stream.codec_context.pix_fmt == "yuv420p"
        assert (stream.width, stream.height) == (480, 270)
        count = 0
        for frame in container.decode(stream):
            assert read_frame_number(brightness(frame)) == count
            assert frame.time == pytest.approx(count / FRAME_RATE, abs=1e-6)
            count += 1
        assert count == stream.frames


@pytest.mark.parametrize("path", VIDEOS, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_resized_frames_can_still_be_read(path):
    with av.open(str(path)) as container:
        frame = next(f for i, f in enumerate(container.decode(video=0)) if i == 205)
    for width, height in ((960, 540), (448, 252), (336, 336), (240, 135), (120, 68)):
        small = frame.reformat(width=width, height=height, format="rgb24", interpolation="AREA")
        assert read_frame_number(small.to_ndarray()) == 205


@given(st.integers(0, 4095))
def test_a_drawn_number_is_read_back(number):
    frame = np.full((270, 480, 3), 128, dtype=np.uint8)
    draw_frame_number(frame, number)
    assert read_frame_number(frame) == number


def test_one_square_and_the_parity_change_from_one_frame_to_the_next():
    for number in range(300):
        pairs = zip(cells(number), cells(number + 1), strict=True)
        assert sum(a != b for a, b in pairs) == 2


def test_a_frame_without_a_mark_is_refused():
    with pytest.raises(ValueError, match="no frame mark"):
        read_frame_number(np.zeros((270, 480, 3), dtype=np.uint8))


def test_a_damaged_mark_is_refused():
    frame = np.zeros((270, 480, 3), dtype=np.uint8)
    draw_frame_number(frame, 77)
    frame[258:266, 8 + 5 * 8 : 8 + 6 * 8] = 255 - frame[258:266, 8 + 5 * 8 : 8 + 6 * 8]
    with pytest.raises(ValueError, match="parity"):
        read_frame_number(frame)


def test_exactly_one_video_is_silent_and_has_no_sound_file():
    silent = []
    for video in VIDEOS:
        with av.open(str(video)) as container:
            has_track = bool(container.streams.audio)
        assert has_track == companion(video, "audio", ".m4a").exists()
        if not has_track:
            silent.append(f"{video.parent.name[:2]}/{video.stem}")
    assert silent == ["06/video_002"]


def test_exactly_one_video_has_no_captions():
    missing = [v for v in VIDEOS if not companion(v, "caption", ".srt").exists()]
    assert [f"{v.parent.name[:2]}/{v.stem}" for v in missing] == ["09/video_002"]


def test_sound_files_are_aac_at_48_khz_in_stereo():
    for path in sorted((SONIC_O1 / "dataset/audios").glob("*/*.m4a")):
        with av.open(str(path)) as container:
            stream = container.streams.audio[0]
            assert stream.codec_context.name == "aac"
            assert (stream.rate, stream.channels) == (48_000, 2)


def test_the_sound_track_of_videos_and_clips_is_aac():
    for path in [*VIDEOS, *CLIPS]:
        with av.open(str(path)) as container:
            assert all(s.codec_context.name == "aac" for s in container.streams.audio)


def caption_files():
    return sorted((SONIC_O1 / "dataset/captions").glob("*/*.srt"))


def test_captions_follow_one_another_inside_the_video():
    for path in caption_files():
        number = path.stem.removeprefix("caption_")
        length_ms = happenings()[path.parent.name, number]["duration_s"] * 1000
        lines = list(pysubs2.load(str(path)))
        assert lines
        assert all(line.text and 0 <= line.start < line.end <= length_ms for line in lines)
        assert all(a.end <= b.start for a, b in pairwise(lines))


def test_speech_is_loud_exactly_where_the_events_say():
    for video in VIDEOS:
        path = companion(video, "audio", ".m4a")
        if not path.exists():
            continue
        samples, rate = mono(path)
        number = video.stem.removeprefix("video_")
        events = happenings()[video.parent.name, number]["events"]
        heard = [e for e in events if e["kind"] in ("speech", "sound")]
        loud = np.zeros(len(samples), dtype=bool)
        for event in heard:
            start, end = (round(event[key] * rate) for key in ("start_s", "end_s"))
            # Coding smears sound by one AAC block of 1,024 samples, and may shift it by as much.
            loud[max(0, start - 3072) : end + 3072] = True
            for edge in (start, end - rate // 5):
                assert np.abs(samples[edge : edge + rate // 5]).max() > 0.01, (video, event)
        assert np.abs(samples[~loud]).max() < 0.01
