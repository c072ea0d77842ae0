"""``rejudge bench``: list, check and look at benchmarks."""

from __future__ import annotations

from pathlib import Path

import click

from bench import registry
from rejudge import data_option, emit, json_option


@click.group()
def bench() -> None:
    """List, check and look at benchmarks.

    Example: rejudge bench show demo summary/01/001
    """


@bench.command("list")
@data_option
@json_option
def list_benchmarks(data: Path | None, as_json: bool) -> None:
    """List the benchmarks with their items, task by task, and where the data are.

    With --data, count the items of the benchmarks that are not bundled in that folder, which must
    be there.

    Example: rejudge bench list
    """
    from bench.view import benchmark_row, benchmarks_text

    found = [registry.get(name) for name in registry.names()]
    rows = [benchmark_row(one, None if one.bundled else data) for one in found]
    emit({"benchmarks": rows}, lambda: benchmarks_text(rows), as_json=as_json)


@bench.command()
@click.argument("name", metavar="BENCH")
@data_option
@click.option("--no-media", is_flag=True, help="Do not look for videos: check annotations only.")
@json_option
@click.pass_context
def check(
    context: click.Context, name: str, data: Path | None, no_media: bool, as_json: bool
) -> None:
    """List every fault of a benchmark's data at once; exit 1 if there is any.

    Example: rejudge bench check sonic-o1 --data /data/sonic-o1
    """
    from bench.view import fault_row, faults_text

    faults = registry.get(name).check(data, media=not no_media)
    result = {"benchmark": name, "faults": [fault_row(fault) for fault in faults]}
    emit(result, lambda: faults_text(name, faults), as_json=as_json)
    context.exit(1 if faults else 0)


@bench.command()
@click.argument("name", metavar="BENCH")
@click.argument("item_id", metavar="ITEM")
@data_option
@click.option(
    "--prompts",
    type=click.Path(path_type=Path),
    help="Folder of your own prompt templates, which replace the bundled ones by name.",
)
@json_option
def show(name: str, item_id: str, data: Path | None, prompts: Path | None, as_json: bool) -> None:
    """Show an item, its reference and its prompt. The beginning of an id is enough if unique.

    Example: rejudge bench show demo summary/01/001
    """
    from bench.search import look_up
    from bench.view import item_row, item_text

    item, prompt = look_up(registry.get(name), item_id, data, prompts)
    emit(item_row(item, prompt), lambda: item_text(item, prompt), as_json=as_json)
