"""Places: walls, windows, furniture."""

from __future__ import annotations

from bench.demo.make.canvas import HEIGHT, WIDTH, Canvas, Colour

FLOOR = 196
"""Where walls meet the floor."""


def room(c: Canvas, wall: Colour, floor: Colour, *, floor_y: float = FLOOR) -> None:
    """An empty room."""
    c.rect(0, 0, WIDTH, floor_y, wall)
    c.rect(0, floor_y, WIDTH, HEIGHT - floor_y, floor)
    c.rect(0, floor_y - 4, WIDTH, 4, "#ffffff")


def street(c: Canvas, sky: Colour = "#bfe0f5") -> None:
    """Sky, pavement and a road, whose near edge is the bottom of the picture."""
    c.rect(0, 0, WIDTH, 150, sky)
    c.rect(0, 150, WIDTH, 50, "#b9b4a8")
    c.rect(0, 200, WIDTH, HEIGHT - 200, "#55585e")
    for x in range(10, WIDTH, 80):
        c.rect(x, 226, 40, 4, "#e8e4c8")


def house(c: Canvas, x: float, y: float, width: float, height: float, fill: Colour) -> None:
    """A house front with a row of windows; (x, y) is its top left corner."""
    c.rect(x, y, width, height, fill)
    c.shape([(x - 6, y), (x + width + 6, y), (x + width - 16, y - 22), (x + 16, y - 22)], "#7d4a3c")
    step = width / 3
    for column in range(3):
        window(c, x + step * column + step / 2 - 12, y + 14, 24, 30, "#dcefff")


def window(c: Canvas, x: float, y: float, width: float, height: float, sky: Colour) -> None:
    """A window with a cross bar."""
    c.rect(x - 3, y - 3, width + 6, height + 6, "#f7f3ea")
    c.rect(x, y, width, height, sky)
    c.rect(x + width / 2 - 1, y, 2, height, "#f7f3ea")
    c.rect(x, y + height / 2 - 1, width, 2, "#f7f3ea")


def door(
    c: Canvas, x: float, y: float, height: float, fill: Colour = "#8a5f3d", *, opened: float = 0.0
) -> None:
    """A door standing on y, 46 pixels wide, that swings open from 0 to 1."""
    c.rect(x - 4, y - height - 4, 54, height + 4, "#f1ece0")
    c.rect(x, y - height, 46, height, "#2e3238")
    leaf = 46 * (1 - 0.8 * opened)
    c.shape(
        [(x, y - height), (x + leaf, y - height + 8 * opened), (x + leaf, y + 6 * opened), (x, y)],
        fill,
    )
    c.oval(x + leaf - 6, y - height * 0.46, 2.5, 2.5, "#e9c765")


def table(
    c: Canvas, x: float, y: float, width: float, *, depth: float = 12, fill: Colour = "#a9784d"
) -> None:
    """A table whose top begins at (x, y), closed in front."""
    c.rect(x + 6, y + depth, width - 12, 60, "#7f5836")
    c.rect(x, y, width, depth, fill, radius=3)


def chair(c: Canvas, x: float, y: float, fill: Colour = "#5b7288") -> None:
    """A chair with its seat's middle at (x, y)."""
    c.rect(x - 22, y - 50, 10, 56, fill, radius=4)
    c.rect(x - 22, y, 46, 9, fill, radius=4)
    for leg in (-18, 16):
        c.rect(x + leg, y + 8, 4, 38, "#40464d")


def shelf(c: Canvas, x: float, y: float, width: float) -> None:
    """A wall shelf with books."""
    c.rect(x, y, width, 5, "#7d5a3c")
    hues = ("#b5483c", "#3f6f9f", "#d7a640", "#4d8658", "#7b5a94")
    for index in range(int((width - 8) // 9)):
        tall = 20 + (index * 7) % 9
        c.rect(x + 4 + index * 9, y - tall, 7, tall, hues[index % len(hues)])


def plant(c: Canvas, x: float, y: float, sway: float = 0.0) -> None:
    """A plant in a pot that stands on y."""
    c.shape([(x - 11, y - 20), (x + 11, y - 20), (x + 8, y), (x - 8, y)], "#b5643c")
    for lean in (-16, -6, 6, 16):
        c.limb([(x, y - 20), (x + lean + sway, y - 48 + abs(lean) / 2)], 4.5, "#3f7d4a")


def poster(c: Canvas, x: float, y: float, lines: tuple[str, ...], fill: Colour = "#ffffff") -> None:
    """A poster of 92 pixels' width with centred lines."""
    c.rect(x, y, 92, 12 + 17 * len(lines), fill, outline="#8a8f96")
    for index, line in enumerate(lines):
        c.text(x + 46, y + 14 + 17 * index, line, 12, "#22303c")


def sofa(c: Canvas, x: float, y: float, fill: Colour) -> None:
    """A sofa of 150 pixels' width standing on y."""
    c.rect(x, y - 62, 150, 56, fill, radius=12)
    c.rect(x - 10, y - 44, 26, 40, fill, radius=9)
    c.rect(x + 134, y - 44, 26, 40, fill, radius=9)
    c.rect(x + 14, y - 30, 59, 22, "#f0e6d6", radius=7)
    c.rect(x + 77, y - 30, 59, 22, "#f0e6d6", radius=7)
