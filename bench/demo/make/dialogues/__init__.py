"""The dialogues of the OmniAssistBench-shaped half, one module each."""

from __future__ import annotations

from bench.demo.make.dialogues.bottles import BOTTLES
from bench.demo.make.dialogues.gate import GATE
from bench.demo.make.dialogues.sandwich import SANDWICH
from bench.demo.make.dialogues.signs import SIGNS
from bench.demo.make.dialogues.umbrella import UMBRELLA
from bench.demo.make.script import Dialogue

DIALOGUES: tuple[Dialogue, ...] = (SANDWICH, GATE, SIGNS, BOTTLES, UMBRELLA)
