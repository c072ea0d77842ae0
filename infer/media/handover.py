"""Handing decoded media from one process to another: a memory file that both map.

    memory file = pickle of the Prepared without its arrays, then each array, aligned to 64 bytes
    message     = [size of the pickle, [size of each array, …]] as JSON, with the file's descriptor

The arrays are written once by the sender and mapped, not copied, by the receiver, whose own changes
stay its own. The file has no name: it is gone when the last process that maps it has ended. Nor
does it count against the size of /dev/shm.
"""

from __future__ import annotations

import json
import mmap
import os
import pickle
from itertools import accumulate

from infer.media.decode import Prepared

_ALIGN = 64


def write(prepared: Prepared) -> tuple[bytes, int]:
    """Write decoded media to a new memory file.

    Returns:
        The message for :func:`read`, and the file's descriptor, which the caller closes.
    """
    buffers: list[pickle.PickleBuffer] = []
    body = pickle.dumps(prepared, protocol=5, buffer_callback=buffers.append)
    arrays = [buffer.raw() for buffer in buffers]
    sizes = [array.nbytes for array in arrays]
    descriptor = os.memfd_create("decoded")
    with open(descriptor, "wb", closefd=False) as file:
        file.write(body)
        for array, offset in zip(arrays, _offsets(len(body), sizes), strict=True):
            file.seek(offset)
            file.write(array)
    return json.dumps([len(body), sizes]).encode(), descriptor


def read(message: bytes, descriptor: int) -> Prepared:
    """Map what :func:`write` wrote, and close the descriptor."""
    body_size, sizes = json.loads(message)
    try:
        whole = memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_COPY))
    finally:
        os.close(descriptor)
    offsets = _offsets(body_size, sizes)
    arrays = [whole[at : at + size] for at, size in zip(offsets, sizes, strict=True)]
    prepared: Prepared = pickle.loads(whole[:body_size], buffers=arrays)  # noqa: S301 - our own child wrote it
    return prepared


def _offsets(body_size: int, sizes: list[int]) -> list[int]:
    starts = accumulate(sizes, lambda at, size: _aligned(at + size), initial=_aligned(body_size))
    return list(starts)[: len(sizes)]


def _aligned(size: int) -> int:
    return -(-size // _ALIGN) * _ALIGN
