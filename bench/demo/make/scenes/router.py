"""04/002: a hotline call about a dead internet connection."""

from __future__ import annotations

import math

from bench.demo.make.canvas import BAR_TOP, Canvas
from bench.demo.make.people import Look, Pose, figure, hand, toward
from bench.demo.make.rooms import plant, room, shelf, sofa, table, window
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
from bench.demo.make.things import board, phone
from bench.demo.make.timeline import Play

_CAST = {
    "agent": Character(
        "the support agent",
        Voice("en-us-nyc+f5", 55, 170),
        Look("bronze", "#16110f", "long", "#5a4f9c", "#2c3440"),
        "Indigenous",
        "Female",
        "25-39",
    ),
    "caller": Character(
        "the caller",
        Voice("en-029+m1", 48, 165),
        Look("umber", "#14100e", "curls", "#e2a93a", "#3a4a5a"),
        "Black",
        "Male",
        "18-24",
    ),
}
_BOTH = ("agent", "caller")

_BEATS = (
    Cut("split", _BOTH),
    Sound("ring", "ring", "the telephone rings twice", "phone rings"),
    Say("maya", "agent", "Riverline support, this is Maya. What is the trouble?",
        "the agent answers the phone"),
    Say("down", "caller", "My internet has been down since the storm last night.",
        "the caller says that the internet is down since the storm"),
    Say("lights", "agent", "Which lights do you see on the router?",
        "the agent asks about the router's lights"),
    Cut("router", ()),
    Say("red", "caller", "The first one is green, but the second is blinking red.",
        "the caller describes the blinking red light"),
    Cut("split", _BOTH),
    Say("plug", "agent", "Please pull out the plug, and count to ten.",
        "the agent asks him to pull the plug and count"),
    Cut("home", ("caller",)),
    Do("pulls", "the caller bends down and pulls the plug", 2.25),
    Say("counts", "caller", "Eight, nine, ten. Now I am plugging it in again.",
        "the caller finishes counting"),
    Do("plugs_in", "the caller plugs the router in again", 2.0),
    Cut("router", ()),
    Do("all_green", "the three lights of the router turn green, one by one", 3.0, gap_s=0.0),
    Cut("home", ("caller",)),
    Do("jumps", "the caller throws his arms up", 1.75, along=True, delay_s=0.5),
    Say("works", "caller", "They are all green! My game is loading.",
        "the caller rejoices that the connection works"),
    Cut("split", _BOTH),
    Say("discount", "agent", "Great. I will take five euros off your next bill.",
        "the agent promises a discount of five euros"),
    Say("quick", "caller", "Thank you, Maya. That was quick.", "the caller thanks the agent"),
    Cut("desk", ("agent",)),
    Show("closed", "CASE 7419 CLOSED", 3.5, "the agent's screen shows the closed case", gap_s=0.0),
    Do("sips", "the agent drinks from a red cup", 2.5),
)  # fmt: skip


def _draw(c: Canvas, play: Play, t: float) -> None:
    {"split": _split, "router": _router, "home": _home, "desk": _desk}[play.place(t)](c, play, t)


def _split(c: Canvas, play: Play, t: float) -> None:
    room(c, "#d9d4ea", "#8f8aa6")
    c.rect(30, 30, 70, 60, "#ffffff", outline="#a09ab8")
    c.text(65, 52, "RIVER", 16, "#4a4090", bold=True)
    c.text(65, 70, "LINE", 16, "#4a4090", bold=True)
    pose = Pose(
        right=toward("write", 0.7), left=toward("hold", 0.4), mouth=play.mouth("agent", t),
        gaze=0.6, mood=0.7, stance="bust",
    )  # fmt: skip
    figure(c, _CAST["agent"].look, 128, 200, pose, t, 1.35)
    c.arc(129, 92, 23, 25, 180, 340, "#20242a", 3)
    c.limb([(107, 98), (112, 112), (122, 110)], 2.5, "#20242a")
    table(c, 20, 190, 200, fill="#c9c2dc")
    c.rect(240, 0, 240, BAR_TOP, "#e8d8b8")
    c.rect(240, 196, 240, 60, "#a37c52")
    c.rect(360, 30, 80, 70, "#3c4a6a")
    for drop in range(6):
        y = 34 + (t * 70 + drop * 23) % 60
        c.limb([(366 + drop * 13, y), (364 + drop * 13, y + 6)], 1, "#b8c8e8")
    worried = -0.8 if not play.begun("discount", t) else 0.9
    arm = toward("phone", 1.0)
    pose = Pose(
        left=toward("shrug", play.swell("down", t)), right=arm, mouth=play.mouth("caller", t),
        gaze=-0.6, mood=worried, stance="bust",
    )  # fmt: skip
    figure(c, _CAST["caller"].look, 350, 226, pose, t, 1.35)
    phone(c, *hand(350, 226, "right", arm, 1.35))
    c.rect(238, 0, 4, BAR_TOP, "#ffffff")


def _router(c: Canvas, play: Play, t: float) -> None:
    room(c, "#e8d8b8", "#a37c52", floor_y=190)
    c.limb([(150, 120), (130, 30)], 9, "#22262c")
    c.limb([(330, 120), (350, 30)], 9, "#22262c")
    c.rect(90, 104, 300, 104, "#2a2f36", radius=14)
    c.text(240, 128, "ROUTER", 15, "#98a2ac")
    part = play.part("all_green", t)
    for index, name in enumerate(("POWER", "LINE", "WIFI")):
        green = part > 0.25 * index + 0.15 if play.begun("all_green", t) else index == 0
        hue = "#48e06a" if green else "#3a4048"
        if index == 1 and not play.begun("all_green", t):
            hue = "#ff3b30" if t % 0.8 < 0.45 else "#5a2422"
        c.oval(150 + 90 * index, 164, 13, 13, hue)
        c.text(150 + 90 * index, 190, name, 13, "#c8d0d8")


def _home(c: Canvas, play: Play, t: float) -> None:
    room(c, "#e8d8b8", "#a37c52")
    window(c, 40, 30, 90, 80, "#3c4a6a")
    shelf(c, 330, 88, 110)
    sofa(c, 26, 220, "#6d8a7a")
    plant(c, 458, 216, math.sin(t))
    c.rect(330, 186, 64, 18, "#2a2f36", radius=4)
    bend = max(play.swell("pulls", t, 0.8), play.swell("plugs_in", t, 0.8))
    up = play.swell("jumps", t)
    joy = abs(math.sin(t * 7)) * 9 * up
    left = toward("raise", up) if up else toward("phone", 1.0)
    pose = Pose(
        left=left, right=toward("raise", up) if up else toward("knee", bend),
        mouth=play.mouth("caller", t), gaze=0.8, nod=6 * bend, mood=1.0 if up else 0.0,
    )  # fmt: skip
    figure(c, _CAST["caller"].look, 278 + 12 * bend, 158 + 18 * bend - joy, pose, t, 1.2)
    if not up:
        phone(c, *hand(278 + 12 * bend, 158 + 18 * bend, "left", left, 1.2))
    pulled = play.part("pulls", t) > 0.5 and play.part("plugs_in", t) < 0.5
    plug = (352, 226) if pulled else (405, 176)
    c.rect(398, 164, 20, 24, "#f4f0e4", outline="#a09a88")
    c.limb([(345, 202), (338, 222), plug], 3, "#1c1e22")
    c.oval(*plug, 6, 6, "#1c1e22")


def _desk(c: Canvas, play: Play, t: float) -> None:
    room(c, "#d9d4ea", "#8f8aa6")
    plant(c, 452, 204, math.sin(t))
    sip = play.swell("sips", t, 0.7)
    arm = toward("chin", sip)
    pose = Pose(left=toward("write", 0.6), right=arm, gaze=-0.7, mood=0.9, stance="bust")
    figure(c, _CAST["agent"].look, 362, 200, pose, t, 1.35)
    cup = hand(362, 200, "right", arm, 1.35) if sip else (432.0, 184.0)
    table(c, 40, 190, 420, fill="#c9c2dc")
    c.rect(cup[0] - 7, cup[1] - 12, 14, 17, "#c8372d", radius=3)
    c.rect(60, 46, 230, 134, "#22262c", radius=8)
    c.rect(158, 180, 34, 12, "#22262c")
    board(c, 70, 56, 210, 114, "", fill="#eef4ff", ink="#1c2a48")
    c.text(175, 84, "CASE 7419", 24, "#1c2a48", bold=True)
    c.text(175, 116, "CLOSED", 22, "#1f8a44", bold=True)
    c.text(175, 146, "call time 3 min 40 s", 15, "#4a5668")


ROUTER = Scene(
    topic="04_Customer_Service_Interactions",
    number="002",
    video_id="demoRoute02",
    title="The red light",
    cast=_CAST,
    beats=_BEATS,
    draw=_draw,
    segments=((0.0, 30.0), (15.0, None)),
    summary=Summary(
        detailed="""
        The screen is split between a support agent with a headset and a young man on the phone at
        home, where rain runs down the window. The phone rings, and the agent introduces herself as
        Maya from Riverline. The caller complains that his internet is down since last night's
        storm. She asks about the lights of his router: the first is green, he says, but the second
        one blinks red. Maya tells him to pull out the plug and to count to ten. He bends down,
        pulls it, counts aloud and plugs the router in again. One after another the three lights
        turn green, and the caller throws up his arms because his game is loading. Maya promises to
        take five euros off his next bill, and he praises her speed. At the end her screen shows
        case 7419 as closed after a call of three minutes and forty seconds, and she drinks from a
        red cup.
        """,
        short=(
            "A caller reports that his internet is down since a storm.",
            "The second light of his router blinks red.",
            "Pulling the plug and counting to ten turns all lights green.",
            "He gets five euros off his bill, and case 7419 is closed.",
        ),
        chapters=(
            Chapter("ring", "down", "The call", "No internet since the storm."),
            Chapter("lights", "red", "Diagnosis", "One light of the router blinks red."),
            Chapter("plug", "works", "Restart", "Unplugged, counted to ten, plugged in; it works."),
            Chapter("discount", "sips", "Closing", "A discount, and case 7419 is closed."),
        ),
        glossary=("router", "plug", "case number", "bill"),
    ),
    choices=(
        Choice(
            0, "Since when has the connection been dead?", "A",
            "Since the storm in the night",
            (
                "Since he moved the router",
                "Since the bill was overdue",
                "Since a new game came out",
            ),
            "The caller says that the internet is down since the storm last night.",
            ("speech",), True,
        ),
        Choice(
            0, "What is the caller told to do?", "D",
            "Pull the plug and count to ten",
            (
                "Press the button for ten seconds",
                "Swap the cable for a shorter one",
                "Move the router to the window",
            ),
            "Maya asks him to pull out the plug and to count to ten.",
            ("speech",), True,
        ),
        Choice(
            1, "What does the agent's screen say at the end?", "C",
            "Case 7419 is closed after 3 min 40 s",
            (
                "Case 7194 is open since 3 min 40 s",
                "Case 7419 is closed after 4 min 30 s",
                "Case 4719 is passed on after 3 min",
            ),
            "The screen reads CASE 7419, CLOSED, call time 3 min 40 s.",
            ("on-screen text",), False,
        ),
    ),
    moments=(
        Moment(
            0, "after", "lights", "red",
            "After the agent asks about the router's lights, when does the caller describe the"
            " blinking red one?",
            "He answers at once that the second light is blinking red.", True,
        ),
        Moment(
            0, "before", "counts", "pulls",
            "When does the caller bend down to pull the plug, before he counts?",
            "He bends to the socket and the plug comes out, then he is heard counting.", True,
        ),
        Moment(
            1, "immediately after", "plugs_in", "all_green",
            "When do all three lights turn green, right after the router is plugged in?",
            "The picture changes to the router, whose lights turn green one by one.", False,
        ),
        Moment(
            1, "during", "works", "jumps",
            "When does the caller throw his arms up, while he rejoices about the green lights?",
            "Both arms go up as he says that his game is loading.", True,
        ),
        Moment(
            1, "after", "works", "discount",
            "When does the agent promise money off the next bill, after the connection works"
            " again?",
            "She says that she will take five euros off his next bill.", True,
        ),
    ),
)  # fmt: skip
