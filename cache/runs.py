"""Read and write runs without locks.

    runs/<name>.jsonl                  the first writer's lines
    runs/<name>+0001-<16 digits>.jsonl what a later call added, if it added anything

Every file is written whole and never again, and holds header, lines and a digest of the bytes
before it. A run is the union of its files in the order of their numbers. So writers that plan the
same list write it once, and writers that plan different lists at the same moment lose nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote, unquote

import msgspec

from cache.canonical import sha256_hex
from cache.durable import create_exclusive
from cache.errors import RecordError, RunConflict, StoreError, StoreUnavailable, UnknownRun
from cache.run import Run, RunHeader, RunLine

_FILE = re.compile(r"(?P<name>[^+]+)(\+(?P<number>\d+)-(?P<digest>[0-9a-f]{16}))?\.jsonl")
_LONGEST = 180

_header = msgspec.json.Decoder(RunHeader)
_line = msgspec.json.Decoder(RunLine)


def list_runs(root: Path) -> list[str]:
    """Names of the runs, sorted."""
    return sorted({unquote(name) for name, _, _ in _files(root)})


def read_run(root: Path, name: str) -> Run:
    """Read a run.

    Raises:
        UnknownRun: there is none of this name.
        RecordError: a file of it is damaged.
    """
    files = sorted(file for file in _files(root) if file[0] == _file_name(name))
    if not files:
        known = ", ".join(list_runs(root)) or "none yet"
        raise UnknownRun(f"no run {name!r} in {root}; there are: {known}")
    pieces = [(number, read_run_file(path)) for _, number, path in files]
    pieces.sort(key=lambda piece: (piece[0], piece[1].header.created))
    lines: dict[tuple[str, int], RunLine] = {}
    for _, piece in pieces:
        lines.update({(line.item, line.sample): line for line in piece.lines})
    return Run(header=pieces[0][1].header, lines=tuple(lines.values()))


def write_run(root: Path, header: RunHeader, lines: Iterable[RunLine]) -> None:
    """Add lines to a run, making it where it is new. A line replaces an older one of its item.

    Raises:
        RunConflict: the name is taken by a run with another header.
        StoreUnavailable: the run cannot be written.
    """
    header = _as_read(header)
    new = {(line.item, line.sample): line for line in lines}
    stem = _file_name(header.name)
    try:
        (root / "runs").mkdir(exist_ok=True)
        first = root / "runs" / f"{stem}.jsonl"
        if header.name not in list_runs(root) and create_exclusive(first, _file_bytes(header, new)):
            return
        old = read_run(root, header.name)
        refuse_other(old.header, header)
        known = {(line.item, line.sample): line for line in old.lines}
        new = {place: line for place, line in new.items() if known.get(place) != line}
        if new:
            number = 1 + max(number for name, number, _ in _files(root) if name == stem)
            data = _file_bytes(header, new)
            piece = f"{stem}+{number:04d}-{sha256_hex(data)[:16]}.jsonl"
            create_exclusive(root / "runs" / piece, data)
    except OSError as error:
        raise StoreUnavailable(f"{root}: run {header.name!r} cannot be written: {error}") from error


def _as_read(header: RunHeader) -> RunHeader:
    # A tuple in the settings comes back as a list: both are one header.
    try:
        return _header.decode(msgspec.json.encode(header))
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        raise StoreError(f"run {header.name!r}: its header has no JSON form: {error}") from error


def read_run_file(path: Path) -> Run:
    """Read one file of a run.

    Raises:
        RecordError: it is damaged; names the line.
    """
    data = path.read_bytes()
    body, _, last = data.removesuffix(b"\n").rpartition(b"\n")
    if last != _digest_line(body + b"\n") or not data.endswith(b"\n"):
        raise RecordError(
            f"{path} does not match the digest in its last line: it was cut off or changed. Remove "
            "it and run the same command again: keys and answers are not in it."
        )
    header, *lines = body.split(b"\n")
    decoded: list[RunLine] = []
    try:
        found = _header.decode(header)
        decoded += (_line.decode(line) for line in lines)
    except msgspec.MsgspecError as error:
        raise RecordError(f"{path}: {error}") from error
    return Run(header=found, lines=tuple(decoded))


def run_files(root: Path) -> list[Path]:
    """Every file of every run, sorted."""
    return sorted(path for _, _, path in _files(root))


def _files(root: Path) -> list[tuple[str, int, Path]]:
    found = []
    for path in (root / "runs").glob("[!.]*.jsonl"):
        named = _FILE.fullmatch(path.name)
        if named is not None:
            found.append((named["name"], int(named["number"] or 0), path))
    return found


def _file_name(name: str) -> str:
    # A run's name becomes a file's: "/" and "+" and all that is not plain is escaped.
    stem = quote(name, safe=" ()=,@")
    if not name or name.startswith(".") or len(stem) > _LONGEST:
        raise StoreError(
            f"{name!r} cannot name a run: use 1 to {_LONGEST} characters, the first no dot"
        )
    return stem


def _file_bytes(header: RunHeader, lines: dict[tuple[str, int], RunLine]) -> bytes:
    body = b"".join(msgspec.json.encode(line) + b"\n" for line in (header, *lines.values()))
    return body + _digest_line(body) + b"\n"


def _digest_line(body: bytes) -> bytes:
    return b'{"digest":"' + sha256_hex(body).encode() + b'"}'


def refuse_other(old: RunHeader, new: RunHeader) -> None:
    """Refuse a header that differs in more than when it was made.

    Raises:
        RunConflict: says in what.
    """
    changed = [
        f"{name} was {getattr(old, name)!r}, is {getattr(new, name)!r}"
        for name in RunHeader.__struct_fields__
        if name != "created" and getattr(old, name) != getattr(new, name)
    ]
    if changed:
        raise RunConflict(
            f"a run {old.name!r} exists and was made otherwise: {'; '.join(changed)}. "
            "Choose another run name."
        )
