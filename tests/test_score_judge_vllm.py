"""A judge behind a real server: `vllm serve` of a tiny checkpoint, held to the schema of a verdict.

Run by `make test-vllm`. What the checkpoint says is noise, and so are its verdicts; that each is a
valid one is what the server's structured output is for.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cache.record import Outcome
from cache.request import Sampling
from cache.store import Store
from score.judge.grade import Graded, grade
from score.judge.lookup import verdicts
from score.judge.rubric import RUBRICS, load_rubric
from score.judge.spec import JudgeSpec, Scale, load_spec
from score.judge.verdict import Verdict
from tests.builders import judge_pairs
from tests.services import SECRET
from tests.vllm_server import Served, vllm_server

pytestmark = pytest.mark.vllm

TO_FIVE = Scale(min=0, max=5)


@pytest.fixture(scope="module")
def served() -> Served:
    return vllm_server()


def tiny_judge(served: Served, **changes: Any) -> JudgeSpec:
    """The bundled judge for servers of one's own, with the tiny model and random draws."""
    fields: dict[str, Any] = {
        "name": "tiny",
        "model": "tiny",
        "base_url": served.base_url,
        "api_key_env": "TINY_KEY",
        "concurrency": 4,
        "sampling": Sampling(temperature=1.0, max_tokens=600, seed=0),
        "attempts": 3,
    }
    return msgspec.structs.replace(load_spec("local-vllm"), **(fields | changes))


def graded(folder: Path, spec: JudgeSpec, n: int) -> tuple[Graded, list[Verdict], Store]:
    store = Store(folder, create=True)
    done = grade(store, spec, judge_pairs(n), environ={"TINY_KEY": SECRET})
    found = verdicts(store, spec, judge_pairs(n))
    return done, [one for one in found if isinstance(one, Verdict)], store


@pytest.mark.parametrize("rubric", ["sonic-o1.jinja", "omniassist.jinja"])
def test_the_server_holds_noise_to_valid_verdicts(
    rubric: str, served: Served, tmp_path: Path
) -> None:
    scale = TO_FIVE if rubric.startswith("omni") else Scale(min=0, max=10)
    spec = tiny_judge(served, rubric=load_rubric(rubric, RUBRICS), scale=scale)

    done, found, store = graded(tmp_path, spec, 8)

    with store:
        records = list(store.scan())
    ended = [record for record in records if record.outcome is Outcome.OK]
    # Noise has no end; what was not cut at the token limit is a verdict, in every single case.
    assert {record.outcome for record in records} <= {Outcome.OK, Outcome.TRUNCATED}
    assert len(found) == done.ok == len(ended) >= 1
    for record in ended:
        said = json.loads(record.response.text)
        assert list(said) == [*spec.aspects, "score", "justification"]
        assert said["score"] in range(int(scale.max) + 1)
        assert record.usage.output_tokens
    assert all(set(one.aspects) == set(spec.aspects) for one in found)
    assert {record.effective["model"] for record in records} == {"tiny"}


def test_what_the_server_was_asked_once_is_not_asked_again(served: Served, tmp_path: Path) -> None:
    spec = tiny_judge(served, samples=2)
    first, _, store = graded(tmp_path, spec, 3)
    store.close()
    again, _, store = graded(tmp_path, spec, 3)
    store.close()
    assert first.called >= 3
    assert again.called == 0


def test_a_rubric_beyond_the_context_is_an_overflow(served: Served, tmp_path: Path) -> None:
    rubric = msgspec.structs.replace(load_rubric("sonic-o1.jinja", RUBRICS), text="Grade. " * 4000)
    done, _, store = graded(tmp_path, tiny_judge(served, rubric=rubric), 1)
    with store:
        (record,) = store.scan()
    assert record.outcome is Outcome.CONTEXT_OVERFLOW
    assert done.judge_failed == 1
