"""What of a chain can be found wrong before a job starts: each refusal begins with the field."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import msgspec
from click import Context

from bench import registry
from bench.item import TaskType
from cache.errors import StoreError
from cache.runs import check_run_name
from infer.card import ModelCard, check_trust, load_card
from score.errors import ScoreError
from score.judge.spec import JudgeSpec, load_spec
from slurm.chain import Chain, Cluster, Infer, Job, Judge, Score, gpus_of, run_name
from slurm.errors import ChainError
from slurm.script import options_of
from slurm.stage import SCRIPTS

#: What a chain says in fields of its own, or must say itself for jobs to find each other.
_OURS = frozenset(
    {"account", "array", "begin", "cpus-per-task", "dependency", "export", "gpus", "gpus-per-node"}
    | {"gres", "job-name", "mem", "nodes", "ntasks", "ntasks-per-node", "open-mode", "output"}
    | {"partition", "requeue", "no-requeue", "signal", "time"}
)

#: Fields that become options of sbatch, in quotes where they need some.
_FOR_SBATCH = ("account", "gpu_type", "options", "partition", "store")
#: Control characters, of which one ends a line; and what is more than itself to sbatch.
_ODD = r"[\0-\x1f\x7f]"
_ODD_FOR_SBATCH = r'[\0-\x1f\x7f"\\]'
#: What a job takes at least until it can answer anything; SLURM's clock may be a minute early, too.
_START_S = 60


def check_chain(chain: Chain) -> None:
    """Refuse what the fields alone cannot show.

    Raises:
        ChainError: a field names what is not there, or two do not go together.
        BenchError, InferError, ScoreError: an unknown benchmark, model or judge, or a faulty card.
    """
    _check_texts(msgspec.to_builtins(chain))
    if registry.get(chain.benchmark).bundled is None and not chain.data:
        raise ChainError(f"data: {chain.benchmark} is not bundled; name the folder of its data")
    for field, text in (("data", chain.data), *(("infer.prompts", i.prompts) for i in chain.infer)):
        if text and not Path(text).is_dir():
            raise ChainError(f"{field}: {text} is not a folder")
    if chain.slurm.environment and not Path(chain.slurm.environment).is_file():
        raise ChainError(f"slurm.environment: {chain.slurm.environment} is not a file")
    jobs: dict[str, Job | Cluster] = {
        "slurm": chain.slurm,
        "score": chain.score,
        "report": chain.report,
    }
    jobs |= {f"infer[{at}]": one for at, one in enumerate(chain.infer)}
    jobs |= {f"judge[{at}]": one for at, one in enumerate(chain.judge)}
    for field, job in jobs.items():
        for option in job.options:
            _check_option(f"{field}.options", option)
    _refuse_twice("infer.run", (run_name(chain, one) for one in chain.infer))
    for one in chain.infer:
        _check_infer(chain, one, load_card(one.model))
    _refuse_twice("judge.name", (load_spec(one.name).name for one in chain.judge))
    for judge in chain.judge:
        _check_judge(judge, load_spec(judge.name))
    _check_score(chain.score)
    _check_report(chain)
    _check_times(chain)


def _check_texts(value: object, field: str = "") -> None:
    """Refuse what would end a line of the script, or the quotes around an option of sbatch."""
    if isinstance(value, dict):
        for name, member in value.items():
            _check_texts(member, f"{field}.{name}".lstrip("."))
    elif isinstance(value, list | tuple):
        for at, member in enumerate(value):
            _check_texts(member, f"{field}[{at}]")
    elif isinstance(value, str):
        for_sbatch = re.search(rf"(^|\.)({'|'.join(_FOR_SBATCH)})(\[\d+\])?$", field)
        _refuse_odd(field, value, _ODD_FOR_SBATCH if for_sbatch else _ODD)


def _refuse_odd(field: str, text: str, odd: str = _ODD_FOR_SBATCH) -> None:
    if found := re.search(odd, text):
        raise ChainError(
            f"{field}: {text!r}: it cannot hold {found[0]!r}, which has a meaning of its own in a "
            "batch script"
        )


def _check_times(chain: Chain) -> None:
    """Refuse jobs that are warned of their end before they can get anywhere."""
    least = chain.slurm.warning_s + _START_S
    jobs: list[tuple[str, Job, str]] = [
        (f"infer[{at}]", one, "infer.sbatch" if one.nodes == 1 else "infer-multinode.sbatch")
        for at, one in enumerate(chain.infer)
    ]
    jobs += [(f"judge[{at}]", one, "judge.sbatch") for at, one in enumerate(chain.judge)]
    jobs += [("score", chain.score, "score.sbatch"), ("report", chain.report, "report.sbatch")]
    for field, job, script in jobs:
        time = job.time or options_of((SCRIPTS / script).read_text("utf-8"))["time"] or ""
        seconds = _seconds(time)
        if not seconds:
            raise ChainError(f"{field}.time: {time!r} is no time: to sbatch it means no limit")
        if seconds <= least:
            raise ChainError(
                f"{field}.time: {time!r} is {seconds} s, and SLURM warns the job "
                f"{chain.slurm.warning_s} s before its end (slurm.warning_s): it needs more than "
                f"{least} s to start and to answer anything"
            )


def _seconds(time: str) -> int:
    """Read a time as sbatch does: minutes, MM:SS, HH:MM:SS, D-HH, D-HH:MM or D-HH:MM:SS."""
    days, dash, rest = time.rpartition("-")
    numbers = [int(number) for number in rest.split(":")]
    if dash or len(numbers) == 3:
        hours, minutes, seconds = (*numbers, 0, 0)[:3]
    else:
        hours, minutes, seconds = (0, *numbers, 0)[:3]
    return int(days or 0) * 86_400 + hours * 3600 + minutes * 60 + seconds


def _check_score(score: Score) -> None:
    from score.dictionary import load_dictionary
    from score.precision import check_precision
    from score.profile import get_profile

    for field, text, check in (
        ("profile", score.profile, get_profile),
        ("precision", score.precision, check_precision),
        ("dictionary", score.dictionary, load_dictionary),
    ):
        try:
            if text:
                check(text)
        except ScoreError as error:
            raise ChainError(f"score.{field}: {error}") from error
    if score.encoder and not Path(score.encoder).is_dir():
        raise ChainError(f"score.encoder: {score.encoder} is not a folder")


def _check_report(chain: Chain) -> None:
    from rejudge import cli

    # What the command takes, and no import: analysis stands beside this package.
    tables = cli.get_command(Context(cli), "tables")
    options = {option.name: option.type for option in tables.params} if tables else {}
    formats = list(getattr(options.get("form"), "choices", ()))
    if unknown := [name for name in chain.report.formats if name not in formats]:
        raise ChainError(
            f"report.formats: no format {unknown[0]!r}; there are: {', '.join(formats)}"
        )
    judges = [load_spec(judge.name).name for judge in chain.judge]
    if chain.report.judge and chain.report.judge not in judges:
        raise ChainError(
            f"report.judge: {chain.report.judge!r} is no judge of the chain; it has: "
            f"{', '.join(judges) or 'none'}"
        )


def _check_option(field: str, option: str) -> None:
    found = re.fullmatch(r"--([a-z][a-z-]*)(=.+)?", option)
    if found is None:
        raise ChainError(f"{field}: {option!r}: expected --name or --name=value")
    if found[1] in _OURS:
        raise ChainError(
            f"{field}: {option!r}: the chain sets --{found[1]} itself, by a field or because its "
            "jobs rely on it"
        )


def _check_infer(chain: Chain, infer: Infer, card: ModelCard) -> None:
    check_trust(card, trusted=infer.trust_remote_code)
    try:
        check_run_name(run_name(chain, infer))
    except StoreError as error:
        raise ChainError(f"infer.run: {error}") from error
    _refuse_odd("infer.run", run_name(chain, infer))
    if infer.copy_data and not chain.data:
        raise ChainError("infer.copy_data: there is no data to copy; name its folder in data")
    if infer.copy_data and infer.nodes > 1:
        raise ChainError("infer.copy_data: a Ray cluster over several nodes reads the shared disk")
    unknown = set(infer.tasks) - {str(task) for task in registry.get(chain.benchmark).offered}
    if unknown:
        offered = ", ".join(registry.get(chain.benchmark).offered)
        raise ChainError(
            f"infer.tasks: {chain.benchmark} has no {', '.join(sorted(unknown))}; it has {offered}"
        )
    tasks = infer.tasks or registry.get(chain.benchmark).tasks
    if infer.teacher_forcing and TaskType.ASSISTANT not in tasks:
        raise ChainError(
            f"infer.teacher_forcing: it is for dialogues; this asks {chain.benchmark} for "
            f"{', '.join(tasks)}"
        )
    asked, given = card.resources.gpus * card.resources.actors, gpus_of(infer, card) * infer.nodes
    if asked > given:
        raise ChainError(
            f"infer.gpus: model {card.name!r} asks for {asked:g} GPU(s), the job has {given}: take "
            "more GPUs or fewer actors"
        )
    cpus = card.resources.cpus * card.resources.actors + 1
    if infer.cpus is not None and cpus > infer.cpus * infer.nodes:
        raise ChainError(
            f"infer.cpus: model {card.name!r} asks for {cpus:g} CPU(s), one of them to decode "
            f"media; the job has {infer.cpus * infer.nodes}"
        )


def _check_judge(judge: Judge, spec: JudgeSpec) -> None:
    _refuse_odd("judge.name", spec.name)
    if judge.serve and not spec.is_llm:
        raise ChainError(f"judge.serve: {spec.name} is a formula: there is nothing to serve")
    if judge.serve and not judge.gpus:
        raise ChainError("judge.gpus: vLLM serves a judge on GPUs: say how many")
    if judge.serve and judge.base_url:
        raise ChainError("judge.base_url: the judge that serve starts has an address of its own")
    if judge.serve_options and not judge.serve:
        raise ChainError("judge.serve_options: only with serve")


def _refuse_twice(field: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ChainError(f"{field}: {name!r} stands twice in the chain")
        seen.add(name)
