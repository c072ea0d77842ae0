"""06/002: a silent training film about leaving a hall when the alarm light flashes."""

from __future__ import annotations

import math

from bench.demo.make.canvas import BAR_TOP, Canvas
from bench.demo.make.people import Look, Pose, figure, hand, toward, waving
from bench.demo.make.rooms import room
from bench.demo.make.script import (
    Chapter,
    Character,
    Choice,
    Cut,
    Do,
    Moment,
    Scene,
    Show,
    Summary,
    Voice,
)
from bench.demo.make.things import board, box, title_card
from bench.demo.make.timeline import Play

_CAST = {
    "warden": Character(
        "the warden",
        Voice("en"),
        Look("sand", "#1c1c20", "bun", "#e8762c", "#30363e"),
        "Asian",
        "Female",
        "40+",
    ),
    "packer": Character(
        "the packer in yellow",
        Voice("en"),
        Look("umber", "#1c1412", "curls", "#e0c02f", "#3f4f68"),
        "Black",
        "Female",
        "25-39",
    ),
    "driver": Character(
        "the driver in blue",
        Voice("en"),
        Look("rose", "#2c4f8a", "cap", "#3f74b5", "#3a3f48"),
        "White",
        "Male",
        "18-24",
    ),
}
_CARDS = {
    "title": ("A QUIET MORNING IN HALL 3", ""),
    "light": ("THE RED LIGHT FLASHES", "stop working at once"),
    "lift": ("NEVER TAKE THE LIFT", "use the stairs"),
    "missing": ("ONE PERSON IS MISSING", "who is it?"),
    "safe": ("EVERYBODY IS SAFE", "3 minutes 20 seconds"),
}


def _card(name: str, length_s: float = 2.75) -> tuple[Cut, Show]:
    text = " - ".join(part for part in _CARDS[name] if part)
    what = f'a card reads "{text}"'
    return Cut(f"card:{name}", ()), Show(f"card_{name}", text, length_s, what, gap_s=0.0)


_BEATS = (
    *_card("title"),
    Cut("hall", ("packer", "driver")),
    Do("stacks", "the packer stacks a box on the pile", 3.0),
    Do("flashes", "the red alarm light flashes", 3.0),
    *_card("light"),
    Cut("hall", ("packer", "driver", "warden")),
    Do("calls", "the warden comes in and waves everybody out", 3.0),
    Cut("stairs", ("warden", "driver")),
    Do("to_lift", "the driver walks to the lift", 2.5),
    Do("stops_him", "the warden stretches out her arm and stops the driver", 2.25),
    *_card("lift"),
    Cut("stairs", ("warden", "driver")),
    Do("walks_down", "the driver takes the stairs", 2.75),
    Cut("yard", ("warden", "driver")),
    Do("counts", "the warden counts people with a raised finger", 2.75),
    *_card("missing"),
    Cut("yard", ("warden", "driver", "packer")),
    Do("runs_in", "the packer comes running to the tree", 3.0),
    Do("flag", "the warden waves a green flag", 2.75),
    *_card("safe", 3.25),
)


def _draw(c: Canvas, play: Play, t: float) -> None:
    place = play.place(t)
    if place.startswith("card:"):
        title_card(c, *_CARDS[place.removeprefix("card:")])
    else:
        {"hall": _hall, "stairs": _stairs, "yard": _yard}[place](c, play, t)


def _hall(c: Canvas, play: Play, t: float) -> None:
    room(c, "#c9ced2", "#8e8a84")
    for x in (30, 150, 270, 390):
        c.rect(x, 24, 60, 34, "#e8f2f6")
    c.text(440, 84, "HALL 3", 16, "#5a626a", bold=True)
    alarm = play.on("flashes", t) or play.begun("calls", t)
    c.rect(226, 62, 28, 8, "#5a626a")
    c.pie(240, 84, 12, 14, 180, 360, "#ff2a1e" if alarm and t % 0.66 < 0.33 else "#7a2a26")
    if alarm and t % 0.66 < 0.33:
        for angle in (200, 235, 270, 305, 340):
            a = math.radians(angle)
            c.limb(
                [(240 + 18 * math.cos(a), 82 + 18 * math.sin(a)),
                 (240 + 27 * math.cos(a), 82 + 27 * math.sin(a))], 2.5, "#ff5a4e",
            )  # fmt: skip
    box(c, 90, 218, 64, 44, "SCREWS")
    box(c, 90, 174, 56, 36, "NUTS")
    stacking = play.swell("stacks", t, 0.9)
    if play.begun("stacks", t) and play.part("stacks", t) >= 0.5:
        box(c, 90, 138, 44, 28, "BOLTS")
    leave = play.part("calls", t) if play.begun("calls", t) else 0.0
    carried = play.part("stacks", t) < 0.5
    arm = toward("hold", 1.0) if carried else toward("rest", 1.0)
    arm = (arm[0] + 60 * stacking, arm[1] + 190 * stacking) if stacking else arm
    out = max(0.0, leave - 0.4) / 0.6 * 220
    pose = Pose(left=arm, right=arm if carried else toward("rest", 1.0),
                gaze=-0.8 if not leave else 0.8, stride=t * 1.5 if out else None)  # fmt: skip
    figure(c, _CAST["packer"].look, 176 + out, 160, pose, t, 1.12)
    if carried:
        box(c, 160, 150 - 12 * stacking, 36, 26)
    pose = Pose(right=toward("hold", 1.0 if not alarm else 0.0), gaze=0.8 if leave else -0.4,
                stride=t * 1.5 if out else None)  # fmt: skip
    figure(c, _CAST["driver"].look, 300 + out, 160, pose, t, 1.12)
    if leave:
        arm = waving(play.swell("calls", t), t)
        figure(c, _CAST["warden"].look, 425, 160, Pose(left=arm, gaze=-0.8, mouth=0.6), t, 1.12)


def _stairs(c: Canvas, play: Play, t: float) -> None:
    room(c, "#d8d2c6", "#8e8a84")
    c.rect(54, 70, 84, 132, "#9aa4ac", outline="#5a626a", line=3)
    c.rect(95, 72, 2, 128, "#5a626a")
    board(c, 66, 36, 60, 24, "LIFT", fill="#30363e", ink="#ffffff", size=15)
    for step in range(7):
        c.rect(330 + step * 22, 188 + step * 10, 160, 12, "#b0a89a" if step % 2 else "#a29a8c")
    board(c, 372, 36, 84, 24, "STAIRS", fill="#1f8a44", ink="#ffffff", size=15)
    going, stopped = play.on("to_lift", t), play.swell("stops_him", t)
    down = play.part("walks_down", t) if play.begun("walks_down", t) else 0.0
    x = 300 - 90 * play.part("to_lift", t) + 215 * down
    y = 160 + max(0.0, x - 330) * 0.46
    pose = Pose(
        gaze=0.8 if down else -0.8, stride=t * 1.3 if going or down else None,
        right=toward("shrug", stopped), left=toward("point", 0.7 if going else 0.0),
    )  # fmt: skip
    figure(c, _CAST["driver"].look, x, y, pose, t, 1.12)
    arm = toward("point", max(stopped, 1.0 if down else 0.0))
    tilt = 4 * stopped * math.sin(t * 9)
    pose = Pose(right=arm, gaze=0.8, mood=-0.8 * stopped, tilt=tilt)
    figure(c, _CAST["warden"].look, 152, 160, pose, t, 1.12)


def _yard(c: Canvas, play: Play, t: float) -> None:
    c.rect(0, 0, 480, 170, "#bfe0f5")
    c.rect(0, 170, 480, BAR_TOP - 170, "#8fae6c")
    c.rect(0, 60, 110, 116, "#b0b6bc")
    c.rect(20, 110, 40, 66, "#5a626a")
    c.rect(392, 90, 22, 100, "#7a5a3c")
    for dx, dy, r in ((0, -20, 46), (-34, 6, 32), (34, 6, 32)):
        c.oval(403 + dx + math.sin(t * 0.8) * 2, 70 + dy, r, r * 0.8, "#4d8a4a")
    board(c, 250, 14, 66, 42, "", fill="#1f8a44")
    c.text(283, 28, "MEETING", 11, "#ffffff")
    c.text(283, 44, "POINT", 11, "#ffffff")
    c.rect(281, 56, 4, 126, "#9aa0a8")
    figure(c, _CAST["driver"].look, 366, 168, Pose(gaze=-0.6), t, 1.05)
    part = play.part("runs_in", t) if play.begun("runs_in", t) else 0.0
    if part:
        running = play.on("runs_in", t)
        pose = Pose(
            gaze=0.8, stride=t * 1.9 if running else None, mood=0.8, mouth=0.3 if running else 0
        )
        figure(c, _CAST["packer"].look, 40 + 270 * part, 172, pose, t, 1.05)
    count, flag = play.swell("counts", t), play.swell("flag", t)
    arm = toward("point", count) if count else waving(flag, t)
    if count:
        arm = (arm[0], arm[1] + 14 * math.sin(t * 5))
    pose = Pose(right=arm, gaze=0.8, mood=1.0 if flag else -0.4, mouth=0.3 * count)
    figure(c, _CAST["warden"].look, 210, 172, pose, t, 1.05)
    if flag:
        hx, hy = hand(210, 172, "right", arm, 1.05)
        c.limb([(hx, hy), (hx + 4, hy - 44)], 2.5, "#6a4a2a")
        c.rect(hx + 4, hy - 44, 34, 22, "#1fa04e")


DRILL = Scene(
    topic="06_Emergency_Response_Scenarios",
    number="002",
    video_id="demoDrill02",
    title="A silent film about an evacuation drill",
    cast=_CAST,
    beats=_BEATS,
    draw=_draw,
    segments=((0.0, 26.0), (18.0, None)),
    summary=Summary(
        detailed="""
        This training film has no sound; cards tell the story. It is a quiet morning in hall 3: a
        packer in yellow stacks a box on a pile while a driver in blue stands by. A red light starts
        to flash, and a card orders everybody to stop working at once. The warden, in orange, comes
        in and waves the two out of the hall. On the landing the driver makes for the lift, but the
        warden stretches out her arm and shakes her head; the next card says never to take the lift,
        so he walks down the stairs instead. In the yard, beside the sign of the meeting point, the
        warden counts heads and finds that one person is missing. It is the packer, who at last
        comes running to the tree. The warden waves a green flag, and the last card announces that
        everybody is safe after three minutes and twenty seconds.
        """,
        short=(
            "A silent film shows an evacuation drill in hall 3.",
            "When the red light flashes, the warden waves everybody out.",
            "The driver is kept from using the lift and takes the stairs.",
            "At the meeting point the packer is missing, then comes running.",
            "All are safe after 3 minutes 20 seconds.",
        ),
        chapters=(
            Chapter("card_title", "flashes", "Alarm", "Work in hall 3 until the light flashes."),
            Chapter("card_light", "calls", "Leave", "The warden waves everybody out."),
            Chapter("to_lift", "walks_down", "No lift", "The driver is sent to the stairs."),
            Chapter("counts", "card_safe", "Count", "One is missing, then all are safe."),
        ),
        glossary=("drill", "warden", "meeting point", "alarm light"),
    ),
    choices=(
        Choice(
            0, "What tells the workers that they must leave?", "B",
            "A red light that flashes",
            ("A bell above the entrance", "Smoke between the boxes", "A call over loudspeakers"),
            "The lamp on the wall flashes red, and the card says so.",
            ("light", "on-screen text"), False,
        ),
        Choice(
            0, "Why does the warden hold the driver back?", "A",
            "He is about to take the lift",
            (
                "He is still carrying a box",
                "He has forgotten his helmet",
                "He wants to return to the hall",
            ),
            "He walks towards the lift; she stretches out her arm, and the card forbids lifts.",
            ("gesture", "on-screen text"), False,
        ),
        Choice(
            1, "Who arrives last at the tree?", "C",
            "The packer in yellow",
            ("The driver in blue", "The warden in orange", "A visitor in green"),
            "After the card about a missing person the packer comes running.",
            ("person",), False,
        ),
        Choice(
            1, "How long did the drill take?", "D",
            "3 minutes 20 seconds",
            ("2 minutes 30 seconds", "3 minutes 40 seconds", "4 minutes 20 seconds"),
            "The last card gives 3 minutes 20 seconds.",
            ("on-screen text",), False,
        ),
        Choice(
            1, "What caused the alarm?", "E", "",
            (
                "A fire in the paint store",
                "A leak in the gas pipe",
                "A push of the test button",
                "A fault in the wiring",
            ),
            "The film calls the morning quiet and never shows a cause.",
            ("on-screen text",), False,
        ),
    ),
    moments=(
        Moment(
            0, "after", "stacks", "flashes",
            "After the packer puts the box on the pile, when does the red light flash?",
            "The lamp on the wall flashes once the box is in place.", False,
        ),
        Moment(
            0, "after", "card_light", "calls",
            "When does the warden wave everybody out, after the card about the red light?",
            "She enters on the right and waves.", False,
        ),
        Moment(
            1, "immediately after", "stops_him", "card_lift",
            "When is the card shown that forbids the lift, right after the driver is stopped?",
            "The card follows as soon as she has stopped him.", False,
        ),
        Moment(
            1, "before", "card_missing", "counts",
            "When does the warden count the people, before the card says that one is missing?",
            "In the yard she points from one to the next.", False,
        ),
        Moment(
            1, "after", "runs_in", "card_safe",
            "When does a card tell that everybody is safe, after the last person ran to the tree?",
            "The film ends with that card, after the green flag.", False,
        ),
    ),
    has_sound=False,
)  # fmt: skip
