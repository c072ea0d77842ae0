"""Nearly JSON to JSON, by its brackets: comments, commas, bare words, and where it was cut off.

One pass over the tokens with a stack of open brackets. It changes nothing inside strings, and it
stops (``Unreadable``) where the text could be read in two ways.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field


class Unreadable(Exception):
    """The brackets hold something that cannot be read with certainty."""

    def __init__(self, end: int | None) -> None:
        self.end = end
        """Where the outermost bracket closes, as far as can be told; None: nowhere."""


@dataclass(frozen=True, slots=True)
class Cleaned:
    """JSON text, where it ended in the source, and the path of what was cut off."""

    text: str
    end: int
    cut: tuple[str | int, ...] | None


@dataclass(slots=True)
class _Frame:
    closer: str
    state: str
    """``key``, ``colon``, ``value`` or ``comma``: what comes next."""
    at: str | int = ""
    """The member's name or the element's index."""


_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z)|\#[^\n]*)
      | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|“[^“”]*”)
      | (?P<punctuation>[{}\[\],:])
      | (?P<quote>["'“])""",
    re.S | re.X,
)
#: No answer nests deeper; a model that repeats itself does.
_DEEPEST = 64
#: A value without quotes, up to what ends it.
_BARE = re.compile(r"""[^\s,{}\[\]"'][^,{}\[\]"'\n]*""")
_BARE_COMMENT = re.compile(r"\s*(?://|/\*|#).*", re.S)
_BARE_NAME = re.compile(r"[A-Za-z_][\w-]*(?=\s*:)")
_WORDS = {"true": "true", "false": "false", "null": "null", "none": "null"}
#: A backslash that JSON does not know: a model's own way to write an apostrophe, or LaTeX.
_ODD_ESCAPE = re.compile(r"""\\(?!["\\/bfnrtu])""")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|NaN|-?Infinity")


@dataclass(slots=True)
class _Pass:
    source: str
    start: int
    stack: list[_Frame] = field(default_factory=list)
    out: list[str] = field(default_factory=list)
    safe: tuple[int, str] = (0, "")
    """How much of ``out`` is certain, and what would close it."""


def clean(text: str, start: int) -> Cleaned:
    """Turn the bracket that opens at ``start`` into JSON.

    Raises:
        Unreadable: it is not nearly JSON.
    """
    run = _Pass(text, start)
    position = start
    while position < len(text):
        position = _step(run, position)
        if not run.stack:
            return Cleaned("".join(run.out), position, None)
    path = tuple(frame.at for frame in run.stack if frame.state in ("colon", "value"))
    length, closers = run.safe
    if length == 0:
        raise Unreadable(None)
    return Cleaned("".join(run.out[:length]) + closers, len(text), path)


def _step(run: _Pass, position: int) -> int:
    """Take one token; return where the next one starts."""
    frame = run.stack[-1] if run.stack else None
    match = _TOKEN.match(run.source, position)
    kind = match.lastgroup if match else None
    if match is None or (kind == "comment" and frame and _is_bare(run, frame, position)):
        return _bare(run, position)
    if kind in ("space", "comment"):
        return match.end()
    if kind == "string":
        _string(run, match.group())
    elif kind == "quote":  # a string that never ends: all that follows is cut off
        if frame is not None and frame.state == "comma":
            _fail(run)
        return len(run.source)
    else:
        _punctuation(run, match.group())
    return match.end()


def _is_bare(run: _Pass, frame: _Frame, position: int) -> bool:
    # "#1" as a value would be a comment; it is not certain which is meant.
    return frame.state == "value" and run.source[position] == "#"


def _string(run: _Pass, mark: str) -> None:
    frame = run.stack[-1]
    if mark[0] == "“":
        mark = json.dumps(mark[1:-1], ensure_ascii=False)
    elif mark[0] == "'":
        mark = '"' + re.sub(r'(?<!\\)"', r"\"", mark[1:-1].replace("\\'", "'")) + '"'
    mark = _ODD_ESCAPE.sub(r"\\\\", mark.replace("\\'", "'"))
    if frame.state == "comma":  # members on lines of their own, without commas
        _comma(run)
    if frame.state == "key":
        frame.at = mark[1:-1]
        frame.state = "colon"
        run.out.append(mark)
    elif frame.state == "value":
        _value(run, mark)
    else:
        _fail(run)


def _value(run: _Pass, mark: str) -> None:
    run.out.append(mark)
    frame = run.stack[-1]
    frame.state = "comma"
    _mark_safe(run)


def _mark_safe(run: _Pass) -> None:
    run.safe = (len(run.out), "".join(frame.closer for frame in reversed(run.stack)))


def _comma(run: _Pass) -> None:
    frame = run.stack[-1]
    if frame.closer == "]":
        assert isinstance(frame.at, int)
        frame.at += 1
        frame.state = "value"
    else:
        frame.at = ""
        frame.state = "key"
    run.out.append(",")


def _punctuation(run: _Pass, mark: str) -> None:
    frame = run.stack[-1] if run.stack else None
    if mark in "{[":
        if frame is not None and frame.state == "comma" and frame.closer == "]":
            _comma(run)
        if frame is not None and frame.state != "value":
            _fail(run)
        run.out.append(mark)
        if len(run.stack) == _DEEPEST:
            raise Unreadable(None)
        run.stack.append(_Frame("}", "key") if mark == "{" else _Frame("]", "value", 0))
        return
    if frame is None:
        _fail(run)
    assert frame is not None
    if mark == ":" and frame.state == "colon":
        run.out.append(":")
        frame.state = "value"
    elif mark == "," and frame.state == "comma":
        _comma(run)
    elif mark == frame.closer and _may_close(run, frame):
        if run.out[-1] == ",":
            run.out.pop()
        run.out.append(mark)
        run.stack.pop()
        if run.stack:
            run.stack[-1].state = "comma"
        _mark_safe(run)
    elif mark != "," or run.out[-1] != ",":  # a second comma says nothing
        _fail(run)


def _may_close(run: _Pass, frame: _Frame) -> bool:
    if frame.state == "comma" or run.out[-1] in ("{", "["):
        return True
    return run.out[-1] == ","


def _bare(run: _Pass, position: int) -> int:
    """A name or value without quotes."""
    frame = run.stack[-1] if run.stack else None
    if frame is not None and frame.state == "comma" and frame.closer == "}":
        if not _BARE_NAME.match(run.source, position):
            _fail(run)
        _comma(run)
    if frame is not None and frame.state == "key":
        name = _BARE_NAME.match(run.source, position)
        if name is None:
            _fail(run)
        assert name is not None
        frame.at, frame.state = name.group(), "colon"
        run.out.append(f'"{name.group()}"')
        return name.end()
    match = _BARE.match(run.source, position)
    if frame is None or frame.state != "value" or match is None:
        _fail(run)
    assert match is not None
    if match.end() == len(run.source) and not match.group()[-1].isspace():
        return match.end()  # cut off inside the word: not certain
    if run.source[match.end() : match.end() + 1] in ('"', "'", "{", "["):
        _fail(run)
    word = _BARE_COMMENT.sub("", match.group()).strip()
    lowered = _WORDS.get(word.lower())
    if lowered is not None:
        _value(run, lowered)
    else:
        _value(run, word if _NUMBER.fullmatch(word) else json.dumps(word))
    return match.end()


def _fail(run: _Pass) -> None:
    raise Unreadable(_closing(run.source, run.start))


def _closing(text: str, start: int) -> int | None:
    """Where the bracket at ``start`` closes, counting brackets only: for texts with odd quotes."""
    depth = 0
    for match in re.compile(r"[{}\[\]]").finditer(text, start):
        depth += 1 if match.group() in "{[" else -1
        if depth == 0:
            return match.end()
    return None
