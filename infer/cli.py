"""The ``infer`` command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejudge import data_option, emit, json_option, store_option, track

if TYPE_CHECKING:
    from infer.card import ModelCard
    from infer.run import Summary

_TASKS = ("summary", "empathic", "choice", "localization", "assistant")


@click.command()
@click.argument("benchmark")
@data_option
@store_option
@click.option("--model", required=True, help="Name of a model card, or the path of one (.toml).")
@click.option("--run", default="", help="Name of the run.  [default: BENCHMARK-MODEL]")
@click.option("--task", "tasks", multiple=True, type=click.Choice(_TASKS), help="Repeatable.")
@click.option("--shard", default="1/1", metavar="k/n", help="Answer only the k-th of n parts.")
@click.option("--frames", type=click.IntRange(1), help="At most so many frames a segment.")
@click.option("--modality", help="Media given to the model, for example video+audio.")
@click.option(
    "--samples",
    type=click.IntRange(1),
    default=1,
    help="Answers for each item; another number is another --run.",
)
@click.option("--limit", type=click.IntRange(1), help="Ask only the first so many prompts.")
@click.option("--prompts", type=click.Path(path_type=Path), help="Folder of your own templates.")
@click.option("--skip-absent-media", is_flag=True, help="Leave out items whose media are absent.")
@click.option("--dry-run", is_flag=True, help="Say what would be asked; call nothing.")
@json_option
def infer(
    benchmark: str,
    data: Path | None,
    store: Path,
    model: str,
    as_json: bool,
    **options: Any,
) -> None:
    """Run a model over BENCHMARK; raw answers go to the store.

    What the store already answers is not asked again, so the same command goes on where an earlier
    one was stopped. Exit codes: 0 done, 1 some items failed, 75 interrupted and resumable.

    Example: rejudge infer demo --model captions --store ./store
    """
    from bench.item import TaskType
    from infer.card import load_card
    from infer.plan import parse_shard
    from infer.run import Choice, infer

    card = _adjusted(load_card(model), options["frames"], options["modality"])
    choice = Choice(
        benchmark=benchmark,
        data=data,
        tasks=tuple(TaskType(task) for task in options["tasks"]),
        templates=options["prompts"],
        limit=options["limit"],
        samples=options["samples"],
        skip_absent=options["skip_absent_media"],
    )
    shard = parse_shard(options["shard"])
    summary = infer(
        choice, card, store, track, run=options["run"], shard=shard, dry_run=options["dry_run"]
    )
    emit(summary.as_dict(), lambda: _text(summary, dry_run=options["dry_run"]), as_json=as_json)
    sys.exit(summary.exit_code)


def _adjusted(card: ModelCard, frames: int | None, modality: str | None) -> ModelCard:
    from msgspec.structs import replace

    from infer.card import check_modality

    if frames is not None:
        card = replace(card, preprocessing=replace(card.preprocessing, frames=frames))
    return card if modality is None else replace(card, modality=check_modality(modality))


def _text(summary: Summary, *, dry_run: bool) -> str:
    lines = [
        f"run {summary.run}: {summary.items} items in {summary.requested} requests, "
        f"{summary.cached} cached, {summary.pending} pending",
    ]
    if not dry_run:
        rate = f", {summary.called / summary.seconds:.1f}/s" if summary.called else ""
        lines.append(f"{summary.called} engine calls in {summary.seconds:.1f} s{rate}")
    if summary.outcomes:
        stand = ", ".join(f"{n} {outcome}" for outcome, n in sorted(summary.outcomes.items()))
        lines.append(f"of {summary.requested} requests: {stand}")
    if len(summary.nodes) > 1:
        spread = ", ".join(f"{node} {n}" for node, n in sorted(summary.nodes.items()))
        lines.append(f"spread over nodes: {spread}")
    if summary.absent_media:
        lines.append(f"{len(summary.absent_media)} media file(s) absent, their items left out")
    if summary.first_failure:
        lines.append(f"first failure: {summary.first_failure}")
    if summary.interrupted:
        lines.append(f"interrupted by {summary.interrupted}; the same command goes on from here")
    lines.append(f"store: {summary.store}")
    return "\n".join(lines)
