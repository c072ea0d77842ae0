"""The folder of a report: written beside its place, then moved there.

A report replaces an earlier report, and touches nothing else that lies in the folder. Which files
are its own is in ``report.json``, which is written last.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from analysis.errors import OutputUnwritable
from analysis.report.script import as_script

RECORD = "report.json"


class Folder:
    """Where the files of a report are written."""

    def __init__(self, root: Path, place: Path) -> None:
        self.root = root
        """Where they are written."""
        self.place = place
        """Where they will lie."""
        self.sizes: dict[str, int] = {}
        """File → its bytes."""

    def write(self, name: str, data: bytes) -> None:
        """Write a file; its folder is made."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self.sizes[name] = len(data)

    def script(self, name: str, text: str) -> None:
        """Write JSON under ``data/`` as a script that hands it over."""
        self.write(f"data/{name}.js", as_script(name, text))

    def copy(self, name: str, source: Path) -> None:
        """Copy a file; it is copied once."""
        if name not in self.sizes:
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, path)
            self.sizes[name] = path.stat().st_size


@contextlib.contextmanager
def replaced(place: Path, record: Mapping[str, Any]) -> Iterator[Folder]:
    """Yield a folder to write to; what was written replaces the report at ``place``.

    Args:
        place: The report's folder.
        record: What ``report.json`` says beside the files.

    Raises:
        OutputUnwritable: the folder cannot be made or written to, or holds what is no report.
    """
    place = place.absolute()
    beside = _beside(place, os.getpid())
    try:
        earlier = _earlier(place)
        _remove_leftovers(place)
        beside.mkdir(parents=True)
        folder = Folder(beside, place)
        yield folder
        text = json.dumps({**record, "files": sorted(folder.sizes)}, indent=1) + "\n"
        _move(folder, earlier, text)
    except OSError as error:
        raise OutputUnwritable(
            f"the report cannot be written to {place}: {error}; name a folder with --out"
        ) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _beside(place: Path, process: int) -> Path:
    """Where a process writes a report; its machine is named, as others may share the disk."""
    return place.with_name(f".{place.name}.{socket.gethostname()}.{process}")


def _remove_leftovers(place: Path) -> None:
    """Remove what processes of this machine wrote beside a report and were killed over."""
    pattern = re.compile(re.escape(_beside(place, 0).name[:-1]) + r"(\d{1,9})")
    for found in place.parent.glob(".*"):
        written = pattern.fullmatch(found.name)
        if written and not _lives(int(written[1])):
            shutil.rmtree(found, ignore_errors=True)


def _lives(process: int) -> bool:
    """Whether another process of this number runs."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _earlier(place: Path) -> list[str]:
    """The files of an earlier report.

    Raises:
        OutputUnwritable: something else lies there.
    """
    if not place.exists() or (place.is_dir() and not any(place.iterdir())):
        return []
    try:
        files = json.loads((place / RECORD).read_text("utf-8"))["files"]
        names = [str(name) for name in files]
    except (OSError, ValueError, KeyError, TypeError):
        raise OutputUnwritable(
            f"{place} holds something that is no report; name a new or empty folder with --out"
        ) from None
    inside = [
        name for name in names if ".." not in Path(name).parts and not Path(name).is_absolute()
    ]
    return [*inside, RECORD]


def _move(folder: Folder, earlier: list[str], record: str) -> None:
    place = folder.place
    (place / RECORD).unlink(missing_ok=True)
    for name in folder.sizes:
        target = place / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (folder.root / name).replace(target)
    for name in set(earlier) - set(folder.sizes) - {RECORD}:
        (place / name).unlink(missing_ok=True)
    (place / RECORD).write_text(record, "utf-8")
