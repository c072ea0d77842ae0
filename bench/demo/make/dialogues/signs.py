"""Gesture-based prompt following: gestures in a small picture stand for questions."""

from __future__ import annotations

from bench.demo.make.canvas import Canvas
from bench.demo.make.people import Look, Pose, figure, toward
from bench.demo.make.rooms import room, shelf, table, window
from bench.demo.make.script import Character, Cut, Dialogue, Do, Say, Turn, Voice
from bench.demo.make.things import cup
from bench.demo.make.timeline import Play

_LOOK = Look("sand", "#2a1d18", "short", "#7a5aa0", glasses=True)
_CAST = {
    "user": Character("the user", Voice("en-us+m2", 50, 165), _LOOK, "Asian", "Male", "25-39"),
}
_DESKS = {"first": ("#c8372d", 3), "second": ("#3f7fb0", 4), "third": ("#4d9a54", 2)}
"""Colour of the cup and number of books, by place."""


def _draw(c: Canvas, play: Play, t: float) -> None:
    place = play.place(t)
    raised = max(play.swell("shows_raise", t), play.swell("raise", t))
    hip = max(play.swell("shows_hip", t), play.swell("hip", t))
    pose = Pose(
        right=toward("raise", raised),
        left=toward("hip", hip),
        mouth=play.mouth("user", t),
        mood=0.4,
    )
    if place == "user":
        room(c, "#e4dcef", "#9a8a7a")
        shelf(c, 340, 90, 110)
        figure(c, _LOOK, 220, 164, pose, t, 1.3)
        return
    hue, books = _DESKS[place]
    room(c, "#efe8da", "#b0916a")
    window(c, 50, 30, 100, 90, "#cfe8f7")
    table(c, 40, 176, 400)
    cup(c, 130, 176, hue, 2.0)
    spines = ("#5a4f9c", "#d7a640", "#4d8658", "#b5483c")
    for index in range(books):
        c.rect(230 + 24 * index, 106, 20, 70, spines[index])
        c.rect(230 + 24 * index, 118, 20, 5, "#f4ecd8")
    if play.begun("raise", t) or play.begun("hip", t):
        c.rect(344, 8, 128, 132, "#ffffff", radius=4)
        c.rect(347, 11, 122, 126, "#e4dcef")
        figure(c, _LOOK, 408, 136, Pose(pose.left, pose.right, stance="bust"), t, 0.95)
        c.rect(344, 140, 128, 18, "#efe8da")


SIGNS = Dialogue(
    sub_task="gesture-based prompt following",
    cast=_CAST,
    draw=_draw,
    turns=(
        Turn(
            "signs-seg1",
            (
                Cut("user", ("user",)),
                Do("shows_raise", "the user raises an arm", 2.75, along=True),
                Say("one", "user", "A raised arm means: tell me the colour of the cup."),
                Do("shows_hip", "the user puts a hand on the hip", 2.75, along=True),
                Say("two", "user", "A hand on the hip means: count the books."),
                Cut("first", ()),
                Do("raise", "in the small picture the user raises an arm", 3.0, gap_s=1.0),
            ),
            "A raised arm means: tell me the colour of the cup. A hand on the hip means: count the"
            " books. (The user raises an arm.)",
            "The cup is red.",
            "1. red",
        ),
        Turn(
            "signs-seg2",
            (
                Cut("second", ()),
                Do("hip", "in the small picture the user puts a hand on the hip", 3.5, gap_s=2.0),
            ),
            "(The user puts a hand on the hip.)",
            '["There are four books.", "I count four books on the table."]',
            "1. ['four', '4']",
        ),
        Turn(
            "signs-seg3",
            (
                Cut("third", ()),
                Do("raise", "in the small picture the user raises an arm", 3.5, gap_s=2.0),
            ),
            "(The user raises an arm.)",
            "Now the cup is green.",
            "1. green",
        ),
    ),
)
