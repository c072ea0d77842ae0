"""A run of 5,000 items that are all stored: how soon it says so, without starting Ray.

Beside it, in the same run: the command that does nothing (``rejudge --version``), and parsing the
store's lines with json, which is the least that a tool without an index would do.

Run: python -m tests.perf.perf_infer_resume [items]
"""

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import registry
from bench.item import TaskType
from cache.record import Outcome, Record, Response
from cache.store import Store
from infer.card import load_card
from infer.plan import make_plan
from tests.perf.prose import writer
from tests.trees import choice_file, sonic_tree, write_json

QUESTIONS_A_VIDEO = 50
ROOT = Path(__file__).parent.parent.parent


def make_data(folder: Path, items: int) -> Path:
    """A SONIC-O1 tree of ``items`` choices about videos of a few bytes."""
    data = sonic_tree(folder / "data", tasks=("choice",), media=False)
    metadata = next(data.glob("dataset/videos/*/metadata_enhanced.json"))
    [video] = json.loads(metadata.read_text())
    choices = json.loads(choice_file(data).read_text())
    [entry] = choices["entries"]
    videos, entries = [], []
    for number in range(1, -(-items // QUESTIONS_A_VIDEO) + 1):
        name = {"video_id": f"v{number:03d}", "video_number": f"{number:03d}"}
        videos.append(video | name)
        (metadata.parent / f"video_{number:03d}.mp4").write_bytes(f"film {number}".encode())
        entries += [
            entry | name | {"question": f"What happens at moment {question}?"}
            for question in range(QUESTIONS_A_VIDEO)
        ]
    write_json(metadata, videos)
    entries = entries[:items]
    write_json(choice_file(data), choices | {"num_entries": len(entries), "entries": entries})
    return data


def answer_all(data: Path, store: Path) -> int:
    benchmark = registry.get("sonic-o1")
    prompts = benchmark.prompts(benchmark.load(data, (TaskType.CHOICE,)))
    write = writer(random.Random(0))
    with Store(store, create=True) as opened:
        requests = make_plan(prompts, load_card("chance"), opened).requests
        for planned in requests:
            answer = Record(
                key=planned.key,
                request=planned.request,
                outcome=Outcome.OK,
                response=Response(text=write(200)),
            )
            opened.put(answer, sync=False)
    return len(requests)


def timed(*command: str) -> tuple[float, str]:
    began = time.perf_counter()
    ran = subprocess.run(
        [sys.executable, "-m", "rejudge", *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return time.perf_counter() - began, ran.stdout


def main() -> None:
    items = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        data, store = make_data(folder, items), folder / "store"
        requests = answer_all(data, store)
        command = ["infer", "sonic-o1", "--data", str(data), "--store", str(store)]
        command += ["--model", "chance", "--task", "choice", "--json"]
        first_s, _ = timed(*command)  # writes the run
        again_s, out = timed(*command)
        nothing_s, _ = timed("--version")
        began = time.perf_counter()
        lines = [
            json.loads(line) for file in store.glob("packs/*/*.jsonl") for line in file.open("rb")
        ]
        parse_s = time.perf_counter() - began
    summary = json.loads(out)
    assert (summary["cached"], summary["called"]) == (requests, 0)
    assert len(lines) == requests
    print(f"{items} items in {requests} requests, all stored")
    print(f"said in {again_s:.2f} s ({first_s:.2f} s when the run is new)", end=", ")
    print(f"{again_s - nothing_s:.2f} s after start-up ({nothing_s:.2f} s)")
    print(f"parsing the lines alone: {parse_s:.2f} s; {(again_s - nothing_s) / parse_s:.1f} times")


if __name__ == "__main__":
    main()
