"""How all figures look: one typeface, one palette, one frame.

The colours are Okabe and Ito's, which the colour-blind tell apart, in an order whose neighbours
differ in lightness, too. As that is not enough in grey, whatever has a colour also has a place, a
shape or a dash of its own.

Source: Okabe and Ito, Color universal design (2008).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap
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


#: Pixels of a letter, on the generous side: of a label, of a panel's title.
LABEL_PX, _PANEL_PX = 5.6, 6.2
#: Pixels of a symbol in a legend with the space around it.
_SYMBOL_PX = 34
#: Where the longest names of runs are cut, in pixels.
_NAME_LIMIT_PX = 450
#: Where lines below a figure's title are broken, and the title itself.
_LINE_CHARS, _TITLE_CHARS = 110, 70


def colour(names: Sequence[str], width: float) -> alt.Color:
    """Return the colours of named things, in their order, with a legend as wide as the figure."""
    scale = _scale(names, PALETTE)
    return alt.Color("name:N", title=None, scale=scale, legend=legend(names, width))


def legend(names: Sequence[str], width: float) -> alt.Legend:
    """Return a legend in as many columns as a width in pixels has room for."""
    longest = max(map(len, names), default=0) * LABEL_PX
    columns = int(width // (min(longest, _NAME_LIMIT_PX) + _SYMBOL_PX))
    return alt.Legend(symbolOpacity=1, columns=max(1, columns))


def shape(names: Sequence[str]) -> alt.Shape:
    """Return their shapes."""
    return alt.Shape("name:N", title=None, scale=_scale(names, SHAPES))


def unlisted(names: Sequence[str]) -> alt.Color:
    """Return their colours without a legend, for dashed lines: its symbols would be dashed, too.

    A chart of such lines and of points resolves their colours and shapes as independent.
    """
    return alt.Color("name:N", scale=_scale(names, PALETTE), legend=None)


def dash(names: Sequence[str]) -> alt.StrokeDash:
    """Return their dashes; the legend shows the shapes only."""
    return alt.StrokeDash("name:N", scale=_scale(names, DASHES), legend=None)


def _scale(names: Sequence[str], values: Sequence[Any]) -> alt.Scale:
    wanted = [values[place % len(values)] for place in range(len(names))]
    return alt.Scale(domain=list(names), range=wanted)


def inline(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return rows as a chart's data, which travel within its specification."""
    return alt.InlineData(values=list(rows))


def panel_title(text: str, width: float, more: str = "") -> alt.TitleParams:
    """Return a panel's title in lines that are about as wide as the panel.

    Args:
        text: The title.
        width: Pixels.
        more: What stands in a line of its own below it.
    """
    lines = [*wrap(text, max(12, int(width / _PANEL_PX))), *([more] if more else [])]
    return alt.TitleParams(lines, fontSize=11)


def finished(chart: Any, title: str, lines: Sequence[str], *, framed: bool = True) -> Any:
    """Give a chart its title, the lines on how it was made, and the style."""
    return (
        chart.properties(
            title=alt.TitleParams(
                wrap(title, _TITLE_CHARS),
                subtitle=[part for line in lines for part in wrap(line, _LINE_CHARS)],
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
            labelLimit=_NAME_LIMIT_PX,
            # A label is where its tick is, at the ends, too.
            labelFlush=False,
            labelSeparation=4,
        )
        .configure_header(labelFontSize=10, titleFontSize=10, labelFontWeight="bold")
        .configure_legend(
            labelFontSize=10, titleFontSize=10, orient="bottom", labelLimit=_NAME_LIMIT_PX
        )
    )


def domain(ends: Sequence[float], low: float | None, high: float | None) -> list[float]:
    """Return the ends of an axis that shows some numbers, but nothing beyond a metric's bounds.

    No mean is beyond them, though the interval of very few videos may be: its line is clipped.
    """
    least, most = min(ends), max(ends)
    least = least if low is None else max(least, low)
    most = most if high is None else min(most, high)
    margin = 0.05 * (most - least) or 1.0
    return [least - margin, most + margin]


def side_by_side(panels: Sequence[Any], columns: int = 3) -> Any:
    """Put panels in rows; one alone, too, so that it keeps its title beside the figure's."""
    return alt.concat(*panels, columns=columns, spacing=24)
