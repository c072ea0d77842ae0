"""Step tracking: a sandwich is made as an example video shows it."""

from __future__ import annotations

from bench.demo.make.canvas import BAR_TOP, Canvas
from bench.demo.make.people import SKIN, Look
from bench.demo.make.script import Beat, Character, Cut, Dialogue, Do, Say, Show, Turn, Voice
from bench.demo.make.things import bubble
from bench.demo.make.timeline import Play

_NOBODY = Look("rose", "#000000", "short", "#3f6f9f")
_CAST = {
    "user": Character("the user", Voice("en-us+f3", 52, 172), _NOBODY, "White", "Female", "25-39"),
    "cook": Character("the cook", Voice("en-gb+m5", 42, 170), _NOBODY, "White", "Male", "40+"),
}

_STEPS = ("bread", "butter", "cheese", "tomato", "lid")
_HUES = {"bread": "#d9a860", "butter": "#f7e38a", "cheese": "#f2b53a", "lid": "#c8924a"}


def _start(done: int) -> Cut:
    """The plate on which the first ``done`` steps have been taken already."""
    return Cut(f"plate:{done}", ())


def _step(name: str, length_s: float = 2.0) -> Do:
    return Do(name, f"{name} is put on the plate", length_s)


def _example() -> tuple[Beat, ...]:
    beats: list[Beat] = [_start(0)]
    lines = (
        "First a slice of bread.",
        "Then butter.",
        "A slice of cheese.",
        "Two slices of tomato.",
        "And the lid.",
    )
    for number, (name, line) in enumerate(zip(_STEPS, lines, strict=True), 1):
        beats.append(Show(f"label_{name}", f"{number} {name.upper()}", 1.9, along=True))
        beats.append(Do(name, f"{name} is put on the plate", 1.5, along=True))
        beats.append(Say(f"say_{name}", "cook", line))
    return tuple(beats)


def _draw(c: Canvas, play: Play, t: float) -> None:
    c.rect(0, 0, 480, BAR_TOP, "#8fa39a")
    for x in range(0, 480, 60):
        c.rect(x, 0, 2, BAR_TOP, "#86998f")
    done = int(play.place(t).partition(":")[2])
    _stock(c, done, play, t)
    c.oval(240, 140, 104, 78, "#f4f4f2", outline="#c8ccce", line=2)
    c.oval(240, 140, 78, 57, "#ffffff")
    for index, name in enumerate(_STEPS):
        if index < done or play.begun(name, t):
            _layer(c, name, 1.0 if index < done else play.part(name, t))
    for name in _STEPS:
        if play.on(name, t):
            _hand(c, 470 - 190 * play.swell(name, t, 0.6))
    for number, name in enumerate(_STEPS, 1):
        if play.on(f"label_{name}", t):
            bubble(c, 240, 26, f"{number} {name.upper()}")


def _layer(c: Canvas, name: str, part: float) -> None:
    shift = 160 * (1 - part)
    if name == "tomato":
        for dx in (-24, 24):
            c.oval(240 + dx + shift, 140, 22, 20, "#d8392b")
            c.oval(240 + dx + shift, 140, 15, 13, "#ee6a55")
        return
    size = {"bread": 58, "butter": 46, "cheese": 52, "lid": 58}[name]
    c.rect(
        240 - size + shift,
        140 - size * 0.72,
        2 * size,
        1.44 * size,
        _HUES[name],
        radius=14 if name in ("bread", "lid") else 5,
        outline="#9a6a34" if size == 58 else None,
    )
    if name == "cheese":
        for dx, dy in ((-26, -12), (14, 10), (28, -18), (-8, 20)):
            c.oval(240 + dx + shift, 140 + dy, 6, 5, "#d99a20")


def _stock(c: Canvas, done: int, play: Play, t: float) -> None:
    """What still lies around the plate."""
    for index, (name, y) in enumerate(zip(_STEPS, (36, 84, 132, 180, 228), strict=True)):
        if index < done or play.begun(name, t):
            continue
        hue = "#d8392b" if name == "tomato" else _HUES[name]
        c.rect(26, y - 14, 64, 28, hue, radius=8)
        c.text(58, y, name, 13, "#2c2016")


def _hand(c: Canvas, x: float) -> None:
    c.limb([(500, 236), (x + 40, 180)], 30, "#3f6f9f")
    c.limb([(x + 44, 182), (x + 22, 166)], 24, SKIN["rose"])
    for finger in (-8, 0, 8):
        c.limb([(x + 20, 164 + finger), (x + 2, 158 + finger)], 6, SKIN["rose"])


SANDWICH = Dialogue(
    sub_task="step tracking",
    cast=_CAST,
    draw=_draw,
    extras={"sandwich-example": _example()},
    turns=(
        Turn(
            "sandwich-seg1",
            (
                _start(0),
                _step("bread"),
                Say("ask", "user",
                    "I want to make this sandwich exactly as in the example. What comes next?"),
            ),
            "I want to make this sandwich exactly as in the example. What comes next?",
            "Now spread butter on the bread.",
            "1. butter\n2. ['on the bread', 'on the slice']",
            "sandwich-example",
        ),
        Turn(
            "sandwich-seg2",
            (
                _start(1),
                _step("butter"),
                _step("cheese"),
                Say("ask", "user", "All right. And now?"),
            ),
            "",
            "Put two slices of tomato on the cheese.",
            "1. tomato\n2. ['two slices', 'two pieces']",
        ),
        Turn(
            "sandwich-seg3",
            (
                _start(3),
                Say("aside", "user", "Anna, could you pass me a napkin, please?"),
                Do("tomato", "tomato is put on the plate", 2.5),
            ),
            "Anna, could you pass me a napkin, please?",
            "[KEEP QUIET]",
            "",
        ),
        Turn(
            "sandwich-seg4",
            (
                _start(4),
                _step("lid"),
                Say("ask", "user", "The lid is on. Did I forget anything?"),
            ),
            "The lid is on. Did I forget anything?",
            '["No, nothing is missing: bread, butter, cheese, tomato and lid are all there.", '
            '"You forgot nothing, the sandwich is finished."]',
            "1. ['nothing is missing', 'you forgot nothing', 'the sandwich is finished']",
        ),
    ),
)  # fmt: skip
