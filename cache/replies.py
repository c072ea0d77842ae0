"""A run as a reply file of OmniAssistBench: CSV ``video_name, output_text, token_retries``.

What ``imports/omniassist.py`` reads. The format has no place for a failure, so failed turns have no
row: they are counted.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

from cache.errors import StoreError
from cache.record import Outcome, Record
from cache.run import RunLine
from cache.store import Store

_ENTRY = "assistant/"
#: Outcomes with a text: a reply that was cut off is still a reply.
_SAID = frozenset({Outcome.OK, Outcome.TRUNCATED})


@dataclass(frozen=True, slots=True)
class Replies:
    """The text of a reply file."""

    text: str
    rows: int
    left_out: int
    """Turns without a reply: failed, or not answered yet."""


def replies(store: Store, run: str) -> Replies:
    """Return a run of dialogues as a reply file.

    Raises:
        UnknownRun: there is no such run.
        StoreError: the run has other items than dialogue turns, or several samples of each.
    """
    stored = store.run(run)
    if stored.header.tasks != ("assistant",) or stored.header.samples > 1:
        raise StoreError(
            f"run {run!r} has the tasks {', '.join(stored.header.tasks)} and "
            f"{stored.header.samples} sample(s) an item: a reply file holds one reply to each "
            "turn of dialogues"
        )
    found = store.get_many([line.key for line in stored.lines])
    pairs = [(line, found[line.key]) for line in stored.lines if line.key in found]
    said = [pair for pair in pairs if pair[1].outcome in _SAID]
    return Replies(_csv(said), len(said), len(stored.lines) - len(said))


def _csv(said: list[tuple[RunLine, Record]]) -> str:
    retries = [str(record.effective.get("token_retries", "")) for _, record in said]
    columns = ["video_name", "output_text", *(["token_retries"] if any(retries) else [])]
    held = io.StringIO(newline="")
    writer = csv.writer(held)  # with CRLF: else a lone CR in a text would not be quoted
    writer.writerow(columns)
    for (line, record), retried in zip(said, retries, strict=True):
        row = [line.item.removeprefix(_ENTRY), record.response.text, retried]
        writer.writerow(row[: len(columns)])
    return held.getvalue()
