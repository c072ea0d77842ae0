"""Event retrieval: what passed in the background while something else was said."""

from __future__ import annotations

from bench.demo.make.canvas import Canvas
from bench.demo.make.people import Look, Pose, figure, toward
from bench.demo.make.rooms import house, street
from bench.demo.make.script import Character, Cut, Dialogue, Do, Say, Turn, Voice
from bench.demo.make.timeline import Play

_LOOK = Look("umber", "#1c1412", "curls", "#d8a030", "#3a4a5a")
_CAST = {
    "friend": Character(
        "the friend", Voice("en-029+f2", 58, 170), _LOOK, "Black", "Female", "25-39"
    ),
    "user": Character("the user", Voice("en-gb+m3", 45, 170), _LOOK, "White", "Male", "25-39"),
}
_HUES = {"red": "#c8372d", "blue": "#3f6fc0"}
_WALKER = Look("rose", "#5a3a22", "short", "#7a8088", "#4a4a52")


def _draw(c: Canvas, play: Play, t: float) -> None:
    street(c, "#c4ccd4")
    house(c, 20, 40, 170, 116, "#b8a890")
    house(c, 300, 30, 160, 126, "#c8b8a8")
    for drop in range(20):
        left, top = (drop * 53) % 480, (t * 160 + drop * 37) % 250
        c.limb([(left, top), (left - 2, top + 7)], 1, "#9ab0c4")
    for name, hue in _HUES.items():
        if play.on(name, t):
            x = 520 - 560 * play.part(name, t)
            figure(
                c,
                _WALKER,
                x,
                146,
                Pose(left=toward("chest", 1.0), stride=t * 1.3, gaze=-0.8),
                t,
                0.7,
            )
            c.limb([(x - 4, 110), (x - 4, 66)], 2, "#30363c")
            c.pie(x - 4, 78, 34, 26, 180, 360, hue)
    pose = Pose(
        right=toward("shrug", play.swell("lunch", t)), left=toward("give", play.swell("bus", t)),
        mouth=play.mouth("friend", t), mood=0.6,
    )  # fmt: skip
    figure(c, _LOOK, 240, 182, pose, t, 1.1)


UMBRELLA = Dialogue(
    sub_task="event retrieval",
    cast=_CAST,
    draw=_draw,
    turns=(
        Turn(
            "umbrella",
            (
                Cut("street", ("friend",)),
                Do("red", "somebody with a red umbrella passes", 2.5, along=True),
                Say("bus", "friend", "The bus was late again this morning."),
                Do("blue", "somebody with a blue umbrella passes", 3.0, along=True, delay_s=0.6),
                Say("lunch", "friend", "Shall we have noodles for lunch today?"),
                Say("ask", "user",
                    "Which colour was the umbrella that passed when she spoke of lunch?",
                    gap_s=1.2),
            ),
            "Which colour was the umbrella that passed when she spoke of lunch?",
            '["It was a blue umbrella.", "The umbrella was blue."]',
            "1. blue",
        ),
    ),
)  # fmt: skip
