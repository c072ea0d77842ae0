"""09/002: a student films her shared flat. This video has no captions."""

from __future__ import annotations

import math

from bench.demo.make.canvas import BAR_TOP, Canvas
from bench.demo.make.people import Look, Pose, figure, hand, toward, waving
from bench.demo.make.rooms import door, plant, room, shelf, table, window
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
from bench.demo.make.things import cup
from bench.demo.make.timeline import Play

_CAST = {
    "tala": Character(
        "Tala",
        Voice("en-us+f4", 68, 175),
        Look("bronze", "#17120f", "tail", "#3f9a7a", "#4a4a6a"),
        "Indigenous",
        "Female",
        "18-24",
    ),
    "ben": Character(
        "Ben",
        Voice("en-gb-x-gbcwmd+m6", 52, 165),
        Look("rose", "#c79a4a", "curls", "#a8443a", "#3a4450"),
        "White",
        "Male",
        "18-24",
    ),
}

_BEATS = (
    Cut("hall", ("tala",)),
    Do("waves", "Tala waves at the camera", 2.25, along=True),
    Say("hi", "tala", "Hi, I am Tala, and this is our flat.", "Tala introduces herself"),
    Say("four", "tala", "Four of us live here, and one room is free from June.",
        "Tala says that a room is free from June"),
    Do("chart", "Tala points at the cleaning chart on the wall", 3.0),
    Cut("room", ("tala",)),
    Say("free", "tala", "This is the free room. The bed, the desk and the shelf stay.",
        "Tala shows the free room and what stays"),
    Do("bike", "Tala pushes a bicycle out of the room", 3.0),
    Cut("kitchen", ("tala", "ben")),
    Sound("kettle", "kettle", "the kettle whistles", "kettle whistling"),
    Do("lifts", "Ben takes the kettle off the stove", 2.0),
    Say("rule", "ben", "Tea, anyone? Our rule is: whoever cooks does not wash up.",
        "Ben offers tea and explains the rule about washing up"),
    Say("soup", "tala", "And every Sunday Ben makes soup for all of us.",
        "Tala praises Ben's soup on Sundays"),
    Cut("roof", ("tala",)),
    Say("roof", "tala", "In summer we have dinner up here on the roof.",
        "Tala shows the roof"),
    Do("lanterns", "coloured lanterns light up one after another", 3.0),
    Say("price", "tala", "The room is three hundred and ninety, with internet.",
        "Tala names the rent"),
    Cut("card", ()),
    Show("contact", "TALA AT FLAT7.EXAMPLE, BEFORE 20 MAY", 3.5,
         "a card shows where and until when to write", gap_s=0.0),
)  # fmt: skip


def _draw(c: Canvas, play: Play, t: float) -> None:
    places = {"hall": _hall, "room": _room, "kitchen": _kitchen, "roof": _roof, "card": _card}
    places[play.place(t)](c, play, t)


def _tala(c: Canvas, play: Play, t: float, x: float, pose: Pose, y: float = 164) -> None:
    figure(c, _CAST["tala"].look, x, y, pose, t, 1.2)


def _hall(c: Canvas, play: Play, t: float) -> None:
    room(c, "#f2d9c8", "#9a7a5a")
    door(c, 40, 208, 150, fill="#4a7a8a")
    c.rect(300, 26, 150, 122, "#ffffff", outline="#8a8f96")
    c.text(375, 42, "CLEANING", 15, "#22303c", bold=True)
    for index, line in enumerate(("MON  Tala", "WED  Ben", "FRI  Leo", "SUN  Ana")):
        c.text(322, 66 + 21 * index, line, 15, "#22303c", anchor="lm")
    point = play.swell("chart", t)
    right = toward("point", point) if point else waving(play.swell("waves", t), t)
    if point:
        right = (right[0] + 20 * point, right[1] + 22 * point)
    mouth = play.mouth("tala", t)
    _tala(c, play, t, 214, Pose(right=right, mouth=mouth, gaze=0.7 * point, mood=0.8))


def _room(c: Canvas, play: Play, t: float) -> None:
    room(c, "#dfe3f2", "#b08d64")
    window(c, 200, 26, 90, 80, "#cfe8f7")
    shelf(c, 340, 80, 110)
    c.rect(20, 160, 150, 50, "#7a93b0", radius=6)
    c.rect(24, 148, 44, 24, "#ffffff", radius=8)
    c.rect(14, 130, 10, 84, "#7d5a3c")
    table(c, 352, 160, 110)
    part = play.part("bike", t) if play.begun("bike", t) else 0.0
    x = 300 + 260 * part
    for wheel in (-34, 34):
        c.oval(x + wheel, 218, 22, 22, None, outline="#22262c", line=3)
        a = part * 14
        c.limb(
            [(x + wheel - 20 * math.cos(a), 218 - 20 * math.sin(a)),
             (x + wheel + 20 * math.cos(a), 218 + 20 * math.sin(a))], 1, "#5a626a",
        )  # fmt: skip
    c.limb(
        [(x - 34, 218), (x - 8, 186), (x + 24, 186), (x + 2, 218), (x - 34, 218)], 3.5, "#d2452e"
    )
    c.limb([(x + 34, 218), (x + 22, 176), (x + 32, 172)], 3.5, "#d2452e")
    pushing = play.on("bike", t)
    pose = Pose(
        left=toward("give", play.swell("free", t)), right=toward("point", 0.8 if pushing else 0.0),
        mouth=play.mouth("tala", t), gaze=0.7 if pushing else 0.0, mood=0.6,
        stride=t * 1.4 if pushing else None,
    )  # fmt: skip
    _tala(c, play, t, 226 + 260 * part, pose)


def _kitchen(c: Canvas, play: Play, t: float) -> None:
    room(c, "#f4ebc4", "#8a8a80")
    for x in range(20, 200, 60):
        c.rect(x, 20, 54, 44, "#d88a4a", outline="#b06a30")
    c.rect(14, 150, 210, 64, "#e4e4e2", outline="#a8a8a6")
    c.rect(40, 168, 80, 38, "#3a3f46", radius=4)
    lifted = play.part("lifts", t) if play.begun("lifts", t) else 0.0
    arm = toward("give", play.swell("lifts", t)) if lifted < 1 else toward("hold", 0.9)
    hx, hy = hand(206, 166, "left", arm, 1.2)
    kx, ky = (90.0, 150.0) if lifted < 0.35 else (hx - 4, hy + 22)
    table(c, 300, 176, 150)
    for index, hue in enumerate(("#3f7fb0", "#c8452f", "#5a9a4a")):
        cup(c, 326 + 44 * index, 176, hue)
    pose = Pose(left=arm, right=toward("shrug", play.swell("rule", t)), mouth=play.mouth("ben", t),
                gaze=-0.8 if lifted < 1 else 0.7, mood=0.7)  # fmt: skip
    figure(c, _CAST["ben"].look, 206, 166, pose, t, 1.2)
    c.oval(kx, ky - 12, 17, 13, "#b8c0c8")
    c.limb([(kx - 14, ky - 14), (kx - 26, ky - 22)], 4, "#b8c0c8")
    c.arc(kx, ky - 22, 13, 10, 180, 360, "#30363e", 3)
    if play.on("kettle", t) or (play.on("lifts", t) and lifted < 0.3):
        for puff in range(5):
            age = (t * 0.9 + puff / 5) % 1
            c.oval(kx - 28 - 12 * age, ky - 24 - 34 * age, 4 + 7 * age, 4 + 6 * age, "#ffffff")
    pose = Pose(left=toward("point", 0.7 * play.swell("soup", t)), mouth=play.mouth("tala", t),
                gaze=-0.7, mood=0.8)  # fmt: skip
    _tala(c, play, t, 282, pose)


def _roof(c: Canvas, play: Play, t: float) -> None:
    c.rect(0, 0, 480, BAR_TOP, "#33406a")
    c.oval(400, 40, 18, 18, "#f4ecc8")
    for x, height in ((0, 50), (90, 84), (190, 40), (280, 66), (380, 52)):
        c.rect(x, 190 - height, 88, height, "#222c4a")
        c.rect(x + 20, 200 - height, 10, 12, "#f0d060")
    c.rect(0, 190, 480, 64, "#6a5a50")
    c.limb([(20, 60), (130, 84), (240, 90), (350, 84), (460, 60)], 2, "#c8c0b0")
    part = play.part("lanterns", t) if play.begun("lanterns", t) else 0.0
    hues = ("#ff6a4e", "#ffc93a", "#6ad08a", "#5aa8ff", "#d07aff")
    for index, hue in enumerate(hues):
        x = 50 + 95 * index
        y = 92 + 12 * math.sin(math.pi * index / 4)
        c.oval(x, y, 12, 15, hue if part > 0.15 * index + 0.12 else "#4a5068")
    table(c, 300, 190, 140)
    plant(c, 40, 222, math.sin(t))
    pose = Pose(left=toward("raise", play.swell("lanterns", t)), mouth=play.mouth("tala", t),
                right=toward("give", play.swell("roof", t)), gaze=0.4, mood=0.9)  # fmt: skip
    _tala(c, play, t, 200, pose)


def _card(c: Canvas, play: Play, t: float) -> None:
    c.rect(0, 0, 480, BAR_TOP, "#3f9a7a")
    slide = 40 * (1 - min(1.0, play.part("contact", t) * 6))
    c.rect(60 + slide, 50, 360, 150, "#ffffff", radius=10)
    c.text(240 + slide, 88, "WRITE TO US", 22, "#22303c", bold=True)
    c.text(240 + slide, 126, "tala@flat7.example", 22, "#22303c")
    c.text(240 + slide, 164, "before 20 May", 20, "#c8452f")


SHARED_FLAT = Scene(
    topic="09_HousingApartment_Tours",
    number="002",
    video_id="demoFlats02",
    title="A room is free",
    cast=_CAST,
    beats=_BEATS,
    draw=_draw,
    segments=((0.0, 30.0), (16.0, None)),
    summary=Summary(
        detailed="""
        Tala, a student, waves at the camera and guides the viewer through the flat that she shares
        with three others, because one room is free from June. She points at the cleaning chart in
        the hall, which gives everybody a day of the week. In the free room bed, desk and
        shelf stay, while she pushes a red bicycle out. In the kitchen the kettle whistles; flatmate
        Ben takes it off the stove, offers tea and explains the rule of the house: whoever cooks
        does not wash up. Tala adds that he makes soup for all of them every Sunday. On the roof,
        where they dine in summer, coloured lanterns light up one after another. The room costs
        three hundred and ninety with internet. A last card asks viewers to write to Tala before
        the twentieth of May.
        """,
        short=(
            "Tala presents a shared flat with a room free from June.",
            "Bed, desk and shelf stay; the bicycle is pushed out.",
            "Ben makes tea and explains that cooks do not wash up.",
            "Dinner is on the lantern-lit roof; rent is 390 with internet.",
        ),
        chapters=(
            Chapter("waves", "chart", "Hall", "Greeting and the cleaning chart."),
            Chapter("free", "bike", "Free room", "What stays, and the bicycle goes."),
            Chapter("kettle", "soup", "Kitchen", "Tea, the rule, and soup on Sundays."),
            Chapter("roof", "contact", "Roof", "Lanterns, rent and contact."),
        ),
        glossary=("flatmate", "cleaning chart", "kettle", "lantern"),
    ),
    choices=(
        Choice(
            0, "According to the chart on the wall, who cleans on Friday?", "D",
            "Leo",
            ("Tala", "Ben", "Ana"),
            "The chart reads MON Tala, WED Ben, FRI Leo, SUN Ana.",
            ("on-screen text",), False,
        ),
        Choice(
            0, "Which thing does not stay in the free room?", "B",
            "The bicycle",
            ("The bed", "The desk", "The shelf"),
            "Tala says that bed, desk and shelf stay, and pushes the bicycle out.",
            ("speech", "action"), True,
        ),
        Choice(
            1, "Which rule of the house does the flatmate explain?", "C",
            "Who cooks need not wash up",
            (
                "Who is last locks the door",
                "Who drinks tea pays for it",
                "Who has guests cleans twice",
            ),
            "Ben says: whoever cooks does not wash up.",
            ("speech",), True,
        ),
        Choice(
            1, "By when should one write?", "A",
            "Before 20 May",
            ("Before 12 May", "Before 20 June", "Before 30 May"),
            "The last card says: before 20 May.",
            ("on-screen text",), False,
        ),
    ),
    moments=(
        Moment(
            0, "after", "four", "chart",
            "After saying that a room is free, when does Tala point at the chart?",
            "She stretches her arm towards the cleaning chart.", True,
        ),
        Moment(
            0, "before", "kettle", "bike",
            "When is the bicycle pushed out of the room, before the kettle whistles?",
            "Tala pushes the red bicycle to the right and out of the picture.", True,
        ),
        Moment(
            1, "immediately after", "kettle", "lifts",
            "When does Ben take the kettle off the stove, right after it whistles?",
            "As the whistle ends he reaches for the kettle.", True,
        ),
        Moment(
            1, "after", "roof", "lanterns",
            "When do the lanterns light up, after Tala speaks of dinner on the roof?",
            "Five lanterns light up from left to right.", True,
        ),
    ),
    has_captions=False,
)  # fmt: skip
