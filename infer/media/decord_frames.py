"""Frames by decord, as the reference suites decode: for comparisons with what they published.

Only where a card asks for it (``preprocessing.decoder = "decord"``). decord seeks to a key frame
and skips what lies before a wanted frame; where skipping fails it says so in its log, raises
nothing and returns another frame. So which frames a model saw is not certain, and not the same in
every run; ``docs/inference.md`` says when. The default decoder is exact.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from infer.errors import DecodeError, FeatureMissing
from infer.media.frames import Floats, Frames, scaled_size
from infer.media.probe import Probe


def read_frames_by_decord(
    path: Path, probed: Probe, times_s: Floats, shorter_edge_px: int | None
) -> Frames:
    """Ask decord for the frames shown at ``times_s``, which ascend; one asked twice comes once.

    The times returned are those of the frames asked for.

    Raises:
        DecodeError: no video track, or decord cannot read the file.
        FeatureMissing: decord is not installed.
    """
    if not probed.video_codec:
        raise DecodeError(f"{path}: no video track")
    try:
        import decord
    except ImportError as error:
        raise FeatureMissing(
            "preprocessing.decoder 'decord' needs decord: pip install 'rejudge[infer]'"
        ) from error
    width, height = scaled_size(probed.width, probed.height, shorter_edge_px)
    try:
        reader = decord.VideoReader(str(path), width=width, height=height, num_threads=1)
        shown_s = reader.get_frame_timestamp(np.arange(len(reader)))[:, 0].astype(np.float64)
        wanted = np.unique(np.searchsorted(shown_s, times_s + 1e-6, side="right") - 1).clip(min=0)
        pixels = reader.get_batch(wanted.tolist()).asnumpy()
    except (decord.DECORDError, RuntimeError, IndexError) as error:
        raise DecodeError(f"{path}: decord: {error}") from error
    return Frames(pixels, shown_s[wanted])
