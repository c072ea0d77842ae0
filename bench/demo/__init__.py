"""The bundled benchmark: small films of ours whose answers are known by construction.

::

    sonic-o1/     nine videos in SONIC-O1's on-disk shape
    omniassist/   dialogues in OmniAssistBench's on-disk shape
    events.json   what happens in every video, and exactly when
    mark.py       reads the frame number that is drawn into every frame
    make/         the script that made it all: ``python -m bench.demo.make``
"""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).resolve().parent

SONIC_O1: Path = _HERE / "sonic-o1"
"""Root with ``dataset/`` and ``vqa/``."""

OMNIASSIST: Path = _HERE / "omniassist"
"""Folder with ``labels.csv`` and the clips."""

EVENTS: Path = _HERE / "events.json"
"""Every utterance, action, sound and text of the SONIC-O1-shaped videos, with its interval."""
