"""The plan: which requests a run consists of, and which of them this shard still has to ask.

    items ──prompts──► requests (deduplicated by key) ──shard k/n──► requested ──store──► pending
      └──────────────────────── run lines: item → key ─────────────────────────┘

The plan is made in full by every shard, so each of them writes the same run, and a shard's part
depends on the keys alone: it does not shift when answers come in.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bench.item import Clip
from bench.prompt import EarlierAnswer, NamedText, Prompt, PromptMessage, PromptPart, Spoken
from cache.request import Media, MediaKind, Message, Request, Text
from cache.run import RunLine
from cache.store import Store
from infer.card import ModelCard
from infer.errors import ModalityAbsent, PlanError


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """One request to ask, with what is needed to ask it."""

    key: str
    request: Request
    files: dict[str, str]
    """Path of each media file by its digest."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a run consists of."""

    requests: tuple[Planned, ...]
    """Distinct requests, in the order in which the benchmark asks."""
    lines: tuple[RunLine, ...]
    absent: tuple[Path, ...] = ()
    """Media files that are not there; the items that need them are not in the plan."""


@dataclass(frozen=True, slots=True)
class Shard:
    """The k-th of n disjoint parts of the requests, k from 1."""

    k: int = 1
    n: int = 1

    def holds(self, key: str) -> bool:
        """Whether this shard answers the request with this key."""
        return int(key[:16], 16) % self.n == self.k - 1


WHOLE = Shard()


def parse_shard(text: str) -> Shard:
    """Read ``k/n``.

    Raises:
        PlanError: not of that form, or k outside 1 … n.
    """
    k, slash, n = text.partition("/")
    if not (slash and k.isdecimal() and n.isdecimal() and 1 <= int(k) <= int(n)):
        raise PlanError(f"--shard {text!r}: expected k/n with 1 ≤ k ≤ n, for example 2/4")
    return Shard(int(k), int(n))


def make_plan(
    prompts: Iterable[Prompt],
    card: ModelCard,
    store: Store,
    *,
    samples: int = 1,
    skip_absent: bool = False,
) -> Plan:
    """Turn prompts into requests for a model.

    Args:
        prompts: What the benchmark asks.
        card: The model, with the settings of this run.
        store: Keeps the media files' digests, so that each file is hashed once.
        samples: Answers asked for each prompt.
        skip_absent: Leave out the items whose media are not there, or have nothing of the card's
            modality, instead of raising.

    Raises:
        PlanError: media are not there, or the model's engine cannot take such prompts.
        ModalityAbsent: a clip has nothing of the card's modality.
    """
    planned: dict[str, Planned] = {}
    lines: list[RunLine] = []
    absent: dict[Path, None] = {}
    known: dict[Path, str] = {}
    for prompt in prompts:
        try:
            files = media_files(prompt, card)
        except ModalityAbsent as error:
            if not skip_absent:
                raise
            absent[error.clip] = None
            continue
        gone = [path for path in files if path not in known and not path.is_file()]
        if gone:
            absent.update(dict.fromkeys(gone))
            continue
        known.update({path: store.media_digest(path) for path in files if path not in known})
        digests = {path: known[path] for path in files}
        messages = tuple(make_message(message, card, digests) for message in prompt.messages)
        for sample in range(samples):
            request = make_request(messages, card, sample)
            key = request.key()
            paths = {digest: str(path.absolute()) for path, digest in digests.items()}
            planned.setdefault(key, Planned(key=key, request=request, files=paths))
            lines.extend(RunLine(item=item, key=key, sample=sample) for item in prompt.items)
    if absent and not skip_absent:
        raise PlanError(absent_message(list(absent)))
    return Plan(tuple(planned.values()), tuple(lines), tuple(absent))


def pending(plan: Plan, store: Store, shard: Shard) -> tuple[list[Planned], list[Planned]]:
    """Return this shard's requests: those that the store cannot answer, and all of them."""
    requested = [planned for planned in plan.requests if shard.holds(planned.key)]
    missing = set(store.missing(planned.key for planned in requested))
    return [planned for planned in requested if planned.key in missing], requested


def make_request(messages: tuple[Message, ...], card: ModelCard, sample: int) -> Request:
    """Return the request that sends messages to a card's model."""
    return Request(
        engine=card.engine,
        model=card.name,
        revision=card.revision,
        messages=messages,
        preprocessing=msgspec.structs.replace(card.preprocessing, modality=card.modality),
        sampling=card.sampling,
        settings=card.settings,
        sample=sample,
        transport=card.service.transport(card.resources.concurrency, os.environ),
    )


def make_message(message: PromptMessage, card: ModelCard, digests: dict[Path, str]) -> Message:
    """Return a message as it is sent, with its media by their digests."""
    return Message(role=message.role, parts=make_parts(message.parts, card, digests))


def make_parts(
    prompted: Iterable[PromptPart], card: ModelCard, digests: dict[Path, str]
) -> tuple[Text | Media, ...]:
    """Return parts of a prompt as they are sent: what is spoken only where it is not heard.

    Raises:
        PlanError: a part is the place of an earlier answer, which only a dialogue has.
    """
    parts: list[Text | Media] = []
    for part in prompted:
        if isinstance(part, EarlierAnswer):
            raise PlanError(f"the answer to {part.item} is not known while a plan is made")
        if isinstance(part, NamedText):
            parts.append(Text(text=part.text, name=part.name))
        elif isinstance(part, Spoken):
            if "audio" not in card.modality.split("+"):
                parts.append(Text(text=part.text, name="question"))
        else:
            parts.extend(_media(part, card, digests))
    return tuple(parts)


def _media(clip: Clip, card: ModelCard, digests: dict[Path, str]) -> list[Media]:
    bounds = (clip.segment.start_s, clip.segment.end_s) if clip.segment else (None, None)
    return [
        Media(kind=kind, sha256=digests[path], start_s=bounds[0], end_s=bounds[1])
        for kind, path in _sources(clip, card)
    ]


def _sources(clip: Clip, card: ModelCard) -> list[tuple[MediaKind, Path]]:
    # Sound comes from its own file where there is one, else from the video's own track.
    sources: list[tuple[MediaKind, Path | None]] = [
        ("video", clip.video),
        ("audio", clip.audio or clip.video),
        ("captions", clip.captions),
    ]
    kinds = card.modality.split("+")
    return [(kind, path) for kind, path in sources if kind in kinds and path is not None]


def media_files(prompt: Prompt, card: ModelCard) -> list[Path]:
    """Return the files of a prompt that a card's model is given.

    Raises:
        ModalityAbsent: a clip has nothing of the card's modality.
    """
    clips = [
        part for message in prompt.messages for part in message.parts if isinstance(part, Clip)
    ]
    for clip in clips:
        if not _sources(clip, card):
            path = clip.video or clip.audio or Path(prompt.items[0])
            raise ModalityAbsent(
                f"{prompt.items[0]}: its clip {path} has nothing of modality {card.modality!r}, so "
                "the model would be asked about media that it is not given: choose another "
                "--modality, or leave such items out with --skip-absent-media (they count as "
                "missing)",
                path,
            )
    return list(dict.fromkeys(path for clip in clips for _, path in _sources(clip, card)))


def absent_message(absent: Sequence[Path]) -> str:
    """Say which media are absent, and what to do."""
    shown = "\n".join(f"  {path}" for path in absent[:10])
    more = f"\n  … and {len(absent) - 10} more" if len(absent) > 10 else ""
    return (
        f"{len(absent)} media file(s) are not there:\n{shown}{more}\n"
        "Fetch them, or leave their items out with --skip-absent-media (they count as missing)."
    )
