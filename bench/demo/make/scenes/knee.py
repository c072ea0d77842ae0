"""01/001: a cyclist with a sore knee sees the doctor."""

from __future__ import annotations

import math
from typing import Literal

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
    Summary,
    Voice,
)
from bench.demo.make.things import paper
from bench.demo.make.timeline import Play

_CAST = {
    "doctor": Character(
        "the doctor",
        Voice("en-gb+f2", 48, 168),
        Look("umber", "#1d1512", "bun", "#3f7fa6", coat="#f4f6f8"),
        "Black",
        "Female",
        "25-39",
    ),
    "patient": Character(
        "the patient",
        Voice("en-us+m3", 38, 160),
        Look("rose", "#9a9a98", "short", "#5f7d4e", "#4a4136", beard=True),
        "White",
        "Male",
        "40+",
    ),
}

_BOTH = ("doctor", "patient")

_BEATS = (
    Cut("office", _BOTH),
    Do("enters", "the patient walks in from the right and sits down", 2.5),
    Say("greet", "doctor", "Good morning, Mister Lind. What brings you in today?"),
    Do(
        "points_knee", "the patient points at his left knee", 2.5, along=True, delay_s=0.6,
    ),
    Say(
        "fall", "patient", "My left knee has been hurting since I fell off my bicycle on Saturday.",
        "the patient says that his knee hurts since he fell off his bicycle",
    ),
    Say(
        "ask_when", "doctor", "Does it hurt more on the stairs, or when you rest?",
        "the doctor asks when it hurts more",
    ),
    Say(
        "clicks", "patient", "On the stairs. And it clicks when I get up from a chair.",
        "the patient says that the knee clicks when he gets up",
    ),
    Do("hammer", "the doctor taps the patient's knee with a small hammer", 3.0),
    Say(
        "ouch", "patient", "Ouch! Right there, on the inner side.",
        "the patient cries out and says where it hurts", gap_s=0.1,
    ),
    Cut("xray", ("doctor",)),
    Do(
        "circle", "a red circle is drawn around the joint on the X-ray", 2.5, along=True,
        delay_s=1.0,
    ),
    Say(
        "bone", "doctor", "Here is your X-ray. The bone is fine, nothing is broken.",
        "the doctor says that no bone is broken",
        spoken="Here is your X ray. The bone is fine, nothing is broken.",
    ),
    Say(
        "ligament", "doctor", "The ligament is stretched. It needs rest, not surgery.",
        "the doctor says that the ligament is stretched and needs rest",
    ),
    Cut("office", _BOTH),
    Say(
        "race", "patient", "But I have a race in three weeks. Can I still ride?",
        "the patient asks whether he can ride his race",
    ),
    Do("shakes", "the doctor shakes her head", 2.0, along=True),
    Say("no_race", "doctor", "No race this time, I am sorry.", "the doctor rules out the race"),
    Say(
        "ice", "doctor", "Put ice on it twice a day, and come back in ten days.",
        "the doctor prescribes ice twice a day and a visit in ten days",
    ),
    Do("writes", "the doctor writes on a pad", 2.5),
    Do("hands_over", "the doctor hands the patient a yellow slip", 1.75),
    Cut("slip", ()),
    Show(
        "slip_text", "Physiotherapy: Tuesday 9:30, Room 12", 3.5,
        "the slip with the physiotherapy appointment fills the picture", gap_s=0.0,
    ),
    Cut("office", _BOTH),
    Say("thanks", "patient", "Thank you, doctor. I will tell my team.",
        "the patient thanks the doctor"),
    Do("leaves", "the patient gets up and limps out", 2.5),
)  # fmt: skip


def _draw(c: Canvas, play: Play, t: float) -> None:
    place = play.place(t)
    if place == "xray":
        _xray(c, play, t)
    elif place == "slip":
        lines = ("Physiotherapy", "Tuesday 9:30", "Room 12", "Ice: 2 x daily")
        paper(c, "LIND, Karl", lines, fill="#fdf0a8", shown=min(1.0, play.part("slip_text", t) * 9))
    else:
        _office(c, play, t)


def _office(c: Canvas, play: Play, t: float) -> None:
    room(c, "#d6e6e4", "#b79f83")
    window(c, 40, 30, 84, 84, "#bfe0f5")
    poster(c, 376, 26, ("MOVE 30 MIN", "EVERY DAY"), "#fff4d8")
    plant(c, 24, 200, math.sin(t))
    chair(c, 330, 168)
    _patient(c, play, t)
    hammer = play.swell("hammer", t, 0.7)
    if not hammer:
        _doctor(c, play, t, 140, "bust")
    table(c, 70, 172, 150)
    c.rect(92, 166, 46, 6, "#f8f8f4")
    if hammer:
        _doctor(c, play, t, 180 + 56 * hammer, "stand")


def _doctor(c: Canvas, play: Play, t: float, x: float, stance: Literal["stand", "bust"]) -> None:
    writing, giving = play.swell("writes", t), play.swell("hands_over", t)
    hammer = play.swell("hammer", t, 0.7)
    tap = abs(math.sin(t * 5)) * hammer
    if writing:
        arm = toward("write", writing)
        arm = (arm[0], arm[1] + 9 * math.sin(t * 9))
    else:
        arm = toward("give", giving)
        arm = (arm[0] + 32 * hammer, arm[1] + 34 * hammer - 22 * tap)
    pose = Pose(
        right=arm, mouth=play.mouth("doctor", t), gaze=0.8, stance=stance,
        tilt=5 * play.swell("shakes", t) * math.sin(t * 9), mood=-0.5 * play.swell("shakes", t),
    )  # fmt: skip
    y = 186 if stance == "bust" else 158
    figure(c, _CAST["doctor"].look, x, y, pose, t, 1.2)
    hx, hy = hand(x, y, "right", arm, 1.2)
    if hammer:
        c.limb([(hx, hy), (hx + 20, hy + 10)], 3, "#8a8f96")
        c.limb([(hx + 16, hy + 17), (hx + 24, hy + 3)], 7, "#c24a32")
    if giving:
        c.rect(hx - 2, hy - 14, 24, 18, "#fdf0a8", outline="#b8a850")


def _patient(c: Canvas, play: Play, t: float) -> None:
    look, mouth = _CAST["patient"].look, play.mouth("patient", t)
    arriving, leaving = play.on("enters", t), play.begun("leaves", t)
    part = play.part("enters", t) if arriving else 1 - play.part("leaves", t)
    if arriving or leaving:
        if part > 0.8:
            figure(c, look, 330, 168 - 16 * (1 - part) / 0.2, Pose(gaze=-0.8, stance="sit"), t, 1.2)
        else:
            limp = 3 * abs(math.sin(t * 4)) if leaving else 0.0
            walk = Pose(gaze=0.8 if leaving else -0.8, stride=t * 1.2, mood=0.0)
            figure(c, look, 345 + (0.8 - part) * 250, 152 + limp, walk, t, 1.2)
        return
    pain = play.swell("ouch", t) + 0.6 * play.swell("fall", t)
    arm = toward("knee", play.swell("points_knee", t))
    kick = 1.0 if play.on("hammer", t) and math.sin(t * 5) > 0.6 else 0.0
    pose = Pose(
        left=arm, right=toward("shrug", play.swell("race", t)), mouth=mouth, gaze=-0.8,
        mood=-1.0 if pain > 0.3 else 0.0, stance="sit", nod=3 * play.swell("ouch", t),
    )  # fmt: skip
    figure(c, look, 330, 168 - 2 * kick, pose, t, 1.2)


def _xray(c: Canvas, play: Play, t: float) -> None:
    c.rect(0, 0, 480, 254, "#23282e")
    c.rect(120, 14, 240, 226, "#0d1a24", outline="#5e7c90", line=3)
    bone, soft = "#cfe4ee", "#2c4656"
    c.limb([(240, 20), (236, 234)], 74, soft)
    c.limb([(240, 22), (238, 104)], 27, bone)
    c.oval(227, 112, 19, 15, bone)
    c.oval(252, 112, 19, 15, bone)
    c.oval(239, 148, 33, 12, bone)
    c.limb([(236, 154), (234, 232)], 23, bone)
    c.limb([(262, 160), (257, 232)], 8, bone)
    c.rect(120, 14, 240, 18, "#0d1a24")
    c.text(130, 24, "LIND K.  LEFT KNEE  14 MAR", 12, "#9fd0e6", anchor="lm")
    if play.begun("circle", t):
        end = -90 + 360 * play.part("circle", t)
        c.arc(241, 130, 52, 38, -90, end, "#ff4a3c", 4)
    pose = Pose(right=toward("give", 0.9), mouth=play.mouth("doctor", t), gaze=0.6, stance="bust")
    figure(c, _CAST["doctor"].look, 56, 234, pose, t, 1.35)


KNEE = Scene(
    topic="01_Patient-Doctor_Consultations",
    number="001",
    video_id="demoKnee_01",
    title="A cyclist's sore knee",
    cast=_CAST,
    beats=_BEATS,
    draw=_draw,
    segments=((0.0, 36.0), (24.0, None)),
    summary=Summary(
        detailed="""
        A middle-aged cyclist, Mister Lind, visits his doctor because his left knee has been sore
        since he fell off his bicycle on Saturday. While he explains, he points at the knee. The
        doctor wants to know when the pain is worst; he answers that stairs are bad and that the
        joint clicks whenever he gets up from a chair. She taps the knee with a small reflex hammer,
        and he cries out as she touches the inner side. The picture then changes to the X-ray of the
        joint, where a red circle is drawn while the doctor explains that no bone is broken: a
        ligament is stretched, which calls for rest rather than surgery. Back in the office the
        patient worries about a race in three weeks. The doctor shakes her head, rules the race out,
        and tells him to cool the knee with ice twice a day and to return in ten days. She writes a
        yellow slip and hands it over; it gives a physiotherapy appointment on Tuesday at 9:30 in
        room 12. The patient thanks her, says he will inform his team, and limps out.
        """,
        short=(
            "A cyclist sees the doctor about a left knee that hurts since a fall on Saturday.",
            "A tap with the hammer finds the sore spot; the X-ray shows no fracture but a stretched"
            " ligament.",
            "The doctor forbids the race in three weeks and orders rest and ice twice a day.",
            "A yellow slip sends him to physiotherapy on Tuesday at 9:30.",
        ),
        chapters=(
            Chapter("enters", "clicks", "Complaint", "He describes the fall and the pain."),
            Chapter("hammer", "ouch", "Examination", "The doctor taps the knee; it hurts inside."),
            Chapter("circle", "ligament", "X-ray", "No fracture, a stretched ligament."),
            Chapter("race", "leaves", "Plan", "No race, ice, physiotherapy on Tuesday."),
        ),
        glossary=("ligament", "X-ray", "reflex hammer", "physiotherapy"),
    ),
    choices=(
        Choice(
            0, "What made the patient come to the doctor?", "B",
            "A knee that hurts since he fell off a bicycle",
            (
                "A wrist that aches since he slipped on the stairs",
                "A back that is stiff since he ran a long race",
                "An ankle that swells since he played football",
            ),
            "He says that his left knee has been hurting since he fell off his bicycle, and points"
            " at it.",
            ("speech", "gesture"), True,
        ),
        Choice(
            1, "What does the doctor conclude from the X-ray?", "D",
            "Nothing is broken, but a ligament is stretched",
            (
                "A bone is cracked and must be set in plaster",
                "The joint is worn out and needs an operation",
                "The ligament is torn and must be sewn at once",
            ),
            "Beside the X-ray she says that the bone is fine and that the ligament is stretched.",
            ("speech", "X-ray"), True,
        ),
        Choice(
            1, "According to the yellow slip, when is the physiotherapy?", "A",
            "On Tuesday at 9:30 in room 12",
            (
                "On Thursday at 9:30 in room 21",
                "On Tuesday at 10:15 in room 2",
                "On Friday at 8:45 in room 12",
            ),
            "The slip fills the picture and reads Tuesday 9:30, Room 12; nobody says it.",
            ("on-screen text",), False,
        ),
    ),
    moments=(
        Moment(
            0, "during", "fall", "points_knee",
            "While the patient tells about his fall from the bicycle, when does he point at his"
            " knee?",
            "His left hand moves down to the knee as he speaks of the fall.", True,
        ),
        Moment(
            0, "after", "clicks", "hammer",
            "When does the doctor tap the knee with the hammer, after hearing that it clicks?",
            "After he mentions the clicking she leans over and taps the knee with a small hammer.",
            True,
        ),
        Moment(
            0, "immediately after", "hammer", "ouch",
            "What does the patient cry out right after the hammer touches his knee, and when?",
            "As the tapping ends he says that it hurts on the inner side.", True,
        ),
        Moment(
            1, "before", "race", "ligament",
            "When does the doctor explain that the ligament needs rest, before the patient asks"
            " about his race?",
            "Beside the X-ray she says that the ligament is stretched and needs rest.", True,
        ),
        Moment(
            1, "after", "no_race", "writes",
            "After ruling out the race, when does the doctor write on her pad?",
            "Having given her advice she bends her arm over the desk and writes.", True,
        ),
    ),
)  # fmt: skip
