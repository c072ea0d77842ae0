"""Stands in for ``vllm serve``: the command line and the addresses, with one answer to everything.

Like a model that takes its time to load, it is not healthy at first. What it was started with goes
to ``$PACED/served``, and a line to ``$PACED/ended`` when it is told to end.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.openai_server import chat

LOADING_S = 1.0
PACED = Path(os.environ["PACED"])
STARTED_S = time.monotonic()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        healthy = self.path == "/health" and time.monotonic() - STARTED_S > LOADING_S
        self._say(200 if healthy else 503, b"")

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answer = chat('{"score": 7, "justification": "close"}', model=asked["model"])
        self._say(200, json.dumps(answer.body).encode())

    def _say(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def end(*_: object) -> None:
    (PACED / "ended").touch()
    os._exit(0)


if __name__ == "__main__":
    (PACED / "served").write_text(" ".join(sys.argv[1:]))
    signal.signal(signal.SIGTERM, end)
    port = int(sys.argv[sys.argv.index("--port") + 1])
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
