"""Long films for benchmarks: moving pictures that carry their number; made once, kept in /tmp."""

import tempfile
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

RATE, GOP = 25, 250
WIDTH, HEIGHT, BITS, SIDE = 640, 360, 16, 40
FOLDER = Path(tempfile.gettempdir()) / "rejudge-perf"


def film(minutes: int) -> Path:
    """Return an H.264 film with a key frame every 10 seconds; frame i shows i in its top row."""
    path = FOLDER / f"film-{minutes}.mp4"
    return path if path.is_file() else _made(path, lambda part: _write_film(part, minutes))


def track(minutes: int) -> Path:
    """Return a stereo sound track of 48 kHz."""
    path = FOLDER / f"track-{minutes}.mka"
    return path if path.is_file() else _made(path, lambda part: _write_track(part, minutes))


def read_number(pixels: np.ndarray) -> int:
    """The number that a frame of a film shows, whatever its size."""
    height, width, _ = pixels.shape
    row = int(SIDE / 2 / HEIGHT * height)
    bits = [pixels[row, int((bit + 0.5) * width / BITS)].mean() > 125 for bit in range(BITS)]
    return sum(1 << bit for bit, is_set in enumerate(bits) if is_set)


def _made(path: Path, write) -> Path:
    print(f"making {path} once …", flush=True)
    path.parent.mkdir(exist_ok=True)
    part = path.with_stem(path.stem + "-part")
    write(part)
    return part.rename(path)


def _write_film(path: Path, minutes: int) -> None:
    rng = np.random.default_rng(0)
    blocks = rng.integers(0, 255, (160, 220), dtype=np.uint8)
    scene = np.kron(blocks, np.ones((4, 4), np.uint8))
    grey = np.full((HEIGHT // 2, WIDTH), 128, np.uint8)
    with av.open(str(path), "w") as container:
        options = {"g": str(GOP), "preset": "veryfast", "crf": "28"}
        stream = container.add_stream("libx264", rate=RATE, options=options)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for number in range(minutes * 60 * RATE):
            x = int(80 * (1 + np.sin(number / 90)))
            y = int(60 * (1 + np.cos(number / 130)))
            luma = scene[y : y + HEIGHT, x : x + WIDTH].copy()
            for bit in range(BITS):
                luma[:SIDE, bit * SIDE : (bit + 1) * SIDE] = 235 if number >> bit & 1 else 16
            frame = av.VideoFrame.from_ndarray(np.concatenate([luma, grey]), format="yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, RATE)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def _write_track(path: Path, minutes: int) -> None:
    second = np.arange(48_000) / 48_000
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mp2", rate=48_000)
        for number in range(minutes * 60):
            tone = 0.3 * np.sin(2 * np.pi * (200 + number % 600) * second)
            samples = np.repeat((tone * 32_767).astype(np.int16), 2)[None]
            frame = av.AudioFrame.from_ndarray(samples, format="s16", layout="stereo")
            frame.sample_rate, frame.pts = 48_000, number * 48_000
            frame.time_base = Fraction(1, 48_000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
