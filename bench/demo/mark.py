"""The frame number that every frame of the demo carries as a row of black and white squares.

Sixteen squares lie in the bar at the bottom of the picture. On the 480 × 270 picture the first
one's corner is at (8, 258) and each is 8 × 8 pixels::

    ■ white   □ black      cell   0  1  2 … 13  14  15
                                  ■  □  number   p  ■

Cells 2–13 hold the number, counted from 0, as a 12-bit Gray code with the highest bit first: from
one frame to the next a single square changes, which survives compression well. Cell 14 is the
parity of those bits. Cells 0, 1 and 15 are always white, black, white: they give the brightness to
compare with, and tell a picture without a mark. All places are fractions of the picture's size, so
resized frames can be read too, down to a quarter of the width.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

PICTURE_SIZE = (480, 270)
"""Width and height in pixels of the pictures as they were made."""

N_BITS = 12
_LEFT, _TOP, _CELL = 8, 258, 8
_N_CELLS = N_BITS + 4
_MIN_CONTRAST = 60.0


def cells(number: int) -> list[bool]:
    """The sixteen squares of ``number``: True is white.

    Raises:
        ValueError: The number does not fit into 12 bits.
    """
    if not 0 <= number < 1 << N_BITS:
        raise ValueError(f"frame number {number} is outside 0–{(1 << N_BITS) - 1}")
    gray = number ^ (number >> 1)
    bits = [bool(gray >> (N_BITS - 1 - place) & 1) for place in range(N_BITS)]
    return [True, False, *bits, sum(bits) % 2 == 1, True]


def draw_frame_number(frame: npt.NDArray[np.uint8], number: int) -> None:
    """Draw the squares of ``number`` into ``frame``, (270, 480, 3) uint8, in place."""
    for index, white in enumerate(cells(number)):
        left = _LEFT + index * _CELL
        frame[_TOP : _TOP + _CELL, left : left + _CELL] = 255 if white else 0


def read_frame_number(frame: npt.NDArray[np.uint8]) -> int:
    """The number that ``frame`` carries.

    Args:
        frame: The whole picture, (height, width, 3) or (height, width), uint8, of any size.

    Raises:
        ValueError: The frame carries no readable mark.
    """
    levels = [_level(frame, index) for index in range(_N_CELLS)]
    white, black = min(levels[0], levels[-1]), levels[1]
    if white - black < _MIN_CONTRAST:
        raise ValueError(
            f"no frame mark: the guard squares have levels {levels[0]:.0f}, {black:.0f}, "
            f"{levels[-1]:.0f}; give the whole picture, uncropped"
        )
    bits = [level > (white + black) / 2 for level in levels[2:-1]]
    if sum(bits) % 2:
        raise ValueError("the frame mark's parity is wrong: the picture is too damaged to read")
    number, bit = 0, False
    for gray_bit in bits[:N_BITS]:
        bit ^= gray_bit
        number = number << 1 | bit
    return number


def _level(frame: npt.NDArray[np.uint8], index: int) -> float:
    """Mean brightness of the middle of one square."""
    height, width = frame.shape[:2]
    across, down = width / PICTURE_SIZE[0], height / PICTURE_SIZE[1]
    x, y = (_LEFT + (index + 0.5) * _CELL) * across, (_TOP + 0.5 * _CELL) * down
    reach_x, reach_y = 0.2 * _CELL * across, 0.2 * _CELL * down
    rows = slice(int(y - reach_y), max(int(np.ceil(y + reach_y)), int(y - reach_y) + 1))
    columns = slice(int(x - reach_x), max(int(np.ceil(x + reach_x)), int(x - reach_x) + 1))
    return float(frame[rows, columns].mean())
