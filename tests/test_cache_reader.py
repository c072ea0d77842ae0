"""Lines out of files: near ones come with one read, and each is what lies there."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cache.reader import Reader

SIZE = 50_000
spans = st.lists(st.tuples(st.integers(0, SIZE + 100), st.integers(0, 9_000)), max_size=30).map(
    sorted
)


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    folder = tmp_path_factory.mktemp("reader")
    data = bytes(number * 31 % 251 for number in range(SIZE))
    (folder / "part").write_bytes(data)
    return folder, data


@given(wanted=spans)
@settings(max_examples=200, deadline=None)
def test_a_span_is_what_lies_there_and_ends_with_the_file(content, wanted):
    folder, data = content
    reader = Reader(folder)
    found = list(reader.read("part", wanted))
    reader.close()
    assert found == [data[offset : offset + length] for offset, length in wanted]


def test_near_lines_come_with_one_read_and_far_ones_do_not(content, monkeypatch):
    folder, data = content
    reads = []
    pread = os.pread

    def counted(fd: int, length: int, offset: int) -> bytes:
        reads.append((offset, length))
        return pread(fd, length, offset)

    monkeypatch.setattr("cache.reader.os.pread", counted)
    reader = Reader(folder)
    found = list(reader.read("part", [(0, 100), (150, 100), (40_000, 10)]))
    reader.close()
    assert found == [data[:100], data[150:250], data[40_000:40_010]]
    assert reads == [(0, 250), (40_000, 10)]


def test_a_file_system_that_returns_less_is_asked_again(content, monkeypatch):
    folder, data = content
    pread = os.pread
    monkeypatch.setattr(
        "cache.reader.os.pread", lambda fd, length, offset: pread(fd, min(length, 7), offset)
    )
    reader = Reader(folder)
    assert list(reader.read("part", [(10, 100)])) == [data[10:110]]
    reader.close()


def test_a_file_that_is_gone_is_said(tmp_path):
    with pytest.raises(FileNotFoundError):
        list(Reader(tmp_path).read("part", [(0, 1)]))
