"""The worker's side: a loop around one model, run with the interpreter of the model's environment.

    python serve.py '{"requests": 5, "answers": 8, "life": 9, "folder": …, "adapter": …}'

It needs Python 3.8 and numpy, and nothing of rejudge: this file and one adapter are all that runs
here. Messages are lines of JSON over two inherited pipes, so that whatever a model's library prints
(its stdout is stderr here) or reads (its stdin is empty) cannot get between them:

    ←  {"op": "hello", "protocol": 1, "python"}            before anything of the model is imported
    →  {"op": "load", "checkpoint", "revision", "settings", "trust_remote_code"}
    ←  {"op": "ready", "max_batch", "versions"}            or {"op": "failed", "error"}
    →  {"op": "ask", "asks": [{"id", "folder", "sampling", "turns": [[role, [piece, …]], …]}, …]}
    ←  {"op": "replies", "replies": [{"id", "outcome", "text", …}, …]}      one for each ask, always

A piece is {"kind": "text", "text"}, {"kind": "video" or "image", "pixels": a .npy file, "times_s"},
{"kind": "audio", "samples": a .npy file, "sample_rate_hz"} or {"kind": "file", "path", "start_s",
"end_s", "sound"}.

A guard, forked before anything is imported, holds the life pipe: when whoever started the worker is
gone, however that came about, it removes the folder of media and kills the worker with all of its
children. It does so too while the model hangs in C code that lets no Python run.
"""

from __future__ import annotations

import importlib.util
import json
import operator
import os
import platform
import shutil
import signal
import sys
import traceback
import wave
from pathlib import Path
from typing import Any

PROTOCOL = 1
#: How a reply may end. Whatever else happens is an ``infra_error``.
OUTCOMES = ("ok", "truncated", "out_of_memory", "context_overflow", "decode_error", "refused")


class Card:
    """What an adapter's ``load`` is given."""

    def __init__(self, message: dict[str, Any], folder: str) -> None:
        self._folder = Path(folder)
        self.checkpoint = message["checkpoint"]
        """A folder or a hub's model id."""
        self.revision = message["revision"]
        """A hub's commit, or None."""
        self.settings = message["settings"]
        self.trust_remote_code = message["trust_remote_code"]

    def local(self) -> str:
        """Return a folder with the weights, fetched from the hub if need be.

        It has the model's own name: some libraries look at it to tell what they load.
        """
        place = Path(self.checkpoint).expanduser()
        if place.is_dir():
            return str(place.absolute())
        from huggingface_hub import snapshot_download

        link = self._folder / "checkpoint" / place.name
        link.parent.mkdir(exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(snapshot_download(self.checkpoint, revision=self.revision))
        return str(link)


class Video:
    """Frames of a stretch of video."""

    def __init__(self, piece: dict[str, Any]) -> None:
        import numpy as np

        self.pixels = np.load(piece["pixels"], mmap_mode="r")
        """(n_frames, height, width, 3), uint8, RGB."""
        self.times_s = piece["times_s"]
        """Presentation time of each frame on the media's clock."""


class Sound:
    """Mono sound of a stretch of media."""

    def __init__(self, piece: dict[str, Any], folder: str) -> None:
        import numpy as np

        self.samples = np.load(piece["samples"], mmap_mode="r")
        """(n_samples,), float32 in [-1, 1]."""
        self.sample_rate_hz = piece["sample_rate_hz"]
        self._folder, self._name = Path(folder), Path(piece["samples"]).stem + ".wav"

    def wav(self) -> str:
        """Write the sound as 16-bit WAV; return the file's path."""
        import numpy as np

        path = self._folder / self._name
        scaled = np.clip(np.round(np.asarray(self.samples) * 32767.0), -32768, 32767)
        with wave.open(str(path), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(self.sample_rate_hz)
            file.writeframes(scaled.astype("<i2").tobytes())
        return str(path)


class File:
    """A video file as it is, and the stretch of it that is meant (None: its own start or end)."""

    def __init__(self, piece: dict[str, Any]) -> None:
        self.path = piece["path"]
        self.start_s = piece["start_s"]
        self.end_s = piece["end_s"]
        self.sound = piece["sound"]
        """Whether the model is to hear the file's sound."""


class Ask:
    """One request: what to tell the model, and how to draw tokens."""

    def __init__(self, message: dict[str, Any]) -> None:
        self.id = message["id"]
        self.folder = message["folder"]
        """A folder for the adapter's own files; removed once the request is answered."""
        sampling = message["sampling"]
        self.temperature = sampling["temperature"] or 0.0
        """0: greedy."""
        self.top_p = sampling["top_p"]
        """None: the model's own."""
        self.max_tokens = sampling["max_tokens"] or 1024
        self.seed = sampling["seed"]
        """None: draw afresh."""
        self.turns = [
            (role, [_piece(piece, self.folder) for piece in pieces])
            for role, pieces in message["turns"]
        ]
        """(role, pieces) of each message; a piece is str, Video, Sound or File."""

    @property
    def dialogue(self) -> list[tuple[str, list[Any]]]:
        """(role, pieces) of what user and assistant say by turns, the system message left out."""
        found: list[tuple[str, list[Any]]] = []
        for role, pieces in self.turns:
            if found and found[-1][0] == role:
                found[-1][1].extend(pieces)
            elif role != "system":
                found.append((role, list(pieces)))
        return found

    @property
    def videos(self) -> list[Any]:
        """The frames of each of the request's videos."""
        return self._all(Video)

    @property
    def sounds(self) -> list[Any]:
        """Each of the request's sounds."""
        return self._all(Sound)

    @property
    def system(self) -> str:
        """The system message, empty where there is none."""
        return self._text("system")

    @property
    def question(self) -> str:
        """The user's text; for models that take one turn."""
        if any(role == "assistant" for role, _ in self.turns):
            raise ValueError("this adapter takes one question, not a dialogue")
        return self._text("user")

    @property
    def video(self) -> Any:
        """The request's frames; None without."""
        return self._only(Video, "video")

    @property
    def sound(self) -> Any:
        """The request's sound; None without."""
        return self._only(Sound, "sound")

    @property
    def file(self) -> Any:
        """The request's video as a file, where its card asks for files; None without."""
        return self._only(File, "file")

    def reply(
        self, text: str, input_tokens: int | None = None, output_tokens: int | None = None
    ) -> dict[str, Any]:
        """What the model said. As many tokens as were allowed means that it was cut off."""
        cut = output_tokens is not None and output_tokens >= self.max_tokens
        return {
            "outcome": "truncated" if cut else "ok",
            "text": text,
            "finish_reason": "length" if cut else "stop",
            "input_tokens": input_tokens,
            "output_tokens": output_tokens,
        }

    def failed(self, outcome: str, error: str) -> dict[str, Any]:
        """A failure of this request alone, for example ``context_overflow``."""
        if outcome not in OUTCOMES:
            raise ValueError(f"outcome {outcome!r}: expected one of {', '.join(OUTCOMES)}")
        return {"outcome": outcome, "error": error}

    def _text(self, role: str) -> str:
        found = [pieces for turn_role, pieces in self.turns if turn_role == role]
        return "".join(piece for pieces in found for piece in pieces if isinstance(piece, str))

    def _all(self, kind: type) -> list[Any]:
        return [piece for _, pieces in self.turns for piece in pieces if isinstance(piece, kind)]

    def _only(self, kind: type, name: str) -> Any:
        found = self._all(kind)
        if len(found) > 1:
            raise ValueError(f"this adapter takes one {name}, found {len(found)}")
        return found[0] if found else None


def _piece(piece: dict[str, Any], folder: str) -> str | Video | Sound | File:
    kind = piece["kind"]
    if kind == "text":
        return str(piece["text"])
    if kind == "audio":
        return Sound(piece, folder)
    return File(piece) if kind == "file" else Video(piece)


def serve(requests: Any, answers: Any, adapter: str, folder: str) -> None:
    """Load the model, then answer until the pipe of requests is closed."""
    _send(answers, {"op": "hello", "protocol": PROTOCOL, "python": platform.python_version()})
    try:
        __import__("numpy")  # now, and not in the time of the first request
        model = _module(adapter).load(Card(json.loads(next(requests)), folder))
        max_batch = int(getattr(model, "max_batch", 1))
    except (Exception, SystemExit) as error:
        traceback.print_exc()
        _send(answers, {"op": "failed", "error": _last_line(error)})
        return
    _send(answers, {"op": "ready", "max_batch": max_batch, "versions": _versions()})
    for line in requests:
        _send(answers, {"op": "replies", "replies": _answer(model, json.loads(line)["asks"])})


def _answer(model: Any, messages: list[Any]) -> list[dict[str, Any]]:
    try:
        replies = list(model.generate([Ask(message) for message in messages]))
        if len(replies) != len(messages):
            raise ValueError(f"{len(replies)} replies to {len(messages)} requests")
    except (
        Exception,
        SystemExit,
    ) as error:  # libraries raise anything; each ask must be replied to
        traceback.print_exc()
        reply = {"outcome": _outcome(error), "error": _last_line(error)}
        replies = [dict(reply) for _ in messages]
    pairs = zip(replies, messages)  # noqa: B905 - they are as many, and Python 3.8 has no `strict`
    return [dict(_sendable(reply), id=message["id"]) for reply, message in pairs]


def _sendable(reply: Any) -> dict[str, Any]:
    """Return an adapter's reply in plain values; where it is none, a failure that says why."""
    try:
        if not isinstance(reply, dict):
            raise TypeError(f"{_brief(reply)} is not what ask.reply or ask.failed returns")
        if reply.get("outcome") not in (*OUTCOMES, "infra_error"):
            raise ValueError(f"outcome is {_brief(reply.get('outcome'))}")
        plain = {"outcome": str(reply["outcome"])}
        for name in ("text", "finish_reason", "error"):
            if not isinstance(reply.get(name, ""), str):
                raise TypeError(f"{name} is {_brief(reply[name])}, not a string")
            plain[name] = str(reply.get(name, ""))
        counts = {name: _count(name, reply.get(name)) for name in ("input_tokens", "output_tokens")}
        return {**plain, **counts}
    except Exception as error:  # numpy's values, for one, raise when they are compared
        return {"outcome": "infra_error", "error": f"the adapter's reply does not hold: {error}"}


def _count(name: str, value: Any) -> int | None:
    """Return a number of tokens as a plain int; numpy's and torch's are taken, too."""
    if value is None:
        return None
    try:
        count = int(value) if float(value).is_integer() else -1
        count = operator.index(value) if hasattr(value, "__index__") else count
    except (TypeError, ValueError, OverflowError):
        count = -1
    if isinstance(value, (str, bytes, bool)) or count < 0:
        raise ValueError(f"{name} is {_brief(value)}, not a number of tokens")
    return count


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"


def _outcome(error: BaseException) -> str:
    # By name: CUDA's class has lived in several places, and older ones are a plain RuntimeError.
    names = [kind.__name__ for kind in type(error).__mro__]
    exhausted = isinstance(error, MemoryError) or "OutOfMemoryError" in names
    if exhausted or "out of memory" in str(error).lower():
        _free_memory()
        return "out_of_memory"
    return "infra_error"


def _free_memory() -> None:
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


def _last_line(error: BaseException) -> str:
    lines = "".join(traceback.format_exception_only(type(error), error)).strip().splitlines()
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name} line {frames[-1].lineno})" if frames else ""
    return (lines[-1] if lines else type(error).__name__) + where


def _versions() -> dict[str, Any]:
    found = {"python": platform.python_version()}
    for name in ("numpy", "torch", "transformers"):
        version = getattr(sys.modules.get(name), "__version__", None)
        if version is not None:
            found[name] = str(version)
    return found


def _module(path: str) -> Any:
    spec = importlib.util.spec_from_file_location("rejudge_adapter", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules["rejudge_adapter"] = module
    spec.loader.exec_module(module)
    return module


def _send(answers: Any, message: dict[str, Any]) -> None:
    # ASCII only: no locale and no lone surrogate of a model's text can break the line.
    answers.write(json.dumps(message).encode("ascii") + b"\n")
    answers.flush()


def guard(life: int, folder: str, others: list[Any]) -> None:
    """Fork the guard; it lives until the other end of ``life`` is closed."""
    worker = os.getpid()
    if os.fork():
        os.close(life)
        return
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
            signal.signal(number, signal.SIG_IGN)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for kept in others:
            os.dup2(nowhere, kept)
        os.read(life, 1)
        if os.getppid() == worker:  # so that it writes no more into what is removed
            os.kill(worker, signal.SIGSTOP)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.killpg(0, signal.SIGKILL)


def _let_the_driver_decide() -> None:
    # A job's signals reach every process of it; what is in flight is to be finished meanwhile.
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
    for number in numbers:
        signal.signal(number, lambda *_: None)
    restored = [(number, signal.SIG_DFL) for number in numbers]
    os.register_at_fork(after_in_child=lambda: [signal.signal(*pair) for pair in restored])


def main() -> None:
    """Serve the adapter that the command line names."""
    given = json.loads(sys.argv[1])
    pipes = [given["requests"], given["answers"], given["life"]]
    for pipe in pipes:
        os.set_inheritable(pipe, False)
    guard(given["life"], given["folder"], [0, 1, 2, *pipes[:2]])
    _let_the_driver_decide()
    # This file's folder would offer its own names to the model's imports.
    here = Path(__file__).resolve().parent
    sys.path[:] = [path for path in sys.path if Path(path or ".").resolve() != here]
    with os.fdopen(pipes[0], "rb") as requests, os.fdopen(pipes[1], "wb") as answers:
        serve(requests, answers, given["adapter"], given["folder"])


if __name__ == "__main__":
    main()
