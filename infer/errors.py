"""Errors of the inference stage.

InferError               exit code 2
├── UnknownModel         a name that is neither a bundled card nor a file
├── CardError            a model card does not hold
│   └── FileUncut        a stretch of a file is to be sent, and whole files are
├── RemoteCodeRefused    a checkpoint brings code that the user did not allow to run
├── PlanError            what was asked for cannot be asked of this model
│   └── ModalityAbsent   a clip has nothing of the modality that the model is given
├── FeatureMissing       exit code 3: a package, a checkpoint or a resource is not there
├── EngineFailed         exit code 3: the engine does not start, or does not stay up
├── ServiceRefused       exit code 3: a service would turn down every request
├── Interrupted          exit code 75: a signal came before anything was asked
└── RayLost              exit code 75: Ray ended under the job

EngineDied               raised by an engine: its actor ends with it and is started anew
DecodeError              one file's; it becomes the outcome of its requests, never the job's end
"""

from __future__ import annotations

import re
from pathlib import Path

#: The last line of a traceback: ``infer.errors.EngineFailed: …``.
_ERROR = re.compile(r"(?:[a-z_]\w*\.)*[A-Z]\w+: ")


class InferError(Exception):
    """Base of everything that inference raises on purpose."""

    exit_code = 2


class UnknownModel(InferError):
    """No model card of this name."""


class CardError(InferError):
    """A model card is not usable."""


class FileUncut(CardError):
    """A stretch of a file is to be sent, and the engine sends whole files."""


class RemoteCodeRefused(InferError):
    """A checkpoint brings code, and nobody said that it may run."""


class PlanError(InferError):
    """The request list cannot be made as asked."""


class ModalityAbsent(PlanError):
    """A clip has nothing of the modality that the model is to be given."""

    def __init__(self, message: str, clip: Path) -> None:
        super().__init__(message)
        self.clip = clip


class FeatureMissing(InferError):
    """A package, a checkpoint or a resource that this run needs is not there."""

    exit_code = 3


class EngineFailed(InferError):
    """The engine did not start in its worker, or died again and again."""

    exit_code = 3


class ServiceRefused(InferError):
    """A service would turn down every request: no such key, model or money, or nobody answers.

    Raised by an engine's ``answer``. No record is made of the request, and the run ends early with
    everything that is pending left pending: the same command goes on once the cause is gone.
    """

    exit_code = 3


class RayLost(InferError):
    """Ray, or the node it ran on, ended under the job."""

    exit_code = 75


class Interrupted(InferError):
    """A signal asked the command to end; the next start goes on."""

    exit_code = 75


class EngineDied(Exception):
    """The engine is gone and answers nothing more.

    Raised by an engine's ``answer``. The actor ends itself; a new one starts, and the requests that
    were with the engine run alone there, so that the one it died of is found.
    """


class DecodeError(Exception):
    """A media file, or the asked stretch of it, cannot be decoded."""


def last_line(error: Exception) -> str:
    """Return what went wrong in the end, of a message of Ray's with tracebacks and advice."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    errors = [line for line in lines if _ERROR.match(line)]
    causes = [line for line in errors if not line.startswith("ray.exceptions.")]
    return (causes or errors or lines or [type(error).__name__])[-1]
