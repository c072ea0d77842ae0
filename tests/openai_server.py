"""A real HTTP server that speaks the OpenAI chat-completions protocol, scripted by the test.

    def script(call):
        return chat('{"score": 7, "justification": "close"}')

    with OpenAIServer(script) as server:
        client = OpenAI(base_url=server.base_url, api_key="any")

The script is a callable from a :class:`Call` to a :class:`Reply`, called once an HTTP request, in
the request's own thread: it may block (on a barrier, an event) to hold the client. ``faults`` plays
a list of replies first; ``streamed`` sends an answer in pieces. ``server.calls`` has every request,
``server.most_in_flight`` how many were open at once.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Call:
    """One HTTP request as it arrived."""

    number: int
    """From 0, in the order of arrival."""
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: dict[str, Any]

    def text(self, role: str | None = None) -> str:
        """All text of the messages (of one role), joined by newlines."""
        texts = []
        for message in self.body.get("messages", []):
            if role is None or message["role"] == role:
                content = message["content"]
                parts = content if isinstance(content, list) else [{"text": content}]
                texts += [part["text"] for part in parts if "text" in part]
        return "\n".join(texts)


@dataclass(frozen=True)
class Reply:
    """What the server does with a request."""

    status: int = 200
    body: dict[str, Any] | bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    drop: bool = False
    """Close the connection without an answer."""
    cut: bool = False
    """Close the connection before the whole body is sent."""
    content_type: str = "application/json"


Script = Callable[[Call], Reply]


def chat(
    text: str | None,
    *,
    finish_reason: str = "stop",
    reasoning: str | None = None,
    refusal: str | None = None,
    input_tokens: int = 100,
    output_tokens: int = 20,
    model: str = "scripted-1",
) -> Reply:
    """A chat completion with one choice."""
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": refusal}
    if reasoning is not None:
        message["reasoning_content"] = reasoning
    return Reply(
        body={
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": model,
            "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
            "usage": {
                "prompt_tokens": input_tokens,
                "completion_tokens": output_tokens,
                "total_tokens": input_tokens + output_tokens,
            },
        }
    )


def streamed(
    *deltas: dict[str, Any],
    finish_reason: str | None = "stop",
    usage: dict[str, Any] | None = None,
    cut: bool = False,
) -> Reply:
    """A completion in server-sent events: a chunk a delta, one with the finish, one with usage."""
    choices: list[list[dict[str, Any]]] = [[{"index": 0, "delta": delta}] for delta in deltas]
    if finish_reason:
        choices.append([{"index": 0, "delta": {}, "finish_reason": finish_reason}])
    chunks: list[dict[str, Any]] = [{"choices": some, "usage": None} for some in choices]
    if usage is not None:
        chunks.append({"choices": [], "usage": usage})
    facts = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000}
    lines = [f"data: {json.dumps(facts | {'model': 'scripted-1'} | one)}\n\n" for one in chunks]
    if not cut:
        lines.append("data: [DONE]\n\n")
    return Reply(body="".join(lines).encode(), content_type="text/event-stream", cut=cut)


def error(
    status: int, message: str = "scripted fault", *, code: str | None = None, **headers: str
) -> Reply:
    """An error in OpenAI's form; ``retry_after_ms="10"`` becomes the header ``retry-after-ms``."""
    body = {"error": {"message": message, "type": "scripted", "param": None, "code": code}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status=status, body=body, headers=named)


def drop() -> Reply:
    """A connection closed without an answer."""
    return Reply(drop=True)


def faults(first: Iterable[Reply], then: Reply | Script) -> Script:
    """Play ``first`` one reply a request, then ``then`` for ever."""
    replies = list(first)

    def script(call: Call) -> Reply:
        if call.number < len(replies):
            return replies[call.number]
        return then if isinstance(then, Reply) else then(call)

    return script


class OpenAIServer:
    """The server: on a free port of this machine from ``__enter__`` to ``__exit__``."""

    def __init__(self, script: Script | Reply) -> None:
        self.script: Script = (lambda call: script) if isinstance(script, Reply) else script
        self.calls: list[Call] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self._lock = threading.Lock()

    @property
    def base_url(self) -> str:
        """What a client is given: ``http://127.0.0.1:PORT/v1``."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

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

    def take(self, path: str, headers: Mapping[str, str], body: dict[str, Any]) -> Reply:
        """Note the request and ask the script for its reply."""
        with self._lock:
            call = Call(len(self.calls), path, headers, body)
            self.calls.append(call)
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return self.script(call)
        finally:
            with self._lock:
                self.in_flight -= 1


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    owner: OpenAIServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that was killed or gave up is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Http

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length", 0))
        body = json.loads(self.rfile.read(size) or b"{}")
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.server.owner.take(self.path, headers, body)
        if reply.drop:
            self.close_connection = True
            return
        is_json = isinstance(reply.body, dict)
        data = json.dumps(reply.body).encode() if is_json else reply.body
        self.send_response(reply.status)
        self.send_header("content-type", reply.content_type)
        self.send_header("content-length", str(len(data) + (1 if reply.cut else 0)))
        self.close_connection |= reply.cut
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        """Keep the test's output clean."""
