"""Scoring at SONIC-O1's size: 231 summaries, 1,335 choices, 3,392 intervals, six models.

A straightforward loop (one answer after the other: parse, rouge-score, tIoU, encode) runs beside it
on a sample, in the same process. Its texts and ours are prose written like the bundled benchmark's.

    (none)        without embeddings
    --embed       both encode their texts, cold; a thirty-second of the items stands for all of them
                  (the whole takes long on two cores). ``--precision`` is ours; the loop has float32
    --stored      the vectors of our texts are in the store, as an earlier scoring leaves them; the
                  loop encodes. What is in a vector costs no time, so they are drawn by chance

CPU time is what others on the machine disturb least. The loop's is taken with one thread, where
it is smallest; its time by the clock with as many as torch takes. Both have imported what they need
before. Ours is all of ``score`` and the means of its summary; intervals (10,000 resamples), which
the loop has nothing like, are timed apart.

Run: python -m tests.perf.perf_score_whole [--embed [--precision NAME] | --stored]
"""

import argparse
import json
import random
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from bench.item import (
    ChoiceReference,
    Clip,
    IntervalReference,
    Item,
    Segment,
    SummaryReference,
    TaskType,
)
from cache.record import Outcome, Record, Response
from cache.request import Message, Request, Text
from cache.run import RunHeader, RunLine
from cache.store import Store
from score.profile import STRICT
from score.scoring import _all_texts, _prepare, score, with_intervals
from score.similarity import Encoder
from score.summary import summarise
from score.vectors import Vector, Vectors
from score.weights import find_weights
from tests.perf.prose import writer

SUMMARIES, CHOICES, INTERVALS = 231, 1335, 3392
MODELS = 6
OPTIONS = (
    "The man waves",
    "A dog barks",
    "The door closes",
    "Nobody speaks",
    "Not enough evidence",
)
DETAILED_WORDS, SHORT_WORDS, RATIONALE_WORDS = 200, 60, 40


def make_items(write, rng, share=1):
    items = []
    for n in range(SUMMARIES // share):
        short = tuple(write(SHORT_WORDS // 4) for _ in range(4))
        items.append(_item(TaskType.SUMMARY, n, SummaryReference(write(DETAILED_WORDS), short)))
    for n in range(CHOICES // share):
        reference = ChoiceReference(rng.randrange(5), write(RATIONALE_WORDS))
        items.append(_item(TaskType.CHOICE, n, reference, options=OPTIONS))
    for n in range(INTERVALS // share):
        start = rng.uniform(0, 170)
        reference = IntervalReference(start, start + 8, write(RATIONALE_WORDS))
        items.append(_item(TaskType.LOCALIZATION, n, reference, question_id=f"{n % 3 + 1:03}"))
    return items


def _item(task, n, reference, **more):
    number = n // 3 if task is TaskType.LOCALIZATION else n
    video = number % SUMMARIES
    return Item(
        id=f"{task}/{number:05}/{more.get('question_id', '')}",
        benchmark="sonic-o1",
        task=task,
        topic=f"{video % 13 + 1:02}_Topic",
        cluster=f"{video % 13 + 1:02}/{video:03}",
        clip=Clip(Path("x.mp4"), segment=Segment(0, 180)),
        question="What happens?",
        reference=reference,
        **more,
    )


def answer(item, write, rng):
    match item.reference:
        case SummaryReference():
            short = [write(SHORT_WORDS // 4) for _ in range(4)]
            return {"summary_detailed": write(DETAILED_WORDS), "summary_short": short}
        case ChoiceReference():
            index = rng.randrange(5)
            letter = "ABCDE"[index]
            return {
                "answer_letter": letter,
                "answer_index": index,
                "rationale": write(RATIONALE_WORDS),
            }
    start = item.reference.start_s + rng.normalvariate(0, 20)
    times = {
        "question_id": item.question_id,
        "start_s": round(start, 2),
        "end_s": round(start + 8, 2),
    }
    return times | {"rationale_model": write(RATIONALE_WORDS)}


def fill(store, items, write, rng):
    for model in range(MODELS):
        lines, grouped = [], {}
        for item in items:
            entry = item.id.rpartition("/")[0] if item.question_id else item.id
            grouped.setdefault(entry, []).append(item)
        for entry, members in grouped.items():
            said = [answer(item, write, rng) for item in members]
            text = json.dumps({"questions": said} if members[0].question_id else said[0])
            message = Message(role="user", parts=(Text(text=entry),))
            request = Request(engine="perf", model=f"m{model}", messages=(message,))
            record = Record(
                key=request.key(), request=request, outcome=Outcome.OK, response=Response(text=text)
            )
            store.put(record, sync=False)
            lines += [RunLine(item=item.id, key=record.key) for item in members]
        header = RunHeader(
            name=f"m{model}", benchmark="sonic-o1", model=f"m{model}",
            tasks=("summary", "choice", "localization"),
        )  # fmt: skip
        store.write_run(header, lines)
    store.flush()


def baseline(store, items, every, encoder):
    """The straightforward loop over every n-th answer of one run; returns seconds an answer."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"], use_stemmer=True)
    scorer.score("warm", "warm")
    run = store.run("m0")
    keys = {line.item: line.key for line in run.lines}
    sample = items[::every]
    started = time.process_time(), time.perf_counter()
    for item in sample:
        outputs = json.loads(store.get(keys[item.id]).response.text)
        pairs = []
        match item.reference:
            case SummaryReference(detailed, short):
                pairs = [
                    (detailed, outputs["summary_detailed"]),
                    (" ".join(short), " ".join(outputs["summary_short"])),
                ]
            case ChoiceReference(index, rationale):
                outputs["answer_index"] == index  # noqa: B015
                pairs = [(rationale, outputs["rationale"])]
            case IntervalReference(start, end, rationale):
                [said] = [q for q in outputs["questions"] if q["question_id"] == item.question_id]
                overlap = min(end, said["end_s"]) - max(start, said["start_s"])
                max(0, overlap) / (max(end, said["end_s"]) - min(start, said["start_s"]))
                pairs = [(rationale, said["rationale_model"])]
        for reference, said in pairs:
            scorer.score(reference, said)
            if encoder is not None:
                encoder.encode(reference) @ encoder.encode(said)
    ended = time.process_time(), time.perf_counter()
    return [(end - start) / len(sample) for start, end in zip(started, ended, strict=True)]


def loop(store, items, every, embed):
    """The loop's seconds of CPU and by the clock an answer, each as it is best for the loop."""
    if not embed:
        return baseline(store, items, every, None)
    import torch
    from sentence_transformers import SentenceTransformer

    encoder = SentenceTransformer(str(find_weights().folder), device="cpu")
    encoder.encode(["warm"])
    _, wall_s = baseline(store, items, every, encoder)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    cpu_s, _ = baseline(store, items, every, encoder)
    torch.set_num_threads(threads)
    return cpu_s, wall_s


def keep_vectors(folder, items, encoder):
    """Leave vectors of all texts in the store's index; of length 1, their direction by chance."""
    with Store(folder, read_only=True) as store:
        prepared = [_prepare(store, f"m{n}", items, STRICT, None) for n in range(MODELS)]
    texts = _all_texts(prepared)
    drawn = np.random.default_rng(0).standard_normal((len(texts), 384)).astype(np.float32)
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    vectors = {text: Vector(one, False) for text, one in zip(texts, drawn, strict=True)}
    Vectors(encoder.keep, find_weights().digest, "float32").add(vectors)
    return len(texts)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--embed", action="store_true")
    parser.add_argument("--stored", action="store_true")
    parser.add_argument("--precision", default="float32")
    asked = parser.parse_args()
    rng = random.Random(0)
    items = make_items(writer(rng), rng, share=32 if asked.embed else 1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "store"
        with Store(folder, create=True) as store:
            fill(store, items, writer(rng), rng)
        encoder, what = None, "without embeddings"
        if asked.embed:
            encoder, what = Encoder(precision=asked.precision), f"encoded in {asked.precision}"
            encoder.load()
        elif asked.stored:
            encoder = Encoder(keep=folder / "index")
            what = f"vectors of {keep_vectors(folder, items, encoder):,} texts in the store"
        # A sample, spread evenly over the tasks; fewer where each takes long.
        every = 4 if asked.embed else 200 if asked.stored else 20
        sampled = Store(folder, read_only=True), items, every, asked.embed or asked.stored
        import polars  # noqa: F401
        import rapidfuzz.distance  # noqa: F401

        before = loop(*sampled)
        cpu, wall = time.process_time(), time.perf_counter()
        with Store(folder, read_only=True) as opened:
            found = score(opened, items, [f"m{n}" for n in range(MODELS)], encoder=encoder)
        summarise(found, STRICT)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        intervals = time.process_time()
        with_intervals(found)
        intervals = time.process_time() - intervals
        # Once before and once after: a shared machine's speed drifts.
        after = loop(*sampled)
    cpu_s, wall_s = ((one + other) / 2 for one, other in zip(before, after, strict=True))
    answers = len(items) * MODELS
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{answers:,} answers, {len(found.scores):,} scores, {what}\n"
        f"loop {cpu_s * answers:.0f} s of CPU, {wall_s * answers:.0f} s (from a sample); "
        f"ours {cpu:.1f} s of CPU, {wall:.1f} s\n{cpu_s * answers / cpu:.1f} times as fast by CPU, "
        f"{wall_s * answers / wall:.1f} by the clock; peak memory {peak:.0f} MB; "
        f"intervals of all means {intervals:.1f} s of CPU more"
    )


if __name__ == "__main__":
    main()
