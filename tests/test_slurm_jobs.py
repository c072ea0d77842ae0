"""The chain on a real SLURM: preempted, requeued, broken, and in the end the same numbers.

One cluster serves all tests. Each start of Ray takes many seconds of this machine's cores, so a job
is interrupted several times. What has to be interrupted is submitted first.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bench import registry
from bench.item import TaskType
from cache.record import Record
from cache.run import RunHeader
from cache.stats import store_stats
from cache.store import Store
from infer.card import load_card
from infer.engines.chance import ChanceEngine
from infer.media.decode import prepare
from infer.plan import Shard, make_plan
from score.session import score_store
from slurm.chain import Chain
from slurm.errors import ChainError, ChainUnderway
from slurm.load import load_chain
from slurm.part import look
from slurm.status import ChainStatus, PartStatus, State, chain_status
from slurm.submission import Submission, read_submission
from slurm.submit import submit
from tests.builders import answered_demo_store
from tests.paced_engine import calls, write_card
from tests.programs import missing, needed
from tests.slurm_cluster import PACKAGES, Cluster, missing_commands, wait_for

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
LIMIT = 12
CONCURRENCY = 2
RUN = "demo-paced"
#: Generous: other work may keep this machine's cores.
PATIENCE_S = 240.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    if lacking := missing_commands():
        missing(", ".join(lacking), PACKAGES)
    root = Path(tempfile.mkdtemp(prefix="rj-slurm-"))
    running = Cluster(root)
    try:
        running.start()
        yield running
    finally:
        running.stop()
        shutil.rmtree(root, ignore_errors=True)


@dataclass
class Work:
    """A chain in a folder of its own, and the folder from which its engine is paced."""

    cluster: Cluster
    path: Path
    chain: Chain

    @property
    def paced(self) -> Path:
        return self.path.parent / "paced"

    @property
    def store(self) -> Path:
        return Path(self.chain.store)

    def submit(self) -> Submission:
        return submit(self.chain, self.cluster.environment)

    def submit_inference(self) -> None:
        """Submit, and take the later stages away again: another test shows them."""
        self.cluster.call("scancel", *[one.job for one in self.submit().stages[1:]])

    def status(self) -> ChainStatus:
        return chain_status(read_submission(self.chain), self.cluster.environment)

    def part(self) -> PartStatus:
        """The only part of the first stage."""
        return self.status().stages[0].parts[0]

    def minutes(self) -> int:
        """How long the job of the only part has run."""
        job = f"--jobs={self.part().job}"
        return int(self.cluster.call("squeue", "--noheader", job, "--format=%M").split(":")[0])

    def hold_after(self, count: int) -> None:
        """Let so many calls be answered, from the first one on, and further ones wait."""
        beside = self.paced / "hold-after.new"
        beside.write_text(str(count))
        beside.rename(self.paced / "hold-after")

    def wait_for_calls(self, count: int) -> None:
        self.wait(f"{count} calls", lambda: len(calls(self.paced)) == count)

    def wait_for_warning(self, number: int) -> None:
        self.wait("a warning", lambda: self.log().count("rejudge: SIGUSR1") == number)

    def wait_until_requeued(self) -> None:
        self.wait("the queue", lambda: self.part().state is State.REQUEUED)

    def release(self) -> None:
        (self.paced / "release").touch()

    def wait(self, what: str, holds: Any) -> None:
        try:
            wait_for(holds, f"{self.path.stem}: {what}", PATIENCE_S)
        except AssertionError as error:
            logs = [f"{p}:\n{p.read_text()[-3000:]}" for p in self.chain.folder.rglob("*.log")]
            raise AssertionError(f"{error}; {self.status()}\n" + "\n".join(logs)) from error

    def wait_until_over(self) -> ChainStatus:
        self.wait("the end", lambda: self.status().is_over)
        return self.status()

    def requests(self) -> int:
        """Distinct requests of the run."""
        with Store(self.store, read_only=True) as store:
            return len({line.key for line in store.run(RUN).lines})

    def items(self) -> int:
        with Store(self.store, read_only=True) as store:
            return len({line.item for line in store.run(RUN).lines})

    def log(self) -> str:
        path = Path(self.part().log)
        return path.read_text() if path.exists() else ""


def card(folder: Path, **resources: Any) -> Path:
    """Write the card of the paced engine."""
    return write_card(folder / "paced.toml", seed=fair_seed(), concurrency=CONCURRENCY, **resources)


@cache
def fair_seed() -> int:
    """A seed with which each of four shards gets requests: keys, and so shards, depend on it."""
    benchmark = registry.get("demo")
    prompts = benchmark.prompts(benchmark.load(None, [TaskType.CHOICE]))[:LIMIT]
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "s", create=True) as store:
        for seed in range(1000):
            made = load_card(str(write_card(Path(folder) / "paced.toml", seed=seed)))
            keys = [one.key for one in make_plan(prompts, made, store).requests]
            if all(any(Shard(k, 4).holds(key) for key in keys) for k in (1, 2, 3, 4)):
                return seed
    raise AssertionError("no seed gives each shard a request")


def work(cluster: Cluster, folder: Path, name: str, text: str = "", **settings: Any) -> Work:
    """Make a chain of the paced engine; ``settings`` are those of its inference."""
    home = folder / name
    (home / "paced").mkdir(parents=True)
    card(home)
    (home / "env.sh").write_text(
        f"source {ROOT}/slurm/env.sh\nexport PACED={home}/paced RAY_DISK={cluster.root}\n"
        'if [ -e "$PACED/slow-seal" ]; then\n'
        '  rejudge() { if [ "$1" = cache ]; then python -m tests.slow_seal "$@"\n'
        '    else command rejudge "$@"; fi; }\nfi\n'
    )
    infer = {"model": "paced.toml", "tasks": ["choice"], "limit": LIMIT, "cpus": 2}
    infer |= {"memory": "500M", "time": "30"}
    lines = [f"{key} = {json.dumps(value)}" for key, value in (infer | settings).items()]
    path = home / f"{name}.toml"
    path.write_text(
        'benchmark = "demo"\nstore = "store"\nout = "scores"\n'
        f"[[infer]]\n{chr(10).join(lines)}\n{text or SMALL}\n"
        f'[slurm]\nenvironment = "env.sh"\nwarning_s = 90\n'
    )
    return Work(cluster, path, load_chain(path))


#: The stages after inference, with little of everything.
SMALL = """\
[score]
similarity = false
cpus = 1
memory = "500M"
[report]
formats = ["csv"]
cpus = 1
memory = "500M"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("slurm")


@dataclass(frozen=True)
class Disturbed:
    """Chains that are submitted before the first test, and wait for what is done to them."""

    lost: Work
    """On a node of its own, until its first calls."""
    warned: Work
    """In a partition with a grace time, until its third answer."""
    hopeless: str
    """An array, of which task 1 is done at once and task 2 loses its Ray whenever it starts."""


@pytest.fixture(scope="module")
def disturbed(cluster: Cluster, folder: Path) -> Disturbed:
    lost = work(cluster, folder, "lost", partition="victim", options=["--nodelist=v1"])
    lost.hold_after(0)
    (lost.paced / "slow-seal").touch()
    lost.submit_inference()
    warned = work(cluster, folder, "warned", partition="graced")
    warned.hold_after(3)
    warned.submit_inference()
    script = folder / "hopeless.sbatch"
    script.write_text(HOPELESS.format(scripts=f"{ROOT}/slurm", folder=folder))
    hopeless = cluster.call("sbatch", "--parsable", str(script))
    return Disturbed(lost, warned, hopeless)


HOPELESS = """\
#!/bin/bash
#SBATCH --array=1-2
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output={folder}/hopeless-%a.log
RESTARTS=1
STATE={folder}/hopeless
source {scripts}/job.sh
begin "${{SLURM_ARRAY_TASK_ID}}of2"
attempt bash -c '[ "$SLURM_ARRAY_TASK_ID" = 1 ] || exit 75'
finish
"""


@pytest.fixture(scope="module")
def undisturbed(folder: Path) -> list[dict[str, Any]]:
    """Scores of the same run as nothing disturbs it, made without SLURM and without Ray."""
    made = load_card(str(card(folder)))
    benchmark, engine = registry.get("demo"), ChanceEngine()
    items = benchmark.load(None, [TaskType.CHOICE])
    with Store(folder / "undisturbed", create=True) as store:
        plan = make_plan(benchmark.prompts(items)[:LIMIT], made, store)
        tasks = tuple(dict.fromkeys(item.task for item in items))
        header = RunHeader(name=RUN, benchmark="demo", model=made.name, tasks=tasks)
        store.write_run(header, plan.lines)
        for one in plan.requests:
            answer = asyncio.run(engine.answer(one.request, prepare(one.request, one.files)))
            record = Record(
                key=one.key, request=one.request, outcome=answer.outcome, response=answer.response
            )
            store.put(record, sync=False)
    return numbers(folder / "undisturbed")


def numbers(store: Path) -> list[dict[str, Any]]:
    """What the answers in a store are worth: every score, whatever job gave the answer."""
    out = store.parent / f"{store.name}-numbers"
    score_store("demo", None, store, out, similarity=False)
    return rows(out)


def rows(scores: Path) -> list[dict[str, Any]]:
    frame = pl.read_parquet(scores / "scores.parquet")
    return frame.sort(frame.columns[:4]).to_dicts()


def test_a_job_that_is_lost_again_and_again_ends_with_the_same_numbers(
    disturbed: Disturbed, undisturbed: list[dict[str, Any]]
) -> None:
    """Before the first answer, in the middle, and while its answers are sealed."""
    found = disturbed.lost
    found.wait_for_calls(CONCURRENCY)
    preempt(found, "v1")
    found.wait_until_requeued()
    assert "by SLURM" in found.part().why

    found.hold_after(CONCURRENCY + 3)
    found.wait_for_calls(2 * CONCURRENCY + 3)
    found.cluster.crash_node("v1")
    found.wait_until_requeued()
    assert found.part().why == "lost (its node failed, or it was killed)"
    found.cluster.start_node("v1")

    found.release()
    found.wait("sealing", lambda: (found.paced / "sealing").exists())
    asked = len(calls(found.paced))
    preempt(found, "v1")
    found.wait_until_requeued()
    (found.paced / "release-seal").touch()

    goes_on_by_itself(found, restarts=3)
    assert len(calls(found.paced)) == asked
    check(found, undisturbed, in_flight=2 * CONCURRENCY)
    assert not list((found.store / "parts").glob("*.jsonl"))


def test_a_job_that_is_warned_lets_what_is_in_flight_end_and_asks_nothing_twice(
    disturbed: Disturbed, undisturbed: list[dict[str, Any]]
) -> None:
    """Preempted with a grace time, and then at its time limit: both look the same to the user."""
    found = disturbed.warned
    job = found.part().job
    found.wait_for_calls(3 + CONCURRENCY)
    preempt(found, "g1")
    found.wait_for_warning(1)
    found.hold_after(8)
    found.wait_until_requeued()
    assert found.part().why == "warned by SLURM (time limit or preemption)"

    found.wait_for_calls(8 + CONCURRENCY)
    found.cluster.scontrol("update", f"jobid={job}", f"timelimit={found.minutes() + 2}")
    found.wait_for_warning(2)
    found.release()
    found.wait_until_requeued()
    assert found.part().why == "warned by SLURM (time limit or preemption)"
    found.cluster.scontrol("update", f"jobid={job}", "timelimit=30")

    goes_on_by_itself(found, restarts=2)
    assert found.part().job == job
    check(found, undisturbed)


def test_a_task_goes_back_to_the_queue_alone_and_not_for_ever(
    cluster: Cluster, disturbed: Disturbed, folder: Path
) -> None:
    task = f"{disturbed.hopeless}_2"
    wait_for(lambda: cluster.state(task) == "FAILED", "the hopeless task to end", PATIENCE_S)

    events = [
        [json.loads(line)["event"] for line in (folder / f"hopeless/{k}of2.events").open()]
        for k in (1, 2)
    ]
    assert events[0] == ["started", "ended"]
    assert events[1] == [
        "started", "ended", "lost", "requeued", "started", "ended", "lost", "restarted too often",
    ]  # fmt: skip


CHAIN = """\
[[judge]]
name = "lexical"
cpus = 1
memory = "500M"
"""


def test_the_whole_chain_with_a_shard_that_is_broken_at_first(
    cluster: Cluster, folder: Path, undisturbed: list[dict[str, Any]]
) -> None:
    """One command submits it; a broken shard stops what needs it; again, only that one runs."""
    found = work(cluster, folder, "chain", CHAIN + SMALL, shards=4)
    (found.paced / "broken-3").touch()
    found.hold_after(0)

    first = rejudge(found, "submit")
    assert [stage["parts"] for stage in first["stages"]] == [[1, 2, 3, 4], [1], [1], [1]]
    with pytest.raises(ChainUnderway, match="is submitted already"):
        found.submit()
    others = [Shard(k, 4) for k in (1, 2, 4)]
    found.wait(
        "calls", lambda: all(any(shard.holds(k) for k, _ in calls(found.paced)) for shard in others)
    )
    found.wait("the broken shard", lambda: found.status().stages[0].counts[State.FAILED])
    at_work = found.status()
    assert at_work.stages[0].counts == {State.RUNNING: 3, State.FAILED: 1}
    assert [stage.state for stage in at_work.stages[1:]] == [State.PENDING] * 3
    assert (at_work.stages[0].done, at_work.stages[0].total) == (0, found.items())
    # Three jobs, each with a Ray of its own, are at work on two nodes: two of them share one.
    assert {part.node for part in at_work.stages[0].parts} == {"n1", "n2"}
    found.release()
    broken = found.wait_until_over()

    inference, *rest = broken.stages
    assert inference.counts == {State.DONE: 3, State.FAILED: 1}
    assert inference.parts[2].state is State.FAILED
    assert "exit code 3: the driver of this node's GPU is broken" in inference.parts[2].why
    assert [stage.state for stage in rest] == [State.CANCELLED] * 3
    assert rejudge(found, "status", expect=1)["stages"][0]["parts"][2]["state"] == "failed"

    (found.paced / "broken-3").unlink()
    second = rejudge(found, "submit")
    assert [stage["parts"] for stage in second["stages"]] == [[3], [1], [1], [1]]
    whole = found.wait_until_over()

    assert [stage.state for stage in whole.stages] == [State.DONE] * 4
    assert whole.stages[0].done == whole.stages[0].total == found.items()
    assert whole.stages[1].done == whole.stages[1].total
    check(found, undisturbed)
    assert rows(found.path.parent / "scores")
    assert list((found.path.parent / "scores" / "tables").glob("*.csv"))
    assert (found.path.parent / "scores" / "report" / "index.html").is_file()


def test_one_ray_cluster_over_two_nodes_spreads_the_work_and_says_so(
    cluster: Cluster, folder: Path, undisturbed: list[dict[str, Any]]
) -> None:
    found = work(cluster, folder, "two-nodes", nodes=2)
    card(found.path.parent, actors=2, gpus=1.0)
    (found.paced / "meet").write_text("2")  # nothing is answered before both nodes are at work

    found.submit_inference()
    found.wait("the end of inference", lambda: found.part().state.is_over)

    assert found.part().state is State.DONE, found.log()
    check(found, undisturbed)
    assert {node for _, node in calls(found.paced)} == {"n1", "n2"}
    said = look(read_submission(found.chain).stages[0].stage, 1).result or {}
    assert set(said["nodes"]) == {"n1", "n2"}
    assert sum(said["nodes"].values()) == found.requests()


def test_two_jobs_for_the_same_shard_end_with_one_answer_each(
    cluster: Cluster, folder: Path, undisturbed: list[dict[str, Any]]
) -> None:
    """The surplus is counted, and not mixed in."""
    first = work(cluster, folder, "overlap", options=["--nodelist=v1"], partition="victim")
    other = first.path.with_name("again.toml")
    other.write_text(first.path.read_text().replace("v1", "v2"))
    second = Work(cluster, other, load_chain(other))
    (first.paced / "meet").write_text("2")  # so that both ask before either has an answer

    first.submit_inference()
    second.submit_inference()
    for found in (first, second):
        found.wait("the end of inference", lambda found=found: found.part().state is State.DONE)

    asked_twice = len(calls(first.paced)) - first.requests()
    with Store(first.store, read_only=True) as store:
        stats = store_stats(store)
    assert 1 <= asked_twice <= first.requests()
    assert (stats.keys, stats.surplus, stats.conflicts) == (first.requests(), asked_twice, 0)
    assert numbers(first.store) == undisturbed


def test_a_judge_with_open_weights_is_served_while_it_is_at_work(
    cluster: Cluster, folder: Path
) -> None:
    """vLLM itself needs a GPU: a server that takes its command line stands in."""
    needed("curl")
    found = work(cluster, folder, "judged")
    answered_demo_store(found.store)
    (found.path.parent / "vllm").write_text(
        f'#!/bin/sh\nexec {sys.executable} -m tests.served_model "$@"\n'
    )
    (found.path.parent / "vllm").chmod(0o755)
    (found.path.parent / "judge.toml").write_text(JUDGE)
    with (found.path.parent / "env.sh").open("a") as file:
        file.write(f"PATH={found.path.parent}:$PATH\n")
    judge = {"JUDGE": f"{found.path.parent}/judge.toml", "SERVE": "weights", "SERVED_AS": "named"}

    for time in ("first", "again"):
        script = by_hand(found, "judge.sbatch", judge)
        job = cluster.call("sbatch", "--parsable", str(script))
        found.wait("the end", lambda job=job: cluster.state(job) in ("FAILED", "COMPLETED"))
        assert cluster.state(job) == "COMPLETED", found.path.with_name("by-hand.log").read_text()
        served = (found.paced / "served").exists()
        assert served == (time == "first")  # nothing to judge: nothing is served
        (found.paced / "served").unlink(missing_ok=True)

    assert (found.paced / "ended").exists()
    with Store(found.store, read_only=True) as store:
        verdicts = [record for record in store.scan() if record.request.model == "named"]
    assert len(verdicts) > 20


JUDGE = """
name = "served"
engine = "openai"
model = "named"
base_url = "http://127.0.0.1:9/v1"
rubric = "sonic-o1.jinja"
[scale]
min = 0
max = 10
"""


def test_more_gpus_than_the_job_has_are_refused_with_both_numbers(
    cluster: Cluster, folder: Path
) -> None:
    """In the job, here of a script edited by hand; a chain is refused before it is submitted."""
    found = work(cluster, folder, "greedy")
    card(found.path.parent, gpus=4.0)
    found.path.write_text(found.path.read_text().replace("[[infer]]\n", "[[infer]]\ngpus = 1\n"))
    with pytest.raises(ChainError, match=r"asks for 4 GPU\(s\), the job has 1"):
        load_chain(found.path)

    model = {"MODEL": f"{found.path.parent}/paced.toml", "SHARDS": "1"}
    model["OPTIONS"] = "(--task choice --limit 3)"
    script = by_hand(found, "infer.sbatch", model, array="1-1", gres="gpu:1")
    job = cluster.call("sbatch", "--parsable", str(script))
    found.wait("the end", lambda: cluster.state(job) in ("FAILED", "COMPLETED"))

    log = found.path.with_name("by-hand.log").read_text()
    assert "asks for 4 GPU(s), the cluster has 1" in log
    assert "1of1: ended 3" in log


def by_hand(found: Work, name: str, settings: dict[str, str], **options: str) -> Path:
    """Edit a script as one does who submits it without the command."""
    text = (ROOT / "slurm" / name).read_text()
    changed = options | {"cpus-per-task": "2", "mem": "500M"}
    changed["output"] = str(found.path.with_name("by-hand.log"))
    for option, value in changed.items():
        text = re.sub(rf"(?m)^#SBATCH --{option}=.*$", f"#SBATCH --{option}={value}", text)
    common = {
        "SCRIPTS": f"{ROOT}/slurm",
        "ENVIRONMENT": f"{found.path.parent}/env.sh",
        "BIN": str(Path(sys.executable).parent),
        "BENCHMARK": "demo",
        "DATA": "",
        "STORE": str(found.store),
    }
    for setting, value in (common | settings).items():
        text = re.sub(rf"(?m)^{setting}=.*$", f"{setting}={value}", text)
    path = found.path.with_name("by-hand.sbatch")
    path.write_text(text)
    return path


def preempt(found: Work, node: str) -> None:
    """Let a job of a higher partition take the node."""
    found.cluster.call(
        "sbatch", "--partition=urgent", f"--nodelist={node}", "--exclusive", "--output=/dev/null",
        "--wrap=sleep 1",
    )  # fmt: skip


def goes_on_by_itself(found: Work, *, restarts: int) -> None:
    """From here on nothing is done but to look."""
    found.wait("the end of inference", lambda: found.part().state.is_over)
    assert found.part().state is State.DONE, found.log()
    assert found.part().restarts == restarts


def check(found: Work, undisturbed: list[dict[str, Any]], *, in_flight: int = 0) -> None:
    """Every request is answered once, and asked once but for what was in flight."""
    asked = [key for key, _ in calls(found.paced)]
    with Store(found.store, read_only=True) as store:
        requested = {line.key for line in store.run(RUN).lines}
        answers = [one for one in store.scan() if one.request.model == "paced"]
        stats = store_stats(store)
        assert store.missing(requested) == []
    assert set(asked) == requested
    assert len(asked) <= len(requested) + in_flight
    assert (len(answers), stats.surplus, stats.conflicts, stats.faults) == (len(requested), 0, 0, 0)
    assert numbers(found.store) == undisturbed


def rejudge(found: Work, command: str, *, expect: int = 0) -> dict[str, Any]:
    """Call the command itself, as a user does."""
    done = subprocess.run(
        [sys.executable, "-m", "rejudge", "slurm", command, str(found.path), "--json"],
        cwd=ROOT, env=found.cluster.environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == expect, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
