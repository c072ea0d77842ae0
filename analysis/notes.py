"""Under a table: how its numbers were made, of how many answers, and why some are missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from string import ascii_lowercase

from analysis.layout import Layout
from analysis.scores import Scores
from analysis.table import Block, Cell, Choice, Note, Reading, Row

#: Engines of judges that are formulas.
FORMULAS = ("lexical", "embedding")

READINGS = {
    Reading.SCORED_ONLY: "Means are of scored answers only",
    Reading.FAILURES_AS_WRONG: "Means are of all expected answers; one without a score counts 0",
}


def missing_marks(blocks: Iterable[Block]) -> tuple[tuple[Block, ...], tuple[Note, ...]]:
    """Mark every empty cell with a letter, and return the notes that say why, one a reason."""
    letters: dict[str, str] = {}

    def marked(cell: Cell) -> Cell:
        if not cell.why:
            return cell
        if cell.why not in letters:
            count = len(letters)
            letters[cell.why] = ascii_lowercase[count % 26] * (1 + count // 26)
        return replace(cell, mark=letters[cell.why])

    done = tuple(
        replace(
            block, rows=tuple(replace(r, cells=tuple(map(marked, r.cells))) for r in block.rows)
        )
        for block in blocks
    )
    return done, tuple(Note(f"{why}.", letter) for why, letter in letters.items())


def footer(layout: Layout, blocks: Sequence[Block], scores: Scores, choice: Choice) -> list[Note]:
    """Return the notes on how the numbers of a table were made."""
    lines = [
        _means(layout, choice, scores),
        _units(layout),
        *_counts(layout, blocks[0]),
        _truncated(layout, scores),
    ]
    if any(slot.metric.judge for slot in layout.slots):
        lines.append(_judge(choice.judge, scores))
    if len(blocks) > 1:
        lines.append(
            "Published rows are the paper's own values, by its own judge, on its whole benchmark; "
            "each block is ranked by itself."
        )
    benchmarks = ", ".join(sorted(scores.frame["benchmark"].unique()))
    lines.append(f"Best of a column in bold, second underlined. Benchmark: {benchmarks}.")
    return [Note(line) for line in lines if line]


def _means(layout: Layout, choice: Choice, scores: Scores) -> str:
    macro = any(not slot.column.topic for slot in layout.slots)
    how = ", within each topic first, then over topics" if macro else ""
    profile = scores.signature.get("profile", {}).get("name", "strict")
    return f"{READINGS[choice.reading]}{how}. Scoring profile: {profile}."


def _units(layout: Layout) -> str:
    """Say each unit once: "In per cent: Acc, mIoU. In seconds: MAE."."""
    names = {"%": "per cent", "s": "seconds"}
    parts = [
        f"In {name}: "
        + ", ".join(dict.fromkeys(s.metric.label for s in layout.slots if s.metric.unit == unit))
        for unit, name in names.items()
        if any(slot.metric.unit == unit for slot in layout.slots)
    ]
    return ". ".join(parts) + "." if parts else ""


def _counts(layout: Layout, runs: Block) -> list[str]:
    """Say how many answers each mean is of; runs with the same counts share a line."""
    lines: dict[str, list[str]] = {}
    for row in runs.rows:
        lines.setdefault(_count_line(layout, row), []).append(row.label)
    return [f"Scored of expected, {', '.join(names)}: {line}." for line, names in lines.items()]


def _count_line(layout: Layout, row: Row) -> str:
    parts: list[str] = []
    pairs = zip(layout.slots, row.cells, strict=True)
    for heading, members in groupby(pairs, key=lambda pair: pair[0].heading):
        counts: dict[str, list[str]] = {}
        for slot, cell in members:
            counts.setdefault(_count(cell), []).append(slot.metric.label)
        if len(counts) == 1:
            parts.append(f"{heading} {next(iter(counts))}")
        else:
            each = ", ".join(f"{'/'.join(names)} {count}" for count, names in counts.items())
            parts.append(f"{heading} {each}")
    return "; ".join(parts)


def _count(cell: Cell) -> str:
    if not cell.n_expected:
        return "not asked"
    without = cell.n_unscored_topics
    gap = f" ({without} topic{'s' * (without > 1)} without a score)" if without else ""
    return f"{cell.n_scored} of {cell.n_expected}{gap}"


def _judge(judge: str, scores: Scores) -> str:
    """Name the judge, and say what kind it is."""
    if not judge:
        return "Judge: none; these scores have no verdicts."
    made = scores.signature.get("judges", {}).get(judge, {})
    engine, scale = made.get("engine", ""), made.get("scale", {})
    formula = engine in FORMULAS
    kind = "a formula, NOT a language model" if formula else f"model {made.get('model', '?')}"
    rubric = (made.get("rubric") or {}).get("name", "")
    details = [
        kind,
        f"scale {scale['min']:g}–{scale['max']:g}" if {"min", "max"} <= set(scale) else "",
        f"rubric {rubric}" if rubric else "",
    ]
    return f"Judge: {judge} ({', '.join(part for part in details if part)})."


def _truncated(layout: Layout, scores: Scores) -> str:
    """Say how many texts the similarity could only see the beginning of."""
    made = scores.signature.get("similarity") or {}
    shown = any(slot.column.metric.endswith("_similarity") for slot in layout.slots)
    if not shown or not made.get("texts_truncated"):
        return ""
    return f"Sim: the encoder truncated {made['texts_truncated']} of {made['texts']} texts."
