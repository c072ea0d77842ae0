"""The golden tree of SONIC-O1: annotations, two models' predictions, and published scores of them.

``tests/data/golden/sonic_o1/scores`` is what the reference suite's own scorer printed
(VectorInstitute/sonic-o1 at 9569c6c; rouge-score 0.1.2; all-MiniLM-L6-v2 in float32 on a CPU;
pycocoevalcap's CIDEr), with a scripted judge that :func:`scripted_verdicts` repeats.
"""

import hashlib
import json
from pathlib import Path

from bench.registry import get
from cache.imports.imported import store_answers
from cache.imports.sonic_o1 import read_predictions
from cache.store import Store
from score.judge.verdict import JudgeFailure, Verdict

ROOT = Path(__file__).parent / "data" / "golden" / "sonic_o1"
MODELS = ("alpha", "beta")


def golden_items():
    return get("sonic-o1").load(ROOT)


def golden_store(path):
    """A store with the predictions of both models, imported as a user would import them."""
    store = Store(path, create=True)
    store_answers(store, read_predictions(ROOT / "predictions"))
    return store


def published(model):
    return json.loads((ROOT / "scores" / f"{model}.json").read_text())


def scripted_verdicts(store, spec, pairs):
    """The judge of the golden numbers: a hash of both texts; each ninth call fails."""
    return [_scripted(pair.reference, pair.answer) for pair in pairs]


def _scripted(reference, answer):
    number = int(hashlib.sha256(f"{reference}\x1f{answer}".encode()).hexdigest(), 16)
    if number % 9 == 0:
        return JudgeFailure("judge_failed", "scripted")
    return Verdict(float(number % 11), "scripted")
