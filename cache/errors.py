"""Errors of the store.

StoreError                 exit code 2
├── CanonicalError         a value that has no canonical bytes
├── RecordError            a line that does not verify
└── StoreUnavailable       exit code 3: folder missing, read-only, full, or of a newer schema
"""

from __future__ import annotations


class StoreError(Exception):
    """Base of everything that the store raises on purpose."""

    exit_code = 2


class CanonicalError(StoreError):
    """A value cannot be part of a key: NaN, infinity, a lone surrogate, a type JSON lacks."""


class RecordError(StoreError):
    """A line does not verify: broken JSON, wrong digest, wrong key."""


class StoreUnavailable(StoreError):
    """The folder cannot be used: missing, read-only, full, or written by a newer rejudge."""

    exit_code = 3
