"""What of a chain can be found wrong before a job starts: each refusal begins with the field."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from bench import registry
from infer.card import ModelCard, check_trust, load_card
from score.judge.spec import JudgeSpec, load_spec
from slurm.chain import Chain, Cluster, Infer, Job, Judge, gpus_of, run_name
from slurm.errors import ChainError

#: What a chain says in fields of its own, or must say itself for jobs to find each other.
_OURS = frozenset(
    {"account", "array", "begin", "cpus-per-task", "dependency", "export", "gpus", "gpus-per-node"}
    | {"gres", "job-name", "mem", "nodes", "ntasks", "ntasks-per-node", "open-mode", "output"}
    | {"partition", "requeue", "no-requeue", "signal", "time"}
)


def check_chain(chain: Chain) -> None:
    """Refuse what the fields alone cannot show.

    Raises:
        ChainError: a field names what is not there, or two do not go together.
        BenchError, InferError, ScoreError: an unknown benchmark, model or judge, or a faulty card.
    """
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


def _check_option(field: str, option: str) -> None:
    found = re.fullmatch(r"--([a-z][a-z-]*)(=.+)?", option)
    if found is None or "\n" in option:
        raise ChainError(f"{field}: {option!r}: expected --name or --name=value")
    if found[1] in _OURS:
        raise ChainError(
            f"{field}: {option!r}: the chain sets --{found[1]} itself, by a field or because its "
            "jobs rely on it"
        )


def _check_infer(chain: Chain, infer: Infer, card: ModelCard) -> None:
    check_trust(card, trusted=infer.trust_remote_code)
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
