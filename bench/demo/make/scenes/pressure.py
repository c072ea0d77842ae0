"""01/002: a nurse takes an old lady's blood pressure, twice."""

from __future__ import annotations

import math

from bench.demo.make.canvas import Canvas
from bench.demo.make.people import Look, Pose, figure, hand, toward
from bench.demo.make.rooms import chair, plant, poster, room, table, window
from bench.demo.make.script import (
    Chapter,
    Character,
    Choice,
    Cut,
    Do,
    Moment,
    Say,
    Scene,
    Show,
    Sound,
    Summary,
    Voice,
)
from bench.demo.make.timeline import Play

_CAST = {
    "nurse": Character(
        "the nurse",
        Voice("en-us+m7", 55, 165),
        Look("sand", "#15161a", "short", "#2f8f83", "#2f8f83", glasses=True),
        "Asian",
        "Male",
        "25-39",
    ),
    "patient": Character(
        "the patient",
        Voice("en-us+f1", 40, 150),
        Look("olive", "#cfcac4", "curls", "#8d4f7d", "#4b3b52"),
        "Hispanic",
        "Female",
        "40+",
    ),
}
_BOTH = ("nurse", "patient")

_BEATS = (
    Cut("clinic", _BOTH),
    Say("hello", "nurse", "Hello, Mrs. Vega. I am going to measure your blood pressure.",
        "the nurse says that he will measure the blood pressure",
        spoken="Hello, misses Vega. I am going to measure your blood pressure."),
    Say("again", "patient", "Again? They did that only last week.", "the patient complains"),
    Do("cuff", "the nurse wraps a blue cuff around the patient's arm", 2.5),
    Say("still", "nurse", "Please sit still, and do not talk for a moment.",
        "the nurse asks the patient to sit still"),
    Sound("hiss", "hiss", "air hisses out of the cuff", "air hissing", along=True),
    Do("pumps", "the nurse squeezes the rubber bulb of the cuff", 2.5),
    Cut("monitor", ()),
    Show("first", "162 / 98", 2.75, "the monitor shows the first reading, 162 over 98", gap_s=0.0),
    Sound("beep", "beep", "the monitor beeps twice", "monitor beeps", gap_s=0.0),
    Cut("clinic", _BOTH),
    Say("high", "nurse", "That is rather high. Did you have coffee this morning?",
        "the nurse finds the value high and asks about coffee"),
    Say("coffee", "patient", "Two cups. And I ran up the stairs, because the lift was broken.",
        "the patient admits two cups of coffee and running up the stairs"),
    Say("pause", "nurse", "Then we wait five minutes, and try again.",
        "the nurse suggests a break of five minutes"),
    Do("drinks", "the patient drinks a glass of water", 3.0),
    Cut("clock", ()),
    Do("clock_turns", "the hands of the wall clock go from 10:05 to 10:10", 2.5, gap_s=0.0),
    Cut("monitor", ()),
    Show("second", "134 / 82", 3.0, "the monitor shows the second reading, 134 over 82", gap_s=0.0),
    Cut("clinic", _BOTH),
    Say("better", "nurse", "Much better. Please take your tablets in the evening from now on.",
        "the nurse moves the tablets to the evening"),
    Say("grandson", "patient",
        "I always forget them. My grandson will stick a note on the fridge.",
        "the patient says that her grandson will put up a note"),
    Do("cuff_off", "the nurse takes the cuff off", 2.0),
    Do("thumb", "the patient raises her arm and smiles", 1.75),
)  # fmt: skip


def _draw(c: Canvas, play: Play, t: float) -> None:
    place = play.place(t)
    if place == "monitor":
        _monitor(c, play, t)
    elif place == "clock":
        room(c, "#e9e2d0", "#c7b899", floor_y=230)
        _clock(c, 240, 118, 88, 10 * 60 + 5 + 5 * play.part("clock_turns", t))
    else:
        _clinic(c, play, t)


def _monitor(c: Canvas, play: Play, t: float) -> None:
    name, text, pulse = ("first", "162 / 98", 96) if not play.begun("second", t) else (
        "second", "134 / 82", 74)  # fmt: skip
    c.rect(0, 0, 480, 254, "#8fa6ad")
    c.rect(70, 24, 340, 206, "#e8ecee", radius=14)
    c.rect(92, 46, 296, 140, "#122018", radius=6)
    rising = play.part(name, t) < 0.25
    shown = f"{round(60 + 400 * play.part(name, t))}" if rising else text
    c.text(240, 96, shown, 46, "#7dffa0", bold=not rising)
    c.text(104, 162, f"PULSE {pulse}" if not rising else "MEASURING", 18, "#7dffa0", anchor="lm")
    beat = 9 + 3 * math.sin(t * 8)
    c.oval(360, 162, beat, beat, "#ff5a4e")
    c.text(240, 208, "CARDIOLINE 3", 14, "#4a5a60")


def _clock(c: Canvas, x: float, y: float, radius: float, minutes: float) -> None:
    c.oval(x, y, radius, radius, "#ffffff", outline="#40352a", line=radius * 0.06)
    for hour in range(12):
        a = math.radians(30 * hour)
        sine, cosine = math.sin(a), math.cos(a)
        c.limb(
            [(x + sine * radius * k, y - cosine * radius * k) for k in (0.78, 0.88)],
            radius * 0.03,
            "#40352a",
        )
    for angle, length, width in ((minutes / 2, 0.5, 0.08), (minutes * 6, 0.75, 0.05)):
        a = math.radians(angle)
        tip = (x + math.sin(a) * radius * length, y - math.cos(a) * radius * length)
        c.limb([(x, y), tip], radius * width, "#20262c")


def _clinic(c: Canvas, play: Play, t: float) -> None:
    room(c, "#e9e2d0", "#c7b899")
    poster(c, 20, 26, ("TAKE A DEEP", "BREATH"), "#dff1e2")
    _clock(c, 240, 46, 24, 605 if not play.begun("second", t) else 610)
    window(c, 372, 28, 74, 80, "#cfe8f7")
    plant(c, 452, 204, math.sin(t))
    chair(c, 316, 170, "#7a6a8a")
    drink = play.swell("drinks", t, 0.7)
    cuffed = play.done("cuff", t) and not play.begun("cuff_off", t)
    left = toward("hold", 0.7)
    right = toward("raise", play.swell("thumb", t))
    right = toward("chin", drink) if drink else right
    pose = Pose(
        left=left, right=right, mouth=play.mouth("patient", t), gaze=-0.7,
        mood=1.0 if play.begun("cuff_off", t) else -0.4 * play.swell("again", t), stance="sit",
    )  # fmt: skip
    look = _CAST["patient"].look
    figure(c, look, 316, 170, pose, t, 1.2)
    if cuffed or play.on("cuff", t) or play.on("cuff_off", t):
        c.rect(284, 120, 20, 24, "#2a5db0", radius=5)
    glass = hand(316, 170, "right", right, 1.2) if drink else (80.0, 150.0)
    c.rect(glass[0] - 5, glass[1] - 12, 10, 16, "#d6f0fa", outline="#8fb8c8")
    _nurse(c, play, t)
    table(c, 40, 160, 90, fill="#d8d2c4")
    c.rect(48, 128, 22, 32, "#e8ecee", radius=3)
    c.rect(51, 132, 16, 12, "#122018")


def _nurse(c: Canvas, play: Play, t: float) -> None:
    near = max(play.swell(name, t, 0.6) for name in ("cuff", "pumps", "cuff_off"))
    arm = toward("point", near)
    if play.on("pumps", t):
        arm = (arm[0], arm[1] + 10 * math.sin(t * 12))
    pose = Pose(
        left=toward("hip", 0.8 * play.swell("high", t)), right=arm, mouth=play.mouth("nurse", t),
        gaze=0.8, mood=1.0 if play.begun("better", t) else 0.0,
    )  # fmt: skip
    x = 172 + 42 * near
    figure(c, _CAST["nurse"].look, x, 158, pose, t, 1.2)
    if play.on("pumps", t):
        hx, hy = hand(x, 158, "right", arm, 1.2)
        c.oval(hx + 4, hy + 3, 7 + 2 * math.sin(t * 12), 9, "#39424e")


PRESSURE = Scene(
    topic="01_Patient-Doctor_Consultations",
    number="002",
    video_id="demoPress02",
    title="Blood pressure, taken twice",
    cast=_CAST,
    beats=_BEATS,
    draw=_draw,
    segments=((0.0, None),),
    summary=Summary(
        detailed="""
        A nurse in green scrubs announces to Mrs. Vega, an elderly patient, that he will take her
        blood pressure. She grumbles that this was done only last week, but lets him wrap a blue
        cuff around her arm and sits still while he squeezes the bulb. The monitor beeps and shows
        162 over 98. The nurse calls that rather high and asks about coffee. Mrs. Vega confesses to
        two cups, and adds that she ran up the stairs because the lift was broken. He proposes a
        break of five minutes. She drinks a glass of water, the wall clock moves on from five to
        ten past ten, and the second reading is 134 over 82. The nurse is content, and tells her to
        take her tablets in the evening from now on. She always forgets them, she says, so her
        grandson will stick a note on the fridge. The nurse removes the cuff and she raises her arm
        with a smile.
        """,
        short=(
            "A nurse takes an elderly patient's blood pressure; the first value, 162 over 98, is"
            " high.",
            "Coffee and running up the stairs explain it, so both wait five minutes.",
            "After a glass of water the second reading falls to 134 over 82.",
            "The tablets move to the evening, and her grandson will put a reminder on the fridge.",
        ),
        chapters=(
            Chapter("hello", "first", "First reading", "The cuff goes on; 162 over 98."),
            Chapter("high", "pause", "Why so high", "Coffee, and stairs instead of the lift."),
            Chapter("drinks", "second", "Second reading", "After a break it is 134 over 82."),
            Chapter("better", "thumb", "Advice", "Tablets in the evening; a note on the fridge."),
        ),
        glossary=("blood pressure", "cuff", "pulse", "reading"),
    ),
    choices=(
        Choice(
            0, "How does the patient explain the first reading?", "C",
            "She had coffee and hurried up the stairs",
            (
                "She slept badly and skipped her breakfast",
                "She took her tablets late and felt dizzy",
                "She was upset because the bus was late",
            ),
            "Asked about coffee, she admits two cups and says that she ran up the stairs because"
            " the lift was broken.",
            ("speech",), True,
        ),
        Choice(
            0, "What does the monitor show at the second measurement?", "B",
            "134 over 82",
            ("162 over 98", "143 over 88", "124 over 92"),
            "After the break the display reads 134 / 82; the value is never spoken.",
            ("on-screen text",), False,
        ),
        Choice(
            0, "How will the patient be reminded of her tablets?", "A",
            "By a note that her grandson puts on the fridge",
            (
                "By a phone call from the nurse each evening",
                "By an alarm that her daughter sets on a watch",
                "By a letter that the clinic sends every week",
            ),
            "She says that her grandson will stick a note on the fridge.",
            ("speech",), True,
        ),
        Choice(
            0, "Which medicine do the patient's tablets contain?", "E", "",
            (
                "A drug that slows the heartbeat",
                "A drug that drains surplus water",
                "A drug that widens the vessels",
                "A drug that thins the blood",
            ),
            "Tablets are mentioned, but neither speech nor picture says what is in them.",
            ("speech",), True,
        ),
    ),
    moments=(
        Moment(
            0, "after", "again", "cuff",
            "When does the nurse put the blue cuff on the patient's arm, after she grumbles about"
            " last week?",
            "Once she has complained he bends over and wraps the cuff around her arm.", True,
        ),
        Moment(
            0, "before", "coffee", "first",
            "When is the first blood pressure value displayed, before the talk about coffee?",
            "The monitor shows 162 / 98 before the nurse asks about coffee.", False,
        ),
        Moment(
            0, "immediately after", "pause", "drinks",
            "Immediately after the nurse proposes to wait five minutes, when does the patient"
            " drink?",
            "She lifts a glass of water to her mouth as soon as the break begins.", True,
        ),
        Moment(
            0, "after", "second", "grandson",
            "After the better reading, when does the patient mention who will remind her of the"
            " tablets?",
            "She says that her grandson will stick a note on the fridge.", True,
        ),
    ),
)  # fmt: skip
