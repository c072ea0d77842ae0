"""Files at Google's file service: each is uploaded once and used by many requests.

A file is named by the digest of what is sent. It is awaited until the service has read it, sent
again before the service forgets it, and deleted when room is needed or the engine ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO

from infer.errors import DecodeError

#: The service keeps 20 GB a project; other engines and jobs may have files there too.
KEPT_BYTES = 8_000_000_000
#: A file this close to its end is not used any more.
_MARGIN = timedelta(hours=1)
_LONGEST_PAUSE_S = 10.0
#: The code with which the service says that the file itself is at fault.
_INVALID_ARGUMENT = 3


class UploadFailed(Exception):
    """The service did not take a file, or could not read it, or not in time."""

    def __init__(self, message: str, *, timed_out: bool = False) -> None:
        super().__init__(message)
        self.timed_out = timed_out


@dataclass(frozen=True, slots=True)
class Source:
    """A file to send."""

    key: str
    """Digest of what is sent."""
    mime_type: str
    size: int
    open: Callable[[], BinaryIO]


@dataclass(slots=True)
class _Entry:
    upload: asyncio.Task[Any]
    size: int
    users: int = 0

    @property
    def file(self) -> Any:
        """The file as the service knows it; None while it is on its way, or failed."""
        done = self.upload.done() and not self.upload.cancelled()
        return self.upload.result() if done and self.upload.exception() is None else None

    @property
    def ends_soon(self) -> bool:
        ends = self.file.expiration_time if self.file is not None else None
        return ends is not None and ends - datetime.now(UTC) < _MARGIN


class Uploads:
    """The files of one engine."""

    def __init__(self, client: Any, timeout_s: float, kept_bytes: int = KEPT_BYTES) -> None:
        self._client = client
        self._timeout_s = timeout_s
        self._kept_bytes = kept_bytes
        self._entries: dict[str, _Entry] = {}  # the least recently used first
        self._kept: dict[str, None] = {}
        """Names of all files that are at the service."""

    @asynccontextmanager
    async def hold(self, source: Source) -> AsyncIterator[Any]:
        """Give the file as the service knows it, uploaded if it is not there; it stays meanwhile.

        Raises:
            DecodeError: the service says that the file is at fault.
            UploadFailed: the service did not take the file or could not read it, and does not say
                why, or not in time.
        """
        entry = self._entry(source)
        entry.users += 1
        try:
            await self._make_room()
            yield await asyncio.shield(entry.upload)
        finally:
            entry.users -= 1
            failed = entry.upload.done() and entry.file is None
            if failed and self._entries.get(source.key) is entry:
                del self._entries[source.key]

    def close(self) -> None:
        """Delete what is left at the service; what cannot be deleted, it forgets after two days."""
        for name in list(self._kept):
            try:
                self._client.files.delete(name=name)
            except Exception as error:
                _note_kept(name, error)
        self._entries.clear()
        self._kept.clear()

    def _entry(self, source: Source) -> _Entry:
        entry = self._entries.pop(source.key, None)
        if entry is not None and entry.ends_soon:
            entry = None  # others may still ask about it: deleted in the end
        if entry is None:
            entry = _Entry(asyncio.create_task(self._upload(source)), source.size)
        self._entries[source.key] = entry
        return entry

    async def _make_room(self) -> None:
        for key, entry in list(self._entries.items()):
            if sum(kept.size for kept in self._entries.values()) <= self._kept_bytes:
                return
            unused = entry.users == 0 and entry.file is not None
            if unused and self._entries.get(key) is entry:
                del self._entries[key]
                await self._delete(entry.file.name)

    async def _upload(self, source: Source) -> Any:
        opened = await asyncio.to_thread(source.open)
        with opened:
            try:
                sent = await self._client.aio.files.upload(
                    file=opened, config={"mime_type": source.mime_type}
                )
            except (KeyError, ValueError) as error:  # the client's, for an answer it cannot read
                said = error.args[0] if error.args else type(error).__name__
                raise UploadFailed(f"the service did not take the file: {said}") from error
        self._kept[sent.name] = None
        try:
            return await self._ready(sent)
        except Exception:
            await self._delete(sent.name)
            raise

    async def _delete(self, name: str) -> None:
        del self._kept[name]
        try:
            await self._client.aio.files.delete(name=name)
        except Exception as error:
            _note_kept(name, error)

    async def _ready(self, file: Any) -> Any:
        pause_s = 0.25
        try:
            async with asyncio.timeout(self._timeout_s):
                while _state(file) == "PROCESSING":
                    await asyncio.sleep(pause_s)
                    pause_s = min(_LONGEST_PAUSE_S, 2 * pause_s)
                    file = await self._client.aio.files.get(name=file.name)
        except TimeoutError as error:
            raise UploadFailed(
                f"the service was not done with the file {self._timeout_s:g} s after the upload",
                timed_out=True,
            ) from error
        if _state(file) == "ACTIVE":
            return file
        said = file.error.message if file.error and file.error.message else "no reason is given"
        if file.error and file.error.code == _INVALID_ARGUMENT:
            raise DecodeError(f"the service cannot read the file: {said}")
        raise UploadFailed(f"the service failed to process the file: {said}")


def _note_kept(name: str, error: Exception) -> None:
    # No request fails because of it: the service deletes its files by itself after two days.
    kind = type(error).__name__
    logging.getLogger(__name__).warning("%s was not deleted: %s", name, kind)


def _state(file: Any) -> str:
    return str(getattr(file.state, "value", file.state))
