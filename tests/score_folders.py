"""Folders as ``rejudge score`` writes them, made by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from score.frames import SCORE_COLUMNS

DOCTOR = "01_Patient-Doctor_Consultations"
EMERGENCY = "06_Emergency_Response_Scenarios"

#: A judge that is a language model, and one that is not, as the signature describes them.
LLM_JUDGE = {
    "name": "gpt-5-mini",
    "engine": "openai",
    "model": "gpt-5-mini-2025-08-07",
    "scale": {"min": 0, "max": 10, "integer": True},
    "rubric": {"name": "sonic-o1", "version": "1", "sha256": "0"},
}
FORMULA_JUDGE = {
    "name": "lexical",
    "engine": "lexical",
    "model": "rouge-l+token-f1",
    "scale": {"min": 0, "max": 10, "integer": True},
    "rubric": None,
}

Row = dict[str, Any]


def metric_rows(
    metric: str = "accuracy",
    values: Mapping[str, Sequence[float | None]] | None = None,
    *,
    run: str = "alpha",
    task: str = "choice",
    judge: str = "",
    status: str = "unparsed",
    reason: str = "no option named",
) -> list[Row]:
    """Rows of one metric of one run: topic → values of its items, None where not scored.

    ``status`` and ``reason`` are those of the items that are not scored.
    """
    return [
        {
            "run": run,
            "model": run,
            "benchmark": "sonic-o1",
            "task": task,
            "item": f"{task}/{topic[:2]}/{number:03}",
            "sample": 0,
            "topic": topic,
            "cluster": f"{topic[:2]}/{number:03}",
            "metric": metric,
            "judge": judge,
            "value": value,
            "status": status if value is None else "scored",
            "reason": reason if value is None else "",
        }
        for topic, found in (values or {DOCTOR: [1.0, 0.0]}).items()
        for number, value in enumerate(found)
    ]


def task_rows(
    run: str = "alpha", task: str = "choice", level: float = 0.5, judge: str = ""
) -> list[Row]:
    """Rows of every metric that a task has, each with ``level`` (judge: ten times it)."""
    names = {
        "summary": ["detailed_rouge_l", "detailed_similarity"],
        "choice": ["accuracy", "rationale_rouge_l", "rationale_similarity"],
        "localization": [
            *("tiou", "recall_0.3", "recall_0.5", "recall_0.7", "mae"),
            *("rationale_rouge_l", "rationale_similarity"),
        ],
    }[task]
    both = {DOCTOR: [level] * 2, EMERGENCY: [level]}
    rows = [row for name in names for row in metric_rows(name, both, run=run, task=task)]
    if judge:
        aspect = "detailed" if task == "summary" else "rationale"
        graded = {topic: [10 * value for value in values] for topic, values in both.items()}
        rows += metric_rows(f"{aspect}_judge", graded, run=run, task=task, judge=judge)
    return rows


def run_rows(run: str = "alpha", level: float = 0.5, judge: str = "gpt-5-mini") -> list[Row]:
    """Rows of a run that answered all three tasks."""
    tasks = ("summary", "choice", "localization")
    return [row for task in tasks for row in task_rows(run, task, level, judge)]


def score_folder(folder: Path, rows: Iterable[Row], **signature: Any) -> Path:
    """Write scores and their signature, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    frame = pl.DataFrame(
        list(rows),
        schema={name: _TYPES.get(name, pl.String) for name in SCORE_COLUMNS},
    )
    frame.write_parquet(folder / "scores.parquet")
    judges = {spec["name"]: spec for spec in (LLM_JUDGE, FORMULA_JUDGE)}
    made = {
        "profile": {"name": "strict", "exact_sums": True},
        "similarity": {"texts": 20, "texts_truncated": 0},
        "judges": judges,
    }
    (folder / "signature.json").write_text(json.dumps(made | signature), encoding="utf-8")
    return folder


_TYPES: dict[str, Any] = {
    "sample": pl.Int64,
    "value": pl.Float64,
    "status": pl.Enum(["scored", "unparsed", "judge_failed", "infra_failed", "missing"]),
}
