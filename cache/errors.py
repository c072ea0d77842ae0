"""Errors of the store.

StoreError                 exit code 2
├── CanonicalError         a value that has no canonical bytes
├── RecordError            a record or a line that does not verify
├── UnknownRun             a run name that the store does not know
├── UnknownKey             a key, or the start of one, that the store does not know
├── RunConflict            one run name for two different runs
├── ImportFault            a file to import is not what it should be
└── StoreUnavailable       exit code 3: folder missing, read-only, full, or of a newer schema
"""

from __future__ import annotations


class StoreError(Exception):
    """Base of everything that the store raises on purpose."""

    exit_code = 2


class CanonicalError(StoreError):
    """A value cannot be part of a key: NaN, infinity, a lone surrogate, a type JSON lacks."""


class RecordError(StoreError):
    """A record or a line does not verify: broken JSON, wrong digest, wrong key, wrong type."""


class UnknownRun(StoreError):
    """No run of this name."""


class UnknownKey(StoreError):
    """No record under this key, or several keys start like this."""


class RunConflict(StoreError):
    """The name is taken by a run with another header."""


class ImportFault(StoreError):
    """A file to import does not have the shape of its format."""


class StoreUnavailable(StoreError):
    """The folder cannot be used: missing, read-only, full, or written by a newer rejudge."""

    exit_code = 3
