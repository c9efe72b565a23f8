"""Tokenizers in Python and in C give the tokens and the text that the package `tokenizers` gives."""

from __future__ import annotations

import json
import random
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.tokenizer_in_c import InC
from tests.support.tokenizers_made import MADE, TEXTS, made, ours, package, theirs
from tilewright.errors import InternalError
from tilewright.language.text import tokenizer_json
from tilewright.language.text.tokenizer import Tokenizer, merged
from tilewright.language.text.tokenizer_file import load_tokenizer
from tilewright.language.text.tokenizer_tables import tokenizer_files

STORIES = Path(__file__).parents[3] / "examples" / "stories"
"""A trained model with its tokenizer."""

SOME_TEXT = st.lists(
    st.one_of(
        st.sampled_from(
            ["tool", "<s>", "</s>", "<|end|>", "<mask>", " ", "  ", "\n", "'s", "'LL", "\u2581", "12", "\r"]
        ),
        st.text(max_size=6),
        st.characters(codec="utf-8"),
        st.sampled_from(
            "e\u0301\u0323\u030a\u1100\u1161\u11a8\uac00\u0e33\U0001f468\u200d\u00e9\u1e69\u0345\u0b47\u0b3e"
        ),
    ),
    max_size=16,
).map("".join)
"""Pieces that a tokenizer treats in their own ways, and any others between them."""

_IN_C: dict[str, InC] = {}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tokenizers")


def in_c(name: str, folder: Path) -> InC:
    package()
    if name not in _IN_C:
        _IN_C[name] = InC(ours(name), folder / str(len(_IN_C)))
    return _IN_C[name]


def check(name: str, text: str, c: InC) -> None:
    """Tokens of a text, and texts of those tokens in several orders."""
    wanted = theirs(name).encode(text).ids
    assert ours(name).encode(text) == wanted
    assert c.encode(text.encode()) == wanted
    assert c.encode(text.encode(), special=False) == theirs(name).encode(text, add_special_tokens=False).ids
    for tokens in (wanted, wanted[1:], wanted[::-1], [*wanted, 5, *wanted]):
        assert ours(name).decode(tokens) == theirs(name).decode(tokens)
        assert c.decode(tokens) == ours(name).decode_bytes(tokens)


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("name", MADE)
def test_tokens_are_those_of_the_package(name: str, folder: Path) -> None:
    c = in_c(name, folder)
    for text in TEXTS:
        check(name, text, c)


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("name", ["gpt2", "llama3 whole words", "o200k", "qwen2", "sentence piece", "metaspace first"])
def test_tokens_of_any_text(name: str, folder: Path) -> None:
    c = in_c(name, folder)

    @given(SOME_TEXT)
    def property_(text: str) -> None:
        check(name, text, c)

    property_()


@pytest.mark.parametrize("name", ["gpt2", "sentence piece", "sentence piece without bytes", "metaspace always"])
def test_text_of_any_tokens(name: str, folder: Path) -> None:
    """Bytes in C are those that make the package's text, which shows what is not UTF-8 by replacement characters."""
    c, size = in_c(name, folder), ours(name).vocabulary
    draws = random.Random(4)
    for length in [*range(12)] * 10:
        tokens = [draws.randrange(size) for _ in range(length)]
        text, raw = theirs(name).decode(tokens), c.decode(tokens)
        assert ours(name).decode(tokens) == text
        assert raw == ours(name).decode_bytes(tokens)
        assert "\ufffd" in text or raw == text.encode()


@pytest.mark.parametrize("name", ["gpt2", "qwen2", "sentence piece", "sentence piece without bytes"])
def test_bytes_that_are_not_text(name: str, folder: Path) -> None:
    """They become tokens of bytes where there are such, come back as they are, and C does what Python does."""
    c, draws = in_c(name, folder), random.Random(3)
    cases = [
        b"\xff",
        b"a\x80b",
        b"\xe2\x82",
        b"\xf0\x9f\x98 x",
        b"\xc0\xaf",
        b"\xed\xa0\x80",
        b"\xf5\x80\x80\x80",
        b"\xf4\x90\x80\x80",
    ]
    cases += [
        bytes(draws.choice(b"ab \n\xc3\xa9\xe2\x82\xacz\xf0\x9f\x98\x80\xcc\x81") for _ in range(12))
        for _ in range(300)
    ]
    for raw in cases:
        assert c.encode(raw) == ours(name).encode(raw)
        assert c.invalid_byte(raw) == _invalid_byte(raw)
        if name in ("gpt2", "sentence piece"):
            assert c.decode(c.encode(raw)) == raw


def _invalid_byte(raw: bytes) -> int:
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return error.start
    return len(raw)


@pytest.mark.in_turns(5)
def test_composition_of_every_character(folder: Path) -> None:
    """Form C in C is Unicode's, of every character that changes something, between others that may join it."""
    c = in_c("qwen2", folder)
    codes = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000 and _takes_part(chr(code))]
    assert len(codes) > 13000
    for start in range(0, len(codes), 4096):
        text = "".join(f"a{chr(code)}\u0323\u0301" for code in codes[start : start + 4096])
        assert c.decode(c.encode(text.encode())) == unicodedata.normalize("NFC", text).encode()


def _takes_part(character: str) -> bool:
    """Characters with parts, marks, a third of Hangul, and some others."""
    has_parts = bool(unicodedata.decomposition(character) or unicodedata.combining(character))
    is_hangul = "\u1100" <= character < "\u1200" or ("\uac00" <= character < "\ud7a4" and ord(character) % 3 == 0)
    return has_parts or is_hangul or ord(character) % 311 == 0


def test_long_words_take_little_time(folder: Path) -> None:
    """A word of 200,000 characters: where every merge looked at all pairs, that would take hours."""
    for name in ("gpt2", "sentence piece across words"):
        text = "the tile of l1 " * 13000
        text = text.replace(" ", "") if name == "gpt2" else text
        assert in_c(name, folder).encode(text.encode()) == theirs(name).encode(text).ids


def test_what_does_not_fit_is_said(folder: Path) -> None:
    c = in_c("gpt2", folder)
    text = b"Once upon a time, there was a little girl."
    tokens = c.encode(text)
    assert c.try_encode(text, most=len(tokens)) == (len(tokens), tokens)
    assert c.try_encode(text, most=len(tokens) - 1)[0] == -1
    assert c.try_encode(text, scratch=c.scratch_words(len(text)))[1] == tokens
    # Words of up to seven letters and a space need no more than this.
    assert c.try_encode(text, scratch=len(text) + 2 + 5 * 8)[1] == tokens
    assert c.try_encode(text, scratch=len(text) + 2 + 5 * 5)[0] == -2
    assert c.try_encode(text, scratch=len(text))[0] == -2


def test_words_are_bounded_where_no_token_crosses_them() -> None:
    package()
    assert len(ours("sentence piece").words.splits) == 1
    assert ours("sentence piece across words").words.splits == ()


def test_special_tokens_by_name() -> None:
    package()
    assert ours("sentence piece").token("</s>") == 2
    assert ours("sentence piece").token("nothing") is None
    assert {1, 2} < ours("sentence piece").special


def test_merges_go_by_rank_then_from_the_left() -> None:
    assert merged([1, 1, 1], {(1, 1): (0, 2)}) == [2, 1]
    assert merged([1, 2, 3], {(1, 2): (1, 4), (2, 3): (0, 5)}) == [1, 5]
    assert merged([1, 1, 1, 1, 1], {(1, 1): (3, 2), (2, 2): (1, 3)}) == [3, 1]


@pytest.mark.in_turns(3)
def test_tables_are_wide_where_numbers_are(folder: Path) -> None:
    """A vocabulary of more than 65,536 tokens."""
    count = 70000
    pieces = tuple(bytes([i]) for i in range(256)) + tuple(b"%05d" % i for i in range(count))
    merges = {(48 + i % 10, 256 + i): (i, 256 + (i * 7919) % count) for i in range(count)}
    tokenizer = Tokenizer(pieces, {}, tuple(range(256)), {**merges, (49, 50): (count, 256 + 1)})
    assert InC(tokenizer, folder / "wide").encode(b"3112") == tokenizer.encode(b"3112")
    assert tokenizer.encode(b"112")[-1] == 256 + 7919


def test_the_tokenizer_of_a_trained_model(folder: Path) -> None:
    file = STORIES / "model" / "tokenizer.json"
    tokenizer, package_s = load_tokenizer(file.parent), package().Tokenizer.from_file(str(file))
    c = InC(tokenizer, folder / "stories")
    story = (STORIES / "evaluation.txt").read_text()[:20000]
    for text in [*TEXTS, story]:
        wanted = package_s.encode(text).ids
        assert tokenizer.encode(text) == wanted
        assert c.encode(text.encode()) == wanted
        assert tokenizer.decode(wanted) == package_s.decode(wanted)
        assert c.decode(wanted) == tokenizer.decode_bytes(wanted)


def test_files_that_name_merges_as_text() -> None:
    """As files of some years ago do."""
    package()
    file = json.loads(made("gpt2"))
    file["model"]["merges"] = [" ".join(pair) for pair in file["model"]["merges"]]
    assert tokenizer_json.read(json.dumps(file).encode(), "old") == ours("gpt2")


def test_names_are_names_in_c() -> None:
    with pytest.raises(InternalError, match="is no name in C"):
        tokenizer_files(Tokenizer((b"a",), {"a": 0}, (), {}), "a/b")
    assert "a_tokenizer.c" in tokenizer_files(Tokenizer((b"a",), {"a": 0}, (), {}), "a")
