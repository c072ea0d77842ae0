"""The stages of a chain: which script each runs, with which settings, after which others."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from infer.card import load_card
from score.judge.spec import load_spec
from slurm.chain import Chain, Infer, Job, Judge, each_option, gpus_of, run_name

SCRIPTS = Path(__file__).parent
#: Of SLURM's warning, for engines to close after a drain.
_CLOSE_S = 30

Settings = dict[str, str | list[str]]


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """One submission of sbatch: a job, or an array of them."""

    name: str
    """As people read it: ``infer demo-captions``."""
    script: str
    """Its file in this package."""
    folder: str
    """Where its logs, events and results lie."""
    parts: int = 1
    """Tasks of its array; 1 where it is none."""
    options: dict[str, str | None]
    """Options of sbatch, by their long names; None takes the script's own away."""
    more: tuple[str, ...] = ()
    """Options as the user wrote them."""
    settings: Settings
    """Variables of the script."""
    needs: tuple[str, ...] = ()
    """Names of the stages that come before."""
    run: str = ""
    """The run that it makes, of an inference stage."""
    judge: str = ""
    """The judge, of a judging stage, as a name or a file."""

    @property
    def is_array(self) -> bool:
        """Whether its parts are tasks of an array."""
        return bool(self.run)

    @property
    def digest(self) -> str:
        """Of what is run: results of another digest are of another stage."""
        return hashlib.sha256(msgspec.json.encode([self.script, self.settings])).hexdigest()

    def part(self, k: int) -> str:
        """What the k-th part's files are called."""
        return f"{k}of{self.parts}"


def make_stages(chain: Chain) -> list[Stage]:
    """Return a chain's stages in an order in which each comes after those it needs."""
    infer = [_infer(chain, one) for one in chain.infer]
    runs = [stage.run for stage in infer]
    after = tuple(stage.name for stage in infer)
    judge = [_judge(chain, one, runs, after) for one in chain.judge]
    if judge:
        after = tuple(stage.name for stage in judge)
    score = _score(chain, runs, after)
    return [*infer, *judge, score, _report(chain, (score.name,))]


def _infer(chain: Chain, infer: Infer) -> Stage:
    run = run_name(chain, infer)
    folder = chain.folder / f"infer-{_file_name(run)}"
    options = _options(chain, infer, folder, f"infer-{run}")
    throttle = f"%{infer.at_once}" if infer.at_once else ""
    options |= {
        "array": f"1-{infer.shards}{throttle}",
        "gres": _gres(gpus_of(infer, load_card(infer.model)), infer.gpu_type),
        "output": f"{_literal(folder)}/%aof{infer.shards}.log",
    }
    if infer.nodes > 1:
        options["nodes"] = str(infer.nodes)
    own: Settings = {
        "MODEL": infer.model,
        "SHARDS": str(infer.shards),
        "OPTIONS": [
            *("--run", run),
            *("--grace", str(_grace_s(chain.slurm.warning_s))),
            *(word for task in infer.tasks for word in ("--task", task)),
            *_given("--frames", infer.frames),
            *_given("--fps", infer.fps),
            *_given("--size", infer.size),
            *_given("--modality", infer.modality),
            *_given("--samples", infer.samples if infer.samples > 1 else None),
            *_given("--limit", infer.limit),
            *_given("--prompts", infer.prompts),
            *(["--teacher-forcing"] if infer.teacher_forcing else []),
            *(["--skip-absent-media"] if infer.skip_absent_media else []),
            *(["--trust-remote-code"] if infer.trust_remote_code else []),
        ],
    }
    if infer.nodes == 1:
        own["COPY_DATA"] = "yes" if infer.copy_data else "no"
    return Stage(
        name=f"infer {run}",
        script="infer.sbatch" if infer.nodes == 1 else "infer-multinode.sbatch",
        folder=str(folder),
        parts=infer.shards,
        options=options,
        more=tuple(each_option(chain.slurm, infer)),
        settings=_common(chain, folder) | _benchmark(chain) | own,
        run=run,
    )


def _judge(chain: Chain, judge: Judge, runs: list[str], after: tuple[str, ...]) -> Stage:
    spec = load_spec(judge.name)
    folder = chain.folder / f"judge-{_file_name(spec.name)}"
    options = _options(chain, judge, folder, f"judge-{spec.name}")
    own: Settings = {
        "JUDGE": judge.name,
        "OPTIONS": [*_runs(runs), *_given("--base-url", judge.base_url)],
        "SERVE": judge.serve,
        "SERVED_AS": spec.model if judge.serve else "",
        "SERVE_OPTIONS": list(judge.serve_options),
    }
    return Stage(
        name=f"judge {spec.name}",
        script="judge.sbatch",
        folder=str(folder),
        options=options | {"gres": _gres(judge.gpus, judge.gpu_type)},
        more=tuple(each_option(chain.slurm, judge)),
        settings=_common(chain, folder) | _benchmark(chain) | own,
        needs=after,
        judge=judge.name,
    )


def _score(chain: Chain, runs: list[str], after: tuple[str, ...]) -> Stage:
    folder, score = chain.folder / "score", chain.score
    own: Settings = {
        "OUT": chain.out,
        "OPTIONS": [
            *_runs(runs),
            *(word for judge in chain.judge for word in ("--judge", judge.name)),
            *_given("--profile", score.profile),
            *([] if score.similarity else ["--no-similarity"]),
            *_given("--encoder", score.encoder),
            *_given("--precision", score.precision),
            *_given("--dictionary", score.dictionary),
        ],
    }
    return Stage(
        name="score",
        script="score.sbatch",
        folder=str(folder),
        options=_options(chain, score, folder, "score"),
        more=tuple(each_option(chain.slurm, score)),
        settings=_common(chain, folder) | _benchmark(chain) | own,
        needs=after,
    )


def _report(chain: Chain, after: tuple[str, ...]) -> Stage:
    folder, report = chain.folder / "report", chain.report
    judge = report.judge or (load_spec(chain.judge[-1].name).name if chain.judge else "")
    own: Settings = {
        "DATA": chain.data,
        "STORE": chain.store,
        "OUT": chain.out,
        "PAPER": report.paper,
        "FORMATS": list(report.formats),
        "OPTIONS": [
            *_given("--judge", judge),
            *(["--published"] if report.published else []),
        ],
    }
    return Stage(
        name="report",
        script="report.sbatch",
        folder=str(folder),
        options=_options(chain, report, folder, "report"),
        more=tuple(each_option(chain.slurm, report)),
        settings=_common(chain, folder) | own,
        needs=after,
    )


def _options(chain: Chain, job: Job, folder: Path, name: str) -> dict[str, str | None]:
    found: dict[str, str | None] = {
        "job-name": f"{chain.name}.{name}",
        "partition": job.partition or chain.slurm.partition,
        "account": job.account or chain.slurm.account,
        "time": job.time,
        "cpus-per-task": str(job.cpus) if job.cpus else "",
        "mem": job.memory,
        "output": f"{_literal(folder)}/1of1.log",
        "signal": f"B:USR1@{chain.slurm.warning_s}",
    }
    return {option: value for option, value in found.items() if value}


def _literal(folder: Path) -> str:
    """A folder in which sbatch fills in nothing."""
    return str(folder).replace("%", "%%")


def _grace_s(warning_s: int) -> int:
    return max(warning_s - _CLOSE_S, warning_s // 2)


def _common(chain: Chain, folder: Path) -> Settings:
    return {
        "SCRIPTS": str(SCRIPTS),
        "ENVIRONMENT": chain.slurm.environment or str(SCRIPTS / "env.sh"),
        "BIN": str(Path(sys.executable).parent),
        "RESTARTS": str(chain.slurm.restarts),
        "STATE": str(folder),
    }


def _benchmark(chain: Chain) -> Settings:
    return {"BENCHMARK": chain.benchmark, "DATA": chain.data, "STORE": chain.store}


def _gres(gpus: int, kind: str) -> str | None:
    return f"gpu:{kind}:{gpus}" if gpus and kind else f"gpu:{gpus}" if gpus else None


def _runs(runs: list[str]) -> Iterator[str]:
    for run in runs:
        yield from ("--run", run)


def _given(option: str, value: object) -> Iterator[str]:
    if value:
        yield from (option, str(value))


def _file_name(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in name)
