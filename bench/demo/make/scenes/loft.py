"""09/001: an estate agent shows a loft to a cellist."""

from __future__ import annotations

import math
from typing import Any

from bench.demo.make.canvas import BAR_TOP, Canvas
from bench.demo.make.people import Look, Pose, figure, toward
from bench.demo.make.rooms import door, plant, room
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
from bench.demo.make.things import board
from bench.demo.make.timeline import Play

_CAST = {
    "agent": Character(
        "the estate agent",
        Voice("en-gb-x-rp+m4", 38, 165),
        Look("olive", "#3a332e", "short", "#5d6470", "#3c414a", coat="#2f3b54", beard=True),
        "Arab",
        "Male",
        "40+",
    ),
    "visitor": Character(
        "the visitor",
        Voice("en-us+f2", 60, 170),
        Look("sand", "#15151a", "long", "#d8604a", "#2e4a5a"),
        "Asian",
        "Female",
        "25-39",
    ),
}
_BOTH = ("agent", "visitor")

_BEATS = (
    Cut("living", _BOTH),
    Do("enter", "the two walk in through the door", 2.5),
    Say("size", "agent", "Welcome to the loft. It has sixty two square metres.",
        "the agent gives the size of the loft"),
    Do("curtain", "the agent pulls the curtain aside", 2.5),
    Say("sun", "agent", "The windows face south, so there is sun until the evening.",
        "the agent praises the south windows"),
    Do("tram", "a yellow tram passes behind the window", 2.0, along=True, delay_s=0.5),
    Say("noise", "visitor", "Lovely. But is the street noisy at night?",
        "the visitor asks about noise at night"),
    Say("eleven", "agent", "The last tram runs at eleven. After that it is quiet.",
        "the agent says that the last tram runs at eleven"),
    Cut("kitchen", _BOTH),
    Say("stays", "agent", "The kitchen is new. The oven and the dishwasher stay here.",
        "the agent lists what stays in the kitchen"),
    Do("oven", "the visitor opens the oven and looks inside", 2.5),
    Sound("hiss", "hiss", "water rushes from the tap", "water running", along=True, delay_s=0.4),
    Do("tap", "the visitor turns on the tap", 2.5),
    Say("pressure", "visitor", "The water pressure is good.",
        "the visitor likes the water pressure"),
    Cut("bath", _BOTH),
    Do("light", "the bathroom light goes on", 1.5),
    Say("boiler", "agent", "The bathroom is small, but the boiler is new.",
        "the agent speaks about the small bathroom and the boiler"),
    Show("label", "SERVICED MARCH, NEXT: OCTOBER", 3.0,
         "the label on the boiler fills the picture"),
    Cut("balcony", _BOTH),
    Say("balcony", "agent", "And here is the balcony, my favourite place.",
        "the agent presents the balcony as his favourite place"),
    Do("bird", "a small red bird lands on the railing", 2.5),
    Say("rent", "visitor", "And how much is the rent?", "the visitor asks for the rent"),
    Say("eleven_hundred", "agent", "Eleven hundred a month, with heating. Pets are not allowed.",
        "the agent names the rent and forbids pets"),
    Say("cello", "visitor", "I have no pets, only a cello.",
        "the visitor says that she has only a cello"),
    Say("neighbours", "agent", "Then the neighbours will be glad. They love music.",
        "the agent says that the neighbours love music"),
    Do("shake", "the two shake hands", 2.5),
)  # fmt: skip


def _draw(c: Canvas, play: Play, t: float) -> None:
    if play.on("label", t):
        _label(c)
        return
    rooms = {"living": _living, "kitchen": _kitchen, "bath": _bath, "balcony": _balcony}
    rooms[play.place(t)](c, play, t)


def _agent(c: Canvas, play: Play, t: float, x: float, pose: Pose) -> None:
    figure(c, _CAST["agent"].look, x, 160, pose, t, 1.15)


def _talk(play: Play, t: float, who: str, gaze: float, **more: Any) -> Pose:
    """A friendly pose with the mouth moving to what ``who`` says; ``more`` are fields of Pose."""
    return Pose(mouth=play.mouth(who, t), gaze=gaze, mood=0.5, **more)


def _living(c: Canvas, play: Play, t: float) -> None:
    room(c, "#efe6d8", "#b98f62")
    c.rect(206, 20, 226, 124, "#f7f3ea")
    c.rect(212, 26, 214, 112, "#bfe3f7")
    c.rect(212, 108, 214, 30, "#c2beb4")
    if play.on("tram", t):
        x = 120 + 400 * (t - play.events["tram"].start_s) / 2.0
        left, right = max(212.0, x - 60), min(426.0, x + 60)
        if right > left:
            c.rect(left, 84, right - left, 42, "#f0c020")
            c.rect(left, 92, right - left, 14, "#40505a")
    c.rect(206, 76, 226, 4, "#f7f3ea")
    c.rect(318, 20, 4, 124, "#f7f3ea")
    drawn = play.part("curtain", t) if play.begun("curtain", t) else 0.0
    width = 226 - 190 * drawn
    c.rect(206, 16, width, 140, "#7a93b0")
    for fold in range(7):
        c.rect(206 + width * (fold + 0.4) / 7, 16, 3, 140, "#68809c")
    door(c, 24, 208, 150, opened=1 - play.part("enter", t))
    c.text(47, 36, "APT 12", 15, "#6a5a48")
    plant(c, 456, 222, math.sin(t))
    part = play.part("enter", t)
    walking = play.on("enter", t)
    pull = play.swell("curtain", t)
    pose = _talk(
        play,
        t,
        "agent",
        -0.6,
        right=toward("raise", 0.8 * pull),
        left=toward("give", 0.7 * play.swell("size", t)),
        stride=t * 1.3 if walking else None,
    )
    _agent(c, play, t, 60 + 130 * part + 110 * pull, pose)
    pose = _talk(play, t, "visitor", 0.6, left=toward("chin", play.swell("noise", t)),
                 stride=t * 1.3 if walking else None)  # fmt: skip
    if part > 0.25:
        figure(c, _CAST["visitor"].look, 20 + 104 * part, 162, pose, t, 1.15)


def _kitchen(c: Canvas, play: Play, t: float) -> None:
    room(c, "#dfe8e0", "#a8a49a")
    for left in range(20, 460, 88):
        c.rect(left, 18, 80, 46, "#5d8a82", outline="#4a716a")
    c.rect(14, 142, 452, 10, "#d8d2c6")
    c.rect(20, 152, 440, 62, "#6d9a92")
    c.rect(60, 154, 76, 58, "#30363e", radius=3)
    opened = play.swell("oven", t, 0.6)
    c.rect(66, 162, 64, 40, "#f2b04a" if opened > 0.5 else "#1c2026")
    if opened > 0.2:
        c.shape(
            [(66, 202), (130, 202), (138, 202 + 26 * opened), (58, 202 + 26 * opened)], "#3c434c"
        )
    c.rect(250, 140, 70, 5, "#b8bec4")
    c.limb([(270, 142), (270, 112), (288, 112), (288, 120)], 4, "#9aa2aa")
    if play.swell("tap", t) > 0.5:
        c.rect(285, 121, 6, 20, "#8fd0f0")
    pose = _talk(play, t, "agent", -0.5, left=toward("give", play.swell("stays", t)))
    _agent(c, play, t, 400, pose)
    tapping, wet = play.swell("tap", t, 0.6), play.begun("tap", t)
    x = 178 + (36 * play.part("tap", t) if wet else 0.0)
    pose = _talk(play, t, "visitor", -0.6 if not wet else 0.6, nod=7 * opened,
                 left=toward("give", opened), right=toward("point", tapping))  # fmt: skip
    figure(c, _CAST["visitor"].look, x, 164 + 6 * opened, pose, t, 1.15)


def _bath(c: Canvas, play: Play, t: float) -> None:
    lit = play.part("light", t) > 0.3
    room(c, "#d8eef0" if lit else "#4a5a60", "#b8c4c8" if lit else "#3a464a")
    tile = "#c2dde0" if lit else "#435258"
    for x in range(0, 480, 40):
        c.rect(x, 96, 1.5, 96, tile)
    for y in range(96, 192, 32):
        c.rect(0, y, 480, 1.5, tile)
    c.oval(240, 10, 26, 7, "#fff7c0" if lit else "#6a7478")
    c.rect(40, 150, 150, 60, "#ffffff" if lit else "#7a868a", radius=16)
    c.rect(370, 30, 70, 100, "#f4f4f2" if lit else "#7a868a", radius=8)
    c.rect(388, 98, 34, 16, "#f0d060" if lit else "#6a6a50")
    c.oval(405, 62, 14, 14, "#d0d6da" if lit else "#667074")
    pose = _talk(play, t, "agent", 0.5, right=toward("point", play.swell("boiler", t)))
    _agent(c, play, t, 290, pose)
    figure(c, _CAST["visitor"].look, 216, 162, _talk(play, t, "visitor", 0.6), t, 1.15)


def _label(c: Canvas) -> None:
    c.rect(0, 0, 480, BAR_TOP, "#e4e6e6")
    c.rect(90, 50, 300, 150, "#f4d860", radius=8, outline="#8a7420", line=2)
    c.text(240, 84, "BOILER", 22, "#3a3010", bold=True)
    c.text(240, 124, "SERVICED: MARCH", 20, "#3a3010")
    c.text(240, 162, "NEXT: OCTOBER", 20, "#3a3010")


def _balcony(c: Canvas, play: Play, t: float) -> None:
    c.rect(0, 0, 480, BAR_TOP, "#bfe3f7")
    for left, height in ((0, 90), (70, 60), (150, 110), (250, 74), (330, 96), (410, 66)):
        c.rect(left, 190 - height, 78, height, "#b9a894")
        board(c, left + 12, 200 - height, 16, 20, "", fill="#e8eef2")
        board(c, left + 44, 200 - height, 16, 20, "", fill="#e8eef2")
    c.oval(60 + t % 60, 36, 34, 12, "#ffffff")
    c.rect(0, 214, 480, 40, "#c9b49a")
    reach = play.swell("shake", t, 0.6)
    shake = 5 * math.sin(t * 11) * reach
    pose = _talk(play, t, "agent", 0.6, right=(50 * reach + 9, 82 * reach + 3 + shake),
                 left=toward("raise", 0.5 * play.swell("balcony", t)))  # fmt: skip
    _agent(c, play, t, 176, pose)
    pose = _talk(play, t, "visitor", -0.6, left=(50 * reach + 9, 82 * reach + 3 + shake),
                 right=toward("shrug", play.swell("cello", t)))  # fmt: skip
    figure(c, _CAST["visitor"].look, 304 - 18 * reach, 162, pose, t, 1.15)
    c.rect(0, 178, 480, 6, "#4a5058")
    for bar in range(8, 480, 22):
        c.rect(bar, 184, 3, 46, "#4a5058")
    if play.begun("bird", t):
        part = play.part("bird", t)
        x, y = 470 - 40 * part, 170 - 120 * (1 - part)
        flap = 7 * math.sin(t * 26) if play.on("bird", t) else 0.0
        c.oval(x, y, 10, 7, "#d23c2e")
        c.oval(x - 8, y - 6, 5.5, 5, "#d23c2e")
        c.shape([(x - 14, y - 6), (x - 20, y - 4), (x - 13, y - 3)], "#e8b03a")
        c.shape([(x - 2, y - 2), (x + 10, y - 3), (x + 5, y - 8 - flap)], "#96241a")
        c.oval(x - 10, y - 7, 1.2, 1.2, "#140a08")


LOFT = Scene(
    topic="09_HousingApartment_Tours",
    number="001",
    video_id="demoLofts01",
    title="A loft for a cellist",
    cast=_CAST,
    beats=_BEATS,
    draw=_draw,
    segments=((0.0, 38.0), (28.0, None)),
    summary=Summary(
        detailed="""
        An estate agent with a beard leads a young woman through a loft of sixty two square metres.
        In the living room he pulls the curtain aside to show that the windows face south and bring
        sun until the evening. Just as she wonders about noise at night, a yellow tram passes
        outside, and he assures her that the last one runs at eleven. In the new kitchen oven and
        dishwasher stay; she looks into the oven, turns on the tap and finds the water pressure
        good. The light of the small bathroom goes on, and a yellow label tells that the boiler was
        serviced in March and is due again in October. The tour ends on the balcony, the agent's
        favourite place, where a red bird lands on the railing. The rent is eleven hundred a month
        with heating, and pets are not allowed. The visitor owns no pets, only a cello, which the
        music-loving neighbours will like. They shake hands.
        """,
        short=(
            "An agent shows a south-facing loft of 62 square metres.",
            "The last tram passes at eleven, so nights are quiet.",
            "Kitchen appliances stay; the water pressure is good; the boiler is due in October.",
            "The rent is 1,100 a month with heating, without pets.",
            "The cellist and the agent shake hands.",
        ),
        chapters=(
            Chapter("enter", "eleven", "Living room", "Size, sun and the tram."),
            Chapter("stays", "pressure", "Kitchen", "Oven, dishwasher and tap."),
            Chapter("light", "label", "Bathroom", "Small, with a serviced boiler."),
            Chapter("balcony", "shake", "Balcony", "Rent, pets, music, handshake."),
        ),
        glossary=("square metre", "boiler", "rent", "railing"),
    ),
    choices=(
        Choice(
            0, "What does the agent answer when asked about noise at night?", "A",
            "It is quiet once the last tram has run at eleven",
            (
                "It is quiet because the windows were replaced",
                "It is loud only when the bars close at eleven",
                "It is loud at weekends but never in the week",
            ),
            "He says that the last tram runs at eleven and that it is quiet after that.",
            ("speech",), True,
        ),
        Choice(
            0, "Which vehicle passes behind the living room window?", "C",
            "A yellow tram",
            ("A red bus", "A white van", "A green train"),
            "A yellow tram glides past while she asks about noise.",
            ("object",), False,
        ),
        Choice(
            1, "When is the boiler's next service due?", "B",
            "In October",
            ("In March", "In August", "In November"),
            "The yellow label reads SERVICED: MARCH, NEXT: OCTOBER.",
            ("on-screen text",), False,
        ),
        Choice(
            1, "What does the rent of eleven hundred include?", "D",
            "Heating",
            ("Electricity", "Internet", "Parking"),
            "The agent says: eleven hundred a month, with heating.",
            ("speech",), True,
        ),
        Choice(
            1, "How much is the deposit for the loft?", "E", "",
            (
                "One month's rent",
                "Two months' rent",
                "Three months' rent",
                "Nothing at all",
            ),
            "Only the monthly rent is named; a deposit is not mentioned.",
            ("speech",), True,
        ),
    ),
    moments=(
        Moment(
            0, "during", "noise", "tram",
            "While the visitor asks about noise at night, when does a tram pass behind the window?",
            "A yellow tram crosses the window during her question.", True,
        ),
        Moment(
            0, "before", "eleven", "noise",
            "When does the visitor ask whether the street is noisy, before hearing about the last"
            " tram?",
            "She asks about noise at night and he then mentions the last tram.", True,
        ),
        Moment(
            0, "after", "stays", "oven",
            "When does the visitor look into the oven, after hearing what stays in the kitchen?",
            "She bends down and the oven door opens.", True,
        ),
        Moment(
            1, "after", "boiler", "label",
            "When does the label on the boiler fill the picture, after the agent speaks about the"
            " boiler?",
            "The yellow label is shown right after his remark.", True,
        ),
        Moment(
            1, "before", "rent", "bird",
            "When does a bird land on the railing, before the visitor asks for the rent?",
            "A small red bird flies in from the right and sits down.", True,
        ),
        Moment(
            1, "immediately after", "neighbours", "shake",
            "When do they shake hands, immediately after the talk about the neighbours?",
            "Their hands meet once he has said that the neighbours love music.", True,
        ),
    ),
)  # fmt: skip
