"""The decoding process: takes one item at a time from its parent, and may die of it.

Started by infer.media.process as ``python -m infer.media.child LINK LIFELINE``, two descriptors.
"""

from __future__ import annotations

import fcntl
import logging
import os
import socket
import sys
from pathlib import Path

import msgspec

from cache.request import Media, Preprocessing
from infer.media import decode, handover
from infer.media.recent import Recent

#: What the child says first, once it can decode.
READY = b"ready"
#: A socket takes messages up to its buffer, 208 KiB by default. Jobs and answers have a few hundred
#: bytes a media part; arrays travel beside them.
LONGEST_MESSAGE = 200_000
#: Decoded media at hand for the next items, which often ask about the same segment.
RECENT_BYTES = 512 * 1024**2


class Job(msgspec.Struct, frozen=True):
    """What to decode."""

    media: tuple[Media, ...]
    preprocessing: Preprocessing
    files: dict[str, str]
    """Path of each media file by the sha256 of its bytes."""


def serve(link: socket.socket) -> None:
    """Answer jobs until the parent closes its end."""
    recent: Recent[decode.Part] = Recent(RECENT_BYTES)
    link.send(READY)
    while message := link.recv(LONGEST_MESSAGE):
        job = msgspec.json.decode(message, type=Job)
        try:
            prepared = decode.prepare_media(job.media, job.preprocessing, job.files, recent)
        except Exception as error:  # a fault of ours or a library's costs this item only
            logging.getLogger(__name__).exception("decoding failed: %s", job.files)
            names = ", ".join(job.files.values())
            prepared = decode.Prepared(error=f"{names}: {type(error).__name__}: {error}")
        answer, descriptor = handover.write(prepared)
        socket.send_fds(link, [answer], [descriptor])
        os.close(descriptor)


def end_with_parent(lifeline: int) -> None:
    """Have the kernel end this process when the parent's end of a pipe closes.

    The signal for it (SIGIO) ends a process that does not handle it, even one that hangs inside a
    library. A signal on the parent's death (prctl) would come when the starting *thread* ends.
    """
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC)


def die_first_without_memory() -> None:
    """Have the kernel choose this process, not the engine's, when a node's memory runs out."""
    Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def main() -> None:
    """Serve the parent on the descriptors given as arguments."""
    link, lifeline = int(sys.argv[1]), int(sys.argv[2])
    end_with_parent(lifeline)
    die_first_without_memory()
    import av  # noqa: F401 - so that the child does not start where it could decode nothing

    serve(socket.socket(fileno=link))


if __name__ == "__main__":
    main()
