"""The key and the film with which engines ask a service: fixtures of the engines' tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clips import make_clip
from tests.services import SECRET


@pytest.fixture
def api_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key that the cards of these tests name, in the environment."""
    monkeypatch.setenv("REJUDGE_TEST_KEY", SECRET)


@pytest.fixture(scope="session")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight seconds whose frames carry their number, with a tone."""
    return make_clip(tmp_path_factory.mktemp("film") / "film.mp4")
