"""Figures that talk, gesture, sit and walk."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from bench.demo.make.canvas import Canvas, Colour, Point

SKIN = {
    "porcelain": "#f6d7c3",
    "rose": "#efc0a0",
    "olive": "#d9a477",
    "sand": "#e6b98c",
    "bronze": "#b9794a",
    "umber": "#7a4a2b",
}

Arm = tuple[float, float]
"""Directions of upper and lower arm in degrees: 0 hangs down, 90 points away from the body."""

GESTURES: dict[str, Arm] = {
    "rest": (9, 3),
    "point": (72, 86),
    "raise": (160, 172),
    "wave": (112, 170),
    "phone": (42, 200),
    "write": (16, -62),
    "hold": (14, -92),
    "give": (50, 92),
    "knee": (20, -30),
    "chin": (24, -158),
    "hip": (46, -48),
    "shrug": (30, 112),
    "head": (70, -140),
    "chest": (28, -112),
}


@dataclass(frozen=True, slots=True)
class Look:
    """What a character looks like."""

    skin: str
    hair: Colour
    style: Literal["short", "long", "bun", "bald", "curls", "scarf", "cap", "helmet", "tail"]
    top: Colour
    legs: Colour = "#39424e"
    coat: Colour | None = None
    """An open coat over the top."""
    beard: bool = False
    glasses: bool = False


@dataclass(frozen=True, slots=True)
class Pose:
    """How a character stands at one moment. Left and right are those of the picture."""

    left: Arm = GESTURES["rest"]
    right: Arm = GESTURES["rest"]
    mouth: float = 0.0
    """0 closed to 1 wide open."""
    gaze: float = 0.0
    """−1 looks left, 1 looks right."""
    mood: float = 0.0
    """−1 worried, 1 glad."""
    stance: Literal["stand", "sit", "bust"] = "stand"
    stride: float | None = None
    """Where in a step the legs are, in turns; None stands still."""
    tilt: float = 0.0
    """Sideways shift of the head in pixels, for nodding and shaking."""
    nod: float = 0.0
    """Downward shift of the head in pixels."""


def toward(gesture: str, amount: float, start: str = "rest") -> Arm:
    """The arm on its way from one gesture to another, ``amount`` from 0 to 1."""
    a, b = GESTURES[start], GESTURES[gesture]
    return (a[0] + (b[0] - a[0]) * amount, a[1] + (b[1] - a[1]) * amount)


def waving(amount: float, t: float) -> Arm:
    """An arm that waves at time ``t`` in seconds."""
    upper, lower = toward("wave", amount)
    return (upper, lower + 24 * amount * math.sin(2 * math.pi * 1.6 * t))


def hand(x: float, y: float, side: Literal["left", "right"], arm: Arm, scale: float = 1.0) -> Point:
    """Where the hand is of a figure that :func:`figure` draws at (x, y), hips at y."""
    sign = -1 if side == "left" else 1
    points = _arm_points(x, y, sign, arm, scale)
    return points[-1]


def figure(
    c: Canvas, look: Look, x: float, y: float, pose: Pose, t: float, scale: float = 1.0
) -> None:
    """Draw a character with the hips at (x, y); the legs are 62 pixels long at scale 1."""
    y += 0.6 * scale * math.sin(2 * math.pi * 0.25 * t + x)
    skin = SKIN[look.skin]
    if pose.stance != "bust":
        _legs(c, look, x, y, pose, scale)
    if look.style == "long":
        c.rect(x - 18 * scale, y - 90 * scale, 36 * scale, 44 * scale, look.hair, radius=12 * scale)
    _torso(c, look, x, y, scale)
    sleeve = look.coat or look.top
    for sign, arm in ((-1, pose.left), (1, pose.right)):
        points = _arm_points(x, y, sign, arm, scale)
        c.limb(points, 9.5 * scale, sleeve)
        c.oval(*points[-1], 5.4 * scale, 5.4 * scale, skin)
    _head(c, look, x + pose.tilt * scale, y - 78 * scale + pose.nod * scale, pose, t, scale)


def _arm_points(x: float, y: float, sign: int, arm: Arm, s: float) -> list[Point]:
    shoulder = (x + sign * 18 * s, y - 47 * s)
    upper, lower = (math.radians(a) for a in arm)
    elbow = (shoulder[0] + sign * math.sin(upper) * 25 * s, shoulder[1] + math.cos(upper) * 25 * s)
    wrist = (elbow[0] + sign * math.sin(lower) * 24 * s, elbow[1] + math.cos(lower) * 24 * s)
    return [shoulder, elbow, wrist]


def _legs(c: Canvas, look: Look, x: float, y: float, pose: Pose, s: float) -> None:
    for sign in (-1, 1):
        hip = (x + sign * 9 * s, y)
        if pose.stance == "sit":
            turn = 1 if pose.gaze >= 0 else -1
            knee = (x + turn * (30 + 6 * sign) * s, y + 4 * s)
            foot = (knee[0] + turn * 2 * s, y + 42 * s)
        else:
            swing = 0.0 if pose.stride is None else math.sin(2 * math.pi * pose.stride) * 0.42
            knee = (hip[0] + math.sin(sign * swing) * 30 * s, y + 30 * s)
            foot = (hip[0] + math.sin(sign * swing) * 58 * s, y + 60 * s)
        c.limb([hip, knee, foot], 12 * s, look.legs)
        c.oval(foot[0] + 2 * s, foot[1] + 3 * s, 8 * s, 4 * s, "#2b2320")


def _torso(c: Canvas, look: Look, x: float, y: float, s: float) -> None:
    c.rect(x - 4.5 * s, y - 66 * s, 9 * s, 16 * s, SKIN[look.skin])
    c.rect(x - 20 * s, y - 54 * s, 40 * s, 58 * s, look.top, radius=11 * s)
    if look.coat is not None:
        for sign in (-1, 1):
            edge = x + sign * 20 * s
            c.shape(
                [
                    (x + sign * 5 * s, y - 54 * s), (edge, y - 48 * s), (edge, y + 16 * s),
                    (x + sign * 7 * s, y + 16 * s), (x + sign * 9 * s, y - 20 * s),
                ],
                look.coat,
            )  # fmt: skip


def _head(c: Canvas, look: Look, x: float, y: float, pose: Pose, t: float, s: float) -> None:
    skin = SKIN[look.skin]
    _hair_behind(c, look, x, y, s)
    c.oval(x - 15 * s, y + 1 * s, 3 * s, 4.5 * s, skin)
    c.oval(x + 15 * s, y + 1 * s, 3 * s, 4.5 * s, skin)
    c.oval(x, y, 15 * s, 17.5 * s, skin)
    if look.beard:
        c.pie(x, y + 4 * s, 13.6 * s, 13.6 * s, 12, 168, look.hair)
    _hair(c, look, x, y, s)
    _face(c, look, x + 4 * pose.gaze * s, y, pose, t, s)


def _face(c: Canvas, look: Look, x: float, y: float, pose: Pose, t: float, s: float) -> None:
    dark = "#2a1d18"
    blink = (t * 0.9 + len(look.style) * 0.37 + len(look.skin) * 0.21) % 3.1 < 0.14
    for sign in (-1, 1):
        eye = x + sign * 5.8 * s
        if blink:
            c.limb([(eye - 2 * s, y - 2 * s), (eye + 2 * s, y - 2 * s)], 1 * s, dark)
        else:
            c.oval(eye, y - 2 * s, 2.9 * s, 2.4 * s, "#ffffff")
            c.oval(eye + 1.1 * pose.gaze * s, y - 2 * s, 1.6 * s, 1.9 * s, dark)
        worry, brow = min(pose.mood, 0.0), y - (7 + max(pose.mood, 0.0)) * s
        inner, outer = brow + 1.5 * worry * s, brow - 1.2 * worry * s
        c.limb([(eye - sign * 2.6 * s, inner), (eye + sign * 2.9 * s, outer)], 1.3 * s, dark)
        if look.glasses:
            c.oval(eye, y - 2 * s, 4.6 * s, 4.2 * s, None, outline="#303840", line=1.1 * s)
    c.limb([(x, y), (x + 1.2 * (pose.gaze or 1) * s, y + 3.4 * s)], 1.2 * s, "#8a5a44")
    lips = y + 8.6 * s
    if pose.mouth > 0.12:
        c.oval(x, lips, 4.2 * s, (0.9 + 3.6 * pose.mouth) * s, "#6e2028")
    elif pose.mood > 0.3:
        c.arc(x, lips - 2.5 * s, 4.6 * s, 3.6 * s, 20, 160, "#6e2028", 1.4 * s)
    elif pose.mood < -0.3:
        c.arc(x, lips + 3 * s, 4.2 * s, 3.2 * s, 205, 335, "#6e2028", 1.4 * s)
    else:
        c.limb([(x - 3.4 * s, lips), (x + 3.4 * s, lips)], 1.4 * s, "#6e2028")


def _hair_behind(c: Canvas, look: Look, x: float, y: float, s: float) -> None:
    if look.style == "scarf":
        c.rect(x - 18.5 * s, y - 14 * s, 37 * s, 42 * s, look.hair, radius=14 * s)
    elif look.style == "bun":
        c.oval(x, y - 21 * s, 8 * s, 7 * s, look.hair)
    elif look.style == "tail":
        c.oval(x + 17 * s, y + 4 * s, 6 * s, 17 * s, look.hair)
    elif look.style == "curls":
        for angle in range(150, 391, 30):
            a = math.radians(angle)
            c.oval(
                x + 15 * s * math.cos(a), y - 2 * s + 16 * s * math.sin(a), 7 * s, 7 * s, look.hair
            )


def _hair(c: Canvas, look: Look, x: float, y: float, s: float) -> None:
    if look.style == "bald":
        return
    if look.style == "cap":
        c.pie(x, y - 4 * s, 16.4 * s, 15.5 * s, 180, 360, look.hair)
        c.rect(x - 18 * s, y - 6.5 * s, 36 * s, 4 * s, look.hair, radius=2 * s)
        return
    if look.style == "helmet":
        c.pie(x, y - 3 * s, 19 * s, 19 * s, 180, 360, look.hair)
        c.rect(x - 22 * s, y - 6 * s, 44 * s, 5 * s, look.hair, radius=2.5 * s)
        c.rect(x - 4 * s, y - 20 * s, 8 * s, 9 * s, "#f4f4f4", radius=2 * s)
        return
    if look.style == "scarf":
        c.pie(x, y - 1 * s, 17 * s, 19 * s, 196, 344, look.hair)
        c.shape([(x - 16 * s, y + 9 * s), (x + 16 * s, y + 9 * s), (x, y + 32 * s)], look.hair)
        c.oval(x, y + 2.4 * s, 12.6 * s, 14.6 * s, SKIN[look.skin])
        return
    c.pie(x, y - 2 * s, 16 * s, 17 * s, 192, 348, look.hair)
