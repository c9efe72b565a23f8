"""Patterns match what the regular expressions of other engines match."""

from __future__ import annotations

import re
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.tokenizers_made import DEEPSEEK, LLAMA3, O200K, QWEN2, package
from tilewright.errors import Refusal
from tilewright.language.text.character_classes import (
    Characters,
    category,
    of_ranges,
    of_text,
    same_in_any_case,
    whitespace,
)
from tilewright.language.text.patterns import literal, parse, sets
from tilewright.language.text.splitting import GPT2
from tilewright.language.text.tokenizer import Split, Words

fast = pytest.mark.fast

SIMPLE = [
    r"a|ab", r"ab|a", r"a?b+", r"a*b|c", r"[ab]{2}c?", r"[ab]{1,3}", r"[^a]+", r"a+(?!b)", r" ?[a-c]+|\s+(?!\S)|\s+",
    r"(?:ab|b)", r"\s*[\r\n]+", r"a{2,}", r"\d+|\D", r"[\-a]\.", r"a*a*b|c", r"a+(?:b|c)?", r"a?b(?:c|ca)?|a",
]  # fmt: skip


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("expression", SIMPLE)
@given(text=st.text("abc \n\r1-.", max_size=12))
def test_matches_are_those_of_python(expression: str, text: str) -> None:
    ours, python = parse(expression), re.compile(expression)
    for at in range(len(text)):
        wanted = python.match(text, at)
        assert ours.end(text, at) == (wanted.end() if wanted else -1)


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("expression", [GPT2, LLAMA3, QWEN2, O200K, DEEPSEEK])
def test_words_are_those_of_the_package(expression: str) -> None:
    split = package().pre_tokenizers.Split(package().Regex(expression), "isolated")
    words = Words(splits=(Split(parse(expression)),))

    @given(
        st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from(" \n\r\t'sStTlL1 \u017f\u0301")), max_size=20)
    )
    def property_(text: str) -> None:
        assert list(words(text, True)) == [word for word, _ in split.pre_tokenize_str(text)]

    property_()


ASSIGNED = (range(0xD800), range(0xE000, 0x40000), range(0xE0000, 0xE1000))
"""Where Unicode has characters; of what is beyond, for private use or for nothing at all, some are tried."""
BEYOND = (range(0x40000, 0xE0000, 101), range(0xE1000, 0x110000, 101))


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("name", ["Lu", "Lo", "N", "M"])
def test_categories_are_those_of_the_package(name: str) -> None:
    """Of every character, although Python's own tables are older."""
    check_removed(rf"\p{{{name}}}", category(name))


@pytest.mark.in_turns(3)
def test_whitespace_is_that_of_the_package() -> None:
    check_removed(r"\s", whitespace())
    check_removed("(?i:s)", same_in_any_case("s"))
    assert same_in_any_case("s") == of_text("sS\u017f")


def check_removed(expression: str, wanted: Characters) -> None:
    """An expression takes just these characters out of a text."""
    codes = np.array([code for part in (*ASSIGNED, *BEYOND) for code in part], "<u4")
    split = package().pre_tokenizers.Split(package().Regex(expression), "removed")
    pieces = split.pre_tokenize_str(codes.tobytes().decode("utf-32-le"))
    kept = np.frombuffer("".join(piece for piece, _ in pieces).encode("utf-32-le"), "<u4")
    has = np.searchsorted(wanted.bounds, codes, "right") % 2 == 1
    np.testing.assert_array_equal(codes[~has], kept)
    assert not [bound for bound in wanted.bounds for part in BEYOND if part.start < bound < part.stop]


@fast
def test_sets_are_sets() -> None:
    some = of_ranges([(5, 9), (3, 4), (8, 12), (20, 20)])
    assert some.bounds == (3, 13, 20, 21)
    assert all(some.has(code) != (~some).has(code) for code in range(30))
    assert ~~some == some
    everything = ~of_text("")
    assert everything.has(0)
    assert everything.has(0x10FFFF)
    assert ~everything == of_text("")
    assert "a" in literal("ab").alternatives[0].items[0].characters


def test_categories_have_what_python_has() -> None:
    letters = category("Lu")
    assert all(letters.has(code) == (unicodedata.category(chr(code)) == "Lu") for code in range(0x1C00))


@fast
def test_sets_are_counted_once() -> None:
    assert len(sets([parse(r"a+b|b+a(?!\s)"), parse("a")])) == 3


@fast
@pytest.mark.parametrize(
    "expression",
    [r"a(?:b|c)?d", r"a(?:b*)?", r"a(?=b)", r"a.b", r"(a)", r"a(?:b|c)", r"a++", r"a+?", r"^a", r"a$", r"\w+", r"[a",
     r"a(?!b)c", r"(?!a", r"\p{Latin}", r"[[a]b]", r"a{3,2}", r"a{300}", "\\", r"(?<=a)b", r"[a-\s]"],
)  # fmt: skip
def test_what_is_not_known_is_refused(expression: str) -> None:
    with pytest.raises(Refusal, match="something that is not supported"):
        parse(expression)


@fast
def test_a_pattern_matches_something() -> None:
    with pytest.raises(Refusal, match="matches nothing at all"):
        parse("a*|b")
