"""What a report is made of.

Always: the files that ``rejudge score`` wrote. Where the benchmark's data are at hand: the items
with question, options and reference. Where the store is: what each model really said.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from analysis.errors import AnalysisError
from analysis.report.shown import Metric
from analysis.scores import Scores
from analysis.spec import paper_of
from bench import registry
from bench.errors import UnknownBenchmark
from bench.item import Item, TaskType
from cache.record import Record
from cache.store import Store
from score.answers import SCORED
from score.checked import read_table
from score.errors import ScoresMissing
from score.output import INTERVALS
from score.statistics.estimate import COLUMNS, estimates
from score.statistics.folder import Scored, load
from score.statistics.panel import design_of
from score.statistics.resample import Resamples, resample

_ANSWER = ("run", "model", "task", "item", "sample")
_TABLES = {
    "predictions": (*_ANSWER, "topic", "key", "status", "reason"),
    "verdicts": (*_ANSWER, "metric", "judge", "score", "justification"),
    "errors": (*_ANSWER, "judge", "error_type", "why"),
}


@dataclass(frozen=True, slots=True)
class Source:
    """Everything that one report shows."""

    folder: Path
    scored: Scored
    predictions: pl.DataFrame
    verdicts: pl.DataFrame
    errors: pl.DataFrame
    estimates: pl.DataFrame
    resamples: Resamples
    """Draws for what has no interval yet."""
    benchmark: str
    items: Mapping[str, Item]
    """Empty where the benchmark's data are not at hand."""
    bundled: bool
    """The data came with the package."""
    store: Store | None
    per_point: Mapping[Metric, float]
    """Judges' metrics that are shown as points of 100, as in tables → what a score is multiplied
    by."""
    notes: tuple[str, ...]
    """What the report lacks, and how to have it."""

    @property
    def mean(self) -> str:
        """What means of all items are over: ``over-topics`` or ``over-items``."""
        return "over-topics" if registry.is_over_topics(self.benchmark) else "over-items"

    def metric(self, task: str, name: str, judge: str = "") -> Metric:
        """Return a metric as it is shown."""
        return Metric(task, name, judge, self.per_point.get(Metric(task, name, judge)))

    @property
    def item_ids(self) -> list[str]:
        """Items with an answer expected of some run, in the benchmark's order."""
        asked = set(self.predictions["item"].unique())
        listed = [name for name in self.scored.items["item"] if name in asked]
        return [*listed, *sorted(asked - set(listed))]

    @property
    def columns(self) -> list[tuple[str, str, int]]:
        """(run, model, sample) of each answer that an item may have, sorted."""
        found = self.predictions.select("run", "model", "sample").unique()
        return sorted(found.iter_rows())

    @property
    def ended(self) -> pl.DataFrame:
        """How answers ended: run, task, item, sample, status, reason; a row for each different end.

        An answer's metrics may end differently: its option is scored, its rationale was not judged.
        """
        whose = ("run", "task", "item", "sample")
        columns = (*whose, pl.col("status").cast(pl.String), pl.col("reason").fill_null(""))
        scored = self.scored.scores.select(columns)
        read = self.predictions.select(columns)
        # Without any metric, or with fewer than it was expected to have, an answer still ended.
        alone = read.join(scored, on=whose, how="anti")
        failed = read.filter(pl.col("status") != SCORED)
        return pl.concat([scored, alone, failed]).unique()

    def records(self, keys: Sequence[str]) -> Mapping[str, Record]:
        """Read answers from the store; none where there is no store."""
        return {} if self.store is None else self.store.get_many(dict.fromkeys(keys))


@contextlib.contextmanager
def open_source(folder: Path, store: Path | None, data: Path | None) -> Iterator[Source]:
    """Read a folder of scores, and open the store.

    Args:
        folder: What ``rejudge score`` wrote.
        store: The store that was scored; None: the report has no raw answers.
        data: The benchmark's data; None: bundled ones, if it is a bundled benchmark.

    Raises:
        ScoresMissing: a file is missing, unreadable, or not as scoring writes it.
        BenchError: the data were named and cannot be used.
        AnalysisError: the store has none of the answers that were scored.
        StoreError: the store cannot be read.
    """
    scored = load(folder)
    predictions, verdicts, errors = (
        _table(folder, scored, name, columns) for name, columns in _TABLES.items()
    )
    names = scored.scores["benchmark"].unique().to_list()
    if len(names) != 1:
        listed = ", ".join(sorted(names)) or "none"
        raise ScoresMissing(f"{folder} holds scores of {listed}; a report is of one benchmark")
    resamples = resample(design_of(scored.scores))
    benchmark, notes = names[0], []
    items, bundled, note = _items(benchmark, predictions, data)
    notes += [note] if note else []
    if lacking := len(set(predictions["item"].unique()) - set(items)) if items else 0:
        notes.append(f"{lacking} items are not in the benchmark's data: they have no question.")
    if store is None:
        notes.append("Answers as the models gave them are not shown: name the store with --store.")
    with contextlib.ExitStack() as stack:
        opened = None
        if store is not None:
            opened = stack.enter_context(Store(store, read_only=True))
            notes += _unanswered(folder, predictions, store, opened)
        yield Source(
            folder=folder,
            scored=scored,
            predictions=predictions,
            verdicts=verdicts,
            errors=errors,
            estimates=_estimates(folder, scored, resamples),
            resamples=resamples,
            benchmark=benchmark,
            items=items,
            bundled=bundled,
            store=opened,
            per_point=_per_point(folder, scored),
            notes=tuple(notes),
        )


def _table(folder: Path, scored: Scored, name: str, columns: tuple[str, ...]) -> pl.DataFrame:
    return read_table(folder / f"{name}.parquet", columns, scored.signature)


def _unanswered(folder: Path, predictions: pl.DataFrame, path: Path, store: Store) -> list[str]:
    """Say how many of the answers that were scored are not in the store.

    Raises:
        AnalysisError: none of them is.
    """
    keys = predictions["key"].drop_nulls().unique()
    asked = [key for key in keys if key]
    unanswered = store.missing(asked)
    # Failures are stored, too, and are no hits.
    lost = len(unanswered) - len(store.find(unanswered))
    if asked and lost == len(asked):
        raise AnalysisError(
            f"the store {path} holds none of the {lost:,} answers that were scored in {folder}; "
            "name the store that was scored with --store"
        )
    return [f"{lost:,} of {len(asked):,} answers are not in the store."] if lost else []


def _per_point(folder: Path, scored: Scored) -> dict[Metric, float]:
    scores = Scores(scored.scores, dict(scored.signature), folder)
    specs = {str(task): of for task, of in paper_of(scored.scores["task"].unique()).metric.items()}
    found: dict[Metric, float] = {}
    for task, name, judge in scored.scores.select("task", "metric", "judge").unique().iter_rows():
        spec = specs.get(task, {}).get(name)
        scale = scores.scale_of(judge)
        if spec is not None and spec.points and scale is not None:
            found[Metric(task, name, judge)] = 100.0 / scale[1]
    return found


def _items(
    benchmark: str, predictions: pl.DataFrame, data: Path | None
) -> tuple[dict[str, Item], bool, str]:
    """Items by id, whether they came with the package, and what is lacking."""
    lacking = "Questions, references and media are not shown: name the data with --data."
    try:
        known = registry.get(benchmark)
    except UnknownBenchmark:
        if data is not None:
            raise
        return {}, False, lacking
    if data is None and known.bundled is None:
        return {}, False, lacking
    tasks = [TaskType(task) for task in sorted(predictions["task"].unique())]
    found = {item.id: item for item in known.load(data, tasks)}
    return found, data is None, ""


def _estimates(folder: Path, scored: Scored, resamples: Resamples) -> pl.DataFrame:
    """The intervals that scoring wrote; made anew where it was asked to write none."""
    if (folder / f"{INTERVALS}.parquet").is_file():
        return _table(folder, scored, INTERVALS, COLUMNS)
    return estimates(scored.scores, resamples)
