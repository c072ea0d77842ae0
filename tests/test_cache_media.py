"""Digests of media: of the bytes, remembered by path, size and time, never of the name."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cache.media import gather_digests
from cache.request import Media, Message
from cache.store import Store
from tests.builders import store_request


@pytest.fixture
def store(tmp_path: Path):
    with Store(tmp_path / "store", create=True) as store:
        yield store


def clip(path: Path, data: bytes, *, age_s: float = 60.0) -> Path:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_bytes(data)
    then = time.time() - age_s
    os.utime(path, (then, then))
    time.sleep(0.15)  # ctime cannot be put back, and a file whose ctime is of now is not remembered
    return path


def key(store: Store, path: Path) -> str:
    part = Media(kind="video", sha256=store.media_digest(path))
    return store_request(messages=(Message(role="user", parts=(part,)),)).key()


def test_the_digest_is_the_sha256_of_the_bytes(store, tmp_path):
    path = clip(tmp_path / "clip.mp4", b"frames")
    assert store.media_digest(path) == hashlib.sha256(b"frames").hexdigest()


def test_bytes_make_the_key_and_paths_do_not(store, tmp_path):
    first = clip(tmp_path / "a" / "clip.mp4", b"first")
    second = clip(tmp_path / "b" / "clip.mp4", b"other")
    keys = {key(store, first), key(store, second)}
    clip(first, b"third")
    keys.add(key(store, first))
    assert len(keys) == 3
    assert key(store, clip(tmp_path / "c" / "copy.mp4", b"third")) in keys


def test_a_file_overwritten_at_once_by_as_many_bytes_is_read_again(store, tmp_path):
    """Its size and, on a coarse clock, its time are those of before."""
    path = tmp_path / "clip.mp4"
    path.write_bytes(b"first")
    stat = path.stat()
    before = store.media_digest(path)
    path.write_bytes(b"other")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert store.media_digest(path) != before


def test_a_settled_file_is_read_once_by_all_stores_to_come(store, tmp_path, monkeypatch):
    path = clip(tmp_path / "clip.mp4", b"frames")
    digest = store.media_digest(path)
    monkeypatch.setattr(hashlib, "file_digest", lambda *_: pytest.fail("read again"))
    assert store.media_digest(path) == digest
    with Store(store.path, read_only=True) as other:
        assert other.media_digest(path) == digest


def test_a_file_whose_times_were_put_back_is_read_again(store, tmp_path):
    path = clip(tmp_path / "clip.mp4", b"frames")
    digest = store.media_digest(path)
    stat = path.stat()
    path.write_bytes(b"FRAMES")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert store.media_digest(path) == hashlib.sha256(b"FRAMES").hexdigest() != digest


def test_a_changed_line_of_the_memory_is_not_believed(store, tmp_path):
    path = clip(tmp_path / "clip.mp4", b"frames")
    digest = store.media_digest(path)
    (memory,) = store.path.glob("media/*.jsonl")
    memory.write_text(memory.read_text().replace(digest[:4], "0000") + '{"path": "torn')
    with Store(store.path) as other:
        assert other.media_digest(path) == digest


def test_the_memories_of_ended_writers_are_brought_together(store, tmp_path):
    paths = [clip(tmp_path / f"{number}.mp4", b"%d" % number) for number in range(3)]
    script = "import sys; from pathlib import Path; from cache.store import Store;"
    script += "Store(Path(sys.argv[1])).media_digest(Path(sys.argv[2]))"
    for path in paths:
        command = [sys.executable, "-c", script, store.path, path]
        subprocess.run(command, check=True, cwd=Path(__file__).parents[1])
    assert len(list(store.path.glob("media/*.jsonl"))) == 3
    gather_digests(store.path)
    (memory,) = store.path.glob("media/*.jsonl")
    assert memory.name == "digests.jsonl"
    assert memory.read_text().count("\n") == 3


def test_a_file_whose_name_is_not_utf_8_has_a_digest_too(store, tmp_path):
    """It cannot be remembered in JSON, and is read again each time."""
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.mp4"))
    clip(path, b"video")
    assert store.media_digest(path) == hashlib.sha256(b"video").hexdigest()


def test_a_memory_that_cannot_be_read_is_as_good_as_none(store, tmp_path):
    path = clip(tmp_path / "a.mp4", b"video")
    (store.path / "media" / "loop.jsonl").symlink_to("loop.jsonl")
    (store.path / "media" / "pipe.jsonl").mkdir()
    assert store.media_digest(path) == hashlib.sha256(b"video").hexdigest()
