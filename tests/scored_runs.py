"""Runs to score: items, and a store with what a model said to them."""

import json
from pathlib import Path

from bench.item import (
    Attributes,
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

OPTIONS = (
    "The man waves",
    "A dog barks",
    "The door closes",
    "Nobody speaks",
    "Not enough evidence",
)


def choice_item(number=0, *, right=0, topic="01_Consultations", rationale="He waves.", **more):
    return Item(
        id=f"choice/{topic[:2]}/{number:03}/0-180/0",
        benchmark="sonic-o1",
        task=TaskType.CHOICE,
        topic=topic,
        cluster=f"{topic[:2]}/{number:03}",
        clip=Clip(Path("video.mp4"), segment=Segment(0.0, 180.0)),
        question="What is seen?",
        options=OPTIONS,
        reference=ChoiceReference(right, rationale),
        **more,
    )


def interval_item(
    question_id="001", *, start_s=83.0, end_s=100.0, segment=(0.0, 180.0), topic="01_Consultations"
):
    return Item(
        id=f"localization/{topic[:2]}/001/{segment[0]:g}-{segment[1]:g}/0/{question_id}",
        benchmark="sonic-o1",
        task=TaskType.LOCALIZATION,
        topic=topic,
        cluster=f"{topic[:2]}/001",
        clip=Clip(Path("video.mp4"), segment=Segment(*segment)),
        question="When does the man wave?",
        question_id=question_id,
        reference=IntervalReference(start_s, end_s, "He waves after he sat down."),
        attributes=Attributes(relation="after"),
    )


def summary_item(number=1, *, detailed="A man enters and sits down.", short=("A man sits.",)):
    return Item(
        id=f"summary/01/{number:03}",
        benchmark="sonic-o1",
        task=TaskType.SUMMARY,
        topic="01_Consultations",
        cluster=f"01/{number:03}",
        clip=Clip(Path("video.mp4")),
        question="What happens?",
        reference=SummaryReference(detailed, short),
    )


def choice_answer(letter, rationale="He waves."):
    return json.dumps({"answer_letter": letter, "rationale": rationale})


def said(text, outcome=Outcome.OK, *, name="q"):
    """A record of an answer; ``name`` makes its request another one."""
    message = Message(role="user", parts=(Text(text=name),))
    request = Request(engine="scripted", model="model-a", messages=(message,))
    response = Response(text=text, error="" if outcome is Outcome.OK else "failed")
    return Record(key=request.key(), request=request, outcome=outcome, response=response)


def run_store(path, asked, *, name="run-a", tasks=("choice",), samples=1):
    """A store with one run.

    Args:
        path: Folder of the store.
        asked: (items asked at once, text or outcome) pairs.
        name: Name of the run.
        tasks: Task types that the run set out to answer.
        samples: Answers asked for each item.
    """
    store = Store(path, create=True)
    lines = []
    for number, (items, answer) in enumerate(asked):
        outcome = answer if isinstance(answer, Outcome) else Outcome.OK
        text = "" if isinstance(answer, Outcome) else answer
        record = said(text, outcome, name=f"{name} {number}")
        store.put(record, sync=False)
        lines += [RunLine(item=item.id, key=record.key) for item in items]
    store.flush()
    header = RunHeader(
        name=name, benchmark="sonic-o1", model="model-a", tasks=tasks, samples=samples
    )
    store.write_run(header, lines)
    return store
