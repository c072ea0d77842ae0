"""A picture of 480 × 270 pixels, drawn at twice the size and reduced, so that edges are smooth."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from bench.demo.mark import PICTURE_SIZE, draw_frame_number

WIDTH, HEIGHT = PICTURE_SIZE
BAR_TOP = 254
"""Below it lies the bar with the frame mark and the clock."""

Colour = str | tuple[int, int, int]
Point = tuple[float, float]
_FINE = 2


@cache
def _font(size: float) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(size=size * _FINE)
    assert isinstance(font, ImageFont.FreeTypeFont), "Pillow was built without FreeType"
    return font


class Canvas:
    """Drawing in the picture's own pixels; origin at the top left, y downwards."""

    def __init__(self) -> None:
        self._image = Image.new("RGB", (WIDTH * _FINE, HEIGHT * _FINE))
        self._draw = ImageDraw.Draw(self._image)

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: Colour | None,
        *,
        radius: float = 0,
        outline: Colour | None = None,
        line: float = 1,
    ) -> None:
        """A rectangle with its top left corner at (x, y)."""
        box = [v * _FINE for v in (x, y, x + width, y + height)]
        self._draw.rounded_rectangle(
            box, radius * _FINE, fill=fill, outline=outline, width=round(line * _FINE)
        )

    def oval(
        self,
        x: float,
        y: float,
        across: float,
        down: float,
        fill: Colour | None,
        *,
        outline: Colour | None = None,
        line: float = 1,
    ) -> None:
        """An ellipse around (x, y) with the half axes ``across`` and ``down``."""
        box = [v * _FINE for v in (x - across, y - down, x + across, y + down)]
        self._draw.ellipse(box, fill=fill, outline=outline, width=round(line * _FINE))

    def arc(
        self,
        x: float,
        y: float,
        across: float,
        down: float,
        start: float,
        end: float,
        fill: Colour,
        line: float = 1,
    ) -> None:
        """A part of an ellipse's rim, in degrees clockwise from the right."""
        box = [v * _FINE for v in (x - across, y - down, x + across, y + down)]
        self._draw.arc(box, start, end, fill=fill, width=round(line * _FINE))

    def pie(
        self, x: float, y: float, across: float, down: float, start: float, end: float, fill: Colour
    ) -> None:
        """A part of an ellipse, cut along its chord."""
        box = [v * _FINE for v in (x - across, y - down, x + across, y + down)]
        self._draw.chord(box, start, end, fill=fill)

    def shape(self, points: Sequence[Point], fill: Colour) -> None:
        """A filled polygon."""
        self._draw.polygon([(x * _FINE, y * _FINE) for x, y in points], fill=fill)

    def limb(self, points: Sequence[Point], width: float, fill: Colour) -> None:
        """A thick line with round joints and ends."""
        fine = [(x * _FINE, y * _FINE) for x, y in points]
        self._draw.line(fine, fill=fill, width=max(1, round(width * _FINE)))
        for x, y in points:
            self.oval(x, y, width / 2, width / 2, fill)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float = 14,
        fill: Colour = "black",
        *,
        anchor: str = "mm",
        bold: bool = False,
    ) -> None:
        """One line of text (ASCII); anchors as Pillow names them: lm, mm, rm."""
        stroke = max(1, round(size / 14)) if bold else 0
        self._draw.text(
            (x * _FINE, y * _FINE),
            text,
            font=_font(size),
            fill=fill,
            anchor=anchor,
            stroke_width=stroke,
            stroke_fill=fill,
        )

    def finish(self, number: int, frame_rate: int) -> npt.NDArray[np.uint8]:
        """The picture as frame ``number``, with clock and mark: (270, 480, 3), uint8."""
        self.rect(0, BAR_TOP, WIDTH, HEIGHT - BAR_TOP, "#202428")
        tenths = number * 10 // frame_rate
        clock = f"{tenths // 600:02d}:{tenths // 10 % 60:02d}.{tenths % 10}"
        self.text(WIDTH - 8, 262, clock, 13, "#ffffff", anchor="rm")
        self.text(WIDTH - 80, 262, f"frame {number:04d}", 10, "#b8c0c8", anchor="rm")
        frame = np.array(self._image.reduce(_FINE), dtype=np.uint8)
        draw_frame_number(frame, number)
        return frame
