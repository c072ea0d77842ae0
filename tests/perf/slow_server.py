"""A server that answers every chat completion with one verdict after a fixed time.

    python -m tests.perf.slow_server LATENCY_S     prints its port, and serves until it is killed

It parses nothing but lengths, so that it costs next to nothing beside the client that is measured.
"""

from __future__ import annotations

import asyncio
import json
import sys

_BODY = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "slow",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": '{"score": 7, "justification": "ok"}'},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }
).encode()
_ANSWER = (
    f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(_BODY)}\r\n\r\n"
).encode() + _BODY


class _Connection(asyncio.Protocol):
    latency_s = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._seen = b""

    def data_received(self, data: bytes) -> None:
        self._seen += data
        head, end, rest = self._seen.partition(b"\r\n\r\n")
        if not end:
            return
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        if len(rest) >= length:
            self._seen = rest[length:]
            asyncio.get_running_loop().call_later(self.latency_s, self._transport.write, _ANSWER)


async def _serve(latency_s: float) -> None:
    _Connection.latency_s = latency_s
    server = await asyncio.get_running_loop().create_server(_Connection, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(float(sys.argv[1])))
