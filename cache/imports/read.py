"""Read another suite's files, by the name of their format."""

from __future__ import annotations

from pathlib import Path

from cache.errors import ImportFault
from cache.imports.answer import ImportedAnswer
from cache.imports.lmms_eval import read_samples
from cache.imports.omniassist import read_replies
from cache.imports.sonic_o1 import read_predictions

FORMATS = ("sonic-o1", "omniassist", "lmms-eval")


def read_answers(source: Path, form: str, model: str | None = None) -> list[ImportedAnswer]:
    """Read every answer of a file or folder.

    Args:
        source: the file or folder.
        form: one of ``FORMATS``.
        model: the model's name; None takes what the files say.

    Raises:
        ImportFault: a file is not what it should be, or there is none.
    """
    if form == "omniassist":
        return list(read_replies(source, model))
    if form == "lmms-eval":
        return list(read_samples(source, model))
    if form != "sonic-o1":
        raise ImportFault(f"no format {form!r}; there are: {', '.join(FORMATS)}")
    if model is not None:
        raise ImportFault("--model is not for sonic-o1: its files hold the model's name")
    return list(read_predictions(source))
