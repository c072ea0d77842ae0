"""Errors of analysis, beside ``score.errors.ScoresMissing``: the folder holds no scores.

AnalysisError             exit code 2
├── UnknownName           no such paper, table or judge; names the known ones
├── TableSpecError        a table specification does not hold
├── JudgeNotChosen        one judge's scores are to be shown, and there are several judges
├── NothingToShow         exit code 3: the scores have nothing for a figure
├── FeatureMissing        exit code 3: figures need a package that is not installed
└── OutputUnwritable      exit code 3: tables or figures cannot be written where asked for
"""

from __future__ import annotations

from collections.abc import Iterable


class AnalysisError(Exception):
    """Base of everything that analysis raises on purpose."""

    exit_code = 2


class UnknownName(AnalysisError):
    """A name that nothing answers to."""

    def __init__(self, kind: str, name: str, known: Iterable[str], advice: str = "") -> None:
        listed = ", ".join(known)
        message = f"no {kind} {name!r}; " + (f"there are: {listed}" if listed else "there is none")
        super().__init__(f"{message}. {advice}" if advice else message)


class TableSpecError(AnalysisError):
    """A table specification is not usable."""


class JudgeNotChosen(AnalysisError):
    """What shows the scores of one judge needs one of several to be chosen."""


class NothingToShow(AnalysisError):
    """The scores have nothing for a figure."""

    exit_code = 3


class FeatureMissing(AnalysisError):
    """Something that only figures need is not installed."""

    exit_code = 3


class OutputUnwritable(AnalysisError):
    """What was made cannot be written to the folder that was asked for."""

    exit_code = 3
