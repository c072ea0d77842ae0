"""Take in another suite's files, or an export of this one, by the name of their format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cache.errors import ImportFault
from cache.imports.answer import ImportedAnswer
from cache.imports.exported import read_export, store_export
from cache.imports.imported import Imported, store_answers
from cache.imports.lmms_eval import read_samples
from cache.imports.omniassist import read_replies
from cache.imports.sonic_o1 import read_predictions
from cache.store import Store

FORMATS = ("sonic-o1", "omniassist", "lmms-eval", "rejudge")


def plan_import(
    source: Path, form: str, *, run: str | None = None, model: str | None = None
) -> Callable[[Store], Imported]:
    """Read and check everything; what is returned puts it into a store.

    Args:
        source: the file or folder.
        form: one of ``FORMATS``.
        run: name of the run to make; None takes the model's name.
        model: the model's name; None takes what the files say.

    Raises:
        ImportFault: a file is not what it should be, or there is none.
    """
    if form == "rejudge":
        if run is not None or model is not None:
            raise ImportFault("--run and --model are not for rejudge: its files hold both names")
        export = read_export(source)
        return lambda store: store_export(store, export)
    answers = read_answers(source, form, model)
    return lambda store: store_answers(store, answers, run=run)


def read_answers(source: Path, form: str, model: str | None = None) -> list[ImportedAnswer]:
    """Read every answer of another suite's file or folder.

    Args:
        source: the file or folder.
        form: one of ``FORMATS`` but ``rejudge``.
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
