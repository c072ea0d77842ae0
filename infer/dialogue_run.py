"""A run of dialogues: what is known of them, what is asked, and which request asks which turn.

Requests of later turns are known when the earlier ones are answered. So the run's lines are written
as that happens: those that the stored answers lead to at once, those of new answers every few
seconds, each time to a file of its own beside the first (``cache/runs.py``).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from cache.request import Text
from cache.run import RunHeader, RunLine
from cache.store import Store
from infer.actor import Done
from infer.dialogue import Dialogues, Talk, look_up
from infer.plan import Planned, Shard

#: Lines of answered turns wait so long for others: each writing is a file.
_WRITE_EVERY_S = 20.0
_NOT_YET = Text(text="")


class DialogueRun:
    """The dialogues of a shard, and how far they are."""

    def __init__(self, plan: Dialogues, header: RunHeader, store: Store, shard: Shard) -> None:
        """Walk along the stored answers.

        Args:
            plan: All dialogues.
            header: The run's.
            store: Answers, and the place of the run's lines.
            shard: The dialogues that are meant.
        """
        self._store, self._header = store, header
        self._dialogues = [one for one in plan.dialogues if shard.holds(one.planned(0, ()).key)]
        self._new: list[RunLine] = []
        self._wrote = time.monotonic()
        self.talks: list[Talk] = []
        self.look_up()

    def look_up(self) -> None:
        """Walk along the stored answers once more."""
        self.talks = look_up(self._dialogues, self._store)

    def write(self) -> None:
        """Write the run's lines as they are known."""
        self._store.write_run(self._header, _lines(self.talks))
        self._new.clear()

    @property
    def turns(self) -> int:
        """Turns of all dialogues."""
        return sum(len(talk.dialogue.steps) for talk in self.talks)

    @property
    def items(self) -> int:
        """Items that the dialogues ask."""
        return len({step.item for talk in self.talks for step in talk.dialogue.steps})

    @property
    def waiting(self) -> int:
        """Turns that cannot be asked while an earlier one has no lasting answer."""
        return sum(len(talk.dialogue.steps) - len(talk.keys) for talk in self.talks)

    @property
    def pending(self) -> int:
        """Turns that are not answered, whether their request is known or not."""
        return sum(len(talk.pending) for talk in self.talks)

    @property
    def todo(self) -> list[Talk]:
        """Dialogues that are not at their end."""
        return [talk for talk in self.talks if talk.pending]

    @property
    def keys(self) -> set[str]:
        """Of the turns whose request is known."""
        return {key for talk in self.talks for key in talk.keys}

    @property
    def answered(self) -> set[str]:
        """Keys of the turns that need not be asked any more."""
        return {talk.keys[number] for talk in self.talks for number in talk.answered}

    def heard(self, done: Done) -> None:
        """Hear of an answered turn."""
        self._new.append(RunLine(item=done.item, key=done.key, sample=done.sample))
        if time.monotonic() - self._wrote >= _WRITE_EVERY_S:
            self._store.write_run(self._header, self._new)
            self._new.clear()
            self._wrote = time.monotonic()

    def nominal(self) -> Iterator[Planned]:
        """Yield a request for each pending turn, answers that are not known left empty.

        For estimates: it is not what will be asked.
        """
        for talk in self.talks:
            for number in talk.pending:
                said = [*talk.said, *(_NOT_YET for _ in range(number))][:number]
                request = talk.dialogue.request(number, said)
                yield Planned(key="", request=request, files=talk.dialogue.files)


def _lines(talks: Sequence[Talk]) -> list[RunLine]:
    return [
        RunLine(item=step.item, key=key, sample=talk.dialogue.base.sample)
        for talk in talks
        for step, key in zip(talk.dialogue.steps, talk.keys, strict=False)
    ]
