"""The quarantine: bytes that do not verify, and the later of two answers. Nothing is deleted.

    quarantine/<origin>-<16 digits>.jsonl
        {"file": "parts/…", "line": 3, "offset": 9142, "reason": "…", "sha256": "…", "text": "…"}

One file for what was found in one file at one time, named by its own bytes: two processes that
find the same write the same. Bytes that are not UTF-8 stand in ``base64`` instead of ``text``.
"""

from __future__ import annotations

import base64
import itertools
from collections.abc import Iterable
from pathlib import Path

import msgspec

from cache.canonical import sha256_hex
from cache.durable import create_exclusive
from cache.fault import Fault, readable
from cache.layout import list_files

CONFLICT = "a different answer under a key that has one"


class Quarantined(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Bytes in quarantine, and where they came from."""

    file: str
    line: int
    offset: int
    reason: str
    sha256: str
    text: str = ""
    base64: str = ""

    @property
    def data(self) -> bytes:
        """The bytes as they were found."""
        return base64.b64decode(self.base64) if self.base64 else self.text.encode()


def keep_faults(root: Path, faults: Iterable[Fault]) -> int:
    """Copy the faults' bytes to quarantine; return how many were not there yet.

    Raises:
        OSError: the quarantine cannot be written.
    """
    known = {_identity(found) for found in quarantined(root)}
    kept = 0
    by_file = itertools.groupby(
        sorted(faults, key=lambda fault: (fault.file, fault.offset)), key=lambda fault: fault.file
    )
    for file, group in by_file:
        entries = [_entry(fault) for fault in group if fault.data]
        new = [entry for entry in entries if _identity(entry) not in known]
        if new:
            data = b"".join(msgspec.json.encode(entry) + b"\n" for entry in new)
            (root / "quarantine").mkdir(exist_ok=True)
            name = f"{readable(Path(file).stem)[:120]}-{sha256_hex(data)[:16]}.jsonl"
            create_exclusive(root / "quarantine" / name, data)
            kept += len(new)
    return kept


def _identity(entry: Quarantined) -> tuple[str, int, str]:
    # A later answer stays the same when its part becomes a pack; a torn line is one of its file.
    if entry.reason.startswith(CONFLICT):
        return "", 0, entry.sha256
    return entry.file, entry.offset, entry.sha256


def _entry(fault: Fault) -> Quarantined:
    try:
        text, encoded = fault.data.decode("utf-8"), ""
    except UnicodeDecodeError:
        text, encoded = "", base64.b64encode(fault.data).decode()
    return Quarantined(
        file=readable(fault.file),
        line=fault.line,
        offset=fault.offset,
        reason=readable(fault.reason),
        sha256=sha256_hex(fault.data),
        text=text,
        base64=encoded,
    )


def quarantined(root: Path) -> list[Quarantined]:
    """Everything in quarantine; a file that cannot be read is itself an entry.

    Raises:
        OSError: the folder cannot be read.
    """
    found: list[Quarantined] = []
    for file in list_files(root / "quarantine", ".jsonl"):
        name = f"quarantine/{file.name}"
        try:
            data = file.read_bytes()
        except OSError as error:
            found.append(_entry(Fault(name, 0, 0, f"cannot be read: {error.strerror}")))
            continue
        for number, line in enumerate(data.splitlines(), 1):
            try:
                found.append(_decoder.decode(line))
            except msgspec.MsgspecError as error:
                found.append(_entry(Fault(name, number, 0, f"damaged itself: {error}", line)))
    return found


def check_quarantine(root: Path) -> list[Fault]:
    """What does not verify in the quarantine itself: a file's name, or an entry's digest.

    Raises:
        OSError: the folder cannot be read.
    """
    faults: list[Fault] = []
    for file in list_files(root / "quarantine", ".jsonl"):
        name, at = f"quarantine/{file.name}", 0
        try:
            data = file.read_bytes()
        except OSError as error:
            faults.append(Fault(name, 0, 0, f"cannot be read: {error.strerror}"))
            continue
        if not file.stem.endswith(f"-{sha256_hex(data)[:16]}"):
            reason = "its bytes are not those that the digits in its name are made from"
            faults.append(Fault(name, 0, 0, reason))
        for number, line in enumerate(data.splitlines(keepends=True), 1):
            try:
                entry = _decoder.decode(line)
                if sha256_hex(entry.data) != entry.sha256:
                    faults.append(Fault(name, number, at, "its digest does not match its bytes"))
            except (msgspec.MsgspecError, ValueError) as error:
                faults.append(Fault(name, number, at, f"damaged: {error}"))
            at += len(line)
    return faults


_decoder = msgspec.json.Decoder(Quarantined)
