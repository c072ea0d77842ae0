"""The ``infer models`` command."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from rejudge import emit, json_option

if TYPE_CHECKING:
    from infer.card import ModelCard
    from infer.needs import Stand


@click.command()
@click.argument("card", required=False)
@json_option
def models(card: str | None, as_json: bool) -> None:
    """List the models: engine, media, how far each was verified, what is lacking here.

    With CARD, a name or the path of a card of your own (.toml), check it and show all of it.

    Example: rejudge infer models qwen2.5-omni-7b
    """
    from infer.card import load_card, names
    from infer.engine import check_settings
    from infer.needs import stand

    found = []
    for name in [card] if card else names():
        one = load_card(name)
        check_settings(one)
        found.append((one, stand(one, os.environ)))
    text = _whole if card else _brief
    emit(
        {"models": [_as_dict(*one) for one in found]},
        lambda: "\n".join(line for one in found for line in text(*one)),
        as_json=as_json,
    )


def _as_dict(card: ModelCard, stands: Stand) -> dict[str, Any]:
    import msgspec

    members: dict[str, Any] = msgspec.to_builtins(card)
    return members | {"weights": stands.weights, "lacks": list(stands.lacks)}


def _brief(card: ModelCard, stands: Stand) -> Iterator[str]:
    yield f"{card.name}  ({card.engine}, {card.modality})"
    yield from _folded("verified", str(card.verified))
    yield from _folded("weights", stands.weights)
    for lack in stands.lacks:
        yield from _folded("lacks", lack)


def _whole(card: ModelCard, stands: Stand) -> Iterator[str]:
    members = _as_dict(card, stands)
    lacks = members.pop("lacks")
    yield members.pop("name")
    for name, value in members.items():
        yield from _member(name, value)
    yield from _folded("lacks", "; ".join(lacks) or "nothing")


def _member(name: str, value: Any) -> Iterator[str]:
    """Yield the lines of one field; what is empty says nothing and is left out."""
    if isinstance(value, dict):
        for inner, found in value.items():
            yield from _member(f"{name}.{inner}", found)
    elif isinstance(value, list | tuple):
        if value:
            yield from _folded(name, ", ".join(_brief_value(one) for one in value))
    elif value is not None and value != "":
        yield from _folded(name, _brief_value(value))


def _brief_value(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name} {found}" for name, found in value.items() if found is not None)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _folded(name: str, value: str) -> Iterator[str]:
    width = max(40, shutil.get_terminal_size().columns)
    for number, line in enumerate(value.splitlines() or [""]):
        first = f"  {name}: " if number == 0 else "    "
        yield from textwrap.wrap(
            line,
            width,
            initial_indent=first,
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
