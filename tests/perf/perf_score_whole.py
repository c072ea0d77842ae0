"""Scoring at SONIC-O1's size: 231 summaries, 1,335 choices, 3,392 intervals, six models.

A straightforward loop (one answer after the other: parse, rouge-score, tIoU, encode) runs beside it
on a sample, in the same process. With ``--embed`` both encode their texts, cold, in float32; a
thirty-second of the items then stands for all of them (the whole takes long on two cores).

Run: python tests/perf/perf_score_whole.py [--embed]
"""

import json
import random
import resource
import sys
import tempfile
import time
from pathlib import Path

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
from score.scoring import score
from score.similarity import Encoder
from score.summary import summarise

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


def writer(rng):
    """A function that writes n words: 12,000 of them, as uneven as words of a language are."""
    syllables = ["ba", "con", "di", "fer", "gra", "hos", "in", "ju", "kel", "mo", "ner", "pat"]
    endings = ["", "s", "ed", "ing", "ly", "ation", "ness", "ful", "er"]
    vocabulary = sorted(
        {
            "".join(rng.choices(syllables, k=rng.randint(1, 4))) + rng.choice(endings)
            for _ in range(12_000)
        }
    )
    weights = [1 / (rank + 1) for rank in range(len(vocabulary))]
    return lambda n: " ".join(rng.choices(vocabulary, weights, k=n))


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
    return Item(
        id=f"{task}/{number:05}/{more.get('question_id', '')}",
        benchmark="sonic-o1",
        task=task,
        topic=f"{number % 13 + 1:02}_Topic",
        cluster=f"{number % 13 + 1:02}/{number % 231:03}",
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


def baseline(store, items, every, embed):
    """The straightforward loop over every n-th answer of one run; returns seconds an answer."""
    from rouge_score.rouge_scorer import RougeScorer

    encoder = None
    if embed:
        encoder = Encoder()
        encoder.encode(["warm"])
        encoder = encoder._model
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


def main():
    embed = "--embed" in sys.argv
    rng = random.Random(0)
    write = writer(rng)
    items = make_items(write, rng, share=32 if embed else 1)
    with tempfile.TemporaryDirectory() as folder:
        with Store(Path(folder) / "store", create=True) as store:
            fill(store, items, write, rng)
        store = Store(Path(folder) / "store", read_only=True)
        every = 4 if embed else 20  # a sample, spread evenly over the tasks
        before = baseline(store, items, every, embed)
        encoder = Encoder() if embed else None
        if encoder is not None:
            encoder._loaded()
        cpu, wall = time.process_time(), time.perf_counter()
        with Store(Path(folder) / "store", read_only=True) as opened:
            found = score(opened, items, [f"m{n}" for n in range(MODELS)], encoder=encoder)
        summarise(found, STRICT)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        # Once before and once after: a shared machine's speed drifts.
        after = baseline(store, items, every, embed)
    cpu_s, wall_s = ((one + other) / 2 for one, other in zip(before, after, strict=True))
    answers = len(items) * MODELS
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{answers:,} answers, {len(found.scores):,} scores, "
        f"{'with' if embed else 'without'} embeddings\n"
        f"loop {cpu_s * answers:.0f} s of CPU, {wall_s * answers:.0f} s (from a sample); "
        f"ours {cpu:.1f} s of CPU, {wall:.1f} s\n{cpu_s * answers / cpu:.1f} times as fast by CPU, "
        f"{wall_s * answers / wall:.1f} by the clock; peak memory {peak:.0f} MB"
    )


if __name__ == "__main__":
    main()
