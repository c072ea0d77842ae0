"""Frames and sound to MP4 (H.264, AAC) and M4A files, the same bytes on every run.

One encoder thread, no creation times and ffmpeg's bitexact flags: with the same versions of ffmpeg
and x264 on the same kind of processor, files come out identical.
"""

from __future__ import annotations

import subprocess
import tempfile
import wave
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.demo.make.timeline import FRAME_RATE
from bench.demo.make.voice import SAMPLE_RATE_HZ, Samples
from bench.demo.mark import PICTURE_SIZE

_FFMPEG = ["ffmpeg", "-v", "error", "-y"]
_SAME_BYTES = ["-map_metadata", "-1", "-fflags", "+bitexact", "-flags", "+bitexact"]
_VIDEO = ["-c:v", "libx264", "-preset", "veryslow", "-tune", "animation", "-crf", "27"]
_VIDEO += ["-pix_fmt", "yuv420p", "-threads", "1", "-x264-params", "keyint=120:threads=1"]
_VIDEO += ["-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"]


def write_video(path: Path, frames: Iterable[npt.NDArray[np.uint8]], sound: Samples | None) -> None:
    """Write ``frames``, (270, 480, 3) uint8 each, with ``sound`` as the AAC track if there is one.

    Raises:
        RuntimeError: ffmpeg failed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    width, height = PICTURE_SIZE
    with tempfile.TemporaryDirectory() as folder:
        command = [*_FFMPEG, "-f", "rawvideo", "-pix_fmt", "rgb24"]
        command += ["-s", f"{width}x{height}", "-r", str(FRAME_RATE), "-i", "-"]
        if sound is not None:
            wav = Path(folder) / "sound.wav"
            _write_wav(wav, sound)
            command += ["-i", str(wav), "-c:a", "aac", "-ac", "1", "-b:a", "30k"]
        command += ["-vf", "scale=out_color_matrix=bt709:flags=accurate_rnd", *_VIDEO]
        command += [*_SAME_BYTES, "-movflags", "+faststart", str(path)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE)  # noqa: S603 (our own command)
        assert process.stdin is not None
        with process.stdin as pipe:
            for frame in frames:
                pipe.write(frame.tobytes())
        if process.wait():
            raise RuntimeError(f"ffmpeg ended with {process.returncode} while writing {path}")


def write_audio(path: Path, sound: Samples) -> None:
    """Write ``sound`` as AAC in an M4A file, 48 kHz stereo.

    Raises:
        subprocess.CalledProcessError: ffmpeg failed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        wav = Path(folder) / "sound.wav"
        _write_wav(wav, sound)
        command = [*_FFMPEG, "-nostdin", "-i", str(wav), "-c:a", "aac", "-ar", "48000", "-ac", "2"]
        command += ["-b:a", "32k", *_SAME_BYTES, "-movflags", "+faststart", str(path)]
        subprocess.run(command, check=True)  # noqa: S603 (our own command)


def _write_wav(path: Path, sound: Samples) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(SAMPLE_RATE_HZ)
        file.writeframes((sound * 32_767).astype("<i2").tobytes())
