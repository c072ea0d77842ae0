"""Objects: papers, screens, vehicles, fire."""

from __future__ import annotations

import math

from bench.demo.make.canvas import BAR_TOP, WIDTH, Canvas, Colour


def paper(
    c: Canvas, title: str, lines: tuple[str, ...], *, fill: Colour = "#fffdf2", shown: float = 1.0
) -> None:
    """A sheet that fills the picture, sliding in from below as ``shown`` goes from 0 to 1."""
    c.rect(0, 0, WIDTH, BAR_TOP, "#6d7c86")
    top = 22 + (1 - shown) * 240
    c.rect(84, top + 5, 312, 240, "#4c5a64", radius=4)
    c.rect(80, top, 312, 240, fill, radius=4)
    c.text(236, top + 30, title, 21, "#1c2a38", bold=True)
    c.rect(104, top + 48, 264, 2, "#a8a296")
    for index, line in enumerate(lines):
        c.text(106, top + 76 + 32 * index, line, 19, "#22303c", anchor="lm")


def board(
    c: Canvas,
    x: float,
    y: float,
    width: float,
    height: float,
    text: str,
    *,
    fill: Colour = "#1d3b2a",
    ink: Colour = "#d8ffd0",
    size: float = 18,
) -> None:
    """A sign or display with one line of text."""
    c.rect(x, y, width, height, fill, radius=4, outline="#101418", line=1.5)
    c.text(x + width / 2, y + height / 2, text, size, ink)


def title_card(c: Canvas, text: str, below: str = "") -> None:
    """White text on black, as in silent films."""
    c.rect(0, 0, WIDTH, BAR_TOP, "#14161a")
    c.rect(30, 60, WIDTH - 60, 130, None, outline="#c9b98a", line=2)
    c.text(WIDTH / 2, 112 if below else 125, text, 22, "#f6efdc")
    if below:
        c.text(WIDTH / 2, 146, below, 17, "#d8ceb2")


def phone(c: Canvas, x: float, y: float) -> None:
    """A telephone in somebody's hand at (x, y)."""
    c.rect(x - 4, y - 9, 8, 17, "#14181c", radius=2)


def cup(c: Canvas, x: float, y: float, fill: Colour, scale: float = 1.0) -> None:
    """A cup standing on y."""
    c.oval(x + 12 * scale, y - 11 * scale, 6 * scale, 6 * scale, None, outline=fill, line=3 * scale)
    c.rect(x - 11 * scale, y - 22 * scale, 22 * scale, 22 * scale, fill, radius=4 * scale)


def box(c: Canvas, x: float, y: float, width: float, height: float, label: str = "") -> None:
    """A cardboard box standing on y, its middle at x."""
    c.rect(x - width / 2, y - height, width, height, "#c69a62", outline="#8d6a3c")
    c.rect(x - 5, y - height, 10, height * 0.4, "#e2c48f")
    if label:
        c.text(x, y - height * 0.35, label, 9, "#3c2a12")


def van(
    c: Canvas,
    x: float,
    y: float,
    fill: Colour,
    label: str = "",
    *,
    light: float = -1.0,
    ink: Colour = "#ffffff",
) -> None:
    """A van heading right, its wheels on y and its middle at x; ``light`` ≥ 0 flashes blue."""
    c.rect(x - 70, y - 66, 104, 56, fill, radius=5)
    c.shape(
        [(x + 34, y - 56), (x + 56, y - 56), (x + 72, y - 32), (x + 72, y - 10), (x + 34, y - 10)],
        fill,
    )
    c.shape([(x + 38, y - 51), (x + 54, y - 51), (x + 64, y - 34), (x + 38, y - 34)], "#cfe6f5")
    if light >= 0:
        c.rect(x + 4, y - 74, 18, 9, "#3d7bff" if light % 1 < 0.5 else "#b9cdfa", radius=3)
    for wheel in (-40, 44):
        c.oval(x + wheel, y - 10, 13, 13, "#1c1e22")
        c.oval(x + wheel, y - 10, 5, 5, "#9aa0a8")
    if label:
        c.text(x - 18, y - 38, label, 15, ink, bold=True)


def car(c: Canvas, x: float, y: float, fill: Colour) -> None:
    """A car seen from the side, its wheels on y and its middle at x."""
    c.shape([(x - 46, y - 34), (x - 30, y - 60), (x + 26, y - 60), (x + 48, y - 34)], fill)
    c.rect(x - 78, y - 36, 156, 28, fill, radius=9)
    c.shape([(x - 36, y - 36), (x - 25, y - 55), (x - 3, y - 55), (x - 3, y - 36)], "#d8ecf8")
    c.shape([(x + 3, y - 36), (x + 3, y - 55), (x + 22, y - 55), (x + 37, y - 36)], "#d8ecf8")
    for wheel in (-46, 46):
        c.oval(x + wheel, y - 9, 14, 14, "#1c1e22")
        c.oval(x + wheel, y - 9, 6, 6, "#a8adb4")


def flame(c: Canvas, x: float, y: float, size: float, t: float) -> None:
    """A fire burning on y."""
    for shift, hue, share in (
        (0.0, "#e2521b", 1.0),
        (0.4, "#f6a02c", 0.66),
        (0.8, "#fce58a", 0.34),
    ):
        sway = math.sin(2 * math.pi * (1.5 * t + shift)) * size * 0.12
        w, h = size * 0.5 * share, size * share
        c.shape(
            [
                (x - w, y),
                (x - w * 0.7, y - h * 0.45),
                (x + sway, y - h),
                (x + w * 0.7, y - h * 0.5),
                (x + w, y),
            ],
            hue,
        )


def smoke(c: Canvas, x: float, y: float, amount: float, t: float) -> None:
    """Smoke rising from (x, y), more of it as ``amount`` goes from 0 to 1."""
    for puff in range(round(7 * amount)):
        age = (0.22 * t + puff / 7) % 1
        gray = round(112 + 60 * age)
        c.oval(
            x + math.sin(puff * 2.1 + t * 0.8) * 26 * age,
            y - 120 * age,
            8 + 20 * age,
            7 + 16 * age,
            (gray, gray, gray),
        )


def bubble(c: Canvas, x: float, y: float, text: str) -> None:
    """A small label, white on dark, centred at (x, y)."""
    width = 9 * len(text) + 16
    c.rect(x - width / 2, y - 11, width, 22, "#20303c", radius=8)
    c.text(x, y, text, 14, "#ffffff")
