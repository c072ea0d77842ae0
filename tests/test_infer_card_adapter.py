"""A worker's adapter is known by its name and bytes, and found from its card's folder on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cache.store import Store
from infer.card import ModelCard, load_card
from infer.checkpoint import pinned
from infer.errors import CardError
from tests.test_infer_cards import write


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", create=True)


def worker(folder: Path, code: bytes = b"def load(card): ...", name: str = "mine.py") -> ModelCard:
    """The card of a worker whose adapter lies beside it."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(code)
    return load_card(str(write(folder, f'[settings]\nadapter = "./{name}"', engine="worker")))


def test_an_adapter_is_found_from_its_cards_folder_on_and_known_by_its_bytes(
    tmp_path: Path, store: Store
) -> None:
    folder = tmp_path / "cards"
    card = pinned(worker(folder, b"x"), store.media_digest)

    # sha256sum of the one byte "x".
    digest = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
    assert card.settings == {"adapter": f"mine.py sha256:{digest}"}
    assert card.worker.adapter == str(folder / "mine.py")
    assert pinned(card, store.media_digest) == card


def test_a_moved_adapter_is_the_same_and_an_edited_or_renamed_one_another(
    tmp_path: Path, store: Store
) -> None:
    cards = [
        worker(tmp_path / "a"),
        worker(tmp_path / "moved"),
        worker(tmp_path / "edited", b"def load(card): return 1"),
        worker(tmp_path / "renamed", name="other.py"),
    ]

    first, moved, *others = [pinned(card, store.media_digest).settings for card in cards]

    assert moved == first
    assert first not in others
    assert others[0] != others[1]


def test_a_bundled_adapter_is_known_by_its_bytes_too(store: Store) -> None:
    card = pinned(load_card("vita-1.5"), store.media_digest)

    assert re.fullmatch(r"vita_1_5\.py sha256:[0-9a-f]{64}", card.settings["adapter"])
    assert Path(card.worker.adapter).is_file()


def test_an_adapter_for_dialogues_is_found_from_the_cards_folder_on_too(tmp_path: Path) -> None:
    (tmp_path / "spoken.py").touch()
    more = '[settings]\nadapter = "vita_1_5"\n[dialogue.settings]\nadapter = "spoken.py"'
    card = load_card(str(write(tmp_path, more, engine="worker")))

    assert card.settings["adapter"] == "vita_1_5"
    assert card.in_dialogues().settings["adapter"] == str(tmp_path / "spoken.py")


def test_an_adapter_that_is_not_there_is_named(tmp_path: Path, store: Store) -> None:
    card = load_card(str(write(tmp_path, '[settings]\nadapter = "gone.py"', engine="worker")))

    with pytest.raises(CardError, match=r"no adapter '.*gone\.py'; there are: baichuan"):
        pinned(card, store.media_digest)
