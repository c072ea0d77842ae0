"""Stand-ins for the packages of models that run in workers, and what they are asked about.

A stand-in takes the arguments of the published function and no others, checks the shapes that the
model would need, and notes what it was given. Nothing but the weights and the feature extraction is
left out: tensors, prompts, files and the order of calls are the adapter's own.
"""

from __future__ import annotations

import sys
import wave
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from infer.worker.serve import Ask

PIXELS = np.random.default_rng(0).integers(0, 256, (5, 12, 20, 3), np.uint8)
TIMES_S = np.array([100.25, 102.75, 105.25, 107.75, 110.25])  # 0.4 frames a second
SAMPLES = np.linspace(-0.5, 0.5, 40_000, dtype=np.float32)
QUESTION = "What does the <video> show, and the <audio>?"

AskFor = Callable[..., Ask]


class Calls(dict[str, Any]):
    """What stand-ins were given, by the function's name."""


def modules(patch: pytest.MonkeyPatch, members: dict[str, dict[str, Any]]) -> None:
    """Put modules of these names and members in place, with their parents."""
    for name in members:
        for length in range(1, len(name.split(".")) + 1):
            parent = ".".join(name.split(".")[:length])
            if parent not in members and parent not in sys.modules:
                patch.setitem(sys.modules, parent, ModuleType(parent))
    for name, found in members.items():
        module = ModuleType(name)
        vars(module).update(found)
        patch.setitem(sys.modules, name, module)


def read_wav(path: str) -> np.ndarray:
    with wave.open(path) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (16_000, 1, 2)
        return np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32767


class Words:
    """A tokenizer that has a token for each word."""

    eos_token_id = 0

    def __len__(self) -> int:
        return 152_000

    def __call__(self, text: str, add_special_tokens: bool = True) -> Any:
        return SimpleNamespace(input_ids=list(range(len(text.split()))))
