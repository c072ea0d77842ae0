"""Values as JavaScript that a page loads with ``<script src>``.

Browsers let no page read files beside it from disk, but they do run them. So data are calls:

    rejudge.put("chunk-003", {…});

Texts in them come from models and may be hostile. ``<`` and ``&`` never appear, so no text ends a
script or begins markup, and the two line ends that old engines take for ends of statements are
spelled out. No name of a member comes from outside: ``__proto__`` is a text here, never a name.
"""

from __future__ import annotations

import json
from typing import Any

_SPELLED = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


def as_json(value: Any) -> str:
    """Return a value as JSON that is safe within a script.

    Raises:
        ValueError: it holds NaN or an infinity, which JSON has not.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_SPELLED)


def as_script(name: str, text: str) -> bytes:
    """Return the script that hands JSON over under a name.

    A lone surrogate, which UTF-8 has not, becomes its escape.
    """
    return f"rejudge.put({as_json(name)},{text});\n".encode("utf-8", "backslashreplace")
