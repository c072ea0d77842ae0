"""Where a player finds an item's media.

Bundled media are small and are copied, so that the report can be passed on. A benchmark's own are
tens of gigabytes: they are linked by a path relative to the report, and play as long as both stay
where they are.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from analysis.report.folder import Folder
from bench.item import Clip


class Media:
    """Links to media files that are there."""

    def __init__(self, folder: Folder, *, copied: bool) -> None:
        self._folder = folder
        self._copied = copied
        self._links: dict[Path, str] = {}

    def links(self, clip: Clip) -> dict[str, Any]:
        """Return ``video`` and ``audio`` as links, without those whose file is not there."""
        found = {"video": clip.video, "audio": clip.audio}
        links = {name: self._link(path) for name, path in found.items() if path is not None}
        return {name: link for name, link in links.items() if link}

    def _link(self, path: Path) -> str:
        if path not in self._links:
            self._links[path] = self._made(path) if path.is_file() else ""
        return self._links[path]

    def _made(self, path: Path) -> str:
        if self._copied:
            # Topic folders tell videos of one name apart.
            name = f"media/{path.parent.name}/{path.name}"
            self._folder.copy(name, path)
            return quote(os.fsencode(name))
        try:
            link = Path(os.path.relpath(path, self._folder.place)).as_posix()
            return quote(os.fsencode(link))
        except ValueError:  # another drive
            return path.resolve().as_uri()
