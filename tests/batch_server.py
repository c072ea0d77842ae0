"""A real HTTP server with OpenAI's files and batches, whose lines are answered by the test.

    with BatchServer(lambda line: answered('{"score": 7}'), polls=2) as server:
        ...

A batch ends when it was looked at ``polls`` times. ``server.uploads`` has every uploaded file,
``server.batches`` every batch, ``server.requests`` what was asked: ``"POST /v1/batches"``.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.openai_server import Reply, chat

Line = dict[str, Any]


def answered(reply: Reply | str) -> Line | None:
    """What a batch's result says of a request that was answered so."""
    found = chat(reply) if isinstance(reply, str) else reply
    return {"response": {"status_code": found.status, "request_id": "r", "body": found.body}}


def unanswered(code: str, message: str = "scripted fault") -> Line | None:
    """What an error file says of a request that was not answered."""
    return {"response": None, "error": {"code": code, "message": message}}


@dataclass
class ServedBatch:
    """A batch as the service has it."""

    id: str
    input_file: str
    endpoint: str
    metadata: dict[str, str]
    looks: int = 0


@dataclass
class BatchServer:
    """The server: on a free port of this machine from ``__enter__`` to ``__exit__``."""

    answer: Callable[[Line], Line | None]
    """A line of the input file → members of its result; None: it is in no file."""
    polls: int = 1
    status: str = "completed"
    """How batches end."""
    drop_created: int = 0
    """So many new batches are made, and the connection closed instead of saying so."""
    uploads: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, ServedBatch] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def base_url(self) -> str:
        """What a client is given."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def sent(self) -> list[Line]:
        """Every line of every batch."""
        files = [self.uploads[batch.input_file] for batch in self.batches.values()]
        return [json.loads(line) for file in files for line in file.splitlines()]

    def __enter__(self) -> Self:
        owner = self

        class Handler(_Handler):
            server_state = owner

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def make(self, body: dict[str, Any]) -> ServedBatch:
        batch = ServedBatch(
            f"batch_{len(self.batches)}", body["input_file_id"], body["endpoint"], body["metadata"]
        )
        self.batches[batch.id] = batch
        return batch

    def described(self, batch: ServedBatch) -> dict[str, Any]:
        ended = batch.looks >= self.polls
        status = self.status if ended else "in_progress"
        files = {}
        if ended and status != "failed":
            files = {"output_file_id": f"out-{batch.id}", "error_file_id": f"err-{batch.id}"}
        errors = {"object": "list", "data": [{"code": "bad", "message": "a line is too long"}]}
        return {
            "id": batch.id,
            "object": "batch",
            "endpoint": batch.endpoint,
            "input_file_id": batch.input_file,
            "completion_window": "24h",
            "created_at": 1_700_000_000,
            "status": status,
            "metadata": batch.metadata,
            "errors": errors if status == "failed" else None,
            **files,
        }

    def content(self, name: str) -> bytes:
        """An output file (``out-…``: answers) or an error file (``err-…``)."""
        kind, _, batch = name.partition("-")
        lines = []
        for number, text in enumerate(self.uploads[self.batches[batch].input_file].splitlines()):
            asked = json.loads(text)
            result = self.answer(asked)
            if result is not None and (result["response"] is None) == (kind == "err"):
                head = {"id": f"line_{number}", "custom_id": asked["custom_id"], "error": None}
                lines.append(json.dumps(head | result))
        # The service promises no order.
        return "".join(f"{line}\n" for line in reversed(lines)).encode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_state: BatchServer

    def do_GET(self) -> None:
        state, path = self.server_state, self.path.partition("?")[0]
        with state.lock:
            state.requests.append(f"GET {path}")
            parts = path.strip("/").split("/")
            if parts[1:] == ["batches"]:
                self._say({"object": "list", "has_more": False, "data": [
                    state.described(batch) for batch in state.batches.values()
                ]})  # fmt: skip
            elif parts[1] == "batches":
                batch = state.batches[parts[2]]
                batch.looks += 1
                self._say(state.described(batch))
            else:
                self._say(state.content(parts[2]))

    def do_POST(self) -> None:
        state = self.server_state
        body = self.rfile.read(int(self.headers["content-length"]))
        with state.lock:
            state.requests.append(f"POST {self.path}")
            if self.path == "/v1/files":
                name = f"file-{len(state.uploads)}"
                state.uploads[name] = self._uploaded(body)
                self._say({
                    "id": name, "object": "file", "bytes": len(body), "created_at": 1,
                    "filename": "f.jsonl", "purpose": "batch", "status": "processed",
                })  # fmt: skip
                return
            batch = state.make(json.loads(body))
            if state.drop_created:
                state.drop_created -= 1
                self.close_connection = True
                return
            self._say(state.described(batch))

    def _uploaded(self, body: bytes) -> bytes:
        head = f"content-type: {self.headers['content-type']}\r\n\r\n".encode()
        form = BytesParser(policy=HTTP).parsebytes(head + body)
        (file,) = [part for part in form.iter_parts() if part.get_filename()]
        data = file.get_payload(decode=True)
        assert isinstance(data, bytes)
        return data

    def _say(self, said: dict[str, Any] | bytes) -> None:
        data = said if isinstance(said, bytes) else json.dumps(said).encode()
        kind = "application/json" if isinstance(said, dict) else "application/octet-stream"
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        """Keep the test's output clean."""
