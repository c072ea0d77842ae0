"""Dialogues: conversations whose turns are asked one after the other.

    request of turn k   system · clip 1 · answer 1 · … · clip k − 1 · answer k − 1 · clip k

The answers are the model's own, as it gave them, so the request of a turn, and its key, are known
when the turns before it are answered: keys form a chain. Whatever is answered is found again by
walking along it, and a dialogue that was killed goes on at its next turn.

A turn that failed for good (filtered, refused without a word, too long …) or was answered with
nothing said nothing to the user, and counts as silence in what follows; one whose answer was cut
off said what there is of it. Behind a failure that may pass, the dialogue waits: what would follow
is not known.

With teacher forcing the earlier answers are the benchmark's accepted ones (the first of several).
Then all requests are known from the start, and no turn waits for another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from bench.item import AssistantReference, Clip, Item
from bench.labels import SILENCE
from bench.prompt import EarlierAnswer, Prompt, PromptPart
from cache.record import Record
from cache.request import Media, Message, Request, Text
from cache.store import Store
from infer.card import ModelCard
from infer.errors import ModalityAbsent, PlanError
from infer.plan import Planned, absent_message, make_message, make_parts, make_request, media_files

Parts = tuple[Text | Media, ...]


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One turn: what is shown, and the answer where it is known beforehand."""

    item: str
    clip: Parts
    """The turn's clip, and what is written beside it."""
    example: Parts = ()
    """What is shown before it: a video made beforehand, with the words around it."""
    forced: Text | None = None


class Dialogue(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation, or as much of it as is asked."""

    base: Request
    """Everything of its requests but the messages."""
    opening: tuple[Message, ...]
    steps: tuple[Step, ...]
    files: dict[str, str]
    """Path of each media file by its digest."""

    @property
    def is_forced(self) -> bool:
        """Whether the earlier answers are given, so that no turn waits for another."""
        return self.steps[0].forced is not None

    def request(self, number: int, said: Sequence[Text]) -> Request:
        """Return the request of a turn.

        Args:
            number: The turn, from 0.
            said: The answers to the turns before it.
        """
        messages = list(self.opening)
        for step, text in zip(self.steps[:number], said[:number], strict=True):
            messages.append(Message(role="user", parts=(*step.example, *step.clip)))
            messages.append(Message(role="assistant", parts=(text,)))
        last = self.steps[number]
        messages.append(Message(role="user", parts=(*last.example, *last.clip)))
        return msgspec.structs.replace(self.base, messages=tuple(messages))

    def planned(self, number: int, said: Sequence[Text]) -> Planned:
        """Return the request of a turn with its key."""
        request = self.request(number, said)
        return Planned(key=request.key(), request=request, files=self.files)


class Cut(msgspec.Struct, frozen=True, order=True):
    """Where the history of a dialogue begins: how much of its beginning was dropped."""

    clip: int = 0
    """The first clip that is kept; the example is a clip of its own."""
    pieces: int = 0
    """10-second pieces dropped of it."""


class Talk(msgspec.Struct, frozen=True, kw_only=True):
    """A dialogue, and how far it is."""

    dialogue: Dialogue
    said: tuple[Text, ...] = ()
    """The answers that are known, turn by turn."""
    answered: tuple[int, ...] = ()
    """The turns that need not be asked any more."""
    keys: tuple[str, ...] = ()
    """Of the turns whose request is known."""
    cut: Cut = Cut()
    """What had been dropped when the last answered turn was asked: no later one has room for it."""

    @property
    def pending(self) -> list[int]:
        """The turns that are still to be asked."""
        return [n for n in range(len(self.dialogue.steps)) if n not in self.answered]


@dataclass(frozen=True, slots=True)
class Dialogues:
    """What a run consists of."""

    dialogues: tuple[Dialogue, ...]
    absent: tuple[Path, ...]
    """Media files that are not there; the turns that need them are left out."""


def make_dialogues(
    prompts: Iterable[Prompt],
    items: Iterable[Item],
    card: ModelCard,
    store: Store,
    *,
    samples: int = 1,
    skip_absent: bool = False,
) -> Dialogues:
    """Turn the prompts of dialogues into what is asked, turn by turn.

    Args:
        prompts: One a turn, each with all that comes before it; turns in their order.
        items: The items; with teacher forcing their references are the earlier answers.
        card: The model, with the settings of this run.
        store: Keeps the media files' digests.
        samples: Conversations to have with each dialogue.
        skip_absent: Where media are not there, or have nothing of the card's modality, end the
            dialogue before the turn that needs them.

    Raises:
        PlanError: media are not there.
        ModalityAbsent: a clip has nothing of the card's modality.
    """
    forced = {item.id: _accepted(item) for item in items} if card.dialogue.teacher_forcing else {}
    absent: dict[Path, None] = {}
    chains: dict[str, list[Prompt]] = {}
    for prompt in prompts:
        chains.setdefault(_first(prompt), []).append(prompt)
    dialogues: list[Dialogue] = []
    for chain in chains.values():
        whole = _upto_absent(chain, card, absent, skip_absent=skip_absent)
        if whole:
            dialogues += _dialogues(whole, forced, card, store, samples)
    if absent and not skip_absent:
        raise PlanError(absent_message(list(absent)))
    return Dialogues(tuple(dialogues), tuple(absent))


def look_up(dialogues: Iterable[Dialogue], store: Store) -> list[Talk]:
    """Walk along the stored answers of dialogues as far as they go."""
    talks = [Talk(dialogue=one, said=_forced(one)) for one in dialogues]
    walking = list(range(len(talks)))
    while walking:
        asked = {at: talks[at].dialogue.planned(_next(talks[at]), talks[at].said) for at in walking}
        records = store.get_many(list(dict.fromkeys(one.key for one in asked.values())))
        talks_then = {at: _further(talks[at], one.key, records) for at, one in asked.items()}
        for at, talk in talks_then.items():
            talks[at] = talk
        walking = [at for at in walking if _goes_on(talks[at])]
    return talks


def answer_text(record: Record) -> Text:
    """Return an answer as later turns show it to the model; silence where it said nothing."""
    said = record.response.text
    return Text(text=said, name="answer") if said.strip() else Text(text=SILENCE, name="silence")


def cut_of(record: Record) -> Cut:
    """Return what had to be dropped for an answer."""
    found: dict[str, Any] = record.effective.get("context", {}).get("begins", {})
    return Cut(int(found.get("clip", 0)), int(found.get("pieces", 0)))


def _accepted(item: Item) -> Text:
    reference = item.reference
    if isinstance(reference, AssistantReference) and reference.answers:
        return Text(text=reference.answers[0], name="reference")
    # Of an open-ended turn nothing is accepted, and nothing of the model's may stand in for it.
    return Text(text=SILENCE, name="silence")


def _first(prompt: Prompt) -> str:
    parts = (part for message in prompt.messages for part in message.parts)
    return next((part.item for part in parts if isinstance(part, EarlierAnswer)), prompt.items[0])


def _upto_absent(
    chain: list[Prompt], card: ModelCard, absent: dict[Path, None], *, skip_absent: bool
) -> list[Prompt]:
    """Return the turns before the first that lacks media; note everything that is lacked."""
    upto = len(chain)
    for number, prompt in enumerate(chain):
        try:
            gone = [path for path in media_files(prompt, card) if not path.is_file()]
        except ModalityAbsent as error:
            if not skip_absent:
                raise
            gone = [error.clip]
        if gone:
            upto = min(upto, number)
            absent.update(dict.fromkeys(gone))
    return chain[:upto]


def _dialogues(
    chain: list[Prompt],
    forced: Mapping[str, Text],
    card: ModelCard,
    store: Store,
    samples: int,
) -> list[Dialogue]:
    last = chain[-1]
    digests = {path: store.media_digest(path) for path in media_files(last, card)}
    opening = tuple(
        make_message(message, card, digests)
        for message in last.messages
        if message.role == "system"
    )
    shown = [message.parts for message in last.messages if message.role == "user"]
    steps = []
    for prompt, parts in zip(chain, shown, strict=True):
        [item] = prompt.items
        example, clip = (make_parts(some, card, digests) for some in _at_last_clip(parts))
        steps.append(Step(item=item, clip=clip, example=example, forced=forced.get(item)))
    return [
        Dialogue(
            base=make_request((), card, sample),
            opening=opening,
            steps=tuple(steps),
            files={digest: str(path.absolute()) for path, digest in digests.items()},
        )
        for sample in range(samples)
    ]


def _at_last_clip(parts: Sequence[PromptPart]) -> tuple[Sequence[PromptPart], Sequence[PromptPart]]:
    """Part a message into what belongs to an earlier clip and what to its own."""
    clips = [at for at, part in enumerate(parts) if isinstance(part, Clip)]
    at = clips[-1] if len(clips) > 1 else 0
    return parts[:at], parts[at:]


def _forced(dialogue: Dialogue) -> tuple[Text, ...]:
    return tuple(step.forced for step in dialogue.steps if step.forced is not None)


def _next(talk: Talk) -> int:
    return len(talk.keys)


def _further(talk: Talk, key: str, records: Mapping[str, Record]) -> Talk:
    number, record = _next(talk), records.get(key)
    talk = msgspec.structs.replace(talk, keys=(*talk.keys, key))
    if record is None or not record.outcome.is_hit:
        return talk
    talk = msgspec.structs.replace(talk, answered=(*talk.answered, number))
    if talk.dialogue.is_forced:  # a turn before this one may still be asked: its cut says nothing
        return talk
    return msgspec.structs.replace(
        talk, said=(*talk.said, answer_text(record)), cut=max(talk.cut, cut_of(record))
    )


def _goes_on(talk: Talk) -> bool:
    number = _next(talk)
    if number == len(talk.dialogue.steps):
        return False
    return talk.dialogue.is_forced or number - 1 in talk.answered
