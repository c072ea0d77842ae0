"""Options of a multiple-choice question: which one a text names, if it names one.

A letter counts where it can only be a letter: alone, in brackets, or after words that announce an
answer. ``It shows a man and A dog`` names none; ``not B, so C`` names C; ``None of A`` names none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from score.parse.prediction import ParseFailure

LETTERS = "ABCDEFGHIJ"

_NOISE = re.compile(r"[*_`#>$]+")
#: What stands before a brace in TeX; braces may be nested, so nothing is left between them.
_TEX = re.compile(r"\\(?:boxed|text|textbf|mathrm)\b\s*")
#: The whole text is one letter, perhaps with its option's text behind it.
_ALONE = re.compile(
    r"""\s*(?:(?:the\s+)?(?:(?:final|correct|right|best)\s+)*(?:option|choice|answer|letter)
        \s*(?:is|:|=)?\s*)?[(\[{"'“]*([A-Za-z])["'”)\]}]*\s*(?:(?:[.:),–—]+\s*|-+\s+)(.*))?\s*""",
    re.X | re.S | re.I,
)
_LETTER = (
    r"""(?:option\s+|choice\s+|letter\s+)?(?P<open>[(\[{"'“]*)(?P<letter>[A-Za-z])(?![\w’'])"""
)
_ANNOUNCED = re.compile(
    r"""\b(?:
          (?P<final>final\s+)?(?:correct\s+|right\s+|best\s+|my\s+)*(?:answer|option|choice|letter)
            (?:\s+letter)?\s*(?:is|:|=|->|would\s+be|should\s+be|must\s+be|\bto\s+this[\w\s]*is)
            \s*(?:clearly\s+|definitely\s+|therefore\s+|likely\s+|probably\s+)?:?
        | (?:so|therefore|thus|hence|consequently)\s*,?\s*(?:(?:it|the\s+answer)(?:\s+is|'s|’s)\s+)?
        | (?:i|i'd|i’d|we)\s+(?:would\s+)?(?:choose|pick|select|answer|go\s+with|say)\s*:?
            (?:\s*(?:that\s+)?it(?:\s+is|['’]s))?
        )\s*"""
    + _LETTER,
    re.X | re.I,
)
#: "The answer (is)" of models that fall back to Chinese.
_CHINESE = re.compile(r"答案(?:应该)?[是为]?\s*:?\s*" + _LETTER, re.I)
_SUBJECT = re.compile(
    r"""(?:^|[.\n!?:]\s*)(?:option|choice|answer)?\s*(?P<open>[(\[]?)(?P<letter>[A-Za-z])[)\]]?\s+
        (?:is|would\s+be|seems|must\s+be)\s+(?:the\s+)?(?:most\s+)?
        (?:correct|right|accurate|best|answer|appropriate)\b""",
    re.X | re.I,
)
_HEDGE = re.compile(
    r"^[\s)\]}\"'”.,]*(?:(?:or|and|and/or|/|&|\||nor)\s*(?:option\s+|maybe\s+|perhaps\s+)?[(\[]?"
    r"[A-Ja-j]\b(?!\s+[a-z]{3,})|or\b)",
    re.I,
)
#: Other letters that are named only to be turned down: "B, not C".
_DISMISSED = re.compile(
    r"\b(?:not|unlike|rather\s+than|instead\s+of)\s+(?:option\s+)?[(\[]?[A-J]\b", re.I
)
_NOT = re.compile(
    r"\b(?:not|neither|nor|none\s+of|isn['’]t|cannot\s+be|never|unlike)\b[\s(\[]*$", re.I
)
_NEGATION = re.compile(
    r"\b(?:not|neither|nor|none|isn['’]t|n['’]t|cannot|never|unlike|incorrect|wrong)\b", re.I
)
#: What may follow a bare capital A for it to be a letter and not an article.
_AFTER_A = re.compile(
    r"\s*(?:$|[.,;:)\]}\"'”\n–—(-]|(?:because|since|as|due|given|based|which|for|is|not|but)\b)",
    re.I,
)


def letter_index(letter: str, n_options: int) -> int | None:
    """Return the index of a letter among ``n_options`` options, None if it is none of them."""
    index = LETTERS.find(letter.upper()) if len(letter) == 1 else -1
    return index if 0 <= index < n_options else None


def read_option(text: str, options: Sequence[str]) -> int | ParseFailure:
    """Return the index of the option that ``text`` chooses.

    Args:
        text: What the model said, without its thinking.
        options: The option texts without their letters.

    Returns:
        An index into ``options``, or the reason why there is not exactly one.
    """
    plain = _NOISE.sub(" ", _TEX.sub("", text)).strip()
    if not plain.isascii():  # letters of full width are letters
        plain = unicodedata.normalize("NFKC", plain).strip()
    if not plain:
        return ParseFailure("the answer is empty")
    alone = read_letter(plain, options)
    if alone is not None:
        return alone
    exact = _option_of_text(plain, options)
    if exact is not None:
        return exact
    announced = _announced(plain, len(options))
    if isinstance(announced, ParseFailure) or announced is not None:
        return announced
    return _standing_alone(plain, options)


def read_letter(text: str, options: Sequence[str]) -> int | ParseFailure | None:
    """Return the option of a text that is a letter and nothing else, or a letter and its text.

    ``B``, ``(b)``, ``Option B``, ``B. The dog barks`` (where that is what option B says).

    Returns:
        An index; the reason why such a text names no option; None for any other text.
    """
    match = _ALONE.fullmatch(text)
    if match is None:
        return None
    letter, rest = match[1], (match[2] or "").strip()
    index = letter_index(letter, len(options))
    if index is None and rest:
        return None  # "I, for one, …"
    if index is None:
        return ParseFailure(f"{letter!r} is none of the {len(options)} options")
    if not rest or rest.strip(")]}.\"' ") == "":
        return index
    said = _option_of_text(rest, options)
    if said is not None and said != index:
        return ParseFailure(f"letter {letter.upper()} stands before the text of {LETTERS[said]}")
    if said is None and (_HEDGE.match(rest) or _other_letters(rest, index, len(options))):
        return ParseFailure(f"more than one option in {_short(text)}")
    # "a, the man" may be an article or a list; "b) the man" is a letter.
    is_list_mark = re.match(r"\W*[a-z]\s*[).:]|\s*[(\[]", text, re.I)
    if said is None and letter.islower() and not is_list_mark:
        return None
    return index


def _other_letters(text: str, index: int, n_options: int) -> bool:
    rest = _DISMISSED.sub(" ", text)
    letters = re.findall(r"(?<![\w'’])[(\[]?([B-J])\b(?!['’])|[(\[]([A-Ja-j])[)\]]", rest)
    return bool({letter_index(a or b, n_options) for a, b in letters} - {None, index})


def _option_of_text(text: str, options: Sequence[str]) -> int | None:
    said = _fold(text)
    same = [i for i, option in enumerate(options) if option and _fold(option) == said]
    return same[0] if len(same) == 1 else None


def _fold(text: str) -> str:
    """Words only: letters and digits, case and accents' encodings folded."""
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))


def _announced(text: str, n_options: int) -> int | ParseFailure | None:
    chosen: dict[bool, set[int]] = {False: set(), True: set()}
    for pattern in (_ANNOUNCED, _CHINESE, _SUBJECT):
        for match in pattern.finditer(text):
            letter, before = match["letter"], text[: match.start()]
            index = letter_index(letter, n_options)
            rest = text[match.end("letter") :]
            if index is None or not _is_letter(letter, match["open"], rest) or _NOT.search(before):
                continue
            if _HEDGE.match(rest):
                return ParseFailure(f"more than one option in {_short(match.group() + rest[:12])}")
            chosen[bool(match.groupdict().get("final"))].add(index)
    for indices in (chosen[True], chosen[True] | chosen[False]):
        if len(indices) == 1:
            return next(iter(indices))
        if indices:
            named = ", ".join(LETTERS[index] for index in sorted(indices))
            return ParseFailure(f"{len(indices)} different options: {named}")
    return None


def _is_letter(letter: str, opening: str, rest: str) -> bool:
    if opening:
        return rest[:1] in tuple(")]}\"'”")
    if letter.islower():
        return re.match(r"\s*(?:[.):]|$)", rest) is not None
    if re.match(r"-\w", rest):
        return False
    return letter != "A" or _AFTER_A.match(rest) is not None


def _standing_alone(text: str, options: Sequence[str]) -> int | ParseFailure:
    """A letter on a line of its own, or one option quoted word for word, and no other."""
    lines = [read_letter(line.strip(), options) for line in text.splitlines() if line.strip()]
    by_line = {index for index in lines if isinstance(index, int)}
    folded = f" {_fold(text)} "
    quoted = [
        i for i, option in enumerate(options) if _fold(option) and f" {_fold(option)} " in folded
    ]
    # An option that is part of another one's text is not quoted by it.
    quoted = [
        i
        for i in quoted
        if not any(i != j and f" {_fold(options[i])} " in f" {_fold(options[j])} " for j in quoted)
    ]
    found = by_line | set(quoted)
    if len(found) == 1 and (by_line or not _NEGATION.search(_without(text, options[quoted[0]]))):
        return found.pop()
    if len(found) > 1:
        return ParseFailure(f"{len(found)} different options in {_short(text)}")
    return ParseFailure(f"no option in {_short(text)}")


def _without(text: str, option: str) -> str:
    return _fold(text).replace(_fold(option), " ")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= 60 else line[:57] + "…")
