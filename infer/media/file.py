"""A media file that travels as it is: nothing is decoded, the service samples frames by itself.

Only the container is read, so that a file that is broken or cut off is found here and not by a
service. A stretch of the file is named by its bounds; cutting would not be exact without encoding.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from infer.errors import DecodeError
from infer.media.index import read_index, require_whole
from infer.media.probe import Probe


@dataclass(frozen=True, slots=True)
class MediaFile:
    """A file with a video track, given to the model as a file."""

    path: str
    sha256: str
    start_s: float | None
    """Start of the stretch that is meant; None: the file's own."""
    end_s: float | None
    """End of the stretch that is meant; None: the file's own."""
    sound: bool
    """The file has sound, and the model is to hear it."""
    silence: bool
    """The file has sound that the model must not hear: it has to be left out on the way."""


def take_file(
    path: Path, sha256: str, probed: Probe, start_s: float, end_s: float, *, with_sound: bool
) -> MediaFile:
    """Return a file after a look at its packets.

    Args:
        path: The file.
        sha256: Digest of its bytes.
        probed: What its container says.
        start_s: Start of the stretch that is meant.
        end_s: Its end, not beyond the file's.
        with_sound: The model is to hear the file's sound.

    Raises:
        DecodeError: there is no video, or its packets cannot be read or end too early.
    """
    if not probed.video_codec:
        raise DecodeError(f"{path}: no video track")
    require_whole(path, read_index(path, probed, max(0.0, end_s - 1), end_s), np.array([end_s]))
    has_sound = bool(probed.audio_codec)
    return MediaFile(
        path=str(path),
        sha256=sha256,
        start_s=start_s or None,
        end_s=end_s if end_s < probed.duration_s else None,
        sound=has_sound and with_sound,
        silence=has_sound and not with_sound,
    )
