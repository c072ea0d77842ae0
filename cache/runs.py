"""Read and write runs without locks.

    runs/<name>.jsonl                  the first writer's lines
    runs/<name>+0001-<16 digits>.jsonl what a later call added, if it added anything

Every file is written whole and never again, and holds header, lines and a digest of the bytes
before it. A run is the union of its files in the order of their numbers. So writers that plan the
same list write it once, and writers that plan different lists at the same moment lose nothing. The
files of one run have one header, but for when each was made; an imported run also has the tasks of
all of them.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote, unquote

import msgspec

from cache.canonical import sha256_hex
from cache.durable import create_exclusive
from cache.errors import RecordError, RunConflict, StoreError, StoreUnavailable, UnknownRun
from cache.fault import readable
from cache.layout import list_files
from cache.run import Run, RunHeader, RunLine

_FILE = re.compile(r"(?P<name>[^+]+)(\+(?P<number>\d+)-(?P<digest>[0-9a-f]{16}))?\.jsonl")
_LONGEST = 180
_DIGEST = b'{"digest":"'

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
        known = readable(", ".join(list_runs(root))) or "none yet"
        raise UnknownRun(f"no run {name!r} in {root}; there are: {known}")
    pieces = [(number, read_run_file(path)) for _, number, path in files]
    pieces.sort(key=lambda piece: (piece[0], piece[1].header.created))
    header = pieces[0][1].header
    lines: dict[tuple[str, int], RunLine] = {}
    for _, piece in pieces:
        lines.update({(line.item, line.sample): line for line in piece.lines})
        if header.can_grow and set(piece.header.tasks) - set(header.tasks):
            # Sorted, so that nothing depends on which task was imported or merged first.
            tasks = tuple(sorted({*header.tasks, *piece.header.tasks}))
            header = msgspec.structs.replace(header, tasks=tasks)
    return Run(header=header, lines=tuple(lines.values()))


def write_run(root: Path, header: RunHeader, lines: Iterable[RunLine]) -> None:
    """Add lines to a run, making it where it is new. A line replaces an older one of its item.

    An imported run also takes in tasks that it did not have.

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
        whole = Run(header=header, lines=tuple(new.values()))
        if header.name not in list_runs(root) and create_exclusive(first, run_bytes(whole)):
            return
        old = read_run(root, header.name)
        refuse_other(old.header, header)
        known = {(line.item, line.sample): line for line in old.lines}
        added = tuple(line for place, line in new.items() if known.get(place) != line)
        if added or set(header.tasks) - set(old.header.tasks):
            number = 1 + max(number for name, number, _ in _files(root) if name == stem)
            data = run_bytes(Run(header=header, lines=added))
            piece = f"{stem}+{number:04d}-{sha256_hex(data)[:16]}.jsonl"
            create_exclusive(root / "runs" / piece, data)
    except OSError as error:
        raise StoreUnavailable(f"{root}: run {header.name!r} cannot be written: {error}") from error


def check_run(root: Path, header: RunHeader) -> None:
    """Check whether :func:`write_run` would take a header, and write nothing.

    Raises:
        StoreError: the name cannot be a run's.
        RunConflict: the name is taken by a run with another header.
    """
    check_run_name(header.name)
    if header.name in list_runs(root):
        refuse_other(read_run(root, header.name).header, _as_read(header))


def _as_read(header: RunHeader) -> RunHeader:
    # A tuple in the settings comes back as a list: both are one header.
    try:
        return _header.decode(msgspec.json.encode(header))
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        raise StoreError(f"run {header.name!r}: its header has no JSON form: {error}") from error


def read_run_file(path: Path) -> Run:
    """Read one file of a run.

    Raises:
        RecordError: it is damaged, or was given another run's name.
        OSError: it cannot be read.
    """
    (found, *more) = runs_of_bytes(path.read_bytes(), path)
    named = _FILE.fullmatch(path.name)
    if more or (named is not None and found.header.name != unquote(named["name"])):
        raise RecordError(
            f"{path} holds run {found.header.name!r}: somebody renamed or copied it. Give it the "
            f"name {_file_name(found.header.name)}.jsonl, or remove it."
        )
    return found


def runs_of_bytes(data: bytes, path: Path) -> list[Run]:
    """Read runs that stand one after another, each with its digest; at least one.

    Raises:
        RecordError: one is damaged; names the file.
    """
    runs: list[Run] = []
    start = at = 0
    while at < len(data):
        end = data.find(b"\n", at) + 1 or len(data)
        # Told by its beginning first: a body is copied and hashed once, not for each of its lines.
        if data.startswith(_DIGEST, at):
            body = data[start:at]
            if data[at:end] == _digest_line(body) + b"\n":
                runs.append(_run_of_body(body, path))
                start = end
        at = end
    if start < len(data) or not runs:
        raise RecordError(
            f"{path} does not match the digest in its last line: it was cut off or changed. Remove "
            "it and run the same command again: keys and answers are not in it."
        )
    return runs


def _run_of_body(body: bytes, path: Path) -> Run:
    header, *lines = body.removesuffix(b"\n").split(b"\n")
    try:
        found = _header.decode(header)
        return Run(header=found, lines=tuple(_line.decode(line) for line in lines))
    except msgspec.MsgspecError as error:
        raise RecordError(f"{path}: {error}") from error


def run_files(root: Path) -> list[Path]:
    """Every file of every run, sorted."""
    return sorted(path for _, _, path in _files(root))


def _files(root: Path) -> list[tuple[str, int, Path]]:
    found = []
    for path in list_files(root / "runs", ".jsonl"):
        named = _FILE.fullmatch(path.name)
        if named is not None and _is_stem(named["name"]):
            found.append((named["name"], int(named["number"] or 0), path))
    return found


def check_run_name(name: str) -> None:
    """Refuse what cannot name a run.

    Raises:
        StoreError: says what can.
    """
    _file_name(name)


def _is_stem(stem: str) -> bool:
    """Whether a file of this name can be a run's: what `_file_name` makes of its name."""
    with contextlib.suppress(StoreError):
        return _file_name(unquote(stem)) == stem
    return False


def _file_name(name: str) -> str:
    # A run's name becomes a file's: "/" and "+" and all that is not plain is escaped.
    try:
        stem = quote(name, safe=" ()=,@")
    except UnicodeEncodeError:  # a lone surrogate
        stem = ""
    if not stem or stem.startswith(".") or len(stem) > _LONGEST:
        raise StoreError(
            f"{name!r} cannot name a run: use 1 to {_LONGEST} characters, the first no dot"
        )
    return stem


def run_bytes(run: Run) -> bytes:
    """A run as a file holds it: header, lines, digest."""
    body = b"".join(msgspec.json.encode(line) + b"\n" for line in (run.header, *run.lines))
    return body + _digest_line(body) + b"\n"


def _digest_line(body: bytes) -> bytes:
    return _DIGEST + sha256_hex(body).encode() + b'"}'


def refuse_other(old: RunHeader, new: RunHeader) -> None:
    """Refuse a header that differs in more than when it was made and, for imports, in the tasks.

    Raises:
        RunConflict: says in what.
    """
    free = {"created", "tasks"} if old.can_grow and new.can_grow else {"created"}
    changed = [
        f"{name} was {getattr(old, name)!r}, is {getattr(new, name)!r}"
        for name in RunHeader.__struct_fields__
        if name not in free and getattr(old, name) != getattr(new, name)
    ]
    if changed:
        raise RunConflict(
            f"a run {old.name!r} exists and was made otherwise: {'; '.join(changed)}. "
            "Choose another run name."
        )
