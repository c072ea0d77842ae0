"""Dictionaries in LIWC's format: what is read, which entry a word has, what is refused where."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from score.dictionary import dictionary_names, load_dictionary, words
from score.errors import DictionaryError

SOUND = """%
1\temotion
2\tnegative emotion
%
happy\t1
hap*\t2
happil*\t1 2
don't\t2
"""


def dictionary(folder, text=SOUND, encoding="utf-8"):
    path = folder / "my.dic"
    path.write_bytes(text.encode(encoding))
    return load_dictionary(path)


def categories(found, word):
    return [found.categories[index] for index in found.lookup(word)]


def test_categories_keep_their_names_and_order(tmp_path):
    assert dictionary(tmp_path).categories == ("emotion", "negative emotion")


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("happy", ["emotion"]),  # the entry that is this word, not hap*
        ("happily", ["emotion", "negative emotion"]),  # the longest beginning
        ("happen", ["negative emotion"]),
        ("hap", ["negative emotion"]),  # a beginning is a word, too
        ("ha", []),
        ("unhappy", []),
        ("don't", ["negative emotion"]),
        ("don", []),
    ],
)
def test_a_word_has_the_categories_of_one_entry(tmp_path, word, expected):
    found = dictionary(tmp_path)
    assert categories(found, word) == expected
    assert categories(found, word) == expected  # and again, from memory


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\t", "   "),
        lambda text: "# ours\n\n" + text.replace("happy\t1", " Happy \t 1 \t# the word itself"),
        lambda text: text.replace("don't", "Don’t"),
        lambda text: text.rstrip("\n"),
    ],
)
def test_spelling_of_the_file_does_not_matter(tmp_path, change):
    plain, other = dictionary(tmp_path), dictionary(tmp_path, change(SOUND))
    assert (other.categories, other.words, other.beginnings) == (
        plain.categories,
        plain.words,
        plain.beginnings,
    )


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 1, "ends before the second line of %"),
        ("1 a\n%\nhappy 1\n", 1, "expected a line of %"),
        ("%\n%\nhappy 1\n", 2, "no category"),
        ("%\n1 a\n%\n", 3, "without a word"),
        ("%\n1 a\nhappy 1\n", 3, "expected a category's number"),
        ("%\n1\n%\nhappy 1\n", 2, "expected a category's number"),
        ("%\n1 a\n1 b\n%\nhappy 1\n", 3, "number 1 is 'a' already"),
        ("%\n1 a\n2 a\n%\nhappy 1\n", 3, "category 'a' is there already"),
        ("%\n1 a\n%\nhappy\n", 4, "the numbers of its categories"),
        ("%\n1 a\n%\nsad 1\nhappy 2\n", 5, "no category 2; there are: 1"),
        ("%\n1 a\n%\nhappy 1\n\nHAPPY 1\n", 6, "'happy' is in line 4 already"),
        ("%\n1 a\n%\nkind of 1\n", 4, "no single word"),
        ("%\n1 a\n%\n:) 1\n", 4, "no single word"),
        ("%\n1 a\n%\nha*py 1\n", 4, "no single word"),
        ("%\n1 a\n%\n* 1\n", 4, "no single word"),
        ("%\n1 a\n%\nlike (02 134)125/464 253\n", 4, "no single word"),
        ("%\n1 a\n%\nhappy 1\n%\n", 5, "third line of %"),
    ],
)
def test_a_fault_is_refused_with_file_and_line(tmp_path, text, line, what):
    with pytest.raises(DictionaryError, match=rf"my\.dic, line {line}: .*{what}"):
        dictionary(tmp_path, text)


def test_another_encoding_is_refused_with_its_line(tmp_path):
    with pytest.raises(DictionaryError, match=r"line 5: not UTF-8"):
        dictionary(tmp_path, "%\n1 a\n%\nhappy 1\ncafé 1\n", encoding="latin-1")


def test_an_unknown_name_is_answered_with_the_bundled_ones(tmp_path):
    with pytest.raises(DictionaryError, match=r"give the path of a \.dic file, or one of example"):
        load_dictionary(tmp_path / "none.dic")


def test_the_bundled_example_is_sound_and_says_that_it_is_not_liwc():
    assert dictionary_names() == ["example"]
    found = load_dictionary("example")
    assert found.categories == (
        "prosocial", "affiliation", "insight", "emotion", "negative_emotion",
    )  # fmt: skip
    emotion, negative = map(found.categories.index, ("emotion", "negative_emotion"))
    for entry in (*found.words.values(), *found.beginnings.values()):
        assert negative not in entry or emotion in entry


def test_words_keep_inner_apostrophes_and_hyphens():
    said = "She’s WELL-known — 'twas 3 o'clock, the dogs' bowl_1; naïve."
    assert words(said) == [
        "she's", "well-known", "twas", "3", "o'clock", "the", "dogs", "bowl", "1", "naïve",
    ]  # fmt: skip


@given(st.text(max_size=60))
def test_no_text_is_too_odd_to_have_words(text):
    assert all(word == word.strip("'-") and word for word in words(text))
