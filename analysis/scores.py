"""What ``rejudge score`` wrote: the scores, and the signature that says how they were made.

DIR/scores.parquet     one row a run × item × metric × judge
DIR/signature.json     benchmark, profile, judges, versions
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from analysis.errors import AnalysisError, ScoresMissing, UnknownName
from score.frames import SCORE_COLUMNS

ADVICE = "write it with: rejudge score BENCH --store STORE --out DIR"


@dataclass(frozen=True, slots=True)
class Scores:
    """All scores of one folder."""

    frame: pl.DataFrame
    signature: dict[str, Any]

    @property
    def judges(self) -> list[str]:
        """Judges that the scores have verdicts of, or lack them of, in alphabetical order."""
        return sorted(set(self.frame["judge"].unique()) - {""})

    @property
    def has_similarity(self) -> bool:
        """Whether similarity of texts was computed."""
        return self.signature.get("similarity") is not None

    @property
    def exact_sums(self) -> bool:
        """How the profile adds up; its means must be repeated by the same rule."""
        return bool(self.signature.get("profile", {}).get("exact_sums", True))

    def chosen_judge(self, asked: str | None) -> str:
        """Return the judge whose scores are shown: the one asked for, or the only one.

        Returns:
            The judge's name; "" where these scores know no judge and none was asked for.

        Raises:
            UnknownName: The judge asked for is not in these scores.
            AnalysisError: None was asked for and there are several.
        """
        if asked is not None and asked not in self.judges:
            advice = "Grade with it (rejudge judge), then score with --judge"
            raise UnknownName("scores of judge", asked, self.judges, advice)
        if asked is None and len(self.judges) > 1:
            listed = ", ".join(self.judges)
            raise AnalysisError(f"these scores have several judges, choose with --judge: {listed}")
        return asked or next(iter(self.judges), "")


def load_scores(folder: Path) -> Scores:
    """Read a folder that ``rejudge score`` wrote.

    Raises:
        ScoresMissing: The folder or a file in it is missing, unreadable, or lacks a column.
    """
    path = folder / "scores.parquet"
    if not path.is_file():
        raise ScoresMissing(f"{path} is not there; {ADVICE}")
    try:
        frame = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ScoresMissing(f"{path} is no readable Parquet file ({error}); {ADVICE}") from error
    if lacking := [name for name in SCORE_COLUMNS if name not in frame.columns]:
        raise ScoresMissing(f"{path} has no column {', '.join(lacking)}; {ADVICE}")
    signature = folder / "signature.json"
    try:
        made = json.loads(signature.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ScoresMissing(f"{signature} is not readable ({error}); {ADVICE}") from error
    if not isinstance(made, dict):
        raise ScoresMissing(f"{signature} is no JSON object; {ADVICE}")
    return Scores(frame, made)
