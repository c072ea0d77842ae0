"""The visible answer: a response's text without what the model thought aloud.

``<think>A</think>B`` → ``B``; an unclosed ``<think>`` hides all that follows; a lone ``</think>``
(its opening tag was part of the prompt) hides all that precedes.
"""

from __future__ import annotations

import re

_NAMES = r"(?:think|thinking|thought|thoughts|reasoning|analysis|scratchpad)"
_CLOSED = re.compile(rf"<({_NAMES})\b[^<>]*>.*?</\1\s*>", re.S | re.I)
_OPEN = re.compile(rf"<{_NAMES}\b[^<>]*>.*\Z", re.S | re.I)
_CLOSE_ONLY = re.compile(rf"\A.*</{_NAMES}\s*>", re.S | re.I)
_CHANNEL = re.compile(r"<\|channel\|>\s*final\s*<\|message\|>", re.I)
_ANY_CHANNEL = re.compile(r"<\|channel\|>", re.I)
_SPECIAL = re.compile(r"<\|[a-z0-9_]{1,32}\|>|</?s>", re.I)
_ANSWER = re.compile(r"<(answer|final_answer)\s*>(.*?)</\1\s*>", re.S | re.I)


def visible(text: str) -> str:
    """Return the part of ``text`` that is meant as the answer; empty if there is none.

    White space at its end is kept: after a number it says that the number was complete.
    """
    if "<" not in text:
        return text.lstrip()
    if _ANY_CHANNEL.search(text):
        parts = _CHANNEL.split(text)
        text = parts[-1] if len(parts) > 1 else ""
    previous = None
    while "</" in text and previous != text:  # blocks may be nested
        previous, text = text, _CLOSED.sub(" ", text)
    text = _CLOSE_ONLY.sub("", text)
    text = _OPEN.sub("", text)
    text = _SPECIAL.sub(" ", text)
    tagged = {str(inner).strip() for _, inner in _ANSWER.findall(text)}
    if len(tagged) == 1:
        return tagged.pop()
    return text.lstrip()
