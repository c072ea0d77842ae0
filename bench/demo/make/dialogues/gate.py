"""Multi events-triggered response: vans that stop at a gate are to be announced."""

from __future__ import annotations

from bench.demo.make.canvas import Canvas
from bench.demo.make.people import Look
from bench.demo.make.rooms import house, street
from bench.demo.make.script import Character, Cut, Dialogue, Do, Say, Turn, Voice
from bench.demo.make.things import van
from bench.demo.make.timeline import Play

_CAST = {
    "user": Character(
        "the user", Voice("en-gb-scotland+m7", 44, 168),
        Look("rose", "#000000", "short", "#000000"), "White", "Male", "40+",
    ),
}  # fmt: skip
_VANS = {
    "NORDPOST": "#c8281e",
    "BAKERY": "#8a6a3c",
    "PARCELO": "#2f6fb0",
    "KWIKBOX": "#3f8a4a",
}


def _stops(name: str) -> tuple[Do, Do]:
    return (
        Do(f"in:{name}", f"a {name} van drives up to the gate", 2.5),
        Do(f"wait:{name}", f"the {name} van stands at the gate", 2.0, gap_s=0.0),
    )


def _draw(c: Canvas, play: Play, t: float) -> None:
    street(c)
    house(c, 40, 62, 180, 96, "#d8c0a0")
    c.rect(252, 96, 12, 66, "#8a6a5a")
    c.rect(392, 96, 12, 66, "#8a6a5a")
    for bar in range(268, 392, 12):
        c.rect(bar, 108, 3, 52, "#3a4048")
    c.rect(266, 106, 126, 4, "#3a4048")
    c.text(328, 90, "GATE", 14, "#3a3028")
    if play.on("bicycle", t):
        x = -40 + 560 * play.part("bicycle", t)
        for wheel in (-20, 20):
            c.oval(x + wheel, 196, 14, 14, None, outline="#22262c", line=3)
        c.limb([(x - 20, 196), (x, 172), (x + 20, 196)], 3, "#2f8f83")
        c.limb([(x - 2, 172), (x + 4, 138)], 11, "#d8a030")
        c.oval(x + 6, 126, 9, 10, "#b9794a")
    for name, hue in _VANS.items():
        if play.on(f"past:{name}", t):
            van(c, -90 + 660 * play.part(f"past:{name}", t), 236, hue, name)
        elif play.begun(f"in:{name}", t):
            van(c, -90 + 410 * play.part(f"in:{name}", t), 236, hue, name)


GATE = Dialogue(
    sub_task="multi events-triggered response",
    cast=_CAST,
    draw=_draw,
    turns=(
        Turn(
            "gate-seg1",
            (
                Cut("street", ()),
                Say("ask", "user", "Whenever a van stops at the gate, tell me the name on it."),
                *_stops("NORDPOST"),
            ),
            "Whenever a van stops at the gate, tell me the name on it.",
            "A van has just stopped at the gate; it says NORDPOST.",
            "1. NORDPOST",
        ),
        Turn(
            "gate-seg2",
            (
                Cut("street", ()),
                Do("bicycle", "a cyclist passes", 3.0),
                Do("past:BAKERY", "a bakery van passes without stopping", 3.0),
            ),
            "",
            "[KEEP QUIET]",
            "",
        ),
        Turn(
            "gate-seg3",
            (Cut("street", ()), *_stops("PARCELO")),
            "",
            '["There is a PARCELO van at the gate now.", "PARCELO has just stopped at the gate."]',
            "1. PARCELO",
        ),
        Turn(
            "gate-seg4",
            (
                Cut("street", ()),
                *_stops("KWIKBOX"),
                Say("ask", "user", "And how many vans have stopped so far?"),
            ),
            "And how many vans have stopped so far?",
            "That is KWIKBOX, and with it three vans have stopped: NORDPOST, PARCELO and KWIKBOX.",
            "1. KWIKBOX\n2. ['three', '3']",
        ),
    ),
)
