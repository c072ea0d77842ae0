"""Settings of a card that one run changes: what ablations vary."""

from __future__ import annotations

import math
from dataclasses import dataclass

from msgspec.structs import replace

from infer.card import ModelCard, check_modality
from infer.errors import CardError


@dataclass(frozen=True, slots=True)
class Ablation:
    """Changes to a card's preprocessing; None leaves a setting as the card has it."""

    frames: int | None = None
    fps: float | None = None
    shorter_edge_px: int | None = None
    modality: str | None = None
    teacher_forcing: bool = False
    """Of dialogues: earlier answers are the accepted ones; false leaves it to the card."""

    def apply(self, card: ModelCard) -> ModelCard:
        """Return the card with these changes. Rungs of its ladder keep to the new frame count.

        Raises:
            CardError: the modality is none, or the frames a second are no number.
        """
        if self.fps is not None and not math.isfinite(self.fps):
            raise CardError(f"--fps {self.fps}: expected a finite number")
        asked = card.preprocessing
        if self.frames is not None:
            ladder = [replace(rung, frames=min(rung.frames, self.frames)) for rung in asked.ladder]
            asked = replace(asked, frames=self.frames, ladder=tuple(ladder))
        if self.fps is not None:
            asked = replace(asked, fps=self.fps)
        if self.shorter_edge_px is not None:
            asked = replace(asked, shorter_edge_px=self.shorter_edge_px)
        modality = card.modality if self.modality is None else check_modality(self.modality)
        dialogue = card.dialogue
        if self.teacher_forcing:
            dialogue = replace(dialogue, teacher_forcing=True)
        return replace(card, preprocessing=asked, modality=modality, dialogue=dialogue)

    def label(self) -> str:
        """Return what sets a run with these changes apart by name, for example ``-frames32``."""
        named = {"frames": self.frames, "fps": self.fps, "size": self.shorter_edge_px}
        parts = [f"{name}{value:.15g}" for name, value in named.items() if value is not None]
        if self.modality is not None:
            parts.append(check_modality(self.modality))
        if self.teacher_forcing:
            parts.append("teacher-forcing")
        return "".join(f"-{part}" for part in parts)


AS_IN_CARD = Ablation()
