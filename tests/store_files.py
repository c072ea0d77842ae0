"""Builders for stores on disk: filled, rotted, on a full disk."""

from __future__ import annotations

import os
import resource
from pathlib import Path

from cache.store import Store


def filled(folder: Path, records) -> Path:
    """A store of one pack; return the pack."""
    before = set(folder.glob("packs/*/*.jsonl"))
    with Store(folder, create=True) as store:
        for record in records:
            store.put(record, sync=False)
    (pack,) = set(folder.glob("packs/*/*.jsonl")) - before
    return pack


def rot(file: Path, old: bytes, new: bytes) -> None:
    """Change bytes as a failing disk does: size and times stay."""
    stat = file.stat()
    data = file.read_bytes()
    assert data.count(old)
    file.chmod(0o644)
    file.write_bytes(data.replace(old, new, 1))
    file.chmod(stat.st_mode)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def in_child(work) -> None:
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def fill_the_disk() -> None:
    """From now on no file of this process can grow, as on a full disk."""
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
