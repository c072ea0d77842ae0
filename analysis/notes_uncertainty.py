"""Under a table: what its intervals and stars are, and why some values have none.

A value without a star did not differ, or was never tested: the notes tell one from the other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from analysis.table import Block, Cell, Choice, Intervals
from analysis.uncertainty import ALPHA, NO_BASELINE, Tests
from score.statistics.resample import LEVEL

_SHOWN = {
    Intervals.PLUS_MINUS: f"±: half the {LEVEL:.0%} interval",
    Intervals.BRACKETS: f"Brackets: {LEVEL:.0%} interval",
}
#: Reasons as statistics gives them, and in words for readers of a table: one for each kind.
_KINDS = (
    (re.compile(r"\d+ items: fewer than (\d+)"), r"fewer than \1 items"),
    (re.compile(r"\d+ clusters: a test takes (\d+)"), r"fewer than \1 videos or dialogues"),
    (re.compile(r"all \d+ clusters are alike"), "all videos or dialogues are alike"),
    (re.compile(r"1 cluster: .*"), "one video or dialogue only"),
    (re.compile(r"topic .* has 1 cluster: .*"), "one video or dialogue only in a topic"),
)


def interval_note(choice: Choice, blocks: Sequence[Block]) -> str:
    """Say what the intervals are, how many values have none and why, and which are of no use."""
    if choice.intervals not in _SHOWN:
        return ""
    measured = [cell for cell in _cells(blocks) if cell.n_expected and cell.value is not None]
    lines = [
        f"{_SHOWN[choice.intervals]}, by resampling whole videos or dialogues within topics.",
        _without("Without interval", [cell.no_interval for cell in measured]),
    ]
    if n_beyond := sum(cell.is_beyond for cell in measured):
        lines.append(
            f"{n_beyond} of {sum(bool(cell.interval) for cell in measured)} intervals reach beyond "
            "the metric's scale: too few videos or dialogues for an interval of use."
        )
    return " ".join(filter(None, lines))


def test_note(choice: Choice, blocks: Sequence[Block], tested: Tests | None) -> str:
    """Say what a star means, how many values were not tested, and why."""
    if tested is None:
        return ""
    name = choice.label_of(choice.baseline)
    others = [c for c in _cells(blocks) if c.value is not None and (c.p is not None or c.no_test)]
    whys = [cell.no_test for cell in others]
    if not others:
        return f"No stars: this table has no values of other runs than {name}."
    if set(whys) == {NO_BASELINE}:
        return f"No stars: {name}, the baseline, has no scores of this table."
    if not tested.said:
        return f"No stars: nothing could be tested against {name}. {_without('Not tested', whys)}"
    star = f"Star: differs from {name}, p < {ALPHA:.2g}, {'; '.join(tested.said)}."
    return f"{star} {_without('Not tested', whys)}".strip()


def _cells(blocks: Iterable[Block]) -> Iterable[Cell]:
    return (cell for block in blocks for row in block.rows for cell in row.cells)


def _without(what: str, reasons: Sequence[str]) -> str:
    """Count values by why they lack something; a value that lacks nothing has an empty reason."""
    kinds = Counter(_in_words(reason) for reason in reasons if reason)
    if not kinds:
        return ""
    each = "; ".join(
        f"{kind}: {count}" if len(kinds) > 1 else kind for kind, count in kinds.most_common()
    )
    return f"{what}: {kinds.total()} of {len(reasons)} values ({each})."


def _in_words(reason: str) -> str:
    for pattern, words in _KINDS:
        if found := pattern.fullmatch(reason):
            return found.expand(words)
    return reason
