"""Errors of submitting.

SlurmError               exit code 2
├── ChainError           the chain's TOML does not hold
├── ChainUnderway        jobs of the chain are still in the queue
├── NotSubmitted         nothing of the chain was ever submitted
├── SubmissionDamaged    the record of the submission cannot be read
└── SlurmUnavailable     exit code 3: no SLURM here, or it refused
"""

from __future__ import annotations


class SlurmError(Exception):
    """Base of everything that this package raises on purpose."""

    exit_code = 2


class ChainError(SlurmError):
    """A chain's file is not usable."""


class ChainUnderway(SlurmError):
    """A chain is submitted already."""


class NotSubmitted(SlurmError):
    """There is no record of a submission."""


class SubmissionDamaged(SlurmError):
    """The record of a submission is no record."""


class SlurmUnavailable(SlurmError):
    """A command of SLURM is not there, or it refused what was asked."""

    exit_code = 3
