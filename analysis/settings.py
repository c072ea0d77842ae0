"""Comparisons of settings: runs of one model that differ in one setting, and in nothing else.

What a run was made with stands in the signature of the scores. Two runs that differ in a second
setting, too, are not compared: nobody could say which of them made the difference.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.scores import Scores

#: The settings of a run, as its header has them.
Settings = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting whose values are compared."""

    key: str
    """Where it stands in a run's settings, with dots."""
    words: str
    """What it is called in a sentence."""
    title: str
    """Of a figure."""
    option: str
    """What of ``rejudge infer`` sets it."""
    read: Callable[[Settings], tuple[Any, str] | None]
    """Settings → the place of the value among others, and its label; None: not known."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Runs of one model that differ in one setting only."""

    model: str
    label: str
    """The model, and what sets this comparison apart from others of the same model."""
    runs: tuple[tuple[str, str], ...]
    """Label and name of each run, in their order."""


@dataclass(frozen=True, slots=True)
class Compared:
    """All comparisons of one setting."""

    comparisons: tuple[Comparison, ...]
    labels: tuple[str, ...]
    """Of all their runs, each once, in the order of the setting."""
    left_out: Mapping[str, str]
    """A model, or runs of one → why they are in no comparison."""

    @property
    def reasons(self) -> str:
        """Say what is left out and why, on one line; empty: nothing is."""
        return "; ".join(f"{name}: {why}" for name, why in self.left_out.items())


def _modality(settings: Settings) -> tuple[Any, str] | None:
    given = str(settings.get("modality") or "")
    return ((given.count("+"), given), given) if given else None


def _teacher_forcing(settings: Settings) -> tuple[Any, str] | None:
    forced = settings.get("teacher_forcing")
    if forced is None:  # no dialogues
        return None
    return bool(forced), "teacher forcing" if forced else "own answers"


def _size(settings: Settings) -> tuple[Any, str] | None:
    if "preprocessing" not in settings:
        return None
    edge = (settings["preprocessing"] or {}).get("shorter_edge_px")
    return ((0, 0), "native size") if edge is None else ((1, -edge), f"shorter edge {edge}")


#: The name of a figure, and what a table's rows are → the setting.
SETTINGS = {
    "modality": Setting(
        "modality", "media", "The same model with different media", "--modality", _modality
    ),
    "teacher-forcing": Setting(
        "teacher_forcing",
        "teacher forcing",
        "The model's own earlier answers, and the accepted ones in their place",
        "--teacher-forcing",
        _teacher_forcing,
    ),
    "size": Setting(
        "preprocessing.shorter_edge_px",
        "frame size",
        "The same model with frames of different sizes",
        "--size",
        _size,
    ),
}


@dataclass(frozen=True, slots=True)
class _Run:
    name: str
    place: Any
    label: str
    others: Mapping[str, str]
    """All its other settings."""


def compared(scores: Scores, name: str, chosen: Sequence[tuple[str, str]] = ()) -> Compared:
    """Find the runs that differ in one setting only.

    Args:
        scores: The scores.
        name: The setting, of ``SETTINGS``.
        chosen: Runs with their labels, in their order; none: all, in the order of the setting.
    """
    setting = SETTINGS[name]
    labels = dict(chosen)
    by_model: dict[str, list[str]] = {}
    for run in labels or scores.model_of:
        by_model.setdefault(scores.model_of[run], []).append(run)
    comparisons: list[Comparison] = []
    places: dict[str, Any] = {}
    left_out: dict[str, str] = {}
    for model, names in sorted(by_model.items()):
        known = [found for run in names if (found := _run(scores, setting, run))]
        places |= {one.name: one.place for one in known}
        alike: dict[str, list[_Run]] = {}
        for one in known:
            alike.setdefault(json.dumps(one.others, sort_keys=True), []).append(one)
        several = [runs for runs in alike.values() if len({one.label for one in runs}) > 1]
        if not several:
            left_out[model] = _why(setting, known)
            continue
        apart = _differing([runs[0] for runs in several])
        comparisons += [
            Comparison(
                model,
                ", ".join([model, *(_said(key, runs[0].others.get(key)) for key in apart)]),
                _labelled(runs, labels),
            )
            for runs in several
        ]
        inside = {one.name for runs in several for one in runs}
        if alone := [run for run in names if run not in inside]:
            left_out[", ".join(alone)] = f"no run of the model differs in {setting.words} only"
    every = [one for comparison in comparisons for one in comparison.runs]
    ordered = sorted(every, key=lambda one: (places[one[1]], one))
    return Compared(
        tuple(comparisons), tuple(dict.fromkeys(label for label, _ in ordered)), left_out
    )


def _run(scores: Scores, setting: Setting, name: str) -> _Run | None:
    """Return a run with its settings; None where the signature does not have the one."""
    settings = scores.settings_of(name)
    read = setting.read(settings)
    if read is None:
        return None
    benchmark = scores.signature["runs"][name].get("benchmark", "")
    others = dict(_flat({**settings, "benchmark": benchmark}))
    others.pop(setting.key, None)
    return _Run(name, *read, others)


def _flat(settings: Settings, above: str = "") -> Iterable[tuple[str, str]]:
    """Give every setting that is set, with dots in the names of inner ones, as JSON."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        elif value is not None:
            yield f"{above}{key}", json.dumps(value, sort_keys=True)


def _differing(runs: Sequence[_Run]) -> list[str]:
    keys = sorted({key for run in runs for key in run.others})
    return [key for key in keys if len({run.others.get(key) for run in runs}) > 1]


def _labelled(runs: Sequence[_Run], labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return label and name of each run. Those of one value have their name with it."""
    order = list(labels)
    ordered = sorted(
        runs, key=lambda run: order.index(run.name) if order else (run.place, run.name)
    )
    values = [run.label for run in runs]

    def label(run: _Run) -> str:
        own = labels.get(run.name, run.name)
        if own != run.name:
            return own
        return f"{run.label} ({run.name})" if values.count(run.label) > 1 else run.label

    return tuple((label(run), run.name) for run in ordered)


def _why(setting: Setting, known: Sequence[_Run]) -> str:
    """Say why a model has nothing to compare."""
    if not known:
        return f"the scores do not say the {setting.words} of its runs"
    labels = sorted({run.label for run in known})
    if len(labels) == 1:
        return f"it has runs with {labels[0]} only"
    # The setting's values are in none of these: they are not among the others.
    return f"its runs with different {setting.words} differ in {_listed(_differing(known))}, too"


def _listed(keys: Sequence[str]) -> str:
    return ", ".join(key.rpartition(".")[2] for key in keys)


def _said(key: str, value: str | None) -> str:
    """Return a setting and its value, short."""
    if key == "modality" and value is not None:
        return str(json.loads(value))
    name = key.rpartition(".")[2].replace("_", " ")
    if value is None:
        return f"no {name}"
    text = value.strip('"')
    return f"{name} {text[:12]}…" if len(text) > 13 else f"{name} {text}"
