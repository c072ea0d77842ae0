"""Dictionaries of word categories, in LIWC's ``.dic`` format.

    %
    1   emotion              number and name of a category
    2   positive
    %
    happy   1 2              a word and the numbers of its categories
    grie*   1                any word that starts so, ``grie`` included

Tabs or spaces part the columns. Lines that start with ``#`` are comments, and so is the end of a
line after white space and ``#``. Case and the kind of apostrophe do not matter.

A word has the categories of **one** entry: the one that is this word, else the longest one with a
``*`` that it starts with. So ``happy`` above is not looked up under ``hap*`` as well.

LIWC's own dictionaries are not free, so none is bundled; ``example`` is ours, and small.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from cache.canonical import sha256_hex
from score.errors import DictionaryError

DICTIONARIES = Path(__file__).parent / "dictionaries"

#: A word: letters and digits, with apostrophes or hyphens between them.
WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
#: What may stand before a ``*``: a word, or one that goes on after its apostrophe or hyphen.
_BEGINNING = re.compile(rf"(?:{WORD.pattern})['-]?")
_CATEGORY = re.compile(r"(\d+)\s+(\S.*)")
_NUMBERS = re.compile(r"(?:\s+\d+)+$")
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc", "'"))
_RULE = "%"


@dataclass(frozen=True, slots=True)
class Dictionary:
    """Word categories, and which words are in them."""

    name: str
    """The file's name."""
    sha256: str
    """Of its bytes."""
    categories: tuple[str, ...]
    """Names, in the order of the file."""
    words: dict[str, tuple[int, ...]]
    """Word → positions of its categories."""
    beginnings: dict[str, tuple[int, ...]]
    """What words start with → positions of their categories."""
    _found: dict[str, tuple[int, ...]] = field(default_factory=dict, repr=False)

    def lookup(self, word: str) -> tuple[int, ...]:
        """Return the positions of a word's categories; ``word`` is as :func:`words` returns it."""
        known = self._found.get(word)
        if known is None:
            known = self._found[word] = self._entry(word)
        return known

    def _entry(self, word: str) -> tuple[int, ...]:
        if word in self.words:
            return self.words[word]
        starts = (word[:length] for length in range(len(word), 0, -1))
        return next((self.beginnings[start] for start in starts if start in self.beginnings), ())


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, with straight apostrophes."""
    return WORD.findall(_plain(text))


def dictionary_names() -> list[str]:
    """Return the names of the bundled dictionaries, sorted."""
    return sorted(path.stem for path in DICTIONARIES.glob("*.dic"))


def load_dictionary(name_or_path: str | Path) -> Dictionary:
    """Load a bundled dictionary by name, or any by the path of its file.

    Raises:
        DictionaryError: neither a bundled name nor a file, or a line is not as it should be; the
            message names file and line.
    """
    bundled = str(name_or_path) in dictionary_names()
    path = DICTIONARIES / f"{name_or_path}.dic" if bundled else Path(name_or_path)
    if not path.is_file():
        raise DictionaryError(
            f"no dictionary {str(name_or_path)!r}: give the path of a .dic file, or one of "
            f"{', '.join(dictionary_names())}"
        )
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at = data[: error.start].count(b"\n") + 1
        raise DictionaryError(f"{path}, line {at}: not UTF-8; save the file as UTF-8") from error
    reader = _Reader(path)
    # Not splitlines: other characters that it breaks at are no ends of lines in such a file.
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
        reader.read(number, _COMMENT.sub("", line).strip())
    return reader.dictionary(sha256_hex(data))


class _Reader:
    """Reads a dictionary line by line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rules = 0
        self._line = 0
        self._numbers: dict[int, int] = {}
        self._names: list[str] = []
        self._entries: dict[str, tuple[int, ...]] = {}
        self._lines: dict[str, int] = {}

    def read(self, number: int, line: str) -> None:
        if not line:
            return
        self._line = number
        if line == _RULE:
            self._rules += 1
            if self._rules == 2 and not self._names:
                raise self._fault("no category between the two lines of %")
            if self._rules > 2:
                raise self._fault("a third line of %; the two above end the list of categories")
        elif self._rules == 0:
            raise self._fault(f"expected a line of % before the categories, found {line!r}")
        elif self._rules == 1:
            self._category(line)
        else:
            self._word(line)

    def dictionary(self, sha256: str) -> Dictionary:
        if self._rules < 2:
            raise self._fault("the file ends before the second line of %, after the categories")
        if not self._entries:
            raise self._fault("the file ends without a word")
        starred = {entry[:-1]: found for entry, found in self._entries.items() if entry[-1] == "*"}
        whole = {entry: found for entry, found in self._entries.items() if entry[-1] != "*"}
        return Dictionary(self._path.name, sha256, tuple(self._names), whole, starred)

    def _category(self, line: str) -> None:
        found = _CATEGORY.fullmatch(line)
        if found is None:
            raise self._fault(f"expected a category's number and name, found {line!r}")
        number, name = int(found[1]), " ".join(found[2].split())
        if number in self._numbers:
            raise self._fault(f"number {number} is {self._names[self._numbers[number]]!r} already")
        if name in self._names:
            raise self._fault(f"category {name!r} is there already")
        self._numbers[number] = len(self._names)
        self._names.append(name)

    def _word(self, line: str) -> None:
        numbers = _NUMBERS.search(line)
        if numbers is None:
            raise self._fault(f"expected a word and the numbers of its categories, found {line!r}")
        entry = _plain(line[: numbers.start()]).lstrip("'")
        if not (_BEGINNING if entry.endswith("*") else WORD).fullmatch(entry.removesuffix("*")):
            raise self._fault(
                f"{line[: numbers.start()]!r} is no single word, with or without a * at its end; "
                "entries of several words, of signs, or with conditions are not supported"
            )
        if entry in self._entries:
            raise self._fault(f"{entry!r} is in line {self._lines[entry]} already")
        given = list(map(int, numbers[0].split()))
        for number in given:
            if number not in self._numbers:
                known = ", ".join(map(str, self._numbers))
                raise self._fault(f"no category {number}; there are: {known}")
        self._entries[entry] = tuple(dict.fromkeys(self._numbers[number] for number in given))
        self._lines[entry] = self._line

    def _fault(self, what: str) -> DictionaryError:
        return DictionaryError(f"{self._path}, line {self._line or 1}: {what}")


def _plain(text: str) -> str:
    return text.lower().translate(_APOSTROPHES)
