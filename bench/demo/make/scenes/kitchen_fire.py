"""06/001: a pan catches fire; the dispatcher helps until the engine is there."""

from __future__ import annotations

import math

from bench.demo.make.canvas import BAR_TOP, Canvas
from bench.demo.make.people import Look, Pose, figure, hand, toward
from bench.demo.make.rooms import door, house, room, street, table
from bench.demo.make.script import (
    Chapter,
    Character,
    Choice,
    Cut,
    Do,
    Moment,
    Say,
    Scene,
    Sound,
    Summary,
    Voice,
)
from bench.demo.make.things import flame, phone, smoke, van
from bench.demo.make.timeline import Play

_CAST = {
    "dispatcher": Character(
        "the dispatcher",
        Voice("en-us+m5", 35, 168),
        Look("umber", "#1a1513", "bald", "#2b3a55", "#20283a", beard=True),
        "Black",
        "Male",
        "40+",
    ),
    "caller": Character(
        "the caller",
        Voice("en-gb+f4", 62, 180),
        Look("porcelain", "#c9772f", "tail", "#4f9a8f", "#3c4668"),
        "White",
        "Female",
        "25-39",
    ),
    "fighter": Character(
        "the firefighter",
        Voice("en-us+m3", 42, 165),
        Look("rose", "#d8b02a", "helmet", "#3a3a34", "#3a3a34", coat="#c8a02a"),
        "White",
        "Male",
        "25-39",
    ),
}
_PHONES = ("dispatcher", "caller")
_STREET = ("caller", "fighter")

_BEATS = (
    Cut("kitchen", ("caller",)),
    Do("ignites", "the oil in the pan catches fire", 2.5, gap_s=1.0),
    Sound("alarm", "alarm", "the smoke alarm beeps", "smoke alarm beeping"),
    Cut("split", _PHONES),
    Say("emergency", "dispatcher", "Emergency line. What is happening?",
        "the dispatcher answers the call"),
    Say("fire", "caller", "There is a fire on my stove! The oil in the pan is burning.",
        "the caller reports burning oil on her stove"),
    Say("alone", "dispatcher", "Is anybody with you in the flat?",
        "the dispatcher asks who else is there"),
    Say("cat", "caller", "Only my cat. She is hiding under the table.",
        "the caller says that only her cat is with her"),
    Say("no_water", "dispatcher",
        "Do not pour water on it. Take the cat, get out, and shut the door.",
        "the dispatcher warns against water and sends her out"),
    Cut("kitchen", ("caller",)),
    Do("picks_cat", "the caller bends down and picks up the cat", 2.25),
    Do("goes_out", "the caller walks out with the cat and shuts the door", 3.0),
    Cut("split", _PHONES),
    Say("where", "dispatcher", "Well done. What is your address?",
        "the dispatcher asks for the address"),
    Say("address", "caller", "Forty two Mill Lane, on the third floor.",
        "the caller gives her address"),
    Say("on_way", "dispatcher", "Help is on its way. Wait at the corner, away from the door.",
        "the dispatcher announces help and tells her to wait at the corner"),
    Cut("street", _STREET),
    Sound("siren", "siren", "a siren comes closer", "siren", along=True),
    Do("arrives", "the fire engine drives up", 3.0),
    Do("jumps_out", "a firefighter comes running from the engine", 2.0),
    Say("inside", "fighter", "Is anybody still inside?",
        "the firefighter asks whether anybody is inside"),
    Say("nobody", "caller", "No, nobody. The window with the smoke is the kitchen.",
        "the caller says that nobody is inside and shows the window"),
    Sound("water", "hiss", "water hisses", "water hissing", along=True, delay_s=0.5),
    Do("sprays", "the firefighter sprays water at the smoking window", 3.5),
    Say("out", "fighter", "The fire is out. Do not use the stove until it has been checked.",
        "the firefighter says that the fire is out and the stove must be checked"),
    Do("strokes", "the caller lifts the cat to her face", 2.0),
)  # fmt: skip


def _draw(c: Canvas, play: Play, t: float) -> None:
    {"kitchen": _kitchen, "split": _split, "street": _street}[play.place(t)](c, play, t)


def _cat(c: Canvas, x: float, y: float) -> None:
    c.oval(x, y, 14, 8, "#33302e")
    c.oval(x - 13, y - 7, 7, 6.5, "#33302e")
    c.shape([(x - 19, y - 11), (x - 17, y - 18), (x - 14, y - 12)], "#33302e")
    c.shape([(x - 12, y - 12), (x - 9, y - 18), (x - 7, y - 11)], "#33302e")
    c.oval(x - 15, y - 8, 1.2, 1.4, "#b8e05a")
    c.oval(x - 11, y - 8, 1.2, 1.4, "#b8e05a")


def _kitchen(c: Canvas, play: Play, t: float) -> None:
    room(c, "#f1ead2", "#c7a47c")
    door(c, 400, 212, 150, opened=play.swell("goes_out", t, 0.8))
    c.rect(30, 30, 130, 44, "#9cb8a8", outline="#7a9888")
    c.rect(36, 140, 120, 70, "#e4e4e2", outline="#a8a8a6")
    c.rect(48, 160, 96, 40, "#3a3f46", radius=4)
    c.rect(62, 130, 50, 10, "#2a2d32", radius=3)
    c.limb([(112, 134), (146, 128)], 4, "#2a2d32")
    size = 18 + 44 * play.part("ignites", t) if play.begun("ignites", t) else 0.0
    if size:
        flame(c, 87, 131, size, t)
        smoke(c, 92, 90, 0.3 + 0.7 * play.part("alarm", t), t)
    c.oval(240, 12, 14, 6, "#ffffff")
    c.oval(240, 13, 3, 3, "#ff3b30" if play.on("alarm", t) and t % 0.4 < 0.2 else "#cfd4d8")
    table(c, 196, 176, 90)
    _caller_at_home(c, play, t)
    if not play.part("picks_cat", t) > 0.6:
        _cat(c, 176, 236)


def _caller_at_home(c: Canvas, play: Play, t: float) -> None:
    bend = play.swell("picks_cat", t, 0.8)
    out = play.part("goes_out", t)
    if out > 0.9:
        return
    holds = play.part("picks_cat", t) > 0.6
    scare = play.part("ignites", t)
    x = 240 + (180 * out if play.begun("goes_out", t) else 0.0)
    x -= 20 * bend
    left = toward("hold", 1.0) if holds else toward("head", scare if scare < 1 else 1.0)
    right = toward("hold", 1.0) if holds else toward("shrug", scare)
    if bend and not holds:
        left = toward("knee", bend)
    pose = Pose(
        left=left, right=right, gaze=0.8 if play.begun("goes_out", t) else -0.8, mood=-1.0,
        mouth=0.6 * play.swell("ignites", t), stride=t * 1.4 if play.on("goes_out", t) else None,
    )  # fmt: skip
    figure(c, _CAST["caller"].look, x, 158 + 22 * bend, pose, t, 1.2)
    if holds:
        _cat(c, x, 132 + 22 * bend)


def _split(c: Canvas, play: Play, t: float) -> None:
    c.rect(0, 0, 240, BAR_TOP, "#1e2b3d")
    for index in range(3):
        c.rect(14 + index * 74, 18, 64, 44, "#2f5a7c", outline="#6fa8cc")
        level = 6 + 10 * abs(math.sin(t * 1.5 + index))
        c.rect(20 + index * 74, 56 - level, 52, level, "#7fd0a0")
    pose = Pose(
        left=toward("write", 0.8), right=toward("write", 0.8), mouth=play.mouth("dispatcher", t),
        gaze=0.6, stance="bust",
    )  # fmt: skip
    figure(c, _CAST["dispatcher"].look, 120, 206, pose, t, 1.35)
    c.arc(121, 98, 22, 25, 180, 340, "#c8d0d8", 3)
    table(c, 10, 196, 220, fill="#54657a")
    c.rect(240, 0, 240, BAR_TOP, "#f1ead2" if not play.begun("where", t) else "#b9c8b0")
    arm = toward("phone", 1.0)
    pose = Pose(
        left=toward("shrug", play.swell("fire", t)), right=arm, mouth=play.mouth("caller", t),
        gaze=-0.6, mood=-1.0, stance="bust",
    )  # fmt: skip
    if not play.begun("where", t):
        smoke(c, 280, 160, 0.9, t)
        flame(c, 270, 254, 50, t)
    figure(c, _CAST["caller"].look, 362, 226, pose, t, 1.35)
    phone(c, *hand(362, 226, "right", arm, 1.35))
    if play.begun("where", t):
        _cat(c, 352, 196)
    c.rect(238, 0, 4, BAR_TOP, "#ffffff")


def _street(c: Canvas, play: Play, t: float) -> None:
    street(c)
    house(c, 250, 40, 190, 136, "#d8b48c")
    c.rect(262, 112, 30, 64, "#5a3c28")
    c.text(277, 104, "42", 12, "#3a2a1a")
    spraying = play.on("sprays", t)
    if not play.done("sprays", t):
        amount = 1.0 - (0.7 * play.part("sprays", t) if spraying else 0.0)
        smoke(c, 408, 60, amount, t)
        if not play.part("sprays", t) > 0.6:
            flame(c, 408, 84, 20, t)
    part = play.part("arrives", t)
    van(c, -90 + 200 * part, 232, "#c8281e", "ENGINE 9", light=t * 2.5)
    _fighter(c, play, t, spraying=spraying)
    lift = play.swell("strokes", t)
    show = play.swell("nobody", t)
    right = toward("point", show) if show else toward("hold", 1.0)
    pose = Pose(
        left=toward("hold", 1.0), right=right, mouth=play.mouth("caller", t),
        gaze=0.7 if show else -0.7, mood=1.0 if play.begun("out", t) else -0.8,
    )  # fmt: skip
    figure(c, _CAST["caller"].look, 330, 178, pose, t, 0.95)
    _cat(c, 330, 156 - 16 * lift)


def _fighter(c: Canvas, play: Play, t: float, *, spraying: bool) -> None:
    if not play.begun("jumps_out", t):
        return
    running = play.on("jumps_out", t)
    x = 170 + 70 * play.part("jumps_out", t)
    arm = toward("point", 1.0) if spraying else toward("rest", 1.0)
    if spraying:
        arm = (105, 125)
    pose = Pose(
        right=arm, mouth=play.mouth("fighter", t), gaze=0.8, stride=t * 1.8 if running else None,
    )  # fmt: skip
    figure(c, _CAST["fighter"].look, x, 184, pose, t, 0.98)
    if spraying:
        hx, hy = hand(x, 184, "right", arm, 0.98)
        c.limb([(120, 214), (180, 238), (hx, hy)], 4, "#7a6a4a")
        for drop in range(16):
            part = (drop / 16 + t * 1.7) % 1
            px = hx + (406 - hx) * part
            py = hy + (74 - hy) * part - 46 * math.sin(math.pi * part)
            c.oval(px, py, 4, 4, "#7fc4ef")


KITCHEN_FIRE = Scene(
    topic="06_Emergency_Response_Scenarios",
    number="001",
    video_id="demoFires01",
    title="Oil on fire",
    cast=_CAST,
    beats=_BEATS,
    draw=_draw,
    segments=((0.0, 45.0), (28.0, None)),
    summary=Summary(
        detailed="""
        The oil in a pan catches fire while a young woman stands in her kitchen, and the smoke alarm
        starts to beep. She calls the emergency line. A bald dispatcher asks what is happening and
        hears that the oil in the pan is burning; nobody is with her but her cat, which hides under
        the table. He warns her not to pour water on the flames and sends her out with the cat. She
        picks the animal up, walks out and shuts the door. Asked for her address, she names Forty
        two Mill Lane, third floor, and he tells her to wait at the corner, away from the door. A
        siren comes closer and a red fire engine with the number nine drives up. A firefighter runs
        over and asks whether anybody is inside. Nobody is, she answers, and points out the smoking
        kitchen window. He sprays water at it until the flames and the smoke are gone, and reminds
        her not to use the stove before it has been checked. Relieved, she lifts the cat to her
        face.
        """,
        short=(
            "A pan of oil burns in a flat, and a woman calls the emergency line.",
            "The dispatcher forbids water and sends her out with her cat.",
            "She gives her address: Forty two Mill Lane, third floor.",
            "Engine 9 arrives and a firefighter puts the fire out from the street.",
            "The stove must be checked before she uses it again.",
        ),
        chapters=(
            Chapter("ignites", "alarm", "Outbreak", "Oil burns and the smoke alarm beeps."),
            Chapter("emergency", "no_water", "Call", "No water; take the cat and leave."),
            Chapter("picks_cat", "on_way", "Escape", "She leaves and gives her address."),
            Chapter("siren", "strokes", "Rescue", "The engine arrives and the fire is put out."),
        ),
        glossary=("dispatcher", "smoke alarm", "fire engine", "stove"),
    ),
    choices=(
        Choice(
            0, "What does the dispatcher warn the caller not to do?", "B",
            "Pour water on the burning oil",
            (
                "Open the window for fresh air",
                "Use the lift to reach the street",
                "Carry the pan to the sink by hand",
            ),
            "He says: do not pour water on it.",
            ("speech",), True,
        ),
        Choice(
            0, "Who is in the flat with the caller?", "C",
            "Only a cat that hides under the table",
            (
                "A neighbour who came to help her",
                "Her son, who sleeps next door",
                "A dog that barks at the flames",
            ),
            "She says that only her cat is with her, hiding under the table, and it is seen.",
            ("speech", "animal"), True,
        ),
        Choice(
            1, "Which number is on the vehicle that drives up?", "A",
            "9",
            ("42", "6", "3"),
            "The red fire engine bears the words ENGINE 9.",
            ("on-screen text",), False,
        ),
        Choice(
            1, "What must happen before the stove is used again?", "D",
            "Somebody has to check it",
            (
                "The pan has to be thrown away",
                "The kitchen has to be painted",
                "The landlord has to buy a new one",
            ),
            "The firefighter says not to use the stove until it has been checked.",
            ("speech",), True,
        ),
    ),
    moments=(
        Moment(
            0, "after", "ignites", "alarm",
            "When does the smoke alarm beep, after the oil catches fire?",
            "Once the flames stand high the alarm is heard five times.", True,
        ),
        Moment(
            0, "before", "picks_cat", "no_water",
            "When is the caller warned against water, before she picks up the cat?",
            "The dispatcher forbids water and tells her to take the cat and get out.", True,
        ),
        Moment(
            0, "immediately after", "picks_cat", "goes_out",
            "When does the caller leave the kitchen with the cat, right after picking it up?",
            "With the cat in her arms she walks through the door on the right.", False,
        ),
        Moment(
            1, "after", "where", "address",
            "After the dispatcher asks for it, when does the caller tell her address?",
            "She answers with Forty two Mill Lane, third floor.", True,
        ),
        Moment(
            1, "during", "sprays", "water",
            "When is the hissing of the water heard, while the firefighter sprays the window?",
            "The hiss is heard for a moment soon after the jet starts.", True,
        ),
        Moment(
            1, "before", "jumps_out", "arrives",
            "When does the fire engine drive up, before the firefighter comes running?",
            "The red engine rolls in from the left and stops.", False,
        ),
    ),
)  # fmt: skip
