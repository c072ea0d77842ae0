"""The signature of scores: how every number was made.

What can change a number is in it: profile, versions of the packages that compute, the encoder's
weights, each judge's spec and rubric, how each run was made, and the counts behind the means. So is
a digest of what each table holds: answers and verdicts decide that. Nothing else is, so the same
scores have the same signature, and other scores another.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import metadata
from typing import TYPE_CHECKING, Any

import msgspec

from cache.run import RunHeader
from score import taxonomy
from score.profile import Profile
from score.similarity import Encoder
from score.weights import MODEL

if TYPE_CHECKING:
    import polars as pl

    from score.dictionary import Dictionary
    from score.judge.spec import JudgeSpec

#: Packages whose version can change a number.
_PACKAGES = (
    "rejudge",
    "json_repair",
    "nltk",
    "numpy",
    "polars",
    "rapidfuzz",
    "rouge-score",
    "scipy",
)
_ENCODER_PACKAGES = ("sentence-transformers", "torch", "transformers")


def signature(
    scores: pl.DataFrame,
    *,
    headers: Sequence[RunHeader],
    profile: Profile,
    judges: Sequence[JudgeSpec],
    encoder: Encoder | None,
    truncated: Mapping[str, Mapping[str, int]],
    dictionary: Dictionary | None = None,
) -> dict[str, Any]:
    """Return the signature as JSON values.

    Args:
        scores: Rows of ``scores.parquet``.
        headers: How the runs were made.
        profile: What was scored.
        judges: The judges looked up.
        encoder: The encoder used, None where similarity was left out.
        truncated: similarity → pairs, and how many of them the encoder truncated.
        dictionary: The word categories, None where they were left out.
    """
    packages = _PACKAGES + (_ENCODER_PACKAGES if encoder is not None else ())
    return {
        "profile": asdict(profile),
        "versions": {"python": platform.python_version(), **_versions(packages)},
        "rouge_l": "F1, Porter stemming",
        "similarity": None if encoder is None else _encoder(encoder, truncated),
        "dictionary": None if dictionary is None else _dictionary(dictionary),
        "error_types": {
            "types": list(taxonomy.ERROR_TYPES),
            "reference_frame_tolerance_s": taxonomy.REFERENCE_FRAME_TOLERANCE_S,
            "shift_tolerance_s": taxonomy.SHIFT_TOLERANCE_S,
            "video_end_tolerance_s": taxonomy.VIDEO_END_TOLERANCE_S,
            "negligible_tiou": taxonomy.NEGLIGIBLE_TIOU,
            "high_tiou": taxonomy.HIGH_TIOU,
            "poor_rationale_of_10": taxonomy.POOR_RATIONALE,
        },
        "judges": {spec.name: spec.signature() for spec in judges},
        "runs": {header.name: _run(header) for header in headers},
        "counts": _counts(scores),
    }


def content_sha256(table: pl.DataFrame) -> str:
    """Return the SHA-256 of what a table holds, whatever the order of its rows and columns.

    Of each row's JSON, sorted. Floats count with nine digits: sums that machines add up in another
    order differ behind those.
    """
    from polars import selectors

    columns = table.select(sorted(table.columns))
    rounded = columns.with_columns(selectors.float().round_sig_figs(9))
    lines = sorted(rounded.write_ndjson().encode().splitlines())
    return hashlib.sha256(b"\n".join(lines)).hexdigest()


def with_contents(made: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> dict[str, Any]:
    """Return a signature that has the digest of these tables, too."""
    digests = {name: content_sha256(table) for name, table in tables.items()}
    return {**made, "tables": {**made.get("tables", {}), **digests}}


def _versions(packages: Sequence[str]) -> dict[str, str]:
    found = {}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed as a package"
    return found


def _encoder(encoder: Encoder, truncated: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    # Where a folder lies differs between machines; what is in it does not.
    named = None if encoder.folder is None else encoder.folder.resolve().name
    return {
        "model": named or MODEL,
        "source": f"folder {named}" if named else encoder.source,
        "weights_sha256": encoder.weights_sha256,
        "dtype": encoder.precision,
        "texts": encoder.n_texts,
        "texts_truncated": encoder.n_truncated,
        "pairs": {name: dict(counts) for name, counts in sorted(truncated.items())},
    }


def _dictionary(dictionary: Dictionary) -> dict[str, Any]:
    return {
        "name": dictionary.name,
        "sha256": dictionary.sha256,
        "categories": list(dictionary.categories),
        "entries": len(dictionary.words) + len(dictionary.beginnings),
    }


def _run(header: RunHeader) -> dict[str, Any]:
    members: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(header))
    members.pop("created", None)
    return members


def _counts(scores: pl.DataFrame) -> dict[str, dict[str, int]]:
    """run/task/metric[/judge] → how many cells ended in each status."""
    import polars as pl

    counts: dict[str, dict[str, int]] = {}
    groups = ("run", "task", "metric", "judge", "status")
    for *where, status, n in scores.group_by(groups).agg(pl.len()).sort(groups).iter_rows():
        counts.setdefault("/".join(filter(None, where)), {})[status] = n
    return counts
