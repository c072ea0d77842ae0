"""One item with every run's answer to it, as a chunk holds it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from analysis.report.media import Media
from analysis.report.shown import Metric, number
from analysis.report.source import Source
from analysis.report.texts import Texts
from bench.item import (
    AssistantReference,
    ChoiceReference,
    IntervalReference,
    Item,
    Reference,
    SummaryReference,
)
from cache.record import Record
from score.frames import UNKNOWN

#: Items whose records are read from the store at once.
_AT_ONCE = 400
_WHOSE = ("item", "run", "sample")
_Rows = Mapping[tuple[str, str, int], list[dict[str, Any]]]


class Entries:
    """Makes the entries of a report."""

    def __init__(
        self, source: Source, texts: Texts, media: Media, metrics: Sequence[Metric]
    ) -> None:
        self._source = source
        self._texts = texts
        self._media = media
        self._metrics = {metric: at for at, metric in enumerate(metrics)}
        self._columns = {(run, n): at for at, (run, _, n) in enumerate(source.columns)}
        self._turns: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for item in source.items.values():
            if item.turn:
                self._turns[item.cluster].append((item.turn, item.id))

    def of(self, ids: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield the entries of items, in their order."""
        for begin in range(0, len(ids), _AT_ONCE):
            some = ids[begin : begin + _AT_ONCE]
            tables = [self._rows(name, some) for name in ("predictions", "verdicts", "errors")]
            scores = self._grouped(self._source.scored.scores, some)
            keys = [row["key"] for rows in tables[0].values() for row in rows if row["key"]]
            records = self._source.records(keys)
            expected = defaultdict(list)
            for item, run, sample in tables[0]:
                expected[item].append((self._columns[run, sample], (item, run, sample)))
            for name in some:
                answers = [
                    self._answer(column, whose, tables, scores, records)
                    for column, whose in sorted(expected[name])
                ]
                yield {**self._item(name), "answers": answers}

    def _rows(self, table: str, ids: Sequence[str]) -> _Rows:
        return self._grouped(getattr(self._source, table), ids)

    def _grouped(self, frame: pl.DataFrame, ids: Sequence[str]) -> _Rows:
        found: dict[tuple[str, str, int], list[dict[str, Any]]] = defaultdict(list)
        for row in frame.filter(pl.col("item").is_in(ids)).iter_rows(named=True):
            found[row["item"], row["run"], row["sample"]].append(row)
        return found

    def _item(self, name: str) -> dict[str, Any]:
        item = self._source.items.get(name)
        if item is None:
            return {"id": name}
        segment, example = item.clip.segment, item.example
        return {
            "id": name,
            "cluster": item.cluster,
            "turn": item.turn,
            "turns": sorted(self._turns[item.cluster]) if item.turn else [],
            "question": self._texts.brief(item.question),
            "options": [self._texts.brief(option) for option in item.options],
            "reference": self._reference(item.reference),
            "segment": None if segment is None else [segment.start_s, segment.end_s],
            "duration": item.attributes.duration_s,
            "media": self._media.links(item.clip),
            "example": {} if example is None else self._media.links(example),
            "attributes": _attributes(item),
        }

    def _reference(self, found: Reference | None) -> dict[str, Any] | None:
        brief = self._texts.brief
        match found:
            case SummaryReference():
                return {"detailed": brief(found.detailed), "short": [brief(s) for s in found.short]}
            case ChoiceReference():
                return {"option": found.index, "rationale": brief(found.rationale)}
            case IntervalReference():
                return {"interval": [found.start_s, found.end_s],
                        "rationale": brief(found.rationale)}  # fmt: skip
            case AssistantReference():
                points = [" / ".join(alternatives) for alternatives in found.key_points]
                return {"answers": [brief(one) for one in found.answers],
                        "keyPoints": [brief(point) for point in points]}  # fmt: skip
        return None

    def _answer(
        self,
        column: int,
        whose: tuple[str, str, int],
        tables: Sequence[_Rows],
        scores: _Rows,
        records: Mapping[str, Record],
    ) -> dict[str, Any]:
        predicted, verdicts, errors = (table.get(whose, []) for table in tables)
        row = predicted[0]
        record = records.get(row["key"] or "")
        return {
            "column": column,
            "key": row["key"] or "",
            "status": row["status"],
            "reason": row["reason"] or "",
            "flags": row.get("flags") or [],
            "option": row.get("option"),
            "interval": [row.get("start_s"), row.get("end_s")],
            "confidence": row.get("confidence"),
            "said": None if record is None else self._said(record),
            "scores": [
                [self._metrics[Metric(one["task"], one["metric"], one["judge"])],
                 one["value"], one["status"], one["reason"] or ""]
                for one in scores.get(whose, [])
            ],
            "verdicts": [self._verdict(one) for one in verdicts],
            "errors": [[one["judge"], one["error_type"], one["why"]] for one in errors],
        }  # fmt: skip

    def _said(self, record: Record) -> dict[str, Any]:
        response = record.response
        return {
            "outcome": str(record.outcome),
            "text": self._texts.brief(response.text),
            "reasoning": self._texts.brief(response.reasoning),
            "error": self._texts.brief(response.error),
        }

    def _verdict(self, row: Mapping[str, Any]) -> dict[str, Any]:
        aspects = row.get("aspects") or []
        samples = row.get("samples") or []
        return {
            "judge": row["judge"],
            "metric": row["metric"],
            "score": row["score"],
            "samples": samples if len(samples) > 1 else [],
            "aspects": [[one["name"], one["value"]] for one in aspects],
            "justification": self._texts.brief(row["justification"] or ""),
            "status": row.get("status") or "",
            "reason": row.get("reason") or "",
        }


def _attributes(item: Item) -> list[tuple[str, str]]:
    """(name, value) of what the annotations say."""
    of = item.attributes
    single = {name: getattr(of, name) for name in ("duration", "relation", "sub_task", "tier")}
    found = [(name.replace("_", " "), value) for name, value in single.items() if value != UNKNOWN]
    if of.requires_audio is not None:
        found.append(("needs audio", "yes" if of.requires_audio else "no"))
    if of.duration_s is not None:
        found.append(("video", f"{number(of.duration_s, 1)} s"))
    people = [
        f"{one.count} × {', '.join(filter(None, (one.race, one.gender, one.age, one.language)))}"
        for one in of.demographics
    ]
    return [*found, *([("people", "; ".join(people))] if people else [])]
