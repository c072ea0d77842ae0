"""The folder of a store: where what lies, its schema, and the names of writers.

STORE/
  format.json                      {"schema": 1, "digest": "sha256"}
  parts/<host>-<pid>-<uuid>.jsonl  open, one a writer, append only
  packs/3f/<sha256>.jsonl          sealed, read-only, named by the sha256 of its bytes
  runs/<name>.jsonl                a run: one line an item
  media/*.jsonl                    path, size, times, inode → sha256 of a media file
  index/                           rebuildable at any time, never the truth
  quarantine/                      what did not verify, and the later of two answers
  collecting                       who collects garbage, while it is done
"""

from __future__ import annotations

import json
import os
import re
import socket
import time
import uuid
from pathlib import Path

from cache.durable import create_exclusive, make_folder
from cache.errors import StoreUnavailable

SCHEMA = 1
FOLDERS = ("parts", "packs", "runs", "media", "index", "quarantine")

#: A part of another host that nobody has touched for so long counts as its dead writer's.
IDLE_S = 24 * 3600.0

#: A process that started so long after a file's last change did not write it.
_CLOCKS_DIFFER_S = 60.0

_PART_NAME = re.compile(r"(?P<writer>(?P<host>.+)-(?P<pid>\d+)-[0-9a-f]{32})\.jsonl")

#: Names that this process made. A file of our process id that is none of them is from an earlier
#: life of the number.
_ours: set[str] = set()


def open_folder(path: Path, *, create: bool) -> None:
    """Make sure that ``path`` holds a store of our schema, and make one where asked to.

    Raises:
        StoreUnavailable: no store there, a newer one, or the folder cannot be made or read.
    """
    file = path / "format.json"
    try:
        if not file.exists():
            if not create:
                raise StoreUnavailable(
                    f"{path} holds no store (no format.json in it). Name another folder, or let "
                    "`rejudge infer` or `rejudge cache import` make one there."
                )
            _refuse_foreign(path)
            # The folders first: where format.json is, all of them are.
            for folder in FOLDERS:
                make_folder(path / folder)
            create_exclusive(file, json.dumps({"schema": SCHEMA, "digest": "sha256"}) + "\n")
        found = file.read_bytes()
    except OSError as error:
        raise StoreUnavailable(f"{path}: the store cannot be opened: {error}") from error
    _check_schema(file, found)


def list_files(folder: Path, ending: str) -> list[Path]:
    """The files of a folder whose names end so, sorted. None where there is no folder.

    What starts with a dot is being written; what is no file (a folder, a link to nothing) is not
    read, and `verify` reports it.

    Raises:
        OSError: the folder cannot be read. It is never taken for an empty one.
    """
    try:
        with os.scandir(folder) as entries:
            names = [
                entry.name
                for entry in entries
                if entry.name.endswith(ending) and entry.name[0] != "." and is_file(entry)
            ]
    except FileNotFoundError:  # a copy of a store may lack its empty folders
        return []
    return [folder / name for name in sorted(names)]


def is_file(entry: os.DirEntry[str]) -> bool:
    """Whether an entry of a folder is a file, or a link to one."""
    try:
        return entry.is_file()
    except OSError:  # a link that leads to itself
        return False


def _refuse_foreign(path: Path) -> None:
    # A store made inside somebody's home or project folder would be hard to take out again.
    if not path.is_dir():
        return
    others = {entry.name for entry in path.iterdir() if not entry.name.startswith(".")}
    others -= {*FOLDERS, "format.json"}
    if others:
        raise StoreUnavailable(
            f"{path} is no store and not empty (it holds {min(others)!r}). Name a new folder."
        )


def _check_schema(file: Path, found: bytes) -> None:
    try:
        form = json.loads(found)
        schema, digest = form["schema"], form["digest"]
    except (ValueError, KeyError, TypeError) as error:
        raise StoreUnavailable(
            f"{file} is damaged. Restore it; its content is "
            f'{{"schema": {SCHEMA}, "digest": "sha256"}}.'
        ) from error
    # True and 1.0 equal 1 and are none.
    if type(schema) is not int or schema != SCHEMA or digest != "sha256":
        raise StoreUnavailable(
            f"{file} says schema {schema!r}, digest {digest!r}; this rejudge knows schema "
            f"{SCHEMA} with sha256. Use the rejudge that wrote the store, or a newer one."
        )


def new_writer() -> str:
    """A name that no other writer has had: ``<host>-<pid>-<uuid>``."""
    name = f"{_host()}-{os.getpid()}-{uuid.uuid4().hex}"
    _ours.add(name)
    return name


def is_writer(name: str) -> bool:
    """Whether a name is one that :func:`new_writer` makes."""
    return _PART_NAME.fullmatch(f"{name}.jsonl") is not None


def writer_is_gone(part: Path, *, idle_s: float = IDLE_S, writer: str = "") -> bool:
    """Whether the writer of a part, or of another file, has ended.

    A process of this host is looked up; one that started after the last write only has the number
    of the writer, as is usual in containers. A process of another host cannot be looked up: it
    counts as gone when the part was not touched for ``idle_s`` seconds. Being wrong loses nothing:
    a writer notices that its part was sealed and opens another.

    Args:
        part: the file.
        idle_s: how long without a write is long enough.
        writer: its name, where the file's name does not tell.
    """
    named = _PART_NAME.fullmatch(f"{writer}.jsonl" if writer else part.name)
    if named is None:
        return True
    here = named["host"] == _host()
    if here and int(named["pid"]) == os.getpid():
        return named["writer"] not in _ours
    try:
        written_s = part.stat().st_mtime
    except FileNotFoundError:
        return True
    if not here:
        return time.time() - written_s > idle_s
    pid = int(named["pid"])
    return not _is_running(pid) or _start_s(pid) > written_s + _CLOCKS_DIFFER_S


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9.-]", "_", socket.gethostname()) or "host"


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    try:  # a zombie answers to signals, and writes no more
        state = Path(f"/proc/{pid}/stat").read_text(encoding="latin-1").rpartition(")")[2]
    except OSError:
        return True
    return state.split()[:1] != ["Z"]


def _start_s(pid: int) -> float:
    """When a process started, on the clock of files; 0 where the system does not tell."""
    try:
        ticks = Path(f"/proc/{pid}/stat").read_text(encoding="latin-1").rpartition(")")[2].split()
        boot = re.search(r"^btime (\d+)$", Path("/proc/stat").read_text(), re.MULTILINE)
        return int(boot[1]) + int(ticks[19]) / os.sysconf("SC_CLK_TCK") if boot else 0.0
    except (OSError, ValueError, IndexError):
        return 0.0
