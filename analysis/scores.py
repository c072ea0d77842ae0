"""What ``rejudge score`` wrote: the scores, and the signature that says how they were made.

DIR/scores.parquet        one row a run × item × metric × judge
DIR/signature.json        benchmark, profile, judges, versions
DIR/items.parquet         what slices are made of        ┐
DIR/errors.parquet        error types of localizations   │ read when something needs them
DIR/predictions.parquet   what was read from answers     │
DIR/estimates.parquet     intervals, where there are any ┘
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from analysis.errors import UnknownName
from score.answers import SCORED, UNPARSED
from score.checked import read_signature, read_table
from score.frames import SCORE_COLUMNS
from score.slices import membership
from score.statistics.panel import design_of
from score.statistics.resample import Resamples, resample
from score.taxonomy import ERROR_TYPES

#: How the share of an error type is named as a metric.
ERROR = "error:"


@dataclass(frozen=True)
class Scores:
    """All scores of one folder."""

    frame: pl.DataFrame
    signature: dict[str, Any]
    folder: Path

    @cached_property
    def digest(self) -> str:
        """What names these scores: the beginning of their signature's SHA-256.

        The signature has a digest of each table, so that other answers or verdicts have another.
        """
        text = json.dumps(self.signature, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @cached_property
    def metrics(self) -> set[str]:
        """Names of the metrics that there are rows of."""
        return set(self.frame["metric"].unique())

    @cached_property
    def model_of(self) -> dict[str, str]:
        """Run → its model."""
        return dict(self.frame.select("run", "model").unique().sort("run").iter_rows())

    def settings_of(self, run: str) -> dict[str, Any]:
        """Return the settings that a run was made with; empty where the signature has none."""
        made = self.signature.get("runs", {}).get(run, {})
        settings: dict[str, Any] = made.get("settings", {})
        return settings

    def scale_of(self, judge: str) -> tuple[float, float] | None:
        """Return the least and the greatest score of a judge; None where that is not known."""
        scale = self.signature.get("judges", {}).get(judge, {}).get("scale") or {}
        least, greatest = scale.get("min"), scale.get("max")
        if least is None or greatest is None or not least < greatest:
            return None
        return float(least), float(greatest)

    @cached_property
    def items(self) -> pl.DataFrame:
        """Rows of ``items.parquet``."""
        return self.table("items", ("item", "task"))

    @cached_property
    def with_errors(self) -> pl.DataFrame:
        """The scores, and for each error type a metric: 1 where a prediction is of it, else 0."""
        if not self.has_table("errors"):
            return self.frame
        keys = ["run", "item", "sample"]
        located = self.frame.filter(pl.col("task") == "localization").unique(keys)
        # Another judge has another view of the rationales, and so of what is an error.
        classed = self.table("errors", (*keys, "judge", "error_type"))
        parts = [
            located.drop("judge", "metric", "value", "status", "reason")
            .join(of_judge.select(*keys, "error_type"), on=keys, how="left")
            .with_columns(
                pl.lit(f"{ERROR}{name}").alias("metric"),
                pl.lit(judge).alias("judge"),
                (pl.col("error_type") == name).cast(pl.Float64).alias("value"),
                pl.when(pl.col("error_type").is_null())
                .then(pl.lit(UNPARSED))
                .otherwise(pl.lit(SCORED))
                .cast(self.frame.schema["status"])
                .alias("status"),
                pl.when(pl.col("error_type").is_null())
                .then(pl.lit("no prediction to class"))
                .otherwise(pl.lit(""))
                .alias("reason"),
            )
            .select(self.frame.columns)
            for (judge,), of_judge in sorted(
                classed.partition_by("judge", as_dict=True, include_key=False).items()
            )
            for name in ERROR_TYPES
        ]
        return pl.concat([self.frame, *parts])

    @cached_property
    def resamples(self) -> Resamples:
        """The draws of intervals and tests that are made here: those that scoring takes."""
        return resample(design_of(self.frame))

    def members(self, attribute: str) -> pl.DataFrame:
        """Return which slices each item is in: rows of item, slice and weight."""
        if attribute == "topic":
            own = self.frame.select("item", pl.col("topic").alias("slice")).unique()
            return own.with_columns(pl.lit(1.0).alias("weight"))
        return membership(self.items, attribute)

    def has_table(self, name: str) -> bool:
        """Whether a file of these scores is there."""
        return (self.folder / f"{name}.parquet").is_file()

    def table(self, name: str, columns: tuple[str, ...]) -> pl.DataFrame:
        """Read a file of these scores.

        Raises:
            ScoresMissing: It is missing or not as scoring writes it.
        """
        return read_table(self.folder / f"{name}.parquet", columns, self.signature)

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
            The judge's name; "" where none was asked for and these scores know no judge or
            several: :meth:`unchosen` tells them apart.

        Raises:
            UnknownName: The judge asked for is not in these scores.
        """
        if asked is not None and asked not in self.judges:
            advice = "Grade with it (rejudge judge), then score with --judge"
            raise UnknownName("scores of judge", asked, self.judges, advice)
        return asked or (self.judges[0] if len(self.judges) == 1 else "")

    def unchosen(self, judge: str) -> str:
        """Say that one judge must be chosen, of what shows one judge's scores; empty: none must.

        Args:
            judge: The judge that was chosen, "" for none.
        """
        if judge or len(self.judges) < 2:
            return ""
        return f"it shows the scores of one judge; choose with --judge: {', '.join(self.judges)}"


def load_scores(folder: Path) -> Scores:
    """Read a folder that ``rejudge score`` wrote.

    Raises:
        ScoresMissing: The folder or a file in it is missing or not as scoring writes it.
    """
    made = read_signature(folder)
    return Scores(read_table(folder / "scores.parquet", SCORE_COLUMNS, made), made, folder)
