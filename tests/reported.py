"""Scored folders to report on: the bundled benchmark, answered by script, judged by two formulas.

alpha   answers everything with its reference
beta    fails in every way there is, and says what would harm a careless page
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import registry
from bench.item import (
    AssistantReference,
    ChoiceReference,
    IntervalReference,
    Item,
    SummaryReference,
)
from cache.record import Outcome, Record, Response
from cache.request import Message, Request, Text
from cache.run import RunHeader, RunLine
from cache.store import Store
from score.answers import STATUSES
from score.judge.grade import grade
from score.judge.spec import load_spec
from score.output import write
from score.pairs import run_pairs
from score.scoring import score, with_intervals

#: What ends a script, draws a picture, runs a handler, ends a line; and a byte order mark.
HOSTILE = (
    "</script><script>window.harmed = 1</script>"
    "<img src=x onerror='window.harmed = 2'>"
    "![picture](https://example.invalid/spy.png)"
    "<!-- ]]> \u2028 \u2029 \ufeff &lt;b&gt; {{ 7 * 7 }} ${harm()} `"
)
HOSTILE_MODEL = "<b>beta</b>\"'&"
LONG = "all work and no play " * 50_000
STRICT = """\
name = "strict"
engine = "lexical"
model = "rouge-l+token-f1"
revision = "1"
scale = { min = 0, max = 10, integer = true }
"""

Answering = Callable[[Item], "str | Outcome"]


@dataclass(frozen=True, slots=True)
class Folders:
    """Where everything lies."""

    store: Path
    scores: Path
    items: Sequence[Item]

    def named(self, beginning: str) -> list[Item]:
        """Items whose id begins so."""
        return [item for item in self.items if item.id.startswith(beginning)]


def right(item: Item) -> str:
    """The reference as an answer."""
    match item.reference:
        case ChoiceReference(index, rationale):
            return json.dumps({"answer_letter": "ABCDE"[index], "rationale": rationale})
        case IntervalReference(start_s, end_s, rationale):
            return located(item, start_s, end_s, rationale)
        case SummaryReference(detailed, short):
            return json.dumps({"summary_detailed": detailed, "summary_short": list(short)})
    raise AssertionError(item.id)


def located(item: Item, start_s: float, end_s: float, rationale: str = "A guess.") -> str:
    """An interval as an answer."""
    given = {"start_s": start_s, "end_s": end_s, "rationale_model": rationale}
    return json.dumps({"questions": [{"question_id": item.question_id, **given}]})


def scripted(items: Sequence[Item]) -> Answering:
    """The answers of beta."""
    places = {item.id: place for place, item in enumerate(items)}
    first = {task: next(i.id for i in items if i.task == task) for task in {i.task for i in items}}

    def answer(item: Item) -> str | Outcome:
        place = places[item.id]
        if item.id == first["choice"]:
            return json.dumps({"answer_letter": "A", "rationale": HOSTILE})
        if item.id == first["summary"]:
            return json.dumps({"summary_detailed": LONG, "summary_short": ["short"]})
        if item.id == first["localization"]:
            return located(item, 18.0, 27.0, HOSTILE)
        if place % 11 == 0:
            return Outcome.TIMEOUT
        if place % 7 == 0:
            return f"I cannot say. {HOSTILE}"
        if isinstance(item.reference, IntervalReference):
            shapes = [(9e5, 9.1e5), (12.0, 3.0), (1.0, 2.0)]
            return located(item, *shapes[place % 3])
        return right(item) if place % 2 else json.dumps({"answer_letter": "E", "rationale": "no"})

    return answer


def ask(
    store: Store,
    run: str,
    model: str,
    items: Sequence[Item],
    answering: Answering,
    benchmark: str = "demo",
) -> None:
    """Put a run into a store."""
    lines = []
    for item in items:
        said = answering(item)
        outcome = said if isinstance(said, Outcome) else Outcome.OK
        message = Message(role="user", parts=(Text(text=f"{run} {item.id}"),))
        request = Request(engine="scripted", model=model, messages=(message,))
        response = Response(text="" if said is outcome else str(said))
        store.put(
            Record(key=request.key(), request=request, outcome=outcome, response=response),
            sync=False,
        )
        lines.append(RunLine(item=item.id, key=request.key()))
    store.flush()
    tasks = tuple(dict.fromkeys(str(item.task) for item in items))
    store.write_run(RunHeader(name=run, benchmark=benchmark, model=model, tasks=tasks), lines)


def demo_folders(root: Path) -> Folders:
    """Make a store of two runs and a folder of their scores."""
    items = registry.get("demo").load(None)
    strict = root / "strict.toml"
    strict.write_text(STRICT)
    specs = [load_spec("lexical"), load_spec(str(strict))]
    with Store(root / "store", create=True) as store:
        ask(store, "alpha", "model-a", items, right)
        ask(store, "beta", HOSTILE_MODEL, items, scripted(items))
        pairs = [pair for run in ("alpha", "beta") for pair in run_pairs(store, run, items)]
        for spec in specs:
            grade(store, spec, pairs)
        found = with_intervals(score(store, items, ["alpha", "beta"], judges=specs))
    write(found, root / "scores")
    return Folders(root / "store", root / "scores", items)


def assistant_folders(root: Path) -> Folders:
    """Make a store and scores of two runs on the bundled dialogues.

    alpha is right; beta says "Turn N.", and what is right in first turns only.
    """
    items = registry.get("demo-assistant").load(None)

    def said(item: Item) -> str:
        assert isinstance(item.reference, AssistantReference)
        return item.reference.answers[0]

    def numbered(item: Item) -> str:
        return f"Turn {item.turn}. {said(item) if item.turn == 1 else ''}"

    with Store(root / "store", create=True) as store:
        ask(store, "alpha", "model-a", items, said, "demo-assistant")
        ask(store, "beta", "b" * 400, items, numbered, "demo-assistant")
        pairs = [pair for run in ("alpha", "beta") for pair in run_pairs(store, run, items)]
        grade(store, load_spec("lexical"), pairs)
        judges = [load_spec("lexical")]
        found = with_intervals(score(store, items, ["alpha", "beta"], judges=judges))
    write(found, root / "scores")
    return Folders(root / "store", root / "scores", items)


def huge_folders(root: Path) -> Folders:
    """Make a store and scores of intervals that are huge, no numbers, or empty."""
    every = registry.get("demo").load(None)
    items = [item for item in every if isinstance(item.reference, IntervalReference)]
    no_numbers = {"start_s": "inf", "end_s": "NaN", "rationale_model": "A guess."}
    given = {
        items[0].id: located(items[0], 1e300, 1e308),
        items[1].id: json.dumps(
            {"questions": [{"question_id": items[1].question_id, **no_numbers}]}
        ),
        items[2].id: located(items[2], 5.0, 5.0),
    }
    with Store(root / "store", create=True) as store:
        ask(store, "alpha", "model-a", items, lambda item: given.get(item.id) or right(item))
        ask(store, "beta", "model-b", items, right)
        found = with_intervals(score(store, items, ["alpha", "beta"]))
    write(found, root / "scores")
    return Folders(root / "store", root / "scores", items)


def many_folder(root: Path, n_items: int = 3_000, n_runs: int = 10) -> Path:
    """Write scores of many answers, a tenth of them unparsed, with a judge's reasons."""
    import polars as pl

    n, failed = n_items * n_runs, pl.col("at") % 10 == 0
    base = pl.DataFrame({"at": range(n)}).select(
        run=pl.format("run-{}", pl.col("at") // n_items),
        model=pl.format("model-{}", pl.col("at") // n_items),
        benchmark=pl.lit("demo"),
        task=pl.lit("choice"),
        item=pl.format("choice/{}/0-180/0", pl.col("at") % n_items),
        sample=pl.lit(0, pl.Int64),
        topic=pl.format("{}_Topic", pl.col("at") % n_items % 13),
        cluster=pl.format("{}/{}", pl.col("at") % n_items % 13, pl.col("at") % n_items % 231),
        status=pl.when(failed).then(pl.lit("unparsed")).otherwise(pl.lit("scored"))
        .cast(pl.Enum(STATUSES)),
        reason=pl.when(failed).then(pl.lit("no option named")).otherwise(pl.lit("")),
        key=pl.col("at").hash(0).cast(pl.String).str.pad_start(64, "0"),
        right=(pl.col("at") * 7919 % 3 == 0).cast(pl.Float64),
    )  # fmt: skip
    value = pl.when(pl.col("reason") == "").then("right").alias("value")
    judge = {"metric": pl.lit("rationale_judge"), "judge": pl.lit("lexical")}
    accuracy = base.with_columns(value, metric=pl.lit("accuracy"), judge=pl.lit(""))
    judged = base.with_columns(value * 10, **judge)
    root.mkdir(exist_ok=True)
    pl.concat([accuracy, judged]).drop("key", "right").write_parquet(root / "scores.parquet")
    base.drop("right").write_parquet(root / "predictions.parquet")
    reasons = pl.lit("The answer names the right event, and says too little of why. " * 8)
    base.with_columns(score=value * 10, justification=reasons, **judge).drop(
        "key", "right"
    ).write_parquet(root / "verdicts.parquet")
    base.head(0).with_columns(
        judge=pl.lit(""), error_type=pl.lit(""), why=pl.lit("")
    ).write_parquet(root / "errors.parquet")
    base.head(n_items).select("item", "benchmark", "task", "topic", "cluster").write_parquet(
        root / "items.parquet"
    )
    (root / "signature.json").write_text("{}")
    return root
