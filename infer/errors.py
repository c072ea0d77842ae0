"""Errors of the inference stage.

InferError               exit code 2
├── UnknownModel         a name that is neither a bundled card nor a file
├── CardError            a model card does not hold
├── PlanError            what was asked for cannot be asked of this model
└── FeatureMissing       exit code 3: a package, a checkpoint or a resource is not there

DecodeError              one file's; it becomes the outcome of its requests, never the job's end
"""

from __future__ import annotations


class InferError(Exception):
    """Base of everything that inference raises on purpose."""

    exit_code = 2


class UnknownModel(InferError):
    """No model card of this name."""


class CardError(InferError):
    """A model card is not usable."""


class PlanError(InferError):
    """The request list cannot be made as asked."""


class FeatureMissing(InferError):
    """A package, a checkpoint or a resource that this run needs is not there."""

    exit_code = 3


class EngineFailed(InferError):
    """The engine did not start in its worker."""

    exit_code = 3


class RayLost(InferError):
    """Ray, or the node it ran on, ended under the job."""

    exit_code = 75


class DecodeError(Exception):
    """A media file, or the asked stretch of it, cannot be decoded."""
