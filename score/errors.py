"""Errors of scoring.

ScoreError               exit code 2
├── UnknownJudge         a name that is neither bundled nor a file
├── SpecError            a judge spec or a rubric does not hold
├── DictionaryError      no dictionary of this name, or a line of it does not hold
├── JudgeUnavailable     exit code 3: the judge's service takes no request, or its key is missing
├── LabelsError          people's labels cannot be read, or lines of them do not hold
├── ScoresMissing        exit code 3: the folder holds no scores
├── OutputUnwritable     exit code 3: results cannot be written where they were asked for
└── FeatureMissing       exit code 3: an optional package or model is not there
"""

from __future__ import annotations


class ScoreError(Exception):
    """Base of everything that scoring raises on purpose."""

    exit_code = 2


class UnknownJudge(ScoreError):
    """No judge of this name."""


class SpecError(ScoreError):
    """A judge spec or a rubric is not usable."""


class DictionaryError(ScoreError):
    """A dictionary of word categories is not usable."""


class JudgeUnavailable(ScoreError):
    """The judge's service takes no request at all, or its API key is not in the environment."""

    exit_code = 3


class FeatureMissing(ScoreError):
    """An optional package or model that this feature needs is not installed."""

    exit_code = 3


class LabelsError(ScoreError):
    """People's labels are not usable."""


class ScoresMissing(ScoreError):
    """The folder does not hold what ``rejudge score`` writes."""

    exit_code = 3


class OutputUnwritable(ScoreError):
    """The results cannot be written to the folder that was asked for."""

    exit_code = 3


def broken(error: Exception, package: str) -> str:
    """Return why a package that is installed could not be imported; empty where it is not.

    Args:
        error: What the import raised.
        package: The package's name as it is imported.
    """
    if isinstance(error, ModuleNotFoundError) and error.name == package:
        return ""
    cause = " ".join(f"{type(error).__name__}: {error}".split())
    return f", which is installed and cannot be imported ({cause})"
