"""The ``infer`` command."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejudge import data_option, emit, json_option, store_option

if TYPE_CHECKING:
    from infer.estimate import Estimate
    from infer.run import Choice
    from infer.session import Summary

_TASKS = ("summary", "empathic", "choice", "localization", "assistant")


@click.command()
@click.argument("benchmark")
@data_option
@store_option
@click.option("--model", required=True, help="Name of a model card, or the path of one (.toml).")
@click.option(
    "--run", default="", help="Name of the run.  [default: BENCHMARK-MODEL and what is changed]"
)
@click.option("--task", "tasks", multiple=True, type=click.Choice(_TASKS), help="Repeatable.")
@click.option("--shard", default="1/1", metavar="k/n", help="Answer only the k-th of n parts.")
@click.option("--frames", type=click.IntRange(1), help="At most so many frames a segment.")
@click.option(
    "--fps",
    type=click.FloatRange(0, min_open=True),
    help="Frames a second; with a number of frames, the smaller count wins.",
)
@click.option("--size", type=click.IntRange(16), help="Shorter edge of the frames, in pixels.")
@click.option("--modality", help="Media given to the model, for example video+audio.")
@click.option(
    "--teacher-forcing",
    is_flag=True,
    help="In dialogues, earlier answers are the accepted ones instead of the model's own.",
)
@click.option("--samples", type=click.IntRange(1), default=1, help="Answers for each item.")
@click.option("--limit", type=click.IntRange(1), help="Ask only the first so many prompts.")
@click.option("--prompts", type=click.Path(path_type=Path), help="Folder of your own templates.")
@click.option("--skip-absent-media", is_flag=True, help="Leave out items whose media are absent.")
@click.option(
    "--grace",
    type=click.FloatRange(0),
    default=90.0,
    show_default=True,
    help="Seconds that what is in flight may take after a signal.",
)
@click.option("--trust-remote-code", is_flag=True, help="Run code that the checkpoint brings.")
@click.option("--dry-run", is_flag=True, help="Say what would be asked; call nothing.")
@json_option
def infer(
    benchmark: str, data: Path | None, store: Path, model: str, as_json: bool, **options: Any
) -> None:
    """Run a model over BENCHMARK; raw answers go to the store.

    What the store already answers is not asked again, so the same command goes on where an earlier
    one was stopped. Exit codes: 0 done, 1 some items failed, 3 something needed is missing, 75
    interrupted and resumable.

    Example: rejudge infer demo --model captions --store ./store
    """
    from infer.card import check_trust, load_card
    from infer.plan import parse_shard
    from infer.run import infer

    card = load_card(model)
    check_trust(card, trusted=options["trust_remote_code"])
    summary = infer(
        _choice(benchmark, data, options),
        card,
        store,
        run=options["run"],
        shard=parse_shard(options["shard"]),
        grace_s=options["grace"],
        dry_run=options["dry_run"],
    )
    emit(summary.as_dict(), lambda: "\n".join(_text(summary)), as_json=as_json)
    sys.exit(summary.exit_code)


def _choice(benchmark: str, data: Path | None, options: dict[str, Any]) -> Choice:
    from bench.item import TaskType
    from infer.ablation import Ablation
    from infer.run import Choice

    return Choice(
        benchmark=benchmark,
        data=data,
        tasks=tuple(TaskType(task) for task in options["tasks"]),
        templates=options["prompts"],
        limit=options["limit"],
        samples=options["samples"],
        skip_absent=options["skip_absent_media"],
        ablation=Ablation(
            options["frames"],
            options["fps"],
            options["size"],
            options["modality"],
            teacher_forcing=options["teacher_forcing"],
        ),
    )


def _text(summary: Summary) -> Iterator[str]:
    yield (
        f"run {summary.run}: {summary.items} items in {summary.requested} requests, "
        f"{summary.cached} cached, {summary.pending} pending"
    )
    if summary.estimate is not None:
        yield from _estimate(summary.estimate)
    else:
        rate = summary.requests_per_s
        yield f"{summary.called} engine calls in {summary.seconds:.1f} s" + (
            f", {rate:.2f}/s once the engine was up" if rate else ""
        )
    if summary.input_tokens or summary.output_tokens:
        yield f"tokens of these calls: {summary.input_tokens:,} in, {summary.output_tokens:,} out"
    if summary.outcomes:
        stand = ", ".join(f"{n} {outcome}" for outcome, n in sorted(summary.outcomes.items()))
        yield f"of {summary.requested} requests: {stand}"
    if summary.rungs:
        rungs = ", ".join(f"{n} at rung {rung}" for rung, n in sorted(summary.rungs.items()))
        yield f"budget ladder: {rungs}"
    if len(summary.nodes) > 1:
        spread = ", ".join(f"{node} {n}" for node, n in sorted(summary.nodes.items()))
        yield f"spread over nodes: {spread}"
    if summary.absent_media:
        yield f"{len(summary.absent_media)} media file(s) absent, their items left out"
    if summary.short_media:
        yield f"{summary.short_media} request(s) about media that end long before what is asked for"
    if summary.shortened:
        yield f"{summary.shortened} turn(s) had no room for all of their dialogue's history"
    if summary.waiting:
        yield f"{summary.waiting} turn(s) wait for an earlier one; the same command asks again"
    if summary.first_failure:
        yield f"first failure: {summary.first_failure}"
    if summary.interrupted:
        yield f"interrupted by {summary.interrupted}; the same command goes on from here"
    yield f"store: {summary.store}"


def _estimate(found: Estimate) -> Iterator[str]:
    def said(value: float | None, form: str) -> str:
        return "unknown" if value is None else form.format(value)

    yield (
        f"to decode: {said(found.media_hours, '{:.2f} h of media')}; "
        f"frames for the model: {said(found.frames, 'at most {:,}')}"
    )
    yield (
        f"input tokens: {said(found.input_tokens, 'about {:,}')}; "
        f"output tokens: {said(found.output_tokens, 'about {:,}')} (from {found.basis})"
    )
    yield (
        f"cost: {said(found.cost_usd, 'about {:.2f} USD')}; "
        f"time in the engine: {said(found.seconds, 'about {:.0f} s')}"
    )
