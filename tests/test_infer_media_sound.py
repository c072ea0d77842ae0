"""Sound is that of the asked stretch, sample by sample, and its chunks are those of the paper."""

from __future__ import annotations

from pathlib import Path

import av
import librosa
import numpy as np
import pytest

from infer.errors import DecodeError
from infer.media.sound import Sound, keep_chunks, read_sound
from tests.clips import make_clip, make_tone


def test_sound_is_mono_at_the_asked_rate_and_of_the_asked_stretch(tmp_path: Path) -> None:
    path = make_tone(tmp_path / "sound.m4a", 8.0)  # silent until 4 s

    quiet, loud = (read(path, start_s, start_s + 1.5) for start_s in (1.0, 5.0))

    assert len(quiet.samples) == len(loud.samples) == 24_000
    assert np.abs(quiet.samples).max() < 1e-3
    spectrum = np.abs(np.fft.rfft(loud.samples))
    assert np.argmax(spectrum) / 1.5 == pytest.approx(440.0, abs=1.0)


def test_sound_starts_at_the_asked_sample(tmp_path: Path) -> None:
    path = make_tone(tmp_path / "sound.m4a", 8.0)  # the tone begins at 4 s

    sound = read(path, 3.75, 4.25)

    first = np.flatnonzero(np.abs(sound.samples) > 0.05)[0] / 16_000
    assert first == pytest.approx(0.25, abs=0.03)  # an AAC frame is 21 ms


@pytest.mark.parametrize("rate", [16_000, 24_000, 48_000])
def test_samples_are_those_of_librosa_of_the_whole_track(rate: int, tmp_path: Path) -> None:
    path = make_tone(tmp_path / "sound.m4a", 8.0)
    with av.open(str(path)) as container:
        blocks = [frame.to_ndarray() for frame in container.decode(audio=0)]
    mono = librosa.to_mono(np.concatenate(blocks, axis=1))[: 8 * 48_000]
    expected = librosa.resample(mono, orig_sr=48_000, target_sr=rate, res_type="soxr_hq")

    sound = read(path, 0.0, 8.0, rate)

    assert len(sound.samples) == len(expected) == 8 * rate
    assert sound.samples == pytest.approx(expected, abs=1e-5)


def test_a_stretch_has_the_samples_that_the_whole_track_has_there(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4")

    whole, part = read(path, 0.0, 8.0), read(path, 2.5, 6.0)

    # A resampler needs some samples to either side, which the stretch does not have.
    inner = slice(400, -400)
    assert part.samples[inner] == pytest.approx(whole.samples[40_000:96_000][inner], abs=1e-4)


def test_sound_that_begins_after_the_pictures_is_silent_before(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mkv", frames=100, tone_from_s=1.5, tone_s=2.5)

    sound = read(path, 1.0, 3.0)

    assert len(sound.samples) == 32_000
    assert np.abs(sound.samples[:7_600]).max() < 1e-3
    assert np.abs(sound.samples[8_400:9_200]).max() > 0.3


def test_sound_that_ends_before_the_pictures_ends_there(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", frames=200, tone_s=3.0)

    assert len(read(path, 2.0, 6.0).samples) == pytest.approx(16_000, abs=500)
    assert read_sound(path, 5.0, 6.0, 16_000) is None


def test_a_file_without_a_sound_track_has_no_sound(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", frames=25, tone_hz=None)

    assert read_sound(path, 0.0, 1.0, 16_000) is None


@pytest.mark.parametrize("name", ["half.mp4", "half.mkv"])
def test_a_sound_track_that_is_cut_off_is_an_error_where_it_is_missing(
    name: str, tmp_path: Path
) -> None:
    path = make_clip(tmp_path / name, index_first=True)  # 8 s
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    assert len(read(path, 0.0, 1.0).samples) == 16_000
    with pytest.raises(DecodeError, match=name):
        read_sound(path, 0.0, 8.0, 16_000)


def test_chunks_are_spread_evenly_and_the_last_may_be_short() -> None:
    """SONIC-O1, D.3: of M = ⌈D / 10⌉ chunks those at ⌊linspace(0, M − 1, N)⌋."""
    sound = Sound(np.arange(650, dtype=np.float32), sample_rate_hz=10)  # 65 s: 7 chunks

    kept, facts = keep_chunks(sound, 5)

    # linspace(0, 6, 5) = 0, 1.5, 3, 4.5, 6
    assert facts == {"chunks": [0, 1, 3, 4, 6], "chunks_in_all": 7}
    firsts = [kept.samples[at * 100] for at in range(5)]
    assert firsts == [0.0, 100.0, 300.0, 400.0, 600.0]
    assert len(kept.samples) == 450


@pytest.mark.parametrize(
    ("seconds", "most", "chunks"),
    [
        (30.0, 64, [0, 1, 2]),
        (30.0, 3, [0, 1, 2]),
        (30.1, 3, [0, 1, 3]),  # 4 chunks: 0, 1.5, 3
        (600.0, 4, [0, 19, 39, 59]),  # 60 chunks: 0, 19.67, 39.33, 59
        (100.0, 1, [0]),
    ],
)
def test_chunks_kept_of_a_sound(seconds: float, most: int, chunks: list[int]) -> None:
    sound = Sound(np.zeros(round(seconds * 10), dtype=np.float32), sample_rate_hz=10)

    _, facts = keep_chunks(sound, most)

    assert facts["chunks"] == chunks


def read(path: Path, start_s: float, end_s: float, sample_rate_hz: int = 16_000) -> Sound:
    sound = read_sound(path, start_s, end_s, sample_rate_hz)
    assert sound is not None
    return sound
