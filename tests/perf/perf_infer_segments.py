"""Frames of 3-minute segments of a 30-minute film: straight from the file, and by cutting it first.

    exact     ours: seek, decode what is needed, keep the wanted frames
    copy      cut at key frames without decoding (ffmpeg -c copy), then play the cut file
    encode    cut exactly by encoding again, then play the cut file
    decord    the frames at the same times from decord

64 frames a segment, scaled to a shorter edge of 252, one decoding thread each, in turns. A frame is
wrong when the number that it shows is not that of the asked time. Ratios are of CPU time, which
other work on the machine disturbs least.

Run: python -m tests.perf.perf_infer_segments
"""

import statistics
import tempfile
import time
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from infer.media.decord_frames import read_frames_by_decord
from infer.media.frames import read_frames, sample_times, scaled_size
from infer.media.probe import probe
from tests.perf.films import RATE, film, read_number

STARTS_S, LENGTH_S, FRAMES, EDGE_PX = (37.0, 613.0, 941.0, 1204.0, 1577.0), 180.0, 64, 252


def exact(path: Path, start_s: float, _: Path) -> np.ndarray:
    times_s = sample_times(start_s, start_s + LENGTH_S, FRAMES, None)
    return read_frames(path, probe(path), times_s, EDGE_PX).pixels


def copy(path: Path, start_s: float, folder: Path) -> np.ndarray:
    cut = folder / "copied.mp4"
    with av.open(str(path)) as source, av.open(str(cut), "w") as target:
        stream = source.streams.video[0]
        out = target.add_stream_from_template(stream)
        source.seek(round(start_s / stream.time_base), stream=stream, backward=True)
        first = None
        for packet in source.demux(stream):
            if packet.dts is None or packet.pts * stream.time_base >= start_s + LENGTH_S:
                break
            first = packet.pts if first is None else first
            packet.pts, packet.dts, packet.stream = packet.pts - first, packet.dts - first, out
            target.mux(packet)
    return play(cut)


def encode(path: Path, start_s: float, folder: Path) -> np.ndarray:
    cut = folder / "encoded.mp4"
    with av.open(str(path)) as source, av.open(str(cut), "w") as target:
        stream = one_thread(source.streams.video[0])
        options = {"preset": "ultrafast", "crf": "23"}
        out = target.add_stream("libx264", rate=RATE, options=options)
        out.width, out.height, out.pix_fmt = stream.width, stream.height, "yuv420p"
        out.codec_context.thread_count = 1
        source.seek(round(start_s / stream.time_base), stream=stream, backward=True)
        for frame in source.decode(stream):
            if frame.time >= start_s + LENGTH_S:
                break
            if frame.time >= start_s:
                frame.pts = round((frame.time - start_s) * RATE)
                frame.time_base = Fraction(1, RATE)
                target.mux(out.encode(frame))
        target.mux(out.encode())
    return play(cut)


def play(path: Path) -> np.ndarray:
    """Decode a whole file and keep evenly spread frames, as loaders of models do."""
    with av.open(str(path)) as container:
        stream = one_thread(container.streams.video[0])
        width, height = scaled_size(stream.width, stream.height, EDGE_PX)
        middles = (np.arange(FRAMES) + 0.5) / FRAMES
        wanted = set((middles * stream.frames).astype(int).tolist())
        return np.stack(
            [
                frame.to_ndarray(format="rgb24", width=width, height=height)
                for number, frame in enumerate(container.decode(stream))
                if number in wanted
            ]
        )


def decord(path: Path, start_s: float, _: Path) -> np.ndarray:
    times_s = sample_times(start_s, start_s + LENGTH_S, FRAMES, None)
    return read_frames_by_decord(path, probe(path), times_s, EDGE_PX).pixels


def one_thread(stream):
    stream.codec_context.thread_count = 1
    return stream


def asked(start_s: float) -> np.ndarray:
    times_s = sample_times(start_s, start_s + LENGTH_S, FRAMES, None)
    return np.floor(times_s * RATE + 1e-6).astype(int)


def main() -> None:
    path = film(30)
    ways = [exact, copy, encode, decord]
    cpu_s, wall_s, off_s = defaultdict(list), defaultdict(list), defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for start_s in STARTS_S:
            for way in ways:
                began, began_cpu = time.perf_counter(), time.process_time()
                pixels = way(path, start_s, Path(folder))
                cpu_s[way].append(time.process_time() - began_cpu)
                wall_s[way].append(time.perf_counter() - began)
                shown = np.array([read_number(frame) for frame in pixels])
                off_s[way].extend(abs(shown - asked(start_s)[: len(shown)]) / RATE)
    ours = statistics.median(cpu_s[exact])
    for way in ways:
        cpu = statistics.median(cpu_s[way])
        off = np.array(off_s[way])
        print(
            f"{way.__name__:7} {cpu:6.2f} s CPU, {statistics.median(wall_s[way]):6.2f} s"
            f"  {cpu / ours:5.2f} × ours"
            f"  {(off > 0).mean():4.0%} of the frames wrong, by up to {off.max():5.2f} s"
        )


if __name__ == "__main__":
    main()
