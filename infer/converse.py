"""Dialogues on Ray: many at a time, the turns of each in their order.

    row = dialogue ──► engine actor: turn 1 → store → turn 2 → store → …
                          ▲ clips, decoded by Ray tasks; the next one while a turn is asked

A turn is asked as any request is (actor.py): the ledger hears of it, its record is stored before it
is reported. A dialogue is one row, so the ledger passes on what became of each turn at once. Of a
history, an actor holds what its model had room for, and nothing before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from cache.request import Message, Text
from infer.actor import Done, EngineActor
from infer.card import ModelCard
from infer.dialogue import Cut, Dialogue, Talk, answer_text, cut_of
from infer.history import History, Shown, ask_within, clips_of
from infer.ladder import Attempt
from infer.media.apart import prepare_apart
from infer.media.decode import Prepared
from infer.pipeline import answer_rows, decode_cpus
from infer.plan import Planned

_encode = msgspec.json.Encoder().encode
_decode_talks = msgspec.json.Decoder(list[Talk]).decode


def run_dialogues(
    talks: Iterable[Talk], card: ModelCard, store_path: Path, ledger: Any
) -> Iterator[Done | None]:
    """Have dialogues; yield each answered turn, when its dialogue ends.

    The ledger's ``news`` tells of turns as they are answered.

    Raises:
        EngineFailed: the engine did not start.
        RayLost: Ray ended.
    """
    import ray

    rows = [{"talks": _encode(some)} for some in side_by_side(talks)]
    whole = ray.data.from_items(rows, override_num_blocks=len(rows))
    del rows
    yield from answer_rows(whole, DialogueActor, card, store_path, ledger)


def side_by_side(talks: Iterable[Talk]) -> list[list[Talk]]:
    """Put dialogues that begin with the same request together, and the longest first.

    What they share is asked once, one dialogue after the other; and the longest are not left to the
    end, when the others are done.
    """
    alike: dict[str, list[Talk]] = {}
    for talk in talks:
        alike.setdefault(talk.keys[0], []).append(talk)
    return sorted(alike.values(), key=lambda some: -sum(len(talk.pending) for talk in some))


class DialogueActor(EngineActor):
    """An engine actor whose rows are dialogues."""

    def __init__(self, card: dict[str, Any], store_path: str, ledger: Any) -> None:
        import ray

        super().__init__(card, store_path, ledger)
        self._histories: dict[str, History] = {}
        self._decode = ray.remote(num_cpus=decode_cpus())(_decode_clip)

    async def __call__(self, table: Any) -> dict[str, list[bytes]]:
        """Go on with dialogues; return a line for each turn that was answered."""
        done = [
            _encode(one)
            for row in table.column("talks")
            for talk in _decode_talks(row.as_buffer())
            for one in await self._converse(talk)
        ]
        return {"done": done}

    async def _converse(self, talk: Talk) -> list[Done]:
        dialogue, said, cut = talk.dialogue, list(talk.said), talk.cut
        clips = _Clips(dialogue, self._begin_decoding)
        done: list[Done] = []
        for number in talk.pending:
            planned = dialogue.planned(number, said)
            shown = await clips.upto(number, cut)
            one = await self._turn(planned, History(dialogue, number, tuple(said), shown, cut))
            if one is None:  # nothing more begins
                break
            item = dialogue.steps[number].item
            done.append(replace(one, item=item, sample=dialogue.base.sample))
            await self._ledger.tell.remote(_encode(done[-1]))
            # Not as it was put: where another job was faster, its answer is the one that stays.
            record = await self._storing.get(planned.key)
            if record is not None and record.outcome.is_hit:
                cut = max(cut, cut_of(record))
            if not dialogue.is_forced:
                if record is None or not record.outcome.is_hit:
                    break
                said.append(answer_text(record))
        return done

    def _begin_decoding(self, planned: Planned) -> Any:
        return self._decode.remote(_encode(planned), self._card.resources.decode_timeout_s)

    async def _turn(self, planned: Planned, history: History) -> Done | None:
        self._histories[planned.key] = history
        try:
            [turn] = await self._turns.of([planned.key])
            return await self._answer(planned, _Media(history), turn)
        finally:
            del self._histories[planned.key]

    async def _attempt(self, planned: Planned, prepared: Prepared) -> Attempt:
        return await ask_within(self._engine, self._histories[planned.key])


class _Media:
    """The media of a turn, with the history that may have room."""

    def __init__(self, history: History) -> None:
        self.sharers = 1
        self._history = history

    def prepared(self) -> Prepared:
        """Return them as one request's."""
        return self._history.sent(self._history.least)[1]


class _Clips:
    """The clips of a dialogue, decoded somewhere in the cluster as they are needed."""

    def __init__(self, dialogue: Dialogue, begin: Callable[[Planned], Any]) -> None:
        """Decode nothing yet.

        Args:
            dialogue: Whose clips they are.
            begin: Begins to decode the media of a request, and returns what to wait for.
        """
        self._dialogue = dialogue
        self._all = clips_of(dialogue)
        self._decode = begin
        self._coming: dict[int, Any] = {}
        self._here: dict[int, Shown] = {}

    async def upto(self, number: int, cut: Cut) -> Sequence[Shown | None]:
        """Return the clips up to a turn, those before the cut left out; begin with the next one."""
        for at, (step, _, _) in enumerate(self._all):
            if at < cut.clip:
                self._here.pop(at, None)
            elif step <= number + 1 and at not in self._here and at not in self._coming:
                self._coming[at] = self._begin(at)
        wanted = [at for at, (step, _, _) in enumerate(self._all) if step <= number]
        for at in wanted:
            if at >= cut.clip and at not in self._here:
                step, name, parts = self._all[at]
                self._here[at] = Shown(step, name, parts, await self._coming.pop(at))
        return [self._here.get(at) for at in wanted]

    def _begin(self, at: int) -> Any:
        dialogue, parts = self._dialogue, self._all[at][2]
        message = Message(role="user", parts=parts)
        request = msgspec.structs.replace(dialogue.base, messages=(message,))
        digests = {part.sha256 for part in parts if not isinstance(part, Text)}
        files = {digest: dialogue.files[digest] for digest in digests}
        return self._decode(Planned(key="", request=request, files=files))


def _decode_clip(planned: bytes, timeout_s: float | None) -> Prepared:
    one = msgspec.json.decode(planned, type=Planned)
    return prepare_apart(one.request, one.files, timeout_s)
