"""The ``judge`` command."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejudge import AS_JSON, data_option, emit, json_option, store_option, track

if TYPE_CHECKING:
    from score.judge.estimate import Plan
    from score.judge.grade import Graded, Terms
    from score.judge.spec import JudgeSpec

_SPECS = Path(__file__).parent / "specs"
_NAMES = ", ".join(sorted(path.stem for path in _SPECS.glob("*.toml")))


def _list(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if not asked:
        return
    from score.judge.spec import load_spec, spec_names

    specs = [load_spec(name) for name in spec_names()]
    emit(
        {"judges": [{"name": spec.name, **spec.signature()} for spec in specs]},
        lambda: "\n".join(map(_described, specs)),
        as_json=ctx.meta.get(AS_JSON, False),
    )
    ctx.exit()


def _finite(_: click.Context, __: click.Parameter, usd: float | None) -> float | None:
    if usd is not None and not math.isfinite(usd):
        raise click.BadParameter(f"expected an amount of dollars, found {usd}")
    return usd


@click.command(epilog=f"Bundled judges: {_NAMES}. lexical and embedding are no language models.")
@click.argument("benchmark")
@data_option
@store_option
@click.option("--judge", "name", required=True, help="A bundled judge, or the path of a .toml.")
@click.option("--run", "runs", multiple=True, help="Repeatable.  [default: all of BENCHMARK]")
@click.option("--base-url", help="Another address of the judge's server; no key changes by it.")
@click.option("--dry-run", is_flag=True, help="Say what would be called and cost; call nothing.")
@click.option("--max-calls", type=click.IntRange(0), help="Stop after so many calls.")
@click.option("--max-cost", "max_cost_usd", type=click.FloatRange(0), metavar="USD",
              callback=_finite,
              help="Stop before the calls cost more.")  # fmt: skip
@click.option("--batch", "in_batch", is_flag=True,
              help="Send the calls as batches: cheaper, and answered within a day.")  # fmt: skip
@click.option("--no-wait", is_flag=True,
              help="With --batch: do not wait; the same command collects them later.")  # fmt: skip
@click.option("--list", is_flag=True, is_eager=True, expose_value=False, callback=_list,
              help="List the bundled judges and exit.")  # fmt: skip
@json_option
def judge(
    benchmark: str, data: Path | None, store: Path, name: str, as_json: bool, **options: Any
) -> None:
    """Let a judge grade the stored answers of BENCHMARK; verdicts go to the store.

    What the store has a verdict for is not asked again. Exit codes: 0 every answer has a verdict,
    1 some have none, also because the budget is used up, 3 the judge cannot be reached or paid, 75
    a signal came or a batch has not ended. The same command goes on from there.

    Example: rejudge judge demo --store ./store --judge lexical
    """
    from cache.store import Store
    from score.judge.estimate import plan
    from score.judge.grade import grade
    from score.judge.interruption import Interruption
    from score.judge.spec import load_spec, moved
    from score.runs import chosen_runs, pairs_of

    spec = moved(load_spec(name), options["base_url"])
    dry_run, terms = options["dry_run"], _terms(options)
    with Interruption(say=_say) as interruption, Store(store, read_only=dry_run) as opened:
        runs = chosen_runs(opened, benchmark, options["runs"])
        pairs = pairs_of(opened, benchmark, data, runs)
        done = (
            plan(
                opened,
                spec,
                pairs,
                in_batch=terms.in_batch,
                max_calls=terms.max_calls,
                max_cost_usd=terms.max_cost_usd,
            )
            if dry_run
            else grade(
                opened, spec, pairs, terms=terms, track=track, say=_say, interruption=interruption
            )
        )
    result = {"runs": runs, "store": str(store), **_members(done)}
    emit(result, lambda: _text(spec, runs, store, benchmark, name, done), as_json=as_json)
    sys.exit(_exit_code(done))


def _terms(options: Mapping[str, Any]) -> Terms:
    from score.judge.grade import Terms

    if options["no_wait"] and not options["in_batch"]:
        raise click.UsageError("--no-wait is for batches: give --batch, too")
    return Terms(
        max_calls=options["max_calls"],
        max_cost_usd=options["max_cost_usd"],
        in_batch=options["in_batch"],
        wait=not options["no_wait"],
    )


def _say(text: str) -> None:
    click.echo(text, err=True)


def _exit_code(done: Plan | Graded) -> int:
    if getattr(done, "interrupted", False):
        return 75
    return 0 if getattr(done, "complete", True) else 1


def _members(done: Plan | Graded) -> dict[str, Any]:
    import msgspec

    members: dict[str, Any] = msgspec.to_builtins(done)
    return members


def _described(spec: JudgeSpec) -> str:
    kind = "language model" if spec.is_llm else "formula, no language model"
    rubric = f", rubric {spec.rubric.name} version {spec.rubric.version}" if spec.rubric else ""
    return f"{spec.name}: {spec.model} ({kind}{rubric}), scale {spec.scale}"


def _text(
    spec: JudgeSpec, runs: list[str], store: Path, benchmark: str, name: str, done: Plan | Graded
) -> str:
    from score.judge.estimate import Plan

    lines = [
        f"judge   {_described(spec)}",
        f"runs    {', '.join(runs)}",
        f"pairs   {done.pairs}, of which distinct {done.requests}, settled before {done.cached}",
    ]
    tokens = f"{done.input_tokens:,} tokens in, {done.output_tokens:,} out"
    price = "no prices in the spec" if done.cost_usd is None else f"{done.cost_usd:,.2f} USD"
    if isinstance(done, Plan):
        time = "unknown time" if done.seconds is None else f"{done.seconds:,.0f} s"
        lines.append(f"to do   {done.calls} calls, about {tokens}, {price}, {time}")
        return "\n".join([*lines, *([f"then    {done.stopped}"] if done.stopped else [])])
    failed = f"{done.judge_failed} judge_failed, {done.infra_failed} infra_failed"
    lines += [
        f"calls   {done.called} in {done.seconds:.1f} s, {tokens}, {price}",
        f"result  {done.ok} verdicts, {failed}, {done.missing} missing",
        *(f"        {count} × {reason}" for reason, count in list(done.reasons.items())[:5]),
        *([f"        {done.elsewhere} more by another process"] if done.elsewhere else []),
        *([f"stopped {done.stopped}; the same command goes on"] if done.stopped else []),
        f"Verdicts are in {store}. Next: rejudge score {benchmark} --store {store} "
        f"--judge {shlex.quote(name)} --out DIR",
    ]
    return "\n".join(lines)
