"""Model cards: what they must say, and what `rejudge infer models` says of them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cache.request import Message, Request, Text
from cache.store import Store
from infer.card import MODELS, ModelCard, Verified, check_trust, load_card, names
from infer.checkpoint import locate, pinned
from infer.engine import check_settings
from infer.errors import CardError, FeatureMissing, RemoteCodeRefused
from infer.needs import stand
from infer.service import Service
from rejudge import cli

PAGE = Path(__file__).parent.parent / "docs" / "models.md"

#: The systems of the two papers, by the names that their tables print.
EVALUATED = {
    "gemini-3-pro": ("Gemini 3.0 Pro", "Gemini-3-Pro"),
    "gemini-2.5-pro": ("Gemini-2.5-Pro",),
    "gpt-4o": ("GPT4o",),
    "doubao-seed-2.0-lite": ("Doubao-Seed-2.0-lite",),
    "mimo-v2-omni": ("MiMo-V2-Omni",),
    "qwen3.5-omni-plus": ("Qwen3.5-Omni-Plus",),
    "qwen3-omni-30b-a3b-instruct": ("Qwen3-Omni", "Qwen3-Omni-Inst.(30B-A3B)"),
    "qwen2.5-omni-7b": ("Qwen2.5-Omni (7B)",),
    "minicpm-o-2.6": ("MiniCPM-o-2.6", "MiniCPM-o-2.6 (8B)"),
    "minicpm-o-4.5": ("MiniCPM-o-4.5 (9B)",),
    "uni-moe-2.0-omni": ("UniMoE-2.0",),
    "vita-1.5": ("VITA 1.5", "VITA-1.5 (7B)"),
    "videollama2.1-7b-av": ("VideoLLaMA 2",),
    "baichuan-omni-1.5": ("Baichuan-Omni-1.5 (7B)",),
}
#: SONIC-O1, table A3: frames a video, and the models' published names.
FRAMES = {
    "videollama2.1-7b-av": 128,
    "qwen3-omni-30b-a3b-instruct": 256,
    "uni-moe-2.0-omni": 256,
    "minicpm-o-2.6": 256,
    "vita-1.5": 64,
    "gpt-4o": 256,
}

CARDS = [load_card(name) for name in names()]


def write(folder: Path, more: str = "", **fields: Any) -> Path:
    """Write a card that is valid but for what is given."""
    members = {
        "name": "mine",
        "engine": "transformers",
        "checkpoint": "org/model",
        "modality": "audio",
        "tasks": ["summary"],
        "description": "d",
        "verified": "not run",
    } | fields
    path = folder / "mine.toml"
    lines = [f"{name} = {json.dumps(value)}" for name, value in members.items()]
    path.write_text("\n".join([*lines, more]))
    return path


def test_every_system_of_the_papers_has_a_card() -> None:
    assert set(EVALUATED) | {"phi-4-multimodal", "captions", "chance"} == set(names())


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_a_bundled_card_is_sound(card: ModelCard) -> None:
    assert (MODELS / f"{card.name}.toml").is_file()
    check_settings(card)
    assert card.verified is not Verified.REAL_WEIGHTS or card.name == "captions"
    assert card.verified_by or card.engine in ("captions", "chance")


@pytest.mark.parametrize(("name", "frames"), FRAMES.items())
def test_a_card_takes_as_many_frames_as_the_paper_and_halves_them(name: str, frames: int) -> None:
    """SONIC-O1, appendix D: frames are halved; sound steps from whole to 64, 32, 16 chunks."""
    card = load_card(name)

    asked = card.preprocessing
    assert asked.frames == frames
    assert [rung.frames for rung in asked.ladder] == [frames // 2, frames // 4, frames // 8]
    heard = [64, 32, 16] if "audio" in card.modality else [None] * 3
    assert [rung.audio_chunks for rung in asked.ladder] == heard
    drawn = card.sampling
    assert (drawn.temperature, drawn.top_p, drawn.max_tokens) == (0.7, 0.95, 8192)


def test_gemini_gets_whole_files_at_one_frame_a_second() -> None:
    for name in ("gemini-3-pro", "gemini-2.5-pro"):
        asked = load_card(name).preprocessing
        assert (asked.as_files, asked.fps) == (True, 1.0)


@pytest.mark.parametrize(
    ("fields", "more", "said"),
    [
        ({"verified": "surely"}, "", "Invalid enum value 'surely' - at `$.verified`"),
        ({"modality": "smell"}, "", "modality 'smell'"),
        ({"modality": "video"}, "", "how many frames"),
        ({"tempo": 1}, "", "unknown field `tempo`"),
        ({}, "[price]\ninput_usd = 1.0", "missing required field `output_usd` - at `$.price`"),
        ({}, "[sampling]\ntop_p = 1.5", "sampling.top_p is 1.5"),
        ({}, "[sampling]\ntemperature = -1.0", "sampling.temperature is -1.0"),
        ({}, "[sampling]\nmax_tokens = 0", "sampling.max_tokens is 0"),
        ({}, "[resources]\nactors = 0", "`$.resources.actors`"),
        ({}, "[service]\ntimeout_s = inf", "service.timeout_s is inf: expected a finite number"),
        ({}, "[resources]\ncpus = inf", "resources.cpus is inf"),
        ({}, "[sampling]\ntemperature = nan", "sampling.temperature is nan"),
        ({}, "[sampling]\nseed = 9223372036854775808", "sampling.seed is 9223372036854775808"),
        ({}, "[settings]\na = [{ b = -inf }]", "settings.a[0].b is -inf"),
        ({}, "[settings.body]\nday = 2026-01-31", "settings.body.day is a date or a time"),
        ({}, "[settings]\nat = 07:32:00", "settings.at is a date or a time"),
        ({"name": " "}, "", "name is empty"),
        ({"tasks": ["chioce"]}, "", "tasks has 'chioce': expected some of summary, empathic"),
        ({"modality": "captions+captions"}, "", "modality 'captions+captions'"),
        ({}, '[worker]\nadapter = "a.py"', "worker.adapter: name the adapter under [settings]"),
        ({"engine": "worker"}, "[settings]\nadapter = 5", "settings.adapter is 5"),
        (
            {"modality": "video"},
            "[preprocessing]\nframes = 8\nladder = [{ frames = 8 }]",
            "preprocessing.ladder[0].frames is 8: expected fewer than the 8 before it",
        ),
    ],
)
def test_a_field_that_does_not_hold_is_named_with_its_file(
    tmp_path: Path, fields: Mapping[str, Any], more: str, said: str
) -> None:
    path = write(tmp_path, more, **fields)

    with pytest.raises(CardError) as caught:
        load_card(str(path))

    assert str(path) in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize("engine", ["vllm", "transformers", "openai", "gemini"])
def test_a_setting_that_an_engine_does_not_know_is_named(tmp_path: Path, engine: str) -> None:
    card = load_card(str(write(tmp_path, '[settings]\nmodel = "m"\ndtipe = "x"', engine=engine)))

    with pytest.raises(CardError, match=r"mine.*settings.*unknown field"):
        check_settings(card)


def test_code_of_a_checkpoint_runs_only_when_the_user_says_so(tmp_path: Path) -> None:
    path = write(tmp_path, trust_remote_code=True)

    ran = CliRunner().invoke(
        cli, ["infer", "demo", "--model", str(path), "--store", str(tmp_path / "store")]
    )

    assert isinstance(ran.exception, RemoteCodeRefused)
    assert "--trust-remote-code" in str(ran.exception)
    assert not (tmp_path / "store").exists()
    check_trust(load_card(str(path)), trusted=True)
    with pytest.raises(RemoteCodeRefused):
        check_trust(load_card(str(path)), trusted=False)


@pytest.mark.parametrize(
    "url", ["http://[::1", "http://host:port", "http://host:99999", "https://me:pass@[::1", "host"]
)
def test_an_address_that_is_none_is_an_error_that_keeps_passwords_to_itself(url: str) -> None:
    with pytest.raises(CardError, match="expected http:// or https:// and a host") as caught:
        Service(base_url=url).address({})

    assert "pass" not in str(caught.value)


def test_media_are_asked_in_one_order_whatever_the_order_in_the_card(tmp_path: Path) -> None:
    frames = "[preprocessing]\nframes = 8"
    cards = [
        load_card(str(write(tmp_path, frames, modality=modality)))
        for modality in ("video+audio", "audio+video")
    ]

    assert cards[0] == cards[1]


# Which weights answer


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", create=True)


def checkpoint(folder: Path, weights: bytes = b"w" * 100) -> Path:
    (folder / "shards").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "shards" / "model-1.safetensors").write_bytes(weights)
    return folder


def key_of(card: ModelCard, store: Store) -> str:
    pinned_card = pinned(card, store.media_digest)
    asked = (Message(role="user", parts=(Text(text="?"),)),)
    return Request(
        engine=card.engine, model=card.name, revision=pinned_card.revision, messages=asked
    ).key()


@pytest.mark.parametrize(
    ("checkpoint", "error", "said"),
    [
        ("package:nope.x", FeatureMissing, "needs the package nope.x: pip install nope"),
        ("package:no_such", FeatureMissing, "pip install no-such"),
        ("package:", CardError, "expected package:NAME"),
        ("package:.x", CardError, "expected package:NAME"),
    ],
)
def test_a_package_that_is_not_there_is_named(
    checkpoint: str, error: type[Exception], said: str, tmp_path: Path
) -> None:
    card = load_card(str(write(tmp_path, checkpoint=checkpoint)))

    with pytest.raises(error, match=said):
        locate(card)


def test_overwritten_weights_are_another_model(tmp_path: Path, store: Store) -> None:
    folder = checkpoint(tmp_path / "a")
    card = load_card(str(write(tmp_path, checkpoint=str(folder))))
    before = key_of(card, store)

    (folder / "shards" / "model-1.safetensors").write_bytes(b"v" * 100)

    assert key_of(card, store) != before


def test_the_same_bytes_in_another_folder_are_the_same_model(tmp_path: Path, store: Store) -> None:
    keys = set()
    for name in ("a", "elsewhere"):
        folder = checkpoint(tmp_path / name)
        (folder / "README.md").write_text(name)
        (folder / ".cache").mkdir()
        (folder / ".cache" / "lock").write_text(name)
        keys.add(key_of(load_card(str(write(tmp_path, checkpoint=str(folder)))), store))

    assert len(keys) == 1


def test_a_renamed_file_is_another_model(tmp_path: Path, store: Store) -> None:
    folder = checkpoint(tmp_path / "a")
    card = load_card(str(write(tmp_path, checkpoint=str(folder))))
    before = key_of(card, store)

    (folder / "config.json").rename(folder / "generation_config.json")

    assert key_of(card, store) != before


def test_a_revision_of_a_folder_is_checked(tmp_path: Path, store: Store) -> None:
    folder = checkpoint(tmp_path / "a")
    found = pinned(load_card(str(write(tmp_path, checkpoint=str(folder)))), store.media_digest)
    assert re.fullmatch("files:[0-9a-f]{64}", found.revision)
    named = write(tmp_path, checkpoint=str(folder), revision=found.revision)
    assert pinned(load_card(str(named)), store.media_digest).revision == found.revision
    assert locate(found).place == str(folder)
    assert locate(found).revision is None

    (folder / "config.json").write_text('{"a": 1}')

    with pytest.raises(CardError, match="take the right folder, or correct the revision"):
        pinned(load_card(str(named)), store.media_digest)


def test_a_large_file_is_hashed_once(tmp_path: Path, store: Store) -> None:
    folder = checkpoint(tmp_path / "a")
    card = load_card(str(write(tmp_path, checkpoint=str(folder))))
    hashed: list[Path] = []

    def digest(path: Path) -> str:
        hashed.append(path)
        return store.media_digest(path)

    pinned(card, digest)

    assert sorted(path.name for path in hashed) == ["config.json", "model-1.safetensors"]


def test_a_hubs_model_keeps_its_commit(tmp_path: Path, store: Store) -> None:
    card = load_card(str(write(tmp_path, revision="0123abcd")))

    assert pinned(card, store.media_digest) == card
    assert locate(card).revision == "0123abcd"


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    card = load_card(str(write(tmp_path, checkpoint="/nowhere/at/all")))

    with pytest.raises(FeatureMissing, match="/nowhere/at/all"):
        locate(card)
    assert stand(card, {}).weights == "missing"


# What the command says


def test_the_command_lists_every_card_and_what_is_lacking() -> None:
    ran = CliRunner().invoke(cli, ["infer", "models", "--json"], env={"OPENAI_API_KEY": ""})

    found = {model["name"]: model for model in json.loads(ran.stdout)["models"]}
    assert list(found) == names()
    assert found["gpt-4o"]["lacks"] == ["an API key in the environment variable OPENAI_API_KEY"]
    assert found["captions"]["weights"] == "here"
    assert found["chance"]["lacks"] == []
    assert {model["verified"] for model in found.values()} <= set(Verified)


def test_a_key_that_is_set_is_not_lacking_and_not_shown() -> None:
    ran = CliRunner().invoke(cli, ["infer", "models", "gpt-4o"], env={"OPENAI_API_KEY": "s3cret"})

    assert "lacks: nothing" in ran.output
    assert "s3cret" not in ran.output


def test_lines_fit_a_narrow_terminal() -> None:
    ran = CliRunner().invoke(cli, ["infer", "models"], env={"COLUMNS": "60"})

    assert ran.exit_code == 0
    assert max(len(line) for line in ran.output.splitlines()) <= 60


def test_a_card_of_ones_own_is_checked_and_shown(tmp_path: Path) -> None:
    path = write(tmp_path, "[sampling]\ntemperature = 0.5")

    ran = CliRunner().invoke(cli, ["infer", "models", str(path)])

    assert ran.exit_code == 0
    assert "  sampling.temperature: 0.5" in ran.output.splitlines()


def test_a_faulty_card_of_ones_own_says_what_is_wrong(tmp_path: Path) -> None:
    path = write(tmp_path, '[settings]\nmodel = "m"', engine="vllm")

    ran = CliRunner().invoke(cli, ["infer", "models", str(path)])

    assert isinstance(ran.exception, CardError)
    assert "unknown field `model`" in str(ran.exception)


# The page


def table() -> str:
    """Return the table of docs/models.md; `python -m tests.test_infer_cards` writes it there."""
    lines = ["| card | engine | checkpoint or model | given | verified |", "| --- " * 5 + "|"]
    for card in CARDS:
        source = card.checkpoint or card.settings.get("model", "")
        verified = f"{card.verified}. {card.verified_by}".strip()
        cells = [f"`{card.name}`", f"`{card.engine}`", f"`{source}`" if source else ""]
        lines.append(f"| {' | '.join([*cells, _given(card), verified])} |")
    return "\n".join(lines) + "\n"


def _given(card: ModelCard) -> str:
    asked = card.preprocessing
    parts = [card.modality]
    if asked.as_files:
        parts.append("as files")
    if asked.fps is not None:
        parts.append(f"{asked.fps:g} FPS")
    if asked.frames is not None:
        parts.append(f"{asked.frames} frames")
    return ", ".join(parts)


def test_the_page_lists_the_cards_as_they_are() -> None:
    assert table() in PAGE.read_text("utf-8"), "run: python -m tests.test_infer_cards"


if __name__ == "__main__":
    text = PAGE.read_text("utf-8")
    start = text.index("| card | engine |")
    end = text.index("\n\n", start) + 1
    PAGE.write_text(text[:start] + table() + text[end:], "utf-8")
