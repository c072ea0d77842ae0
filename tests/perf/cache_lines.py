"""Lines for the store's benchmarks, made by the million: each its own key, each with its digest."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from cache.record import TAIL_SIZE, Record
from cache.store import Store
from tests.builders import store_record


def make_records(count: int, start: int = 0) -> list[Record]:
    """Whole records, of about 2 KB a line as those of choice items are."""
    first = store_record("0", "word " * 280)
    message = first.request.messages[0]
    records = []
    for number in range(start, start + count):
        text = msgspec.structs.replace(message.parts[1], text=f"question {number} " + "why " * 20)
        asked = msgspec.structs.replace(message, parts=(message.parts[0], text))
        request = msgspec.structs.replace(first.request, messages=(asked,))
        records.append(msgspec.structs.replace(first, key=request.key(), request=request))
    return records


def make_lines(
    count: int, start: int = 0, body: bytes | None = None
) -> Iterator[tuple[str, bytes]]:
    """Keys and lines that only differ in their keys: they pass for records until they are read."""
    if body is None:
        body = make_records(1)[0].to_line()[:-TAIL_SIZE]
    before, after = body[:8], body[72:]
    for number in range(start, start + count):
        key = hashlib.sha256(b"%d" % number).hexdigest()
        made = b"".join((before, key.encode(), after))
        digest = hashlib.sha256(made).hexdigest().encode()
        yield key, b"".join((made, b',"digest":"', digest, b'"}\n'))


def fill(folder: Path, count: int, a_pack: int = 32_000, body: bytes | None = None) -> None:
    """Make a store of ``count`` such lines, sealed into packs of ``a_pack``."""
    Store(folder, create=True).close()
    for start in range(0, count, a_pack):
        lines = make_lines(min(a_pack, count - start), start, body)
        data = b"".join(line for _, line in lines)
        digest = hashlib.sha256(data).hexdigest()
        pack = folder / "packs" / digest[:2] / f"{digest}.jsonl"
        pack.parent.mkdir(exist_ok=True)
        pack.write_bytes(data)
        pack.chmod(0o444)
