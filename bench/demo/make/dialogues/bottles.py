"""OCR-based prompt following: the question is written on a card."""

from __future__ import annotations

from bench.demo.make.canvas import Canvas, Colour
from bench.demo.make.rooms import room, table
from bench.demo.make.script import Cut, Dialogue, Do, Show, Sound, Turn
from bench.demo.make.timeline import Play


def _draw(c: Canvas, play: Play, t: float) -> None:
    room(c, "#e2e6da", "#a8906c")
    table(c, 30, 186, 420)
    heights = (("#b5483c", 90, 64), ("#3f8a4a", 140, 118), ("#3f6f9f", 190, 82))
    for hue, x, tall in heights:
        _bottle(c, x, 186, tall, hue)
    _bottle(c, 250 + 60 * play.part("slides", t), 186, 100, "#d7a640")
    c.text(140, 40, "JUICE BAR", 20, "#5a626a", bold=True)
    shown = min(1.0, play.part("card", t) * 8) if play.begun("card", t) else 0.0
    if shown:
        left = 500 - 190 * shown
        c.rect(left, 24, 164, 96, "#fdf6c8", radius=3, outline="#b8a850")
        for line, text in enumerate(("Which bottle", "is the tallest?", "Tell me its colour.")):
            c.text(left + 82, 46 + 26 * line, text, 16, "#20304a")


def _bottle(c: Canvas, x: float, y: float, tall: float, hue: Colour) -> None:
    c.rect(x - 15, y - tall * 0.68, 30, tall * 0.68, hue, radius=6)
    c.rect(x - 6, y - tall, 12, tall * 0.4, hue, radius=3)
    c.rect(x - 15, y - tall * 0.45, 30, 16, "#f4f0e4")


BOTTLES = Dialogue(
    sub_task="OCR-based prompt following",
    cast={},
    draw=_draw,
    turns=(
        Turn(
            "bottles",
            (
                Cut("table", ()),
                Do("slides", "a yellow bottle is moved to the right", 2.5),
                Sound("click", "click", "glass clicks"),
                Show("card", "Which bottle is the tallest? Tell me its colour.", 4.0),
            ),
            "Which bottle is the tallest? Tell me its colour.",
            "The green bottle is the tallest.",
            "1. green",
        ),
    ),
)
