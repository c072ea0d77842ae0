"""Files that are whole or not there: write beside, fsync, rename.

Locks are not used: a rename within one folder is atomic on local disks, NFS and Lustre.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path

SEALED = 0o444


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable, where the file system can."""
    # Some network file systems refuse to fsync a folder; they write names through anyway.
    with contextlib.suppress(OSError):
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, durably: before anything is put into it.

    Raises:
        OSError: it cannot be made.
    """
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True)
    sync_folder(path.parent)


@contextlib.contextmanager
def beside(target: Path) -> Iterator[Path]:
    """Yield a new name beside ``target``; what is left of it at the end is removed."""
    temporary = target.parent / f".{uuid.uuid4().hex}.tmp"
    try:
        yield temporary
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def retire(path: Path) -> None:
    """Take a file's name from it. Who has it open keeps it; the collection removes it after a day.

    Raises:
        OSError: it cannot be renamed.
    """
    retired = path.parent / f".{uuid.uuid4().hex}.tmp"
    path.rename(retired)
    os.utime(retired)


def write_file(path: Path, chunks: Iterable[bytes | memoryview], *, mode: int = 0o644) -> None:
    """Write a whole file durably: it appears under its name complete, or not at all.

    Raises:
        OSError: the file cannot be written; nothing is left behind.
    """
    make_folder(path.parent)
    with beside(path) as temporary:
        fill(temporary, chunks, mode=mode)
        temporary.rename(path)
    sync_folder(path.parent)


def fill(path: Path, chunks: Iterable[bytes | memoryview], *, mode: int = 0o644) -> None:
    """Write a new file, and make its content durable.

    Args:
        path: its name, which nobody has.
        chunks: its content.
        mode: its permissions; the user's umask takes its share of them.

    Raises:
        OSError: the file cannot be written.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, mode), "wb") as file:
        for chunk in chunks:
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())


def create_exclusive(path: Path, text: str | bytes) -> bool:
    """Write a whole file unless one of this name exists; say whether it was written.

    Raises:
        OSError: the file cannot be written.
    """
    data = text.encode() if isinstance(text, str) else text
    with beside(path) as temporary:
        fill(temporary, [data])
        try:
            # Unlike a rename, a link never replaces what another writer has put there.
            os.link(temporary, path)
        except FileExistsError:
            return False
        except OSError:  # a file system without hard links
            if path.exists():
                return False
            temporary.rename(path)
    sync_folder(path.parent)
    return True
