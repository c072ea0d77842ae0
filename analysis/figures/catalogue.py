"""The figures there are, and how they get to files.

OUT/
  NAME.pdf | NAME.svg | NAME.png    the picture
  NAME.FORMAT.vl.json               its Vega-Lite specification with its data, for a page
  NAME.FORMAT.made.json             how its numbers were made
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path

from analysis.errors import (
    AnalysisError,
    JudgeNotChosen,
    NothingToShow,
    OutputUnwritable,
    UnknownName,
)
from analysis.figures.ablations import ablation
from analysis.figures.bars import errors
from analysis.figures.curves import frames
from analysis.figures.figure import Figure, Source
from analysis.figures.gaps import forest
from analysis.figures.judges import judges
from analysis.figures.radar import radar
from analysis.figures.spread import calibration, distributions
from analysis.render import made_text, write_text
from analysis.settings import SETTINGS

#: name → what draws it, all but the gaps, which take attributes.
_DRAW: dict[str, Callable[[Source], list[Figure]]] = {
    "radar": radar,
    "frames": frames,
    "judges": judges,
    **{name: partial(ablation, name=name) for name in SETTINGS},
    "errors": errors,
    "distributions": distributions,
    "calibration": calibration,
}
GAPS = "gaps"
NAMES = (*_DRAW, GAPS)


class Picture(StrEnum):
    """A format that figures are written in."""

    PDF = "pdf"
    SVG = "svg"
    PNG = "png"


def draw(
    source: Source, names: Sequence[str], by: Sequence[str] = ()
) -> tuple[list[Figure], dict[str, str]]:
    """Draw figures.

    Args:
        source: The scores.
        names: Which; none: all that the scores have something for.
        by: Attributes whose gaps are drawn; none: all that make groups.

    Returns:
        The figures, and of those that were not asked for by name why they could not be drawn.

    Raises:
        UnknownName: there is no such figure.
        AnalysisError: attributes are named, but not the figure that takes them.
        NothingToShow: the scores have nothing for a figure that was asked for, or for any.
        JudgeNotChosen: such a figure shows one judge's scores, and none of several was chosen.
    """
    for name in names:
        if name not in NAMES:
            raise UnknownName("figure", name, NAMES)
    if by and names and GAPS not in names:
        raise AnalysisError(
            f"--by names attributes of the figure {GAPS}, which is not among --figure "
            f"{', '.join(names)}; add --figure {GAPS}, or leave --by out"
        )
    found: list[Figure] = []
    lacking: dict[str, str] = {}
    for name in names or NAMES:
        try:
            found += forest(source, tuple(by)) if name == GAPS else _DRAW[name](source)
        except NothingToShow as error:
            if names:
                raise NothingToShow(f"no figure {name} of these scores: {error}") from None
            lacking[name] = str(error)
        except JudgeNotChosen as error:
            if names:
                raise JudgeNotChosen(f"figure {name} of these scores: {error}") from None
            lacking[name] = str(error)
    if not found:
        if (unchosen := source.scores.unchosen(source.judge)) in lacking.values():
            raise JudgeNotChosen(f"any figure of these scores: {unchosen}")
        reasons = "; ".join(f"{name}: {why}" for name, why in lacking.items())
        raise NothingToShow(f"these scores have nothing for any figure ({reasons})")
    return found, lacking


def picture(figure: Figure, form: Picture, dots_per_inch: int = 200) -> bytes:
    """Return a figure as a file's bytes; the resolution is a PNG's."""
    import vl_convert

    specification = figure.chart.to_dict()
    if form is Picture.PNG:
        return vl_convert.vegalite_to_png(specification, ppi=dots_per_inch, scale=1)
    if form is Picture.PDF:
        return vl_convert.vegalite_to_pdf(specification)
    return vl_convert.vegalite_to_svg(specification).encode()


def write_figures(figures: Sequence[Figure], form: Picture, folder: Path) -> list[Path]:
    """Write each figure with its specification and how it was made, and return the pictures.

    Raises:
        OutputUnwritable: the folder cannot be made or written to.
    """
    written: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for figure in figures:
            path = folder / f"{figure.name}.{form}"
            specification = json.dumps(figure.chart.to_dict(), ensure_ascii=False) + "\n"
            texts = {"vl": specification, "made": made_text(figure.made)}
            beside = path.with_name(f".{path.name}.part")
            beside.write_bytes(picture(figure, form))
            # None lies beside a picture that it is not of, even if this is interrupted.
            for kind in texts:
                path.with_name(f"{path.name}.{kind}.json").unlink(missing_ok=True)
            beside.replace(path)
            for kind, text in texts.items():
                write_text(path.with_name(f"{path.name}.{kind}.json"), text)
            written.append(path)
    except OSError as error:
        raise OutputUnwritable(
            f"the figures cannot be written to {folder}: {error}; name a folder with --out"
        ) from error
    return written
