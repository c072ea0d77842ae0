"""``rejudge cache``: look at, verify and move what a store holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, TypeVar

import click

from rejudge import emit, json_option, store_option, track

T = TypeVar("T")

_run_option = click.option("--run", help="Only what this run asked.")
_model_option = click.option("--model", help="Only this model.")


@click.group()
def cache() -> None:
    """Look at, verify and move what a store holds.

    Example: rejudge cache stats --store ./store
    """


@cache.command()
@store_option
@json_option
def stats(store: Path, as_json: bool) -> None:
    """Count records, answers, conflicts and bytes, by model and outcome.

    Example: rejudge cache stats --store ./store
    """
    from cache.stats import store_stats
    from cache.store import Store
    from cache.view import stats_text

    with Store(store, read_only=True) as opened:
        found = store_stats(opened)
    emit(found.as_dict(), lambda: stats_text(found), as_json=as_json)


@cache.command("ls")
@store_option
@_run_option
@_model_option
@click.option("--outcome", help="Only records that ended so: ok, truncated, timeout …")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=50,
    show_default=True,
    help="At most so many; 0 lists all.",
)
@json_option
def list_records(
    store: Path,
    run: str | None,
    model: str | None,
    outcome: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """List records: key, outcome, model, time and the beginning of the answer.

    Example: rejudge cache ls --store ./store --run qwen3-omni --outcome truncated
    """
    from cache.ls import select_records
    from cache.store import Store
    from cache.view import records_text

    with Store(store, read_only=True) as opened:
        found, total = select_records(opened, run=run, model=model, outcome=outcome, limit=limit)
    emit({"total": total, "records": found}, lambda: records_text(found, total), as_json=as_json)


@cache.command()
@click.argument("key")
@store_option
@click.option("--all", "show_all", is_flag=True, help="Every record under the key, in order.")
@json_option
def cat(key: str, store: Path, show_all: bool, as_json: bool) -> None:
    """Print the record under KEY, or under the one key that starts so.

    Example: rejudge cache cat 3fa2b1 --store ./store
    """
    from cache.ls import find_records
    from cache.order import answer, in_order
    from cache.store import Store
    from cache.view import record_dict, record_text

    with Store(store, read_only=True) as opened:
        found = find_records(opened, key)
    shown = [one.record for one in (in_order(found) if show_all else [answer(found)])]
    emit(
        {"records": [record_dict(record) for record in shown]},
        lambda: "\n\n".join(record_text(record) for record in shown),
        as_json=as_json,
    )


@cache.command()
@store_option
@click.option("--repair", is_flag=True, help="Replace damaged packs by packs of their sound lines.")
@json_option
@click.pass_context
def verify(context: click.Context, store: Path, repair: bool, as_json: bool) -> None:
    """Check every byte, line and run; exit 1 if anything does not verify.

    What does not verify is named by file and line, copied to quarantine, and never served.

    Example: rejudge cache verify --store ./store
    """
    from cache.verify import open_for_verifying, repair_packs, verify_store
    from cache.view import verification_text

    with open_for_verifying(store) as opened:
        found = verify_store(opened, progress=_Tracked("verifying packs"))
        if repair:
            repair_packs(opened, found.damaged_packs)
    emit(found.as_dict(), lambda: verification_text(found, repair), as_json=as_json)
    context.exit(1 if found.faults else 0)


@cache.command()
@store_option
@click.option(
    "--idle-hours",
    type=click.FloatRange(min=0),
    default=24.0,
    show_default=True,
    help="A writer of another host counts as gone after so many hours without a write.",
)
@json_option
def seal(store: Path, idle_hours: float, as_json: bool) -> None:
    """Seal the parts of writers that are gone into packs.

    Example: rejudge cache seal --store ./store
    """
    from cache.conflict import keep_conflicts
    from cache.store import Store

    with Store(store) as opened:
        packs = opened.adopt(idle_s=idle_hours * 3600)
        conflicts = len(keep_conflicts(opened))
    emit(
        {"packs": packs, "conflicts": conflicts},
        f"{len(packs)} part(s) sealed, {conflicts} conflicting answer(s) in quarantine",
        as_json=as_json,
    )


@cache.command()
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@store_option
@json_option
def merge(sources: tuple[Path, ...], store: Path, as_json: bool) -> None:
    """Copy what the stores SOURCES hold into --store, which is made where there is none.

    Example: rejudge cache merge ./node-1 ./node-2 --store ./store
    """
    from cache.merge import merge_stores, open_sources
    from cache.store import Store
    from cache.view import merged_text

    open_sources(sources)  # what cannot be merged leaves no empty store behind
    with Store(store, create=True) as opened:
        found = merge_stores(opened, sources, progress=_Tracked("copying packs"))
    emit(found.as_dict(), lambda: merged_text(found), as_json=as_json)


@cache.command()
@store_option
@click.option("--apply", is_flag=True, help="Remove it. Without, only say what would go.")
@click.option(
    "--unreferenced",
    multiple=True,
    metavar="MODEL",
    help="Also the answers of this model that no run names. May be given several times.",
)
@json_option
def gc(store: Path, apply: bool, unreferenced: tuple[str, ...], as_json: bool) -> None:
    """Say what no reader needs, and with --apply remove it.

    Example: rejudge cache gc --store ./store
    """
    from cache.gc import collect_garbage
    from cache.store import Store
    from cache.view import garbage_text

    with Store(store, read_only=not apply) as opened:
        found = collect_garbage(opened, apply=apply, unreferenced=unreferenced)
    emit(found.as_dict(), lambda: garbage_text(found), as_json=as_json)


@cache.command("export")
@store_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["parquet", "jsonl", "omniassist"]),
    default="parquet",
    show_default=True,
    help="A table, the lines as they are stored, or a run as OmniAssistBench's reply CSV.",
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The file to write.")
@_run_option
@json_option
@click.pass_context
def export_answers(
    context: click.Context,
    store: Path,
    form: Literal["parquet", "jsonl", "omniassist"],
    out: Path,
    run: str | None,
    as_json: bool,
) -> None:
    """Write answers to a table or to JSON lines, which `cache import` takes in again.

    Exit 1 if the store holds anything that does not verify: it is not exported.

    Example: rejudge cache export --store ./store --run qwen3-omni --out answers.parquet
    """
    from cache.export import export
    from cache.store import Store
    from cache.view import exported_text

    with Store(store, read_only=True) as opened:
        found = export(opened, out, form, run=run)
        faults = opened.faults
    shown = found.as_dict() | {"faults": len(faults)}
    emit(shown, lambda: exported_text(found), as_json=as_json)
    if faults:
        click.echo(
            f"{len(faults)} place(s) do not verify and were left out, the first: {faults[0]}. "
            "`rejudge cache verify` lists all.",
            err=True,
        )
    context.exit(1 if faults else 0)


@cache.command("import")
@click.argument("source", type=click.Path(path_type=Path, exists=True))
@store_option
@click.option(
    "--format",
    "form",
    required=True,
    type=click.Choice(["sonic-o1", "omniassist", "lmms-eval", "rejudge"]),
    help="Prediction JSON of SONIC-O1, reply CSV of OmniAssistBench, sample logs of lmms-eval, "
    "exported JSON lines of rejudge.",
)
@click.option("--run", help="Name of the run to make. Default: the model's name.")
@click.option("--model", help="The model's name, where the files do not hold it.")
@json_option
def import_answers(
    source: Path, store: Path, form: str, run: str | None, model: str | None, as_json: bool
) -> None:
    """Take in answers that another suite wrote, so that they can be scored.

    A run may be imported task by task. What rejudge exported as JSON lines is taken in as it was.

    Example: rejudge cache import results/predictions --format sonic-o1 --store ./store
    """
    from cache.imports.read import plan_import
    from cache.store import Store
    from cache.view import imported_text

    put_into = plan_import(source, form, run=run, model=model)
    with Store(store, create=True) as opened:
        found = put_into(opened)
    emit(found.as_dict(), lambda: imported_text(found), as_json=as_json)


class _Tracked:
    """Shows on stderr how far a list has been worked through."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __call__(self, rows: Sequence[T]) -> Iterable[T]:
        return track(rows, len(rows), self._what)
