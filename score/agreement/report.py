"""Agreement for people and for machines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from score.agreement.agree import Agreed, Agreement
from score.statistics.estimate import Estimate

_SHORT = {
    "pearson": "Pearson",
    "spearman": "Spearman",
    "weighted_kappa": "weighted κ",
    "alpha_ordinal": "α ordinal",
    "alpha_interval": "α interval",
    "mean_difference": "second − first",
}
_MOST_STEPS = 11
_NONE = "–"


def as_dict(found: Agreed) -> dict[str, Any]:
    """Return everything as JSON values."""
    return asdict(found)


def as_text(found: Agreed) -> str:
    """Return tables for people, with what they must know below."""
    floor = set(found.made["floor"])
    between = [one for one in found.agreements if one.second not in floor]
    below = [one for one in found.agreements if one.second in floor and not one.run]
    parts = [_agreements(between)] if between else ["No two of them have scored the same texts."]
    if below:
        parts.append(f"Floor: with a formula that is no judge\n{_agreements(below)}")
    if found.joints:
        parts.append(f"All judges together\n{_joints(found)}")
    parts += [_confusion(one) for one in between if _is_small(one)]
    if found.rankings:
        parts.append(f"Order of the runs\n{_rankings(found, floor)}")
    if found.repeated:
        parts.append(f"The same text again\n{_repeated(found)}")
    parts.append(f"Verdicts\n{_failures(found)}")
    return "\n\n".join([*parts, "\n".join(_notes(found))])


def _agreements(found: Sequence[Agreement]) -> str:
    body = [
        [
            one.first,
            one.second,
            f"{one.task} {one.metric}",
            one.run or "all",
            *(_estimate(one.measures[name]) for name in _SHORT),
            f"{one.n} in {_clusters(one)}",
        ]
        for one in found
    ]
    return _table(["first", "second", "metric", "run", *_SHORT.values(), "n"], body)


def _clusters(one: Agreement) -> int:
    return max(estimate.n_clusters for estimate in one.measures.values())


def _joints(found: Agreed) -> str:
    body = [
        [
            ", ".join(one.raters),
            f"{one.task} {one.metric}",
            *map(_estimate, one.measures.values()),
        ]
        for one in found.joints
    ]
    return _table(["judges", "metric", "α ordinal", "α interval"], body)


def _is_small(one: Agreement) -> bool:
    scores = {score for first, second, _ in one.confusion for score in (first, second)}
    whole = all(score.is_integer() for score in scores)
    return bool(scores) and whole and len(scores) <= _MOST_STEPS


def _confusion(one: Agreement) -> str:
    counts = {(first, second): n for first, second, n in one.confusion}
    steps = sorted({score for pair in counts for score in pair})
    body = [
        [f"{first:g}", *(str(counts.get((first, second), "")) for second in steps)]
        for first in steps
    ]
    table = _table([f"{one.first} ↓", *(f"{step:g}" for step in steps)], body)
    return f"{one.task} {one.metric}: {one.first} (rows) and {one.second} (columns)\n{table}"


def _rankings(found: Agreed, floor: set[str]) -> str:
    body = []
    for one in found.rankings:
        if one.second in floor:
            continue
        orders = [
            " > ".join(sorted(one.means, key=lambda run, at=at, of=one: -of.means[run][at]))  # type: ignore[misc]
            for at in (0, 1)
        ]
        body.append(
            [one.first, one.second, f"{one.task} {one.metric}", _estimate(one.tau), *orders]
        )
    return _table(["first", "second", "metric", "Kendall's τ", "by the first", "second"], body)


def _repeated(found: Agreed) -> str:
    body = [
        [one.judge, one.run, one.metric, f"{one.mean_spread:.3f}", f"{one.unanimous:.0%}", one.n]
        for one in found.repeated
    ]
    return _table(["judge", "run", "metric", "mean spread", "unanimous", "n"], body)


def _failures(found: Agreed) -> str:
    body = [
        [
            one.judge,
            one.run,
            f"{one.scored} of {one.n}",
            one.judge_failed,
            _NONE if one.rate is None else f"{one.rate:.1%}",
            one.infra_failed,
            one.missing,
            next(iter(one.reasons), ""),
        ]
        for one in found.failures
    ]
    names = ["judge", "run", "verdicts", "judge_failed", "rate", "infra_failed", "missing", "most"]
    return _table(names, body)


def _notes(found: Agreed) -> list[str]:
    drawn, level = found.made["resampling"], found.made["level"]
    notes = [
        f"In brackets {100 * level:g}% intervals: {drawn['resamples']} resamples of each "
        f"measure's clusters (column n), seed {drawn['seed']}. {_NONE}: undefined.",
    ]
    estimates = [one for agreed in found.agreements for one in agreed.measures.values()]
    reasons = dict.fromkeys(one.reason for one in estimates if one.reason)
    notes += [f"Undefined: {reason}." for reason in reasons]
    if found.made["floor"]:
        notes.append(f"{' and '.join(found.made['floor'])}: formulas, no language models.")
    return notes


def _estimate(found: Estimate) -> str:
    if found.value is None:
        return _NONE
    if found.low is None or found.high is None:
        return f"{found.value:.3f}"
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"


def _table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    body = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(headings, *body, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (headings, *body)
    )
    return "\n".join(lines)
