"""06/003: a dog is locked in a hot car; the emergency call is in Spanish."""

from __future__ import annotations

import math

from bench.demo.make.canvas import BAR_TOP, Canvas
from bench.demo.make.people import Look, Pose, figure, hand, toward, waving
from bench.demo.make.rooms import table
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
from bench.demo.make.things import board, car, phone
from bench.demo.make.timeline import Play

_CAST = {
    "owner": Character(
        "the dog's owner",
        Voice("es-419+f2", 50, 165),
        Look("bronze", "#221915", "long", "#c23f5e", "#e8e0d0"),
        "Hispanic",
        "Female",
        "40+",
        "Spanish",
    ),
    "dispatcher": Character(
        "the dispatcher",
        Voice("es-419+m3", 40, 165),
        Look("olive", "#2a1d18", "short", "#4a5f86", "#2c3440", glasses=True),
        "Hispanic",
        "Male",
        "25-39",
        "Spanish",
    ),
    "officer": Character(
        "the officer",
        Voice("en-us+f5", 48, 168),
        Look("porcelain", "#6a4326", "tail", "#22304e", "#22304e"),
        "White",
        "Female",
        "25-39",
    ),
}
_CALL = ("owner", "dispatcher")
_LOT = ("owner", "officer")

_BEATS = (
    Cut("lot", ("owner",)),
    Do("peers", "the owner bends down and looks into the car", 2.5),
    Show("heat", "36 C", 2.5, "the pharmacy sign shows 36 degrees"),
    Cut("split", _CALL),
    Say("dog", "owner", "¡Por favor, ayuda! Mi perro está encerrado en el coche.",
        "the owner says that her dog is locked in the car"),
    Say("calm", "dispatcher", "Tranquila, señora. ¿Dónde está usted?",
        "the dispatcher asks where she is"),
    Say("market", "owner", "En el aparcamiento del mercado, junto a la puerta norte.",
        "the owner says that she is in the market car park, by the north gate"),
    Say("how_long", "dispatcher", "¿Desde cuándo está cerrado el coche?",
        "the dispatcher asks how long the car has been locked"),
    Say("twenty", "owner", "Desde hace veinte minutos. Las llaves están dentro.",
        "the owner says that it is twenty minutes and the keys are inside"),
    Say("coming", "dispatcher", "Una patrulla llega en dos minutos.",
        "the dispatcher promises a patrol in two minutes"),
    Cut("lot", _LOT),
    Do("beckons", "the owner waves her arm at the officer", 2.25),
    Do("officer_comes", "the officer walks up to the car", 2.25),
    Say("step_back", "officer", "Please step back. I am going to break the small window.",
        "the officer announces that she will break the small window"),
    Sound("crash", "crash", "glass breaks", "glass breaking", along=True, delay_s=1.0),
    Do("hits", "the officer hits the window with a tool", 2.0),
    Do("jumps", "the dog jumps out of the car", 2.0),
    Say("shade", "officer", "He looks all right. Give him water, and keep him in the shade.",
        "the officer advises water and shade"),
    Do("laps", "the dog drinks from a blue bowl", 3.0),
    Say("bruno", "owner", "¡Muchas gracias! Se llama Bruno.",
        "the owner gives thanks and tells the dog's name"),
)  # fmt: skip


def _draw(c: Canvas, play: Play, t: float) -> None:
    {"lot": _lot, "split": _split}[play.place(t)](c, play, t)


def _dog(c: Canvas, x: float, y: float, wag: float, *, head_down: float = 0.0) -> None:
    """A brown dog facing left, standing on y."""
    c.limb([(x + 20, y - 20), (x + 32, y - 32 + wag)], 4, "#8a5a30")
    for leg in (-14, -6, 10, 17):
        c.limb([(x + leg, y - 14), (x + leg, y - 2)], 5, "#8a5a30")
    c.rect(x - 20, y - 28, 42, 18, "#9c6836", radius=9)
    hy = y - 34 + 22 * head_down
    c.oval(x - 24, hy, 10, 9, "#9c6836")
    c.oval(x - 33, hy + 3, 6, 4.5, "#c08a54")
    c.oval(x - 38, hy + 2, 2, 2, "#20140c")
    c.oval(x - 18, hy - 1, 4, 8, "#6e4420")
    c.oval(x - 27, hy - 2, 1.5, 1.7, "#20140c")


def _lot(c: Canvas, play: Play, t: float) -> None:
    c.rect(0, 0, 480, 150, "#ffe7b0")
    c.oval(440, 34, 22, 22, "#ffc93a")
    c.rect(20, 60, 190, 96, "#d98a5a")
    c.text(86, 86, "MERCADO", 18, "#ffffff", bold=True)
    board(c, 30, 112, 58, 26, "36 C" if play.begun("heat", t) else "11:40", fill="#10321c", size=15)
    c.text(330, 118, "PUERTA NORTE", 14, "#7a4a2a")
    c.rect(0, 150, 480, BAR_TOP - 150, "#9b9a94")
    for foot in (40, 200, 360):
        c.shape([(foot, 250), (foot + 8, 250), (foot + 30, 160), (foot + 24, 160)], "#e8e6dc")
    broken = play.part("hits", t) > 0.6
    _owner(c, play, t)
    car(c, 300, 216, "#4a76b8")
    jumped = play.part("jumps", t) if play.begun("jumps", t) else 0.0
    if not jumped:
        c.oval(288 + math.sin(t * 3) * 3, 170, 9, 8, "#9c6836")
        c.oval(294 + math.sin(t * 3) * 3, 168, 3, 6, "#6e4420")
    if broken:
        c.shape([(304, 178), (306, 162), (318, 162), (333, 180)], "#2a3038")
        for shard in range(5):
            c.shape(
                [(306 + shard * 6, 236), (310 + shard * 6, 231), (312 + shard * 6, 237)], "#d8ecf8"
            )
    if jumped:
        x = 290 - 120 * jumped
        y = 232 - 60 * math.sin(math.pi * jumped) * (1 - jumped)
        _dog(c, x, y, 4 * math.sin(t * 14), head_down=play.swell("laps", t))
    if play.begun("shade", t):
        c.pie(124, 232, 15, 12, 0, 180, "#3a6ad0")
        c.oval(124, 232, 15, 4, "#bfe2f5")
    _officer(c, play, t)


def _owner(c: Canvas, play: Play, t: float) -> None:
    peer, beckon = play.swell("peers", t, 0.7), play.swell("beckons", t)
    right = waving(beckon, t) if beckon else toward("point", 0.6 * peer)
    glad = play.begun("jumps", t)
    x = 200 - (110 * play.part("hits", t) if play.begun("hits", t) else 0.0)
    left = toward("chest", play.swell("bruno", t))
    moving = play.on("hits", t)
    pose = Pose(
        left=left, right=right, mouth=play.mouth("owner", t), gaze=0.8, mood=1.0 if glad else -1.0,
        stride=t * 1.2 if moving else None,
    )  # fmt: skip
    figure(c, _CAST["owner"].look, x, 164 + 10 * peer, pose, t, 1.1)


def _officer(c: Canvas, play: Play, t: float) -> None:
    if not play.begun("officer_comes", t):
        return
    walking = play.on("officer_comes", t)
    x = 500 - 104 * play.part("officer_comes", t)
    hit = play.swell("hits", t, 0.5)
    left = toward("raise", hit)
    if hit:
        left = (95 + 40 * math.sin(t * 9), 80 + 40 * math.sin(t * 9))
    right = toward("shrug", play.swell("step_back", t))
    pose = Pose(
        left=left, right=right, mouth=play.mouth("officer", t), gaze=-0.8,
        stride=t * 1.3 if walking else None, mood=0.8 if play.begun("shade", t) else 0.0,
    )  # fmt: skip
    figure(c, _CAST["officer"].look, x, 164, pose, t, 1.1)
    c.oval(x + 10, 122, 4.5, 5.5, "#e8c04a")
    c.text(x, 150, "POLICE", 9, "#ffffff")
    if hit:
        hx, hy = hand(x, 164, "left", left, 1.1)
        c.limb([(hx, hy), (hx - 18, hy - 4)], 4, "#c8372d")


def _split(c: Canvas, play: Play, t: float) -> None:
    c.rect(0, 0, 240, BAR_TOP, "#ffe7b0")
    c.rect(0, 190, 240, 66, "#9b9a94")
    car(c, 52, 222, "#4a76b8")
    arm = toward("phone", 1.0)
    pose = Pose(
        left=toward("shrug", play.swell("dog", t)), right=arm, mouth=play.mouth("owner", t),
        gaze=0.6, mood=-1.0, stance="bust",
    )  # fmt: skip
    figure(c, _CAST["owner"].look, 130, 226, pose, t, 1.35)
    phone(c, *hand(130, 226, "right", arm, 1.35))
    c.rect(240, 0, 240, BAR_TOP, "#24364a")
    board(c, 264, 20, 192, 36, "LINEA DE EMERGENCIA", fill="#3a567a", ink="#ffffff", size=14)
    typing = 8 * math.sin(t * 10) if play.on("market", t) else 0.0
    pose = Pose(
        left=toward("write", 0.8), right=(16, -58 + typing), mouth=play.mouth("dispatcher", t),
        gaze=-0.6, stance="bust",
    )  # fmt: skip
    figure(c, _CAST["dispatcher"].look, 360, 206, pose, t, 1.35)
    c.arc(361, 98, 22, 25, 200, 360, "#c8d0d8", 3)
    table(c, 250, 196, 220, fill="#54657a")
    c.rect(238, 0, 4, BAR_TOP, "#ffffff")


HOT_CAR = Scene(
    topic="06_Emergency_Response_Scenarios",
    number="003",
    video_id="demoHotCa03",
    title="A dog in a hot car",
    cast=_CAST,
    beats=_BEATS,
    draw=_draw,
    segments=((0.0, 30.0), (20.0, None)),
    summary=Summary(
        detailed="""
        In a market car park a woman in red bends down and looks into a blue car while the pharmacy
        sign climbs to 36 degrees. She calls the emergency line and, in Spanish, says that her dog
        is locked in the car. The dispatcher calms her and asks where she is: by the north gate, she
        answers. The car has been locked for twenty minutes, and the keys are inside. He promises a
        patrol within two minutes. The woman waves at an officer, who walks up, asks her in English
        to step back, and announces that she will break the small window. Glass shatters under the
        blow of a red tool, and the brown dog jumps out. The officer finds him well and advises
        water and shade; the dog drinks from a blue bowl. The owner thanks her and tells her that
        the dog is called Bruno.
        """,
        short=(
            "A woman's dog is locked in a car at 36 degrees; her emergency call is in Spanish.",
            "The car stands by the north gate of the market, with the keys inside.",
            "An officer breaks the small window and the dog jumps out.",
            "The dog, Bruno, drinks and must stay in the shade.",
        ),
        chapters=(
            Chapter("peers", "heat", "Discovery", "A dog in a locked car, 36 degrees."),
            Chapter("dog", "coming", "Call", "The place, the keys, a patrol is promised."),
            Chapter("beckons", "jumps", "Rescue", "The officer breaks a window."),
            Chapter("shade", "bruno", "Relief", "Water, shade and thanks."),
        ),
        glossary=("patrol", "car park", "north gate", "shade"),
    ),
    choices=(
        Choice(
            0, "Where does the caller say that she is?", "C",
            "In the market's car park, by the north gate",
            (
                "In the station's car park, by the south gate",
                "In front of the pharmacy, by the bus stop",
                "Behind the supermarket, by the loading ramp",
            ),
            "In Spanish she says: en el aparcamiento del mercado, junto a la puerta norte.",
            ("speech",), True,
        ),
        Choice(
            0, "How hot is it, according to the sign?", "D",
            "36 degrees",
            ("31 degrees", "33 degrees", "39 degrees"),
            "The sign changes from the time of day to 36 C.",
            ("on-screen text",), False,
        ),
        Choice(
            1, "How does the officer get the dog out?", "A",
            "She breaks a small window with a tool",
            (
                "She opens the lock with a wire",
                "She fetches a spare key from home",
                "She calls a locksmith to the car",
            ),
            "She announces that she will break the small window, hits it, and the glass shatters.",
            ("speech", "sound", "action"), True,
        ),
    ),
    moments=(
        Moment(
            0, "after", "calm", "market",
            "After being asked where she is, when does the owner tell the place?",
            "She answers that she is in the market car park by the north gate.", True,
        ),
        Moment(
            0, "before", "dog", "peers",
            "Before the emergency call, when does the woman look into the car?",
            "She bends down at the window before the picture splits.", False,
        ),
        Moment(
            1, "during", "hits", "crash",
            "When is the glass heard breaking, while the officer hits the window?",
            "The crash is heard as her tool strikes the window.", True,
        ),
        Moment(
            1, "immediately after", "hits", "jumps",
            "When does the dog jump out, right after the window is broken?",
            "He leaps from the car as soon as the pane is gone.", False,
        ),
        Moment(
            1, "after", "shade", "laps",
            "When does the dog drink from the bowl, after the officer advises water?",
            "He lowers his head to the blue bowl.", True,
        ),
    ),
)  # fmt: skip
