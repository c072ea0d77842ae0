"""How all figures look: one typeface, one palette, one frame.

The colours are Okabe and Ito's, which the colour-blind tell apart, in an order whose neighbours
differ in lightness, too. As that is not enough in grey, whatever has a colour also has a place, a
shape or a dash of its own.

Source: Okabe and Ito, Color universal design (2008).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

#: Black, orange, blue, sky blue, green, purple, vermilion, yellow.
PALETTE = (
    "#000000", "#E69F00", "#0072B2", "#56B4E9", "#009E73", "#CC79A7", "#D55E00", "#F0E442",
)  # fmt: skip
#: From dark to light, for parts of a whole; on the first three letters are white.
STEPS = ("#08306B", "#B2182B", "#2171B5", "#E08214", "#9ECAE1", "#F0F0F0")
N_DARK = 3
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [4, 1], [1, 3], [10, 4])

#: vl-convert brings this one along, so that a picture looks the same wherever it is drawn.
FONT = "Liberation Sans"
GREY = "#666666"
GRID = "#DDDDDD"


def colour(names: Sequence[str], title: str | None = None) -> alt.Color:
    """Return the colours of named things, in their order."""
    return alt.Color(
        "name:N", title=title, scale=_scale(names, PALETTE), legend=alt.Legend(symbolOpacity=1)
    )


def shape(names: Sequence[str], title: str | None = None) -> alt.Shape:
    """Return their shapes."""
    return alt.Shape("name:N", title=title, scale=_scale(names, SHAPES))


def dash(names: Sequence[str]) -> alt.StrokeDash:
    """Return their dashes; the legend shows the shapes only."""
    return alt.StrokeDash("name:N", scale=_scale(names, DASHES), legend=None)


def _scale(names: Sequence[str], values: Sequence[Any]) -> alt.Scale:
    wanted = [values[place % len(values)] for place in range(len(names))]
    return alt.Scale(domain=list(names), range=wanted)


def inline(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return rows as a chart's data, which travel within its specification."""
    return alt.InlineData(values=list(rows))


def finished(chart: Any, title: str, lines: Sequence[str], *, framed: bool = True) -> Any:
    """Give a chart its title, the lines on how it was made, and the style."""
    return (
        chart.properties(
            title=alt.TitleParams(
                title,
                subtitle=list(lines),
                anchor="start",
                fontSize=13,
                subtitleFontSize=9,
                subtitleColor=GREY,
                offset=10,
            ),
            background="white",
        )
        .configure(font=FONT, padding=8)
        .configure_view(stroke=GRID if framed else None)
        .configure_axis(
            gridColor=GRID,
            domainColor=GREY,
            tickColor=GREY,
            labelFontSize=10,
            titleFontSize=10,
            titleFontWeight="normal",
        )
        .configure_header(labelFontSize=10, titleFontSize=10, labelFontWeight="bold")
        .configure_legend(labelFontSize=10, titleFontSize=10, orient="bottom", labelLimit=300)
    )


def side_by_side(panels: Sequence[Any], columns: int = 3) -> Any:
    """Put panels in rows; one alone, too, so that it keeps its title beside the figure's."""
    return alt.concat(*panels, columns=columns, spacing=24)
