"""A rubric: the criteria and the scale's steps in words, as a versioned template file.

    {# version: 1 #}
    {# aspects: accuracy, tone #}           optional: what is said yes or no to beside the score
    You grade … from {{ scale.low }} to {{ scale.high }} …

How the texts to grade are delimited and how to reply is not the rubric's: ``frame.jinja`` adds it
to every rubric, so that a rubric of a user's own cannot forget it. The rendered text is part of the
request and so of the key.
"""

from __future__ import annotations

import re
import traceback
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
_ASPECTS = re.compile(r"\{#-?\s*aspects:(.*?)-?#\}", re.DOTALL)
#: What a reply has anyway.
_TAKEN = frozenset({"score", "justification"})


class Rubric(msgspec.Struct, frozen=True):
    """Criteria of a judge."""

    name: str
    version: str
    text: str
    """The template."""
    aspects: tuple[str, ...] = ()
    """What the judge says yes, partly or no to, beside the score."""
    file: str = ""
    """Where it was read, for messages."""

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
        SpecError: no such file, not UTF-8, no version line, or aspects that are no names.
    """
    found = [path for path in (folder / name, RUBRICS / name) if path.is_file()]
    if not found:
        known = ", ".join(rubric_names())
        raise SpecError(f"no rubric {name!r} in {folder}; bundled rubrics: {known}")
    try:
        text = found[0].read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise SpecError(f"{found[0]}: found a byte that is no UTF-8 at {error.start}") from error
    version = _VERSION.match(text)
    if version is None:
        raise SpecError(
            f"{found[0]} line 1: the first line must give the version, as in {{# version: 1 #}}"
        )
    aspects = _aspects(text[version.end() :], found[0])
    return Rubric(found[0].stem, version[1], text, aspects, str(found[0]))


def _aspects(text: str, path: Path) -> tuple[str, ...]:
    listed = _ASPECTS.match(text)
    if listed is None:
        return ()
    names = tuple(name.strip() for name in listed[1].split(","))
    for number, name in enumerate(names):
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name in _TAKEN or name in names[:number]:
            raise SpecError(
                f"{path} line 2: aspects: found {name!r}; expected different names of lower-case "
                "letters, digits and _, and neither score nor justification"
            )
    return names


@lru_cache(maxsize=64)
def _system(rubric: Rubric, scale: Scale) -> str:
    import jinja2
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(undefined=jinja2.StrictUndefined, autoescape=False)
    values: dict[str, Any] = {"scale": scale, "unit": scale.unit, "aspects": rubric.aspects}
    try:
        criteria = environment.from_string(rubric.text).render(values).strip()
    except jinja2.TemplateError as error:
        raise SpecError(f"{_where(rubric, error)}: {error.message}") from error
    except (TypeError, ValueError, ArithmeticError, LookupError, RecursionError) as error:
        raise SpecError(f"{_where(rubric, error)}: {error}") from error
    frame = (HERE / "frame.jinja").read_text(encoding="utf-8")
    return environment.from_string(frame).render(values | {"criteria": criteria}).strip()


def _where(rubric: Rubric, error: Exception) -> str:
    # Jinja maps the frames of compiled templates back to their source.
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename in ("<template>", "<unknown>")]
    line = getattr(error, "lineno", None) or (lines[-1] if lines else 1)
    return f"{rubric.file or rubric.name} line {line}"
