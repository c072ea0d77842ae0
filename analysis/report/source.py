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

from analysis.errors import ScoresMissing
from bench import registry
from bench.errors import UnknownBenchmark
from bench.item import Item, TaskType
from cache.record import Record
from cache.store import Store
from score.answers import SCORED
from score.output import INTERVALS
from score.statistics.estimate import COLUMNS, estimates
from score.statistics.folder import Scored, load
from score.statistics.panel import design_of
from score.statistics.resample import Resamples, resample

_ADVICE = "write it with: rejudge score BENCH --store STORE --out DIR"
_ANSWER = ("run", "model", "task", "item", "sample")


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
    notes: tuple[str, ...]
    """What the report lacks, and how to have it."""

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
        ScoresMissing: a file is missing, unreadable, or lacks a column.
        BenchError: the data were named and cannot be used.
        StoreError: the store cannot be read.
    """
    scored = load(folder)
    predictions = _table(folder, "predictions", (*_ANSWER, "topic", "key", "status", "reason"))
    verdicts = _table(folder, "verdicts", (*_ANSWER, "metric", "judge", "score", "justification"))
    errors = _table(folder, "errors", (*_ANSWER, "judge", "error_type", "why"))
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
            notes=tuple(notes),
        )


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
        return _table(folder, INTERVALS, COLUMNS)
    return estimates(scored.scores, resamples)


def _table(folder: Path, name: str, columns: Sequence[str]) -> pl.DataFrame:
    path = folder / f"{name}.parquet"
    if not path.is_file():
        raise ScoresMissing(f"{path} is not there; {_ADVICE}")
    try:
        frame = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ScoresMissing(f"{path} is no readable Parquet file ({error}); {_ADVICE}") from error
    if lacking := [column for column in columns if column not in frame.columns]:
        raise ScoresMissing(f"{path} has no column {', '.join(lacking)}; {_ADVICE}")
    return frame
