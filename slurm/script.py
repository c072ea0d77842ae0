"""Rendering: a batch script of this package with a chain's options and settings in it.

A script has two places that are filled in: its ``#SBATCH`` lines, and the settings between the
lines that begin with ``# ---``. All else stays, so what is submitted reads like what is documented.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from slurm.stage import SCRIPTS, Stage

_OPTION = re.compile(r"^#SBATCH --([a-z-]+)(?:=(.*))?$\n", re.MULTILINE)
_SETTING = re.compile(r"^([A-Z_]+)=(.*)$\n", re.MULTILINE)
_RULER = re.compile(r"^# ---.*$\n", re.MULTILINE)


def render(stage: Stage, parts: Sequence[int] = ()) -> str:
    """Return a stage's batch script.

    Args:
        stage: What is run.
        parts: The parts to run, from 1; none named: all.
    """
    text = (SCRIPTS / stage.script).read_text("utf-8")
    options = options_of(text) | stage.options
    if parts:
        _, percent, at_once = (stage.options["array"] or "").partition("%")
        options["array"] = f"{','.join(map(str, parts))}{percent}{at_once}"
    lines = [_option_line(name, value) for name, value in options.items() if value is not None]
    lines += [_option_line(*option.removeprefix("--").split("=", 1)) for option in stage.more]
    settings = [f"{name}={_setting(value)}" for name, value in stage.settings.items()]
    text = _replaced(text, list(_OPTION.finditer(text)), lines)
    first, second = _RULER.finditer(text)
    return _replaced(text, list(_SETTING.finditer(text, first.end(), second.start())), settings)


def options_of(text: str) -> dict[str, str | None]:
    """Options of sbatch that a script's ``#SBATCH`` lines give; an empty text for a bare one."""
    return {found[1]: found[2] or "" for found in _OPTION.finditer(text)}


def settings_of(text: str) -> dict[str, str]:
    """Names and values of a script's settings, as they stand there."""
    first, second = _RULER.finditer(text)
    return {found[1]: found[2] for found in _SETTING.finditer(text, first.end(), second.start())}


def _replaced(text: str, found: list[re.Match[str]], lines: list[str]) -> str:
    return text[: found[0].start()] + "\n".join(lines) + "\n" + text[found[-1].end() :]


def _option_line(name: str, value: str = "") -> str:
    # Inside quotes sbatch takes spaces and #, and still fills in %A and %a. What would end the
    # quotes or the line, slurm/check.py has refused.
    quoted = f'"{value}"' if re.search(r"[^\w./:,;%@=+~-]", value) else value
    return f"#SBATCH --{name}={quoted}" if quoted else f"#SBATCH --{name}"


def _setting(value: str | list[str]) -> str:
    return f"({shlex.join(value)})" if isinstance(value, list) else shlex.quote(value)
