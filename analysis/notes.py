"""Under a table: how its numbers were made, of how many answers, and why some are missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from string import ascii_lowercase

from analysis.layout import Layout, Slot
from analysis.notes_uncertainty import interval_note, test_note
from analysis.scores import ERROR, Scores
from analysis.settings import SETTINGS, compared
from analysis.spec import PaperSpec, TableSpec
from analysis.table import DAGGER, Block, Cell, Choice, Note, Rank, Reading, Row
from analysis.uncertainty import Tests
from rejudge import __version__

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


def footer(
    paper: PaperSpec,
    spec: TableSpec,
    layout: Layout,
    blocks: Sequence[Block],
    scores: Scores,
    choice: Choice,
    tested: Tests | None,
) -> list[Note]:
    """Return the notes on how the numbers of a table were made."""
    measured = [slot for slot in layout.slots if not slot.model]
    lines = [
        _means(spec, measured, choice, scores),
        _units(layout),
        *(
            _slice_counts(layout, blocks)
            if spec.rows == "slice"
            else _counts(layout, blocks, choice)
        ),
        _truncated(layout, scores),
    ]
    if spec.rows in SETTINGS and (why := compared(scores, spec.rows, choice.runs).reasons):
        lines.append(f"Not compared: {why}.")
    if any(slot.metric.judge for slot in measured):
        judges = scores.judges if spec.rows == "judge" else [choice.judge]
        lines += [_judge(judge, scores) for judge in judges]
    if measured:
        lines += [interval_note(choice, blocks), test_note(choice, blocks, tested)]
    has_rows = any(not row.run and not row.by for block in blocks for row in block.rows)
    if len(measured) < len(layout.slots) or has_rows:
        lines.append(
            "Published values are the paper's own, by its own judge, on its whole benchmark"
            + ("." if spec.rows == "slice" else "; each block is ranked by itself.")
        )
    benchmarks = ", ".join(sorted(scores.frame["benchmark"].unique()))
    lines += [f"{_marks(spec, layout)} Benchmark: {benchmarks}.".strip(), _dagger(layout, blocks)]
    lines.append(f"Made by rejudge {__version__} from scores {scores.digest}.")
    return [Note(line) for line in lines if line]


def _marks(spec: TableSpec, layout: Layout) -> str:
    """Say what bold, underlined and highlighted mean: "Best of a column in bold, …"."""
    if all(slot.metric.better == "neither" for slot in layout.slots):
        return ""
    names = {Rank.BEST: "in bold", Rank.SECOND: "underlined", Rank.WORST: "highlighted"}
    each = [f"{rank.value} {names[rank]}" for rank in spec.ranks]
    if not each:
        return ""
    where = {"slice": "column and group of rows"} | dict.fromkeys(SETTINGS, "column and model")
    each[0] = each[0].replace(" ", f" of a {where.get(spec.rows, 'column')} ", 1)
    return f"{', '.join(each)}.".capitalize()


def _dagger(layout: Layout, blocks: Sequence[Block]) -> str:
    labels = [slot.heading + slot.column.label for slot in layout.slots]
    labels += [block.label + row.label for block in blocks for row in block.rows]
    return f"{DAGGER}: closed-source model." if any(DAGGER in label for label in labels) else ""


def _means(spec: TableSpec, measured: Sequence[Slot], choice: Choice, scores: Scores) -> str:
    profile = scores.signature.get("profile", {}).get("name", "strict")
    whole = spec.rows != "slice" and any(not slot.column.by for slot in measured)
    how = ", within each topic first, then over topics" if whole and spec.mean == "topics" else ""
    shares = measured and all(slot.column.metric.startswith(ERROR) for slot in measured)
    what = "Shares of classed predictions" if shares else READINGS[choice.reading]
    return f"{what}{how}. Scoring profile: {profile}."


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


def _counts(layout: Layout, blocks: Sequence[Block], choice: Choice) -> list[str]:
    """Say how many answers each mean is of; runs with the same counts share a line."""
    lines: dict[str, list[str]] = {}
    for block in blocks:
        for row in block.rows:
            if row.run:
                line = _count_line(layout, row)
                lines.setdefault(line, []).append(
                    choice.label_of(row.run) + (f" ({row.judge})" if row.judge else "")
                )
    return [f"Scored of expected, {', '.join(names)}: {line}." for line, names in lines.items()]


def _slice_counts(layout: Layout, blocks: Sequence[Block]) -> list[str]:
    """Say which share of the answers in all slices is scored; the rows have their sizes."""
    lines: dict[str, list[str]] = {}
    for place, slot in enumerate(layout.slots):
        cells = [row.cells[place] for block in blocks for row in block.rows]
        if slot.model or not any(cell.n_expected for cell in cells):
            continue
        n_scored = sum(cell.n_scored or 0 for cell in cells)
        n_expected = sum(cell.n_expected or 0 for cell in cells)
        name = slot.heading or slot.column.label
        lines.setdefault(f"{100 * n_scored / n_expected:.1f}%", []).append(
            name if name == slot.column.label else f"{name} {slot.column.label}".strip()
        )
    each = [
        f"{'all columns' if len(lines) == 1 else ', '.join(names)} {said}"
        for said, names in lines.items()
    ]
    share = [f"Scored of expected: {'; '.join(each)}."] if each else []
    return ["n: items of the slice here; an item is in every group that it shows.", *share]


def _count_line(layout: Layout, row: Row) -> str:
    parts: list[tuple[str, dict[str, list[str]]]] = []
    pairs = [
        (slot, cell)
        for slot, cell in zip(layout.slots, row.cells, strict=True)
        if not slot.metric.absent
    ]
    for heading, members in groupby(pairs, key=lambda pair: pair[0].heading):
        counts: dict[str, list[str]] = {}
        for slot, cell in members:
            # Columns of one metric in several slices are known by their slices.
            name = slot.column.label if slot.column.label != f"{slot.metric.label} ↓" else ""
            counts.setdefault(_count(cell), []).append(name or slot.metric.label)
        parts.append((heading, counts))
    if len(parts) == 1 and not parts[0][0] and len(parts[0][1]) == 1:
        return next(iter(parts[0][1]))  # one count of all columns needs no names
    return "; ".join(_part(heading, counts) for heading, counts in parts)


def _part(heading: str, counts: dict[str, list[str]]) -> str:
    if heading and len(counts) == 1:
        return f"{heading} {next(iter(counts))}"
    each = ", ".join(f"{'/'.join(names)} {count}" for count, names in counts.items())
    return f"{heading} {each}".strip()


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
    engine, scale = made.get("engine", ""), scores.scale_of(judge)
    formula = engine in FORMULAS
    kind = "a formula, NOT a language model" if formula else f"model {made.get('model', '?')}"
    rubric = (made.get("rubric") or {}).get("name", "")
    details = [
        kind,
        f"scale {scale[0]:g}–{scale[1]:g}" if scale else "",
        f"rubric {rubric}" if rubric else "",
    ]
    return f"Judge: {judge} ({', '.join(part for part in details if part)})."


def _truncated(layout: Layout, scores: Scores) -> str:
    """Say how many texts the similarity could only see the beginning of."""
    made = scores.signature.get("similarity") or {}
    shown = any(slot.column.metric.endswith("_similarity") for slot in layout.slots)
    if not shown or not made.get("texts_truncated"):
        return ""
    return (
        f"Sim: the encoder truncated {made['texts_truncated']} of {made.get('texts', '?')} texts."
    )
