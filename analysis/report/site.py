"""One ``rejudge report``: a folder of scores to a folder that a browser opens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.report import agreed, board, compared, failed
from analysis.report.catalog import metrics_of, write_catalog
from analysis.report.entries import Entries
from analysis.report.folder import Folder, replaced
from analysis.report.media import Media
from analysis.report.pages import STATIC, page, signature_text, static
from analysis.report.script import as_json
from analysis.report.shown import Metric
from analysis.report.source import Source, open_source
from analysis.report.texts import Texts
from score.answers import STATUSES
from score.track import Track, untracked

#: Characters of a chunk, after which it is closed. One item is never split.
_CHUNK = 250_000


@dataclass(frozen=True, slots=True)
class Report:
    """What was written."""

    index: Path
    n_items: int
    n_answers: int
    n_files: int
    n_bytes: int
    notes: tuple[str, ...]
    """What the report lacks, and how to have it."""


def make_report(
    folder: Path,
    out: Path,
    *,
    store: Path | None = None,
    data: Path | None = None,
    track: Track = untracked,
) -> Report:
    """Write a report.

    Args:
        folder: What ``rejudge score`` wrote.
        out: Where to: a new or empty folder, or an earlier report's.
        store: The store that was scored; None: no raw answers.
        data: The benchmark's data; None: bundled ones, if it is a bundled benchmark.
        track: Shows how far it is.

    Raises:
        ScoresMissing: the folder holds no scores, or a comparison that cannot be read.
        OutputUnwritable: the report cannot be written there.
        BenchError: the data cannot be used.
        StoreError: the store cannot be read.
    """
    with open_source(folder, store, data) as source:
        return write_report(source, out, track=track)


def write_report(source: Source, out: Path, *, track: Track = untracked) -> Report:
    """Write a report of what was read.

    Args:
        source: What is reported.
        out: Where to: a new or empty folder, or an earlier report's.
        track: Shows how far it is.

    Raises:
        ScoresMissing: a comparison cannot be read.
        OutputUnwritable: the report cannot be written there.
        StoreError: the store cannot be read.
    """
    n_answers = len(source.predictions)
    ids, metrics = source.item_ids, metrics_of(source)
    record = {"benchmark": source.benchmark, "items": len(ids), "answers": n_answers}
    with replaced(out, record) as made:
        chunks = _write_chunks(source, made, ids, metrics, track)
        write_catalog(source, made, ids, chunks, metrics)
        for name in STATIC:
            made.write(f"static/{name}", static(name))
        shared = {"benchmark": source.benchmark, "notes": source.notes}
        made.write("answers.html", page("answers", shared))
        made.write("index.html", page("index", {**shared, **_overview(source, metrics)}))
    n_bytes = sum(made.sizes.values())
    return Report(out / "index.html", len(ids), n_answers, len(made.sizes), n_bytes, source.notes)


def _write_chunks(
    source: Source, folder: Folder, ids: Sequence[str], metrics: list[Metric], track: Track
) -> list[int]:
    """Write the items with their answers; return the number of each chunk's first item."""
    texts, media = Texts(folder), Media(folder, copied=source.bundled)
    entries = Entries(source, texts, media, metrics)
    starts: list[int] = []
    kept: list[str] = []
    size = 0
    for place, entry in enumerate(track(entries.of(ids), len(ids), "report: items")):
        if not kept:
            starts.append(place)
        text = as_json(entry)
        kept.append(text)
        size += len(text)
        if size > _CHUNK or place == len(ids) - 1:
            folder.script(f"chunk-{len(starts) - 1:04}", f"[{','.join(kept)}]")
            kept, size = [], 0
    return starts


def _overview(source: Source, metrics: list[Metric]) -> dict[str, Any]:
    types, errors = failed.error_types(source)
    return {
        "boards": board.boards(source, metrics),
        "slices": board.sliced(source, metrics),
        "readings": board.READINGS,
        "few": board.FEW,
        "mean": source.mean.replace("-", " "),
        "level": f"{100 * source.estimates['level'][0]:g}",
        "comparisons": compared.comparisons(source),
        "agreed": agreed.agreement(source),
        "measures": list(agreed.MEASURES.values()),
        "statuses": STATUSES,
        "endings": failed.endings(source, STATUSES),
        "reasons": failed.reasons(source),
        "error_types": types,
        "errors": errors,
        "n_items": len(source.item_ids),
        "n_answers": len(source.predictions),
        "n_runs": source.predictions["run"].n_unique(),
        "signature": signature_text(source.scored.signature),
    }
