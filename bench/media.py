"""Media files of items: which of them are not there, or not whole.

Whoever placed the data may link folders and files to another disk, as shared clusters do. What
cannot happen is that an annotation leads out of the data folder: the loaders take no path from
one, only names that they check.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bench.annotations import not_regular, relative
from bench.errors import Fault
from bench.item import Item
from bench.mp4 import mp4_fault


def missing_media(items: Iterable[Item], root: Path) -> list[Fault]:
    """Return a fault for each video that items need and that is missing, empty or cut off.

    Sound and caption files may be missing, so they are looked at only where they are there.

    Args:
        items: Items whose media are looked for; nothing is decoded.
        root: The data folder; faults name files relative to it.
    """
    first: dict[Path, str] = {}
    optional: dict[Path, str] = {}
    for item in items:
        for clip in (item.clip, item.example):
            if clip is not None:
                first.setdefault(clip.video, item.id)
                for path in (clip.audio, clip.captions):
                    if path is not None:
                        optional.setdefault(path, item.id)
    return [
        Fault(relative(path, root), "", "", f"{found}; {item} needs it", blocks=False)
        for path, item in (first | optional).items()
        if (found := _missing(path))
    ]


def _missing(path: Path) -> str:
    try:
        if special := not_regular(path):
            return special
        return mp4_fault(path) if path.stat().st_size else "found an empty file"
    except FileNotFoundError:
        return "missing"
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
