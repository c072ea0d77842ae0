"""What the commands of ``rejudge cache`` print for people."""

from __future__ import annotations

from typing import Any

import msgspec

from cache.export import Exported
from cache.fault import readable
from cache.gc import Garbage
from cache.imports.imported import Imported
from cache.merge import Merged
from cache.record import Record
from cache.request import Media
from cache.stats import Stats
from cache.verify import Verification

_SHOWN = 50


def stats_text(stats: Stats) -> str:
    """Counts, then a line for each model and outcome."""
    overhead = (
        f" ({stats.size_bytes / stats.text_bytes:.2f} × the answers)" if stats.text_bytes else ""
    )
    lines = [
        f"{stats.keys} request(s), {stats.hits} answered for good; {stats.records} record(s)",
        f"{stats.packs} pack(s), {stats.parts} open part(s), {_size(stats.size_bytes)}{overhead}",
        f"{len(stats.runs)} run(s): {', '.join(stats.runs) or 'none'}",
        f"{stats.surplus} surplus answer(s), {stats.conflicts} in conflict, "
        f"{stats.faults} place(s) that do not verify, {stats.quarantined} in quarantine",
    ]
    rows = [[row["engine"], row["model"], row["outcome"], str(row["keys"])] for row in stats.models]
    return readable("\n".join([*lines, *_columns(rows)]))


def records_text(records: list[dict[str, Any]], total: int) -> str:
    """One line a record."""
    rows = [
        [
            row["key"][:12],
            row["outcome"],
            row["model"],
            row["created"],
            " ".join((row["text"] or "").split()),
        ]
        for row in records
    ]
    rest = [f"… {total - len(records)} more; --limit 0 lists all"] if total > len(records) else []
    return readable("\n".join([*_columns(rows), *rest])) or "no records"


def record_dict(record: Record) -> dict[str, Any]:
    """A record for ``--json``."""
    found: dict[str, Any] = msgspec.to_builtins(record)
    return found


def record_text(record: Record) -> str:
    """A record to read: what was asked, and what came back."""
    request = record.request
    lines = [
        f"key      {record.key}",
        f"outcome  {record.outcome}",
        f"model    {request.model} {request.revision}".rstrip() + f" ({request.engine})",
        f"sample   {request.sample}",
        f"created  {record.created}",
    ]
    for name in ("sampling", "preprocessing", "settings"):
        value = msgspec.json.encode(getattr(request, name)).decode()
        lines += [f"{name}  {value}"] if value != "{}" else []
    for name in ("effective", "usage", "times", "producer"):
        value = msgspec.json.encode(getattr(record, name)).decode()
        lines += [f"{name}  {value}"] if value != "{}" else []
    for message in request.messages:
        lines.append(f"--- {message.role}")
        for part in message.parts:
            if isinstance(part, Media):
                lines.append(f"[{part.kind} {part.sha256[:12]} {part.start_s}–{part.end_s} s]")
            else:
                lines.append(part.text)
    lines.append("--- response")
    response = record.response
    lines += [text for text in (response.reasoning, response.text, response.error) if text]
    return readable("\n".join(lines))


def verification_text(found: Verification, repaired: bool) -> str:
    """What does not verify, by file and line."""
    lines = [
        f"{found.records} record(s) in {found.packs} pack(s) and {found.parts} open part(s), "
        f"{found.runs} run(s)"
    ]
    if found.unanswered:
        lines.append(
            f"{found.unanswered} request(s) of runs have no record: not asked yet, or lost"
        )
    lines += [f"FAULT     {fault}" for fault in found.faults]
    lines += [f"CONFLICT  {fault}" for fault in found.conflicts]
    lines += [
        f"earlier   {one.file} line {one.line}: {one.reason}" for one in found.quarantined[:_SHOWN]
    ]
    if len(found.quarantined) > _SHOWN:
        lines.append(f"earlier   … {len(found.quarantined) - _SHOWN} more in quarantine/")
    if found.faults:
        lines.append(
            f"{len(found.faults)} place(s) do not verify; none of them is served. "
            + _remedy(found, repaired)
        )
    else:
        lines.append(
            f"all verified; {found.surplus} surplus answer(s), {len(found.conflicts)} in conflict"
        )
    return readable("\n".join(lines))


def _remedy(found: Verification, repaired: bool) -> str:
    if not found.damaged_packs:
        return "None of it is in a pack, where --repair could take it out."
    if repaired:
        return "Packs were repaired."
    return "--repair takes them out of their packs; merging a sound copy brings back what is lost."


def merged_text(merged: Merged) -> str:
    """What a merge did."""
    return (
        f"{merged.packs} pack(s) and {merged.parts} part(s) copied, {merged.runs} run(s); "
        f"{merged.other_keys} item(s) asked by another key (ours stays), "
        f"{merged.conflicts} conflicting answer(s) in quarantine"
    )


def garbage_text(garbage: Garbage) -> str:
    """What can go, or went."""
    lines = [f"{count} × {reason}" for reason, count in sorted(garbage.lines.items())]
    lines += [f"leftover file {name}" for name in garbage.files]
    verb = "removed" if garbage.applied else "can go (--apply removes them)"
    total = sum(garbage.lines.values())
    lines.append(
        f"{total} line(s), {_size(garbage.line_bytes)}, and {len(garbage.files)} file(s) {verb}; "
        f"{garbage.packs} pack(s) {'were' if garbage.applied else 'would be'} written anew"
    )
    return readable("\n".join(lines))


def exported_text(found: Exported) -> str:
    """What an export wrote."""
    runs = f", {found.runs} run(s) → {found.runs_out}" if found.runs_out else ""
    left = f", {found.left_out} turn(s) without a reply left out" if found.left_out else ""
    return readable(f"{found.records} record(s) → {found.out}{runs}{left}")


def imported_text(found: Imported) -> str:
    """What an import did."""
    lines = [
        f"{found.answers} answer(s) and {found.failures} failure(s) imported, "
        f"{found.already_stored} already stored; run(s): {', '.join(found.runs)}"
    ]
    if found.conflicts:
        lines.append(f"{found.conflicts} differ from another answer: the one created first stays")
    if found.without_items:
        lines.append(
            f"{found.without_items} failed localization entries: their files do not say which "
            "questions they held, so scoring counts these as missing"
        )
    return readable("\n".join(lines))


def _size(count: int) -> str:
    size, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"


def _columns(rows: list[list[str]]) -> list[str]:
    if not rows:
        return []
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
