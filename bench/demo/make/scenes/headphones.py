"""04/001: broken headphones come back to the shop."""

from __future__ import annotations

import math

from bench.demo.make.canvas import BAR_TOP, Canvas
from bench.demo.make.people import Look, Pose, figure, hand, toward, waving
from bench.demo.make.rooms import plant, room, shelf, table
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
from bench.demo.make.things import board, box, phone
from bench.demo.make.timeline import Play

_CAST = {
    "clerk": Character(
        "the clerk",
        Voice("en-gb-scotland+m2", 45, 165),
        Look("rose", "#b5652f", "short", "#c8452f", "#2c3440"),
        "White",
        "Male",
        "25-39",
    ),
    "customer": Character(
        "the customer",
        Voice("en-us+f3", 62, 172),
        Look("olive", "#35618f", "scarf", "#e0c48a", "#54413a"),
        "Arab",
        "Female",
        "18-24",
    ),
}
_BOTH = ("clerk", "customer")

_BEATS = (
    Cut("counter", ("clerk",)),
    Sound("bell", "bell", "a bell chimes for the next ticket", "bell chimes", along=True,
          delay_s=1.0),
    Show("ticket", "NOW SERVING B47", 2.5, "the display changes to B47", gap_s=1.25),
    Cut("counter", _BOTH),
    Do("walks_up", "the customer walks up to the counter", 2.0, gap_s=0.0),
    Say("help", "clerk", "Good afternoon. How can I help?", "the clerk greets the customer"),
    Say("silent", "customer", "I bought these headphones on Monday, and the left side is silent.",
        "the customer says that the left side of her headphones is silent"),
    Do("puts_box", "the customer puts a white box on the counter", 1.75),
    Say("listen", "clerk", "Let me listen for myself.", "the clerk wants to listen himself"),
    Do("tries_on", "the clerk puts the headphones on and tilts his head", 3.0),
    Say("right", "clerk", "You are right, there is nothing on the left.",
        "the clerk confirms the fault"),
    Say("receipt", "clerk", "Do you still have the receipt?", "the clerk asks for the receipt"),
    Do("searches", "the customer searches her bag", 2.5),
    Say("photo", "customer", "I lost the paper, but I took a photo of it.",
        "the customer says that she has a photo of the receipt"),
    Cut("phone", ()),
    Show("price", "SOUNDHAUS 12 MAY, EUR 59.90, PAID BY CARD", 3.25,
        "the receipt is shown on the customer's phone", gap_s=0.0),
    Cut("counter", _BOTH),
    Say("choose", "clerk", "That will do. Do you want your money back, or a new pair?",
        "the clerk offers money or a new pair"),
    Say("green", "customer", "A new pair, please. In green, if you have them.",
        "the customer asks for a green pair"),
    Do("fetches", "the clerk goes to the back room and returns with a green box", 4.0),
    Say("last", "clerk", "These are the last green ones. Your guarantee starts again today.",
        "the clerk says that these are the last green ones and the guarantee starts again"),
    Do("takes_box", "the customer takes the green box", 1.75),
    Do("waves", "the customer waves and walks off", 2.5),
)  # fmt: skip


def _draw(c: Canvas, play: Play, t: float) -> None:
    if play.place(t) == "phone":
        _phone(c, play, t)
    else:
        _shop(c, play, t)


def _phone(c: Canvas, play: Play, t: float) -> None:
    c.rect(0, 0, 480, BAR_TOP, "#5b6d78")
    shift = 30 * (1 - min(1.0, play.part("price", t) * 6))
    c.rect(150, 6 + shift, 180, 260, "#15181c", radius=16)
    c.rect(160, 18 + shift, 160, 240, "#f7f4ea", radius=4)
    for line, (text, size) in enumerate(
        (
            ("SOUNDHAUS", 22),
            ("12 MAY", 18),
            ("Headphones X2", 15),
            ("EUR 59.90", 22),
            ("PAID BY CARD", 16),
        )
    ):
        c.text(240, 48 + shift + 38 * line, text, size, "#20262c", bold=size > 20)


def _shop(c: Canvas, play: Play, t: float) -> None:
    room(c, "#f3ead6", "#a8a29a")
    shelf(c, 24, 84, 120)
    shelf(c, 24, 132, 120)
    c.rect(176, 40, 50, 140, "#3a3f46")
    new = play.begun("ticket", t)
    board(
        c, 262, 6, 186, 26, "NOW SERVING B47" if new else "NOW SERVING B46", ink="#ffd76a", size=16
    )
    plant(c, 456, 212, math.sin(t))
    _clerk(c, play, t)
    if play.begun("walks_up", t):
        _customer(c, play, t)
    table(c, 60, 166, 200, fill="#8a6a4a")
    _boxes(c, play, t)


def _clerk(c: Canvas, play: Play, t: float) -> None:
    away = play.swell("fetches", t, 1.2)
    trying = play.swell("tries_on", t, 0.6)
    x, arm = 134 + 66 * away, toward("head", trying)
    if play.on("fetches", t) and away > 0.97:
        return
    carrying = play.on("fetches", t) and play.part("fetches", t) > 0.5
    hold = toward("hold", 1.0 if carrying else 0.0)
    pose = Pose(
        left=hold if carrying else arm, right=hold if carrying else arm,
        mouth=play.mouth("clerk", t), gaze=0.8, stance="bust", tilt=5 * trying,
        mood=0.8 if play.begun("fetches", t) else 0.0,
    )  # fmt: skip
    figure(c, _CAST["clerk"].look, x, 182 - 6 * away, pose, t, 1.25 - 0.2 * away)
    if trying:
        c.arc(x + 6, 84, 22, 26, 180, 360, "#f8f8f8", 4)
        for side in (-1, 1):
            c.oval(x + 6 + 21 * side, 86, 6, 9, "#f8f8f8")
    if carrying:
        box(c, x, 158, 34, 26)
        c.rect(x - 17, 132, 34, 26, "#3f9a56")


def _customer(c: Canvas, play: Play, t: float) -> None:
    look, walking = _CAST["customer"].look, play.on("walks_up", t)
    leaving = play.on("waves", t)
    x, stride = 330.0, None
    if walking:
        x, stride = 330 + 190 * (1 - play.part("walks_up", t)), t * 1.3
    if leaving:
        x, stride = 330 + 160 * max(0.0, play.part("waves", t) * 1.6 - 0.6), t * 1.3
    if play.done("waves", t):
        return
    left = toward("give", max(play.swell("puts_box", t), play.swell("takes_box", t)))
    if play.on("searches", t):
        left = (20, -50 + 20 * math.sin(t * 8))
    showing = play.swell("photo", t)
    if showing:
        left = toward("give", showing)
    right = waving(play.swell("waves", t), t)
    pose = Pose(
        left=left, right=right, mouth=play.mouth("customer", t), gaze=0.7 if leaving else -0.8,
        stride=stride, mood=1.0 if play.begun("takes_box", t) else -0.5,
    )  # fmt: skip
    figure(c, look, x, 158, pose, t, 1.2)
    c.rect(x + 14, 146, 34, 34, "#7d5a8c", radius=6)
    c.limb([(x + 18, 148), (x + 22, 104)], 3, "#7d5a8c")
    if showing:
        phone(c, *hand(x, 158, "left", left, 1.2))
    if play.begun("takes_box", t):
        c.rect(x - 44, 150, 30, 24, "#3f9a56")


def _boxes(c: Canvas, play: Play, t: float) -> None:
    if play.begun("puts_box", t) and not play.begun("fetches", t):
        x = 246 - 36 * play.part("puts_box", t)
        c.rect(x - 17, 140, 34, 26, "#ffffff", outline="#9aa0a8")
        c.text(x, 153, "X2", 12, "#30363c")
    if play.begun("last", t) and not play.begun("takes_box", t):
        c.rect(200, 140, 34, 26, "#3f9a56")
        c.text(217, 153, "X2", 12, "#ffffff")


HEADPHONES = Scene(
    topic="04_Customer_Service_Interactions",
    number="001",
    video_id="demoHeadp01",
    title="The silent headphones",
    cast=_CAST,
    beats=_BEATS,
    draw=_draw,
    segments=((0.0, 34.0), (20.0, None)),
    summary=Summary(
        detailed="""
        In an electronics shop a bell chimes and the display calls ticket B47. A young customer in
        a blue headscarf walks up to the counter and complains that the headphones which she bought
        on Monday are silent on the left. She puts the white box on the counter. The clerk prefers
        to listen for himself: he puts them on, tilts his head, and confirms that nothing comes from
        the left side. He asks for the receipt. The customer searches her bag, says that she lost
        the paper, and offers a photo of it instead; her phone shows a SoundHaus receipt of 12 May
        over 59.90 euros, paid by card. The clerk accepts it and lets her choose between her money
        and a new pair. She takes a new pair, in green if possible. He disappears into the back room
        and returns with a green box, the last of its kind, and remarks that the guarantee starts
        again today. The customer takes it, waves and walks off.
        """,
        short=(
            "A customer returns headphones whose left side makes no sound.",
            "The clerk tries them on and confirms the fault.",
            "A photo of the lost receipt, over 59.90 euros, is accepted as proof.",
            "She swaps them for the last green pair, with a fresh guarantee.",
        ),
        chapters=(
            Chapter("ticket", "silent", "Complaint", "Ticket B47: one side is silent."),
            Chapter("puts_box", "right", "Test", "The clerk listens and agrees."),
            Chapter("receipt", "price", "Proof", "The receipt is a photo on her phone."),
            Chapter("choose", "waves", "Exchange", "She gets the last green pair."),
        ),
        glossary=("receipt", "guarantee", "exchange", "back room"),
    ),
    choices=(
        Choice(
            0, "What is wrong with the headphones?", "C",
            "No sound comes out of one side",
            (
                "The battery is empty within an hour",
                "The cable has come off at the plug",
                "The band has snapped in the middle",
            ),
            "The customer says that the left side is silent, and the clerk hears the same.",
            ("speech",), True,
        ),
        Choice(
            0, "Which ticket is called at the beginning?", "D",
            "B47",
            ("B46", "B74", "A47"),
            "After the bell the display above the counter changes from B46 to B47.",
            ("on-screen text",), False,
        ),
        Choice(
            1, "How much did the headphones cost, going by the receipt?", "B",
            "59.90 euros, paid by card",
            ("95.50 euros, paid by card", "59.90 euros, paid in cash", "49.50 euros, paid in cash"),
            "The receipt on the phone reads EUR 59.90 and PAID BY CARD.",
            ("on-screen text",), False,
        ),
        Choice(
            1, "What does the customer decide to take?", "A",
            "A new pair in another colour",
            (
                "Her money back in full",
                "A voucher for a later visit",
                "A repair of the old pair",
            ),
            "Offered money or a new pair, she asks for a new pair in green.",
            ("speech", "objects"), True,
        ),
    ),
    moments=(
        Moment(
            0, "immediately after", "silent", "puts_box",
            "Immediately after describing the silent side, when does the customer put the box on"
            " the counter?",
            "She sets a white box down as soon as she has described the fault.", True,
        ),
        Moment(
            0, "before", "right", "tries_on",
            "Before confirming the fault, when does the clerk wear the headphones?",
            "He lifts his hands to his head, wears them, and only then agrees.", True,
        ),
        Moment(
            1, "after", "receipt", "photo",
            "When does the customer say that she has a photo, after being asked for the receipt?",
            "Having searched her bag she says that she lost the paper but took a photo.", True,
        ),
        Moment(
            1, "after", "green", "fetches",
            "When does the clerk fetch the other pair from the back room, after she asks for"
            " green?",
            "He walks into the dark doorway and comes back with a green box.", True,
        ),
        Moment(
            1, "before", "takes_box", "last",
            "When does the clerk speak of the guarantee, before the customer takes the box?",
            "He says that these are the last green ones and that the guarantee starts again.", True,
        ),
    ),
)  # fmt: skip
