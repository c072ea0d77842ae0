"""``rejudge score`` and ``rejudge score explain``: numbers from answers; no model is called."""

from __future__ import annotations

from pathlib import Path

import click

from rejudge import data_option, emit, json_option, store_option, track
from score.precision import FLOAT32, PRECISIONS

run_option = click.option(
    "--run", "runs", multiple=True, help="A run to score; repeat it for more. Default: all runs."
)
dictionary_option = click.option(
    "--dictionary",
    metavar="FILE",
    help="Word categories of empathic summaries: a .dic file in LIWC's format, or example.",
)


@click.command()
@click.argument("benchmark")
@data_option
@store_option
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="Folder for the scores."
)
@run_option
@click.option("--judge", "judges", multiple=True, help="A judge whose verdicts are in the store.")
@click.option(
    "--profile",
    default="strict",
    show_default=True,
    help="strict, sonic-o1-reference or omniassist-reference.",
)
@click.option("--no-similarity", is_flag=True, help="Leave text similarity out; needs no encoder.")
@click.option(
    "--encoder",
    type=click.Path(path_type=Path),
    help="Folder of the sentence encoder. Default: the installed package, then the hub.",
)
@click.option(
    "--precision",
    type=click.Choice(PRECISIONS),
    default=FLOAT32,
    show_default=True,
    help="Numbers the encoder computes in. Published similarities are float32.",
)
@dictionary_option
@json_option
def score(
    benchmark: str,
    data: Path | None,
    store: Path,
    out: Path,
    runs: tuple[str, ...],
    judges: tuple[str, ...],
    profile: str,
    no_similarity: bool,
    encoder: Path | None,
    precision: str,
    dictionary: str | None,
    as_json: bool,
) -> None:
    """Score stored answers; no model is called.

    Writes scores, predictions, verdicts, errors, items and estimates as parquet files, and
    signature.json.

    Example: rejudge score demo --store ./store --out ./scores
    """
    from score.assistant import means_of, means_text
    from score.judge.spec import load_spec
    from score.session import score_store
    from score.summary import as_text, summarise, unasked

    found, chosen = score_store(
        benchmark, data, store, out,
        runs=runs, judges=judges, profile=profile, similarity=not no_similarity, encoder=encoder,
        precision=precision, dictionary=dictionary, track=track,
    )  # fmt: skip
    rows, means = summarise(found, chosen), means_of(found)
    named = {load_spec(judge).name: judge for judge in judges}
    more = unasked(found.verdicts, named, f"rejudge judge {benchmark} --store {store}")
    emit(
        {
            "out": str(out),
            "metrics": rows,
            "assistant": means.to_dicts(),
            "signature": found.signature,
        },
        lambda: "\n\n".join(
            filter(None, (as_text(rows, found.signature, more), means_text(means)))
        ),
        as_json=as_json,
    )


@click.command()
@click.argument("benchmark")
@click.argument("item")
@data_option
@store_option
@click.option("--run", required=True, help="The run whose answer is explained.")
@click.option("--judge", "judges", multiple=True, help="A judge whose verdicts are in the store.")
@click.option(
    "--profile",
    default="strict",
    show_default=True,
    help="strict, sonic-o1-reference or omniassist-reference.",
)
@dictionary_option
@json_option
def explain(
    benchmark: str,
    item: str,
    data: Path | None,
    store: Path,
    run: str,
    judges: tuple[str, ...],
    profile: str,
    dictionary: str | None,
    as_json: bool,
) -> None:
    """Explain how one item of a run was scored.

    Shows what was said, what was read from it, each metric, and the error type with its reason. The
    beginning of an item's id is enough if unique.

    Example: rejudge score explain demo summary/01/001 --store ./store --run demo-captions
    """
    from score.explain import as_dict, as_text
    from score.session import explain_item

    found = explain_item(
        benchmark, data, store, run, item, judges=judges, profile=profile, dictionary=dictionary
    )
    emit(
        {"answers": [as_dict(one) for one in found]},
        lambda: "\n\n".join(map(as_text, found)),
        as_json=as_json,
    )
