"""``rejudge demo``: the whole loop on the bundled benchmark.

    infer (two baselines) → store → judge 1 → scores, tables → judge 2 → scores, tables, report

Both judges grade the same stored answers: the second costs its own verdicts and no inference. Run
again, it calls nothing and prints the same numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejudge import emit, json_option, track

if TYPE_CHECKING:
    from infer.session import Summary
    from score.judge.grade import Graded

BENCHMARK = "demo"
MODELS = ("captions", "chance")
JUDGES = ("lexical", "embedding")


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("demo-out"),
    show_default=True,
    help="Folder for the store, the scores, the tables and the report.",
)
@json_option
def demo(out: Path, as_json: bool) -> None:
    """Run the whole loop on the bundled benchmark: infer, judge, score, rejudge, tables, report.

    Two baselines that need no GPU answer; two judges that are no language models grade. It takes a
    few minutes; again, it calls nothing and prints the same numbers.

    Example: rejudge demo --out ./demo-out
    """
    store = out / "store"
    runs = [_infer(model, store) for model in MODELS]
    graded, tables = [], ""
    for number, judge in enumerate(JUDGES, start=1):
        graded.append(_judge(judge, store))
        tables = _score(JUDGES[:number], store, out / f"scores-{judge}")
    report = _report(out / f"scores-{JUDGES[-1]}", store, out / "report")
    result = _result(out, runs, graded) | {"report": str(report)}
    emit(result, lambda: f"{tables}\n{_closing(out, result)}", as_json=as_json)


def _infer(model: str, store: Path) -> Summary:
    from infer.card import load_card
    from infer.run import Choice, infer

    click.echo(f"infer: {model} answers the bundled benchmark", err=True)
    return infer(Choice(BENCHMARK), load_card(model), store)


def _judge(name: str, store: Path) -> Graded:
    from cache.store import Store
    from score.judge.grade import grade
    from score.judge.spec import load_spec
    from score.runs import chosen_runs, pairs_of

    click.echo(f"judge: {name} grades the stored answers", err=True)
    with Store(store) as opened:
        runs = chosen_runs(opened, BENCHMARK, ())
        pairs = pairs_of(opened, BENCHMARK, None, runs)
        return grade(opened, load_spec(name), pairs, track=track)


def _score(judges: tuple[str, ...], store: Path, out: Path) -> str:
    """Score with these judges; write every table, and return the main one with the last judge."""
    from analysis.build import build_tables
    from analysis.render import Format, render, write_tables
    from analysis.scores import load_scores
    from analysis.spec import load_paper
    from analysis.table import Choice
    from score.session import score_store

    click.echo(f"score: with {' and '.join(judges)}", err=True)
    score_store(BENCHMARK, None, store, out, judges=judges, track=track)
    scores, paper = load_scores(out), load_paper("sonic-o1")
    choice = Choice(scores.chosen_judge(judges[-1]))
    for form in (Format.MARKDOWN, Format.LATEX):
        write_tables(build_tables(paper, (), scores, choice), form, out / "tables")
    return render(build_tables(paper, ("main",), scores, choice), Format.MARKDOWN)


def _report(scores: Path, store: Path, out: Path) -> Path:
    from analysis.report.site import make_report

    click.echo("report: every answer beside its reference", err=True)
    return Path(make_report(scores, out, store=store, track=track).index)


def _result(out: Path, runs: list[Summary], graded: list[Graded]) -> dict[str, Any]:
    return {
        "engine_calls": sum(run.called for run in runs),
        "judge_calls": sum(done.called for done in graded),
        "runs": [run.as_dict() for run in runs],
        "judges": [{"judge": done.judge, "verdicts": done.ok} for done in graded],
        "store": str(out / "store"),
        "scores": {judge: str(out / f"scores-{judge}") for judge in JUDGES},
    }


def _closing(out: Path, result: dict[str, Any]) -> str:
    return "\n".join(
        [
            f"{result['engine_calls']} engine calls, {result['judge_calls']} judge calls",
            f"store    {result['store']}  (look: rejudge cache stats --store {result['store']})",
            *(f"scores   {folder}  with {judge}" for judge, folder in result["scores"].items()),
            f"tables   {out}/scores-*/tables",
            f"report   {result['report']}  (opens in a browser, from disk)",
        ]
    )
