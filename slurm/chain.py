"""A chain: one TOML file that says what is run on a cluster, from inference to tables.

    [[infer]] ─┐
    [[infer]] ─┼─► [[judge]] ─┬─► [score] ─► [report]
               └─► [[judge]] ─┘

``docs/slurm.md`` has an example of each field. Paths are relative to the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import msgspec

from infer.ablation import Ablation
from infer.card import ModelCard, load_card
from infer.run import Choice
from score.judge.spec import load_spec

_Count = Annotated[int, msgspec.Meta(ge=1)]
_Text = Annotated[str, msgspec.Meta(min_length=1)]
#: What a chain may be called: it is part of a folder's and of its jobs' names.
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
_Name = Annotated[str, msgspec.Meta(pattern=NAME)]
_Memory = Annotated[str, msgspec.Meta(pattern=r"^[0-9]+[KMGT]?$")]
#: As sbatch takes it: minutes, MM:SS, HH:MM:SS, D-HH, D-HH:MM or D-HH:MM:SS.
_Time = Annotated[
    str,
    msgspec.Meta(pattern=r"^([0-9]+|[0-9]+(:[0-9]{2}){1,2}|[0-9]+-[0-9]{1,2}(:[0-9]{2}){0,2})$"),
]


class Job(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every stage's jobs can ask for. Empty: as ``[slurm]``, the script or the cluster say."""

    partition: str = ""
    account: str = ""
    time: _Time | None = None
    cpus: _Count | None = None
    memory: _Memory | None = None
    options: tuple[str, ...] = ()
    """Further options of sbatch, each as ``--name=value``."""


class Infer(Job, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model that answers the benchmark."""

    model: _Text
    run: str = ""
    shards: _Count = 1
    """Parts of the work; each is a task of the job array."""
    at_once: _Count | None = None
    """Parts that may run at the same time."""
    nodes: _Count = 1
    """Of each part. More than one: a Ray cluster over them."""
    gpus: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """Of each node; by default what the model card's actors take."""
    gpu_type: str = ""
    tasks: tuple[str, ...] = ()
    frames: _Count | None = None
    fps: Annotated[float, msgspec.Meta(gt=0)] | None = None
    size: _Count | None = None
    modality: str = ""
    samples: _Count = 1
    limit: _Count | None = None
    prompts: str = ""
    teacher_forcing: bool = False
    skip_absent_media: bool = False
    trust_remote_code: bool = False
    copy_data: bool = False
    """Copy the data to the node's own disk first."""


class Judge(Job, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A judge that grades the answers."""

    name: _Text
    """A bundled judge, or the path of a TOML file."""
    base_url: str = ""
    serve: str = ""
    """Weights that vLLM serves for the judge on the job's own GPUs: a folder or a hub's id."""
    serve_options: tuple[str, ...] = ()
    gpus: Annotated[int, msgspec.Meta(ge=0)] = 0
    gpu_type: str = ""


class Score(Job, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the answers are scored."""

    profile: str = ""
    similarity: bool = True
    encoder: str = ""
    precision: str = ""
    dictionary: str = ""


class Report(Job, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which tables are made of the scores."""

    paper: _Text = "sonic-o1"
    formats: Annotated[tuple[_Text, ...], msgspec.Meta(min_length=1)] = ("markdown", "latex")
    judge: str = ""
    """Whose verdicts are shown, where there are several judges; by default the chain's last."""
    published: bool = False


class Cluster(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What holds for all jobs."""

    partition: str = ""
    account: str = ""
    options: tuple[str, ...] = ()
    warning_s: Annotated[int, msgspec.Meta(ge=30)] = 120
    """How long before a job's end SLURM warns it."""
    restarts: Annotated[int, msgspec.Meta(ge=0)] = 50
    """How often a job may go back to the queue by itself."""
    environment: str = ""
    """Your own env.sh, sourced by every job in the place of the bundled one."""


class Chain(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A chain as the file says it, paths made absolute."""

    name: _Name = ""
    """By default the file's name."""
    benchmark: _Text
    data: str = ""
    store: _Text
    out: _Text
    """Folder for scores and tables."""
    slurm: Cluster = Cluster()
    infer: Annotated[tuple[Infer, ...], msgspec.Meta(min_length=1)]
    judge: tuple[Judge, ...] = ()
    score: Score = Score()
    report: Report = Report()

    @property
    def folder(self) -> Path:
        """Where the scripts, the logs and the record of the submission lie: beside the store."""
        return Path(f"{self.store}.slurm") / self.name


def run_name(chain: Chain, infer: Infer) -> str:
    """Name of the run that a stage makes."""
    changed = Ablation(
        infer.frames,
        infer.fps,
        infer.size,
        infer.modality or None,
        teacher_forcing=infer.teacher_forcing,
    )
    choice = Choice(chain.benchmark, samples=infer.samples, ablation=changed)
    return infer.run or choice.run_name(load_card(infer.model).name)


def gpus_of(infer: Infer, card: ModelCard) -> int:
    """GPUs that each node of a part gets."""
    asked = card.resources.gpus * card.resources.actors
    return infer.gpus if infer.gpus is not None else -int(-asked // infer.nodes)


def unset_keys(chain: Chain, environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Variables of API keys that are not set, each with the judge that asks for it."""
    specs = [load_spec(judge.name) for judge in chain.judge]
    asked = [(spec.api_key_env, spec.name) for spec in specs if spec.api_key_env]
    return [(name, judge) for name, judge in asked if not environ.get(name)]


def each_option(*jobs: Job | Cluster) -> Iterator[str]:
    """Further options of sbatch, those for all jobs first."""
    for job in jobs:
        yield from job.options
