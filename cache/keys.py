"""Keys as numbers: 64 hexadecimal digits are four integers of 64 bits, which NumPy sorts fast."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def key_numbers(keys: list[str]) -> NDArray[np.uint64]:
    """Keys as (n, 4) numbers, big-endian, so that they sort as the texts do."""
    octets = bytes.fromhex("".join(keys))
    return np.frombuffer(octets, ">u8").astype(np.uint64).reshape(-1, 4)


def key_texts(numbers: NDArray[np.uint64]) -> list[str]:
    """The inverse of :func:`key_numbers`."""
    digits = numbers.astype(">u8").tobytes().hex()
    return [digits[at : at + 64] for at in range(0, len(digits), 64)]


def sorted_numbers(keys: list[str]) -> tuple[NDArray[np.intp], NDArray[np.uint64]]:
    """The well-formed among the keys as sorted numbers, and where each stands in ``keys``."""
    digits = "".join(keys)
    try:
        well_formed = set(map(len, keys)) == {64} and bytes.fromhex(digits).hex() == digits
    except ValueError:
        well_formed = False
    rows = np.arange(len(keys))
    if not well_formed:
        rows = np.array([row for row, key in enumerate(keys) if is_key(key)], np.intp)
    numbers = key_numbers(keys if well_formed else [keys[row] for row in rows.tolist()])
    order = np.argsort(numbers[:, 0])
    return rows[order], numbers[order]


def is_key(text: str) -> bool:
    """Whether a text is 64 lower-case hexadecimal digits."""
    return len(text) == 64 and not text.strip("0123456789abcdef")
