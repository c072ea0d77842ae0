"""Texts as data in a prompt: each between two lines that no text can forge.

    <<<ANSWER 3fa85f64d1c0>>>
    … the candidate's words, whatever they are …
    <<<END ANSWER 3fa85f64d1c0>>>

The code is cut from the sha256 of all texts together. A text that held its own code would have to
be written knowing its own digest, so a candidate cannot close its fence early; and the same texts
have the same code, so the key stays the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from cache.canonical import canonical_bytes, sha256_hex
from cache.request import Text

_CODE_DIGITS = 16


def fenced(texts: Mapping[str, str]) -> tuple[Text, ...]:
    """Return the parts of a message that holds ``texts``, each fenced and named.

    Parts are meant to be joined with nothing between. The parts with a name are the texts
    themselves, untouched; the parts without are the fences.
    """
    code = sha256_hex(canonical_bytes(dict(texts)))[:_CODE_DIGITS]
    parts: list[Text] = []
    for name, text in texts.items():
        label = f"{name.upper()} {code}"
        parts.append(Text(text=f"<<<{label}>>>\n"))
        parts.append(Text(text=text, name=name))
        parts.append(Text(text=f"\n<<<END {label}>>>\n\n"))
    return tuple(parts)
