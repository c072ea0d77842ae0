"""Prompt templates: text files that place the named parts and the clip of a message.

A template is a Jinja file whose first line says its version. It places parts in the order in which
the model is to see them:

    {# version: choice 1 #}
    {{ clip() }}
    {% call part("question") %}
    {{ question }}
    {% endcall %}

Ours lie in ``templates/``. A user's own folder replaces them file by file, by name; files in it
that start with ``_`` are for including. Users bring templates from elsewhere, so they run in
Jinja's sandbox, and a variable that is not there is an error, never an empty text. Nothing is
escaped: a prompt is plain text. Annotation text is passed as a value and never read as a template.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from bench.errors import PromptError
from bench.item import Clip
from bench.prompt import NamedText, PromptPart

BUNDLED = Path(__file__).parent / "templates"
SUFFIX = ".jinja"
_VERSION = re.compile(r"\{#-?\s*version:\s*(\S.*?)\s*-?#\}")


@dataclass(slots=True)
class _Placed:
    """Collects what a template places, in its order."""

    media: Clip | None
    parts: list[PromptPart] = field(default_factory=list)

    def part(self, name: str, caller: Callable[[], str] | None = None) -> str:
        text = "" if caller is None else caller().strip()
        self.parts.append(NamedText(text, str(name)))
        return ""

    def clip(self) -> str:
        if self.media is None:
            raise jinja2.TemplateRuntimeError("this message has no clip to place")
        self.parts.append(self.media)
        return ""


@dataclass(frozen=True, slots=True)
class Template:
    """A template that was read, with its version."""

    path: Path
    version: str
    _template: jinja2.Template
    _source: str

    def render(
        self, values: dict[str, Any], names: Collection[str], clip: Clip | None = None
    ) -> tuple[PromptPart, ...]:
        """Return the parts that the template places.

        Args:
            values: The variables of the template.
            names: Names of the parts that must be among them.
            clip: The media that ``clip()`` places; None for a message without.

        Raises:
            PromptError: unknown variable, text outside of parts, or a part or the clip left out.
        """
        placed = _Placed(clip)
        try:
            rest = self._template.render(values, part=placed.part, clip=placed.clip)
        except jinja2.TemplateError as error:
            known = ", ".join(sorted(values)) or "none"
            raise PromptError(
                f"{self._where(error)}: {error.message} (variables here: {known})"
            ) from error
        except (TypeError, ValueError, ArithmeticError, LookupError, RecursionError) as error:
            raise PromptError(f"{self._where(error)}: {error}") from error
        if rest.strip():
            line = rest.strip().splitlines()[0].strip()
            number = next((n for n, text in enumerate(self._lines(), 1) if line in text), 1)
            raise PromptError(
                f"{self.path} line {number}: found text outside of a part: {line[:60]!r}; put it "
                'between {% call part("instruction") %} and {% endcall %}'
            )
        self._check(placed, names)
        return tuple(placed.parts)

    def _check(self, placed: _Placed, names: Collection[str]) -> None:
        given = [part.name for part in placed.parts if isinstance(part, NamedText)]
        for name in names:
            times = given.count(name)
            if times != 1:
                raise PromptError(
                    f"{self.path}: places the part {name!r} {times} times; expected once"
                )
        clips = sum(isinstance(part, Clip) for part in placed.parts)
        if placed.media is not None and clips != 1:
            raise PromptError(
                f"{self.path}: places the clip {clips} times; expected {{{{ clip() }}}} once"
            )

    def _lines(self) -> list[str]:
        return self._source.splitlines()

    def _where(self, error: BaseException) -> str:
        # Jinja maps the frames of compiled templates back to their source, includes too.
        frames = [
            frame
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename.endswith(SUFFIX)
        ]
        return f"{frames[-1].filename} line {frames[-1].lineno}" if frames else str(self.path)


def load_template(family: str, name: str, folder: Path | None = None) -> Template:
    """Return a template: a user's own where the folder has one of this name, else ours.

    Args:
        family: The benchmark family, a folder of ``templates/``: ``sonic-o1``, ``omniassist``.
        name: The file's name without ``.jinja``.
        folder: The user's folder.

    Raises:
        PromptError: the folder is not there or holds a name that nothing asks for, or the template
            has a syntax error or no version line.
    """
    if folder is not None:
        _check_folder(folder)
    environment = _environment(family, folder)
    file = name + SUFFIX
    try:
        source, path, _ = environment.loader.get_source(environment, file)  # type: ignore[union-attr]
        template = environment.get_template(file)
    except jinja2.TemplateSyntaxError as error:
        place = error.filename or file
        raise PromptError(f"{place} line {error.lineno}: {error.message}") from error
    except UnicodeDecodeError as error:
        raise PromptError(f"{folder}: {file} is not UTF-8: byte {error.start}") from error
    version = _VERSION.match(source)
    if version is None:
        raise PromptError(
            f"{path} line 1: found no version; expected a first line like {{# version: {name} 2 #}}"
        )
    return Template(Path(path or file), version[1], template, source)


@cache
def known_names() -> tuple[str, ...]:
    """The file names of all templates that a user's folder can replace."""
    return tuple(sorted(path.name for path in BUNDLED.glob(f"*/*{SUFFIX}")))


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise PromptError(f"{folder} is not a folder: --prompts takes a folder of templates")
    names = [path.name for path in sorted(folder.glob(f"*{SUFFIX}"))]
    unknown = [name for name in names if name not in known_names() and not name.startswith("_")]
    listed = ", ".join(known_names())
    if unknown:
        raise PromptError(
            f"{folder} holds {', '.join(unknown)}, which no prompt is made of; known are: {listed} "
            "(start the name with _ for a file to include)"
        )
    if not names:
        raise PromptError(f"{folder} holds no templates; known are: {listed}")


def _environment(family: str, folder: Path | None) -> jinja2.Environment:
    folders = [BUNDLED / family] if folder is None else [folder, BUNDLED / family]
    return ImmutableSandboxedEnvironment(
        loader=jinja2.FileSystemLoader(folders),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # prompts are plain text, not HTML
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
