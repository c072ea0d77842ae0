"""The two pages, from templates that escape whatever is put into them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2

#: Style and scripts, in the order in which pages load them.
STATIC = ("style.css", "answers.css", "state.js", "tables.js", "load.js", "match.js", "element.js",
          "timeline.js", "item.js", "answers.js")  # fmt: skip


def page(name: str, values: Mapping[str, Any]) -> bytes:
    """Render a page.

    Args:
        name: ``index`` or ``answers``.
        values: What its template shows.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("analysis.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(f"{name}.html.jinja").render(values).encode()


def static(name: str) -> bytes:
    """Return a file of style or scripts."""
    return (files("analysis.report") / "static" / name).read_bytes()


def signature_text(signature: Mapping[str, Any]) -> str:
    """Return a signature for reading; of a path on this machine only its last part is kept."""
    return json.dumps(_without_paths(signature), ensure_ascii=False, indent=2, sort_keys=True)


def _without_paths(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_paths(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_paths(inner) for inner in value]
    is_path = isinstance(value, str) and Path(value).is_absolute()
    return Path(value).name if is_path else value
