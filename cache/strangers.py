"""Files of a store that no reader looks at: a pack in the wrong place looks like lost answers."""

from __future__ import annotations

import os
from pathlib import Path

from cache.fault import Fault
from cache.layout import is_file, list_files
from cache.pack import list_packs
from cache.runs import run_files

_PLACES = {
    "packs": "packs/<two digits>/<sha256>.jsonl",
    "parts": "parts/<writer>.jsonl",
    "runs": "runs/<name>.jsonl, percent-encoded",
}


def find_strangers(root: Path) -> list[Fault]:
    """What lies in the folders of packs, parts and runs and is none.

    Raises:
        OSError: a folder cannot be read.
    """
    # Looked at twice: what is sealed or joined between a look and the list of what is read is
    # under its old name no more.
    first, second = _look(root), _look(root)
    return [Fault(name, 0, 0, reason) for name, reason in first.items() if name in second]


def _look(root: Path) -> dict[str, str]:
    """What is there and not read: its name → why not."""
    there: dict[str, str] = {}
    for folder in _PLACES:
        for entry in _entries(root / folder):
            if folder == "packs" and entry.is_dir():
                for inner in _entries(Path(entry.path)):
                    there[f"packs/{entry.name}/{inner.name}"] = _why_not(inner, folder)
            else:
                there[f"{folder}/{entry.name}"] = _why_not(entry, folder)
    read = {
        *list_packs(root),
        *(f"parts/{path.name}" for path in list_files(root / "parts", ".jsonl")),
        *(f"runs/{path.name}" for path in run_files(root)),
    }
    return {name: reason for name, reason in sorted(there.items()) if name not in read}


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if not entry.name.startswith(".")]
    except FileNotFoundError:
        return []


def _why_not(entry: os.DirEntry[str], folder: str) -> str:
    if is_file(entry):
        return f"no reader looks here: what is read is {_PLACES[folder]}"
    if entry.is_symlink():
        return "a link to nothing: what it should lead to is not there"
    return f"no file: what is read is {_PLACES[folder]}"
