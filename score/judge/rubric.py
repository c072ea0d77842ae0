"""A rubric: the criteria and the scale's steps in words, as a versioned template file.

The first line of the file is a comment with its version, ``{# version: 1 #}``; the rest is the
text, in which ``{{ scale.min }}`` and ``{{ scale.max }}`` are filled in. How the texts to grade are
delimited and how to reply is not the rubric's: ``frame.jinja`` adds it to every rubric, so that a
rubric of a user's own cannot forget it. The rendered text is part of the request and so of the key.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from score.errors import SpecError

if TYPE_CHECKING:
    from score.judge.spec import Scale

HERE = Path(__file__).parent
RUBRICS = HERE / "rubrics"

_VERSION = re.compile(r"\{#-?\s*version:\s*(\S+)\s*-?#\}\s*")


class Rubric(msgspec.Struct, frozen=True):
    """Criteria of a judge."""

    name: str
    version: str
    text: str
    """The template without its version line."""

    def system(self, scale: Scale) -> str:
        """The system message: criteria, how texts are delimited, how to reply.

        Raises:
            SpecError: the template does not render.
        """
        return _system(self, scale)


def rubric_names() -> list[str]:
    """File names of the bundled rubrics."""
    return sorted(path.name for path in RUBRICS.glob("*.jinja"))


def load_rubric(name: str, folder: Path) -> Rubric:
    """Load a rubric by file name: beside the spec in ``folder``, else a bundled one.

    Raises:
        SpecError: no such file, or no version line.
    """
    found = [path for path in (folder / name, RUBRICS / name) if path.is_file()]
    if not found:
        known = ", ".join(rubric_names())
        raise SpecError(f"no rubric {name!r} in {folder}; bundled rubrics: {known}")
    text = found[0].read_text(encoding="utf-8")
    version = _VERSION.match(text)
    if version is None:
        raise SpecError(
            f"{found[0]}: the first line must give the version, as in {{# version: 1 #}}"
        )
    return Rubric(found[0].stem, version[1], text[version.end() :].strip())


@lru_cache(maxsize=64)
def _system(rubric: Rubric, scale: Scale) -> str:
    import jinja2
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(undefined=jinja2.StrictUndefined, autoescape=False)
    values: dict[str, Any] = {"scale": scale, "unit": scale.unit}
    try:
        criteria = environment.from_string(rubric.text).render(values)
    except jinja2.TemplateError as error:
        raise SpecError(f"rubric {rubric.name}: {error}") from error
    frame = (HERE / "frame.jinja").read_text(encoding="utf-8")
    return environment.from_string(frame).render(values | {"criteria": criteria}).strip()
