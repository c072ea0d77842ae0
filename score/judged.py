"""Judged files of OmniAssistBench, read and written without loss.

    video_name, video_class, <seven aspects>, score, rationale

An aspect is 2 (yes), 1 (partly), 0 (no) or −1 (not applicable); empty where the judge's word could
not be read. A score is from 0 to 5, or −1 where there is no verdict: that is a status here, never a
number that a mean could take in.

Scores have no place for all of it: rows of turns that are in no mean, aspects without a verdict,
the file's own word for a class. So an imported file is kept beside the scores that were made of it
(``judged/RUN.csv``), and leaves as it came.
"""

from __future__ import annotations

import csv
import io
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.classes import REAL_CASE
from bench.item import AssistantReference, Item
from score.answers import JUDGE_FAILED, SCORED
from score.assistant import BEST, METRIC
from score.errors import OutputUnwritable, ScoreError
from score.output import SIGNATURE, replace_file

if TYPE_CHECKING:
    import polars as pl


ASPECTS = (
    "question_understanding",
    "semantic_alignment",
    "polarity_consistency",
    "keypoint_coverage",
    "silence_protocol",
    "redundancy",
    "conversational_tone",
)
COLUMNS = ("video_name", "video_class", *ASPECTS, "score", "rationale")
NO_VERDICT = -1.0

_WORDS = {"yes": 2.0, "partly": 1.0, "no": 0.0, "not applicable": -1.0, "n/a": -1.0, "na": -1.0}
_LONGEST = 2**31 - 1
_log = logging.getLogger("rejudge.import")
_KEPT = "judged"
#: The class of all real-world cases; their sub-task is which case it is.
_REAL_WORLD = "real-world"


@dataclass(frozen=True, slots=True)
class JudgedRow:
    """What a judge said of one reply."""

    video_name: str
    video_class: str
    aspects: Mapping[str, float | None]
    """2, 1, 0 or −1; None where it could not be read."""
    score: float
    """0 to 5; −1 where there is no verdict."""
    rationale: str

    @property
    def item(self) -> str:
        """The id of the item."""
        return f"assistant/{self.video_name.strip().removesuffix('.mp4')}"


def read_judged(path: Path) -> list[JudgedRow]:
    """Read a judged file; a warning names the columns that are not taken in.

    Raises:
        ScoreError: it cannot be read, or a row is not what it should be; names the line.
    """
    usual = csv.field_size_limit(_LONGEST)
    try:
        # utf-8-sig: spreadsheets put a mark before the first column's name.
        text = path.read_bytes().decode("utf-8-sig")
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        columns = reader.fieldnames or []
        missing = [name for name in COLUMNS if columns.count(name) != 1]
        if missing:
            raise ScoreError(
                f"{path}: expected each of these columns once: {', '.join(missing)}; found "
                f"{', '.join(columns) or 'none'}"
            )
        if more := sorted(repr(name) for name in columns if name not in COLUMNS):
            _log.warning("%s: not taken in are the columns %s", path, ", ".join(more))
        rows: dict[str, JudgedRow] = {}
        begins = reader.line_num + 1
        for fields in reader:
            row = _row(fields, f"{path} line {begins}")
            if row.item in rows:
                raise ScoreError(f"{path} line {begins}: {row.video_name!r} is there twice")
            rows[row.item] = row
            begins = reader.line_num + 1
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ScoreError(f"{path} is no judged file that can be read: {error}") from error
    finally:
        csv.field_size_limit(usual)
    return list(rows.values())


def read_runs(files: Iterable[Path]) -> dict[str, list[JudgedRow]]:
    """Read judged files, each of the run that it is named like.

    Raises:
        ScoreError: two have one name, or one cannot be read.
    """
    found: dict[str, list[JudgedRow]] = {}
    for path in files:
        if path.stem in found:
            raise ScoreError(f"two files are named {path.stem}: {path} is the second; rename one")
        found[path.stem] = read_judged(path)
    return found


def judged_text(rows: Iterable[JudgedRow]) -> str:
    """Return rows as the text of a judged file."""
    held = io.StringIO(newline="")
    writer = csv.writer(held)  # with CRLF: else a lone CR in a text would not be quoted
    writer.writerow(COLUMNS)
    for row in rows:
        said = [_number(row.aspects.get(name)) for name in ASPECTS]
        writer.writerow([row.video_name, row.video_class, *said, _number(row.score), row.rationale])
    return held.getvalue()


def load_verdicts(folder: Path, judge: str) -> pl.DataFrame:
    """Return the verdicts of a folder of scores, of a judge whose scale a judged file has.

    Raises:
        ScoreError: there are none, or the judge has another scale.
    """
    import polars as pl

    made = _signature(folder)
    try:
        verdicts = pl.read_parquet(folder / "verdicts.parquet")
    except OSError as error:
        raise ScoreError(f"{folder} holds no scores: write them with rejudge score") from error
    scale = made.get("judges", {}).get(judge, {}).get("scale")
    if scale is not None and (scale["min"], scale["max"]) != (0.0, BEST):
        raise ScoreError(
            f"judge {judge} has the scale {scale['min']:g} to {scale['max']:g}, and a judged file "
            "holds scores from 0 to 5"
        )
    return verdicts


def write_judged(rows: Iterable[JudgedRow], path: Path) -> None:
    """Write a judged file, and the folders that it is in.

    Raises:
        OutputUnwritable: it cannot be written.
    """
    text = judged_text(rows)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, lambda beside: beside.write_bytes(text.encode()))
    except OSError as error:
        raise OutputUnwritable(f"{path} cannot be written: {error}") from error


def keep(rows: Iterable[JudgedRow], run: str, folder: Path) -> None:
    """Keep the rows of a judged file beside the scores that are made of them.

    Raises:
        OutputUnwritable: the folder cannot be written to.
    """
    write_judged(rows, folder / _KEPT / f"{run}.csv")


def kept(folder: Path, run: str, judge: str) -> list[JudgedRow] | None:
    """Return the rows of the judged file that a folder of scores was made of; None: of none.

    Raises:
        ScoreError: the folder holds no scores, or they were made of a file that is gone.
    """
    imported = _signature(folder).get("imported", {})
    if imported.get("judge") != judge or run not in imported.get("runs", []):
        return None
    return read_judged(folder / _KEPT / f"{run}.csv")


def rows_of(verdicts: pl.DataFrame, items: Sequence[Item], run: str, judge: str) -> list[JudgedRow]:
    """Return what a judge said of a run: a row for each reply that it was heard on.

    −1 is a reply of the judge that could not be read. A turn without a reply, or one that the judge
    was not asked about or did not answer, has no row: a judged file has no word for it.

    Args:
        verdicts: Rows of ``verdicts.parquet``.
        items: The benchmark's items, in the order of the rows.
        run: The run's name.
        judge: The judge's name.

    Raises:
        ScoreError: the judge said nothing of this run, or answered it several times.
    """
    import polars as pl

    own = verdicts.filter(
        pl.col("run") == run, pl.col("judge") == judge, pl.col("metric") == METRIC
    )
    if own.is_empty():
        there = sorted(verdicts.select("run", "judge").unique().iter_rows())
        known = ", ".join(f"{one} by {other}" for one, other in there) or "none"
        raise ScoreError(f"no verdicts of {judge} on {run}; there are: {known}")
    if own["item"].is_duplicated().any():
        raise ScoreError(f"run {run} has several samples an item, and a judged file has one row")
    heard = own.filter(pl.col("status").cast(pl.String).is_in([SCORED, JUDGE_FAILED]))
    found = {row["item"]: row for row in heard.iter_rows(named=True)}
    return [_row_of(item, found[item.id]) for item in items if item.id in found]


def _row_of(item: Item, row: Mapping[str, Any]) -> JudgedRow:
    aspects = {one["name"]: one["value"] for one in row["aspects"]}
    is_case = item.attributes.tier == _REAL_WORLD
    return JudgedRow(
        video_name=item.id.removeprefix("assistant/"),
        video_class=REAL_CASE if is_case else item.topic,
        aspects={
            name: (-1.0 if aspects[name] is None else aspects[name])
            for name in ASPECTS
            if name in aspects
        },
        score=NO_VERDICT if row["score"] is None else row["score"],
        rationale=row["justification"] or row["reason"],
    )


def is_scored(item: Item) -> bool:
    """Whether a turn has an accepted answer, and so a score."""
    return isinstance(item.reference, AssistantReference) and bool(item.reference.answers)


def _signature(folder: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((folder / SIGNATURE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ScoreError(f"{folder} holds no scores: write them with rejudge score") from error
    return found


def _row(fields: Mapping[str, str | None], where: str) -> JudgedRow:
    if None in fields or None in fields.values():
        raise ScoreError(f"{where}: expected {len(COLUMNS)} fields; a text with a comma is quoted")
    texts = {name: fields[name] or "" for name in COLUMNS}
    if not texts["video_name"].strip():
        raise ScoreError(f"{where}: video_name is empty")
    return JudgedRow(
        video_name=texts["video_name"],
        video_class=texts["video_class"],
        aspects={name: _aspect(texts[name], name, where) for name in ASPECTS},
        score=_score(texts["score"], where),
        rationale=texts["rationale"],
    )


def _aspect(text: str, name: str, where: str) -> float | None:
    plain = text.strip().rstrip(".").lower()
    if not plain or plain == "nan":
        return None
    value = _WORDS.get(plain, _float(plain))
    if value not in (2.0, 1.0, 0.0, -1.0):
        raise ScoreError(f"{where}: {name} is {text!r}; expected 2, 1, 0, -1 or nothing")
    return value


def _score(text: str, where: str) -> float:
    plain = text.strip().lower()
    if plain in ("", "nan", "n/a"):
        return NO_VERDICT
    value = _float(plain)
    if value is None or not (value == NO_VERDICT or 0 <= value <= BEST):
        raise ScoreError(f"{where}: score is {text!r}; expected 0 to 5, or -1 for no verdict")
    return value


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return str(int(value)) if float(value).is_integer() else repr(float(value))
