"""What decoding in a process of its own costs, what asking again saves, and what memory it takes.

Run: python -m tests.perf.perf_infer_media
"""

import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

from cache.request import Media, Message, Preprocessing, Request
from infer.media.apart import prepare_apart
from infer.media.decode import Prepared, prepare
from tests.perf.films import film, track

SEGMENTS_S = ((120.0, 300.0), (270.0, 450.0), (420.0, 600.0))
QUESTIONS = 5
MIB = 1024**2


def ask(path: Path, kind: str, start_s: float, end_s: float | None, **asked) -> tuple:
    media = Media(kind=kind, sha256="a" * 64, start_s=start_s, end_s=end_s)
    message = Message(role="user", parts=(media,))
    preprocessing = Preprocessing(**asked)
    request = Request(engine="e", model="m", messages=(message,), preprocessing=preprocessing)
    return request, {"a" * 64: str(path)}


def took_s(prepared_by, asked) -> float:
    began = time.perf_counter()
    prepared: Prepared = prepared_by(*asked)
    took = time.perf_counter() - began
    assert not prepared.error, prepared.error
    return took


def overhead_and_sharing(path: Path) -> None:
    asked = [ask(path, "video", *s, frames=64, shorter_edge_px=252) for s in SEGMENTS_S]
    took_s(prepare_apart, ask(path, "video", 0.0, 1.0, frames=1))  # the child starts
    here, first, again = [], [], []
    for one in asked:
        here.append(took_s(prepare, one))
        first.append(took_s(prepare_apart, one))
        again.extend(took_s(prepare_apart, one) for _ in range(QUESTIONS - 1))
    print(f"a 3-minute segment, decoded here {statistics.median(here):6.2f} s")
    print(f"  in a process of its own        {statistics.median(first):6.2f} s")
    print(f"  asked again                    {statistics.median(again):6.2f} s")
    shared, alone = sum(first) + sum(again), QUESTIONS * sum(here)
    print(f"{QUESTIONS} questions a segment: {shared / alone:.2f} × the time of decoding each anew")


def memory(name: str, path: Path, kind: str, start_s: float, end_s: float | None, **asked) -> None:
    arguments = json.dumps([str(path), kind, start_s, end_s, asked])
    command = [sys.executable, "-m", "tests.perf.perf_infer_media", arguments]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    before, peak, result = json.loads(said)
    print(f"{name:52} {result:7.1f} MiB asked, {peak - before:7.1f} MiB taken at most")


def measured(arguments: str) -> None:
    path, kind, start_s, end_s, asked = json.loads(arguments)
    import librosa
    import soxr  # noqa: F401

    librosa.to_mono  # noqa: B018 - imports the rest of it
    before = peak_mib()
    prepared = prepare(*ask(Path(path), kind, start_s, end_s, **asked))
    assert not prepared.error, prepared.error
    (part,) = prepared.media
    array = part.pixels if kind == "video" else part.samples
    print(json.dumps([before, peak_mib(), array.nbytes / MIB]))


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    if len(sys.argv) > 1:
        measured(sys.argv[1])
        return
    pictures, sound = film(30), track(120)
    overhead_and_sharing(pictures)
    memory("64 frames of 3 of 30 minutes", pictures, "video", 600.0, 780.0, frames=64)
    memory("256 frames of all 30 minutes", pictures, "video", 0.0, None, frames=256)
    memory("1 frame of 30 minutes", pictures, "video", 0.0, None, frames=1)
    memory("3 minutes of 2 hours of sound", sound, "audio", 5000.0, 5180.0)
    memory("20 minutes of 2 hours of sound", sound, "audio", 5000.0, 6200.0)
    memory("all 2 hours of sound", sound, "audio", 0.0, None)


if __name__ == "__main__":
    main()
