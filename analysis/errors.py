"""Errors of analysis.

AnalysisError             exit code 2
├── UnknownName           no such paper, table or judge; names the known ones
├── TableSpecError        a table specification does not hold
├── ScoresMissing         exit code 3: the folder holds no scores
└── OutputUnwritable      exit code 3: tables cannot be written where they were asked for
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


class ScoresMissing(AnalysisError):
    """The folder does not hold what ``rejudge score`` writes."""

    exit_code = 3


class OutputUnwritable(AnalysisError):
    """The tables cannot be written to the folder that was asked for."""

    exit_code = 3
