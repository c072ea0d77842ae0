"""What could not be read back, or means nothing, is refused before anything is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from cache import layout
from cache.cli import cache as cache_cli
from cache.errors import (
    CanonicalError,
    RecordError,
    StoreUnavailable,
)
from cache.request import Transport
from cache.run import RunHeader, RunLine
from cache.store import Store
from tests.builders import store_record, store_request


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.mark.parametrize("settings", [None, "", [], (), 0, False, "text", [1]])
def test_settings_that_are_no_object_have_no_key(settings):
    with pytest.raises(CanonicalError):
        store_request(settings=settings).key()


@pytest.mark.parametrize(
    "transport",
    [None, Transport(base_url=None), Transport(timeout_s="60"), Transport(concurrency=8.0),
     Transport(concurrency=True)],
)  # fmt: skip
def test_a_record_whose_transport_would_not_read_back_is_refused(folder, transport):
    request = store_request(transport=transport)
    with Store(folder, create=True) as store:
        with pytest.raises(RecordError):
            store.put(store_record(request=request))
        sound = store_request(transport=Transport(base_url="http://h/v1", timeout_s=60))
        store.put(store_record(request=sound))
        assert store.get(sound.key()) is not None


def test_a_header_with_a_tuple_is_the_header_that_is_read_back(folder):
    header = RunHeader(name="r", benchmark="b", model="m", tasks=(), settings={"a": (1, 2)})
    with Store(folder, create=True) as store:
        store.write_run(header, [RunLine(item="1", key="k")])
        store.write_run(header, [RunLine(item="2", key="k")])
        assert len(store.run("r").lines) == 2


@pytest.mark.parametrize("schema", ["true", "1.0"])
def test_a_schema_that_only_equals_ours_is_refused(folder, schema):
    Store(folder, create=True).close()
    (folder / "format.json").write_text(f'{{"schema": {schema}, "digest": "sha256"}}\n')
    with pytest.raises(StoreUnavailable, match="schema"):
        layout.open_folder(folder, create=False)


@pytest.mark.parametrize(
    "arguments", [["ls", "--limit", "-1"], ["seal", "--idle-hours", "-1"],
                  ["seal", "--idle-hours", "nan"]],
)  # fmt: skip
def test_numbers_that_mean_nothing_are_refused(folder, arguments):
    Store(folder, create=True).close()
    result = CliRunner().invoke(cache_cli, [*arguments, "--store", str(folder)])
    code = getattr(result.exception, "exit_code", result.exit_code)
    assert code == 2
