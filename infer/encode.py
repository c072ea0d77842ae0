"""Decoded media as the files that services take: JPEG, WAV, MP4.

    pixels          → JPEG
    samples         → WAV, 16 bit, mono
    frames, samples → MP4: H.264 with every frame shown over its own bin, and AAC
    a file          → the same file without its sound, nothing encoded again

PyAV encodes and copies, as it decodes: no ffmpeg program is needed.
"""

from __future__ import annotations

import base64
import io
import mimetypes
import wave
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from infer.errors import DecodeError
from infer.media.file import MediaFile
from infer.media.frames import Frames, Pixels
from infer.media.probe import open_media
from infer.media.sound import Sound

#: A clock that all frame rates in use divide well.
_CLOCK_HZ = 90_000
#: Constant quality of H.264 at which no difference is seen.
_CRF = "18"


def jpeg(pixels: Pixels, quality: int) -> bytes:
    """Encode one picture, (height, width, 3)."""
    from PIL import Image

    held = io.BytesIO()
    Image.fromarray(pixels).save(held, format="JPEG", quality=quality)
    return held.getvalue()


def wav(sound: Sound) -> bytes:
    """Encode sound as 16-bit samples."""
    held = io.BytesIO()
    with wave.open(held, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sound.sample_rate_hz)
        file.writeframes(_as_int16(sound).tobytes())
    return held.getvalue()


def mp4(frames: Frames, sound: Sound | None) -> bytes:
    """Encode a stretch of video, from its start on, with its sound where there is some.

    Frames that were sampled evenly are shown for the length of their bin, so that pictures and
    sound keep their times: a service that samples at the same rate gets the same frames.
    """
    import av

    held = io.BytesIO()
    bin_s = _bin_s(frames, sound)
    with av.open(held, mode="w", format="mp4") as out:
        rate = Fraction(1 / bin_s).limit_denominator(1000)
        video: Any = out.add_stream("libx264", rate=rate, options={"crf": _CRF})
        _, video.height, video.width, _ = frames.pixels.shape
        video.pix_fmt = "yuv420p"
        video.time_base = video.codec_context.time_base = Fraction(1, _CLOCK_HZ)
        audio: Any = out.add_stream("aac", rate=sound.sample_rate_hz) if sound else None
        for number, pixels in enumerate(frames.pixels):
            picture = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            picture.pts, picture.time_base = round(number * bin_s * _CLOCK_HZ), video.time_base
            picture.duration = round(bin_s * _CLOCK_HZ)
            out.mux(video.encode(picture))
        out.mux(video.encode(None))
        if sound is not None:
            samples = sound.samples.reshape(1, -1).astype(np.float32)
            block = av.AudioFrame.from_ndarray(samples, format="fltp", layout="mono")
            block.sample_rate, block.pts = sound.sample_rate_hz, 0
            out.mux(audio.encode(block))
            out.mux(audio.encode(None))
    return held.getvalue()


def open_as_sent(file: MediaFile, folder: Path) -> BinaryIO:
    """Open a file as the model is to get it: without sound that it must not hear.

    Args:
        file: The file.
        folder: Where a copy without sound may be made; it is deleted when it is closed.

    Raises:
        DecodeError: the file cannot be read or copied.
    """
    try:
        path = Path(file.path)
        return _without_sound(path, folder) if file.silence else path.open("rb")
    except OSError as error:
        raise DecodeError(f"{file.path}: cannot be opened: {error}") from error


def mime_type(path: str) -> str:
    """Return the media type that a file's name says; ``video/mp4`` where it says none."""
    return mimetypes.guess_type(path)[0] or "video/mp4"


def data_url(kind: str, data: bytes) -> str:
    """Return bytes as a URL; ``kind`` is their media type."""
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"


def _without_sound(path: Path, folder: Path) -> BinaryIO:
    import tempfile

    import av

    copy = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - the caller closes it
    container = "webm" if path.suffix.lower() == ".webm" else "mp4"
    try:
        with open_media(path) as source, av.open(copy, mode="w", format=container) as out:
            kept = source.streams.video[0]
            stream = out.add_stream_from_template(kept)
            for packet in source.demux(kept):
                if packet.dts is not None:  # the last packet only says that there are no more
                    packet.stream = stream
                    out.mux(packet)
    except av.error.FFmpegError as error:
        copy.close()
        raise DecodeError(f"{path}: its sound cannot be left out: {error}") from error
    copy.seek(0)
    return copy


def _bin_s(frames: Frames, sound: Sound | None) -> float:
    # Sound says how long the stretch is; without it, the frames do, to within one of the source's.
    count = len(frames.times_s)
    if sound is not None:
        return len(sound.samples) / sound.sample_rate_hz / count
    return float(frames.times_s[-1] - frames.times_s[0]) / (count - 1) if count > 1 else 1.0


def _as_int16(sound: Sound) -> Any:
    return np.round(np.clip(sound.samples, -1.0, 1.0) * 32767).astype("<i2")
