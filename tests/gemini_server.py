"""A real HTTP server that speaks what google-genai speaks, scripted by the test.

    POST   /upload/V/files               start: answers with a session's URL
    POST   /session/ID                   the bytes, in pieces; the last one ends the upload
    GET    /V/files/ID                   the file and its state
    DELETE /V/files/ID
    POST   /V/models/M:generateContent   the script's reply

V is the version of the interface that the client chooses.
The script is a callable from a :class:`Call` to a :class:`Reply`, once for each generation.
``states`` are what a file goes through: the first is told when it is uploaded, the last one stays.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tests.openai_server import Call, Reply, Script
from tests.services import make_card

WHOLE = {"fps": 1.0, "as_files": True, "sample_rate_hz": 16_000}


def candidate(
    *parts: dict[str, Any],
    finish_reason: str | None = "STOP",
    usage: dict[str, int] | None = None,
) -> Reply:
    """An answer with one candidate of these parts."""
    found: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish_reason:
        found["finishReason"] = finish_reason
    body = {"candidates": [found], "modelVersion": "scripted-1"}
    return Reply(body=body | ({"usageMetadata": usage} if usage else {}))


#: An answer, where it does not matter which.
SAID = candidate({"text": "A man waits."})


def blocked(reason: str) -> Reply:
    """A prompt that the service did not let through."""
    return Reply(body={"promptFeedback": {"blockReason": reason}})


def error(
    status: int, message: str = "scripted fault", *, name: str = "", reason: str = ""
) -> Reply:
    """An error in Google's form."""
    details = [{"reason": reason}] if reason else []
    found = {"code": status, "message": message, "status": name, "details": details}
    return Reply(status=status, body={"error": found})


class GeminiServer:
    """The server: on a free port of this machine from ``__enter__`` to ``__exit__``."""

    def __init__(self, script: Script | Reply, states: Sequence[str] = ("ACTIVE",)) -> None:
        self.script: Script = (lambda call: script) if isinstance(script, Reply) else script
        self.states = states
        self.state_error: dict[str, Any] = {}
        self.expires = "2999-01-01T00:00:00Z"
        self.calls: list[Call] = []
        self.files: dict[str, bytes] = {}
        """What was uploaded, by name; deleted files stay in it."""
        self.deleted: list[str] = []
        self.headers: list[dict[str, str]] = []
        """Those of every request, names in lower case."""
        self.lock = threading.Lock()
        self._sessions: dict[str, tuple[str, bytearray]] = {}
        self._asked: dict[str, int] = {}

    @property
    def base_url(self) -> str:
        """What a client is given: ``http://127.0.0.1:PORT``."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def start(self, body: dict[str, Any]) -> Reply:
        """Open a session for an upload."""
        with self.lock:
            number = str(len(self._sessions))
            self._sessions[number] = (body["file"]["mimeType"], bytearray())
        headers = {
            "x-goog-upload-url": f"{self.base_url}/session/{number}",
            "x-goog-upload-status": "active",
        }
        return Reply(body={}, headers=headers)

    def take_bytes(self, number: str, data: bytes, *, last: bool) -> Reply:
        """Add a piece to an upload."""
        with self.lock:
            mime_type, held = self._sessions[number]
            held += data
            if not last:
                return Reply(body={}, headers={"x-goog-upload-status": "active"})
            name = f"files/f{number}"
            self.files[name] = bytes(held)
            self._asked[name] = 0
        file = self.describe(name, mime_type)
        return Reply(body={"file": file}, headers={"x-goog-upload-status": "final"})

    def describe(self, name: str, mime_type: str = "video/mp4") -> dict[str, Any]:
        """Return a file as the service tells of it; each time its state moves on."""
        with self.lock:
            asked, self._asked[name] = self._asked[name], self._asked[name] + 1
        state = self.states[min(asked, len(self.states) - 1)]
        file = {
            "name": name,
            "uri": f"{self.base_url}/v1/{name}",
            "mimeType": mime_type,
            "state": state,
            "expirationTime": self.expires,
        }
        return file | ({"error": self.state_error} if state == "FAILED" else {})

    def generate(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> Reply:
        """Note a generation and ask the script for its reply."""
        with self.lock:
            call = Call(len(self.calls), path, headers, body)
            self.calls.append(call)
        return self.script(call)


def gemini(server: GeminiServer, **members: Any) -> Any:
    """A card for the server that has whole files uploaded."""
    return make_card("gemini", server.base_url, **({"preprocessing": WHOLE} | members))


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    owner: GeminiServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that gave up is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Http

    def do_GET(self) -> None:
        self._note()
        self._send(Reply(body=self.server.owner.describe(self.path.split("/", 2)[2])))

    def do_DELETE(self) -> None:
        self._note()
        self.server.owner.deleted.append(self.path.split("/", 2)[2])
        self._send(Reply(body={}))

    def do_POST(self) -> None:
        owner, headers = self.server.owner, self._note()
        data = self.rfile.read(int(headers.get("content-length", 0)))
        if self.path.startswith("/session/"):
            last = "finalize" in headers["x-goog-upload-command"]
            self._send(owner.take_bytes(self.path.rpartition("/")[2], data, last=last))
        elif self.path.startswith("/upload/"):
            self._send(owner.start(_camel_case(json.loads(data))))
        else:
            self._send(owner.generate(self.path, headers, _camel_case(json.loads(data))))

    def _note(self) -> dict[str, str]:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.owner.headers.append(headers)
        return headers

    def _send(self, reply: Reply) -> None:
        if reply.drop:
            self.close_connection = True
            return
        data = json.dumps(reply.body).encode() if isinstance(reply.body, dict) else reply.body
        self.send_response(reply.status)
        self.send_header("content-type", reply.content_type)
        self.send_header("content-length", str(len(data)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        """Keep the test's output clean."""


def _camel_case(value: Any) -> Any:
    # Google's servers take both spellings of a member's name, and the client sends both.
    if isinstance(value, dict):
        return {_camel(name): _camel_case(inner) for name, inner in value.items()}
    return [_camel_case(inner) for inner in value] if isinstance(value, list) else value


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))
