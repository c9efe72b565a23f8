"""A tokenizer as plain data, and what it means: text to tokens and back. `tokenizer.c` computes the same from the same.

Text is bytes. A byte that is no part of a character in UTF-8 counts as a character of its own, which is neither a
letter nor a digit nor a space.
"""

from __future__ import annotations

import heapq
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum, IntEnum
from functools import cached_property

from tilewright.errors import CompileError
from tilewright.language.text.character_classes import whitespace
from tilewright.language.text.patterns import Pattern
from tilewright.records import dataclass

Restored = Callable[[str], str]

NONE = -1
LONGEST_KNOWN, MOST_KNOWN = 32, 100_000
"""Characters of a word, and words, of which tokens are remembered."""


class Behaviour(IntEnum):
    """What becomes of what a pattern matches: a word of its own, nothing, or a part of the word before or behind."""

    ISOLATED = 0
    REMOVED = 1
    MERGED_WITH_PREVIOUS = 2
    MERGED_WITH_NEXT = 3


class Scheme(IntEnum):
    """Where a character is put in front of a piece of text that does not begin with a space."""

    NEVER = 0
    FIRST = 1
    ALWAYS = 2


class Start(Enum):
    """What a decoder drops at the start of a text: a number of spaces, or all spaces of the first token."""

    SPACES = "spaces"
    FIRST_TOKEN = "first token"


@dataclass(frozen=True)
class Split:
    pattern: Pattern
    behaviour: Behaviour = Behaviour.ISOLATED


@dataclass(frozen=True)
class AddedToken:
    """A token that is looked for in the text before anything else; `normalised` ones in the normalised text."""

    token: int
    text: str
    is_special: bool = False
    is_normalised: bool = False
    strips_left: bool = False
    strips_right: bool = False


@dataclass(frozen=True)
class Normaliser:
    """What happens to text between added tokens: NFC, a character in front, another character for each space."""

    nfc: bool = False
    prefix: str = ""
    space: str = ""

    def __call__(self, text: str) -> str:
        text = unicodedata.normalize("NFC", text) if self.nfc else text
        text = self.prefix + text if text else text
        return text.replace(" ", self.space) if self.space else text


@dataclass(frozen=True)
class Words:
    """How a piece of text is cut into words, which are then tokenised one by one."""

    scheme: Scheme = Scheme.NEVER
    prefix: str = ""
    space: str = ""
    splits: tuple[Split, ...] = ()

    def __call__(self, text: str, is_first: bool) -> Iterator[str]:
        text = text.replace(" ", self.space) if self.space else text
        wanted = self.scheme == Scheme.ALWAYS or (self.scheme == Scheme.FIRST and is_first)
        pieces = [self.prefix + text if wanted and text and not text.startswith(self.prefix) else text]
        for split in self.splits:
            pieces = [word for piece in pieces for word in _cut(split, piece)]
        return iter(pieces)


def _cut(split: Split, text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        end, is_kept = _next(split, text, at)
        if is_kept:
            yield text[at:end]
        at = end


def _next(split: Split, text: str, at: int) -> tuple[int, bool]:
    """Where the word that begins at a place ends, and whether it is one."""
    end = split.pattern.end(text, at)
    if end >= 0:
        is_joined = split.behaviour == Behaviour.MERGED_WITH_NEXT
        return split.pattern.start(text, end) if is_joined else end, split.behaviour != Behaviour.REMOVED
    end = split.pattern.start(text, at)
    if split.behaviour == Behaviour.MERGED_WITH_PREVIOUS and end < len(text):
        end = split.pattern.end(text, end)
    return end, True


@dataclass(frozen=True)
class Tokenizer:
    """Byte pair encoding: a word begins as one token per character or byte, and pairs are merged by rank."""

    pieces: tuple[bytes, ...]
    """What each token stands for in a text; empty where there is no such token."""
    characters: Mapping[str, int]
    """Tokens of single characters; none where words are bytes from the start."""
    bytes_: tuple[int, ...]
    """Tokens of bytes, for characters that have none; empty, or 256 of them."""
    merges: Mapping[tuple[int, int], tuple[int, int]]
    """(left, right) -> (rank, token). The lowest rank goes first, of equal ranks the leftmost."""
    unknown: int = NONE
    fuses_unknown: bool = False
    whole_words: Mapping[str, int] = field(default_factory=dict)
    """Words that are a token although merges do not lead to it."""
    added: tuple[AddedToken, ...] = ()
    normaliser: Normaliser = Normaliser()
    words: Words = Words()
    prefix: tuple[int, ...] = ()
    suffix: tuple[int, ...] = ()
    """Tokens before and behind every text."""
    start: Start = Start.SPACES
    dropped_spaces: int = 0
    """Spaces that are dropped at the start of a decoded text, where `start` is `SPACES`."""
    byte_runs: frozenset[int] = frozenset()
    """Tokens of bytes of which a run that is not UTF-8 is shown as a replacement character for each of them."""

    @property
    def vocabulary(self) -> int:
        """One more than the highest token."""
        return len(self.pieces)

    @cached_property
    def special(self) -> frozenset[int]:
        return frozenset(one.token for one in self.added if one.is_special)

    def token(self, text: str) -> int | None:
        """The added token of a text, such as `</s>`."""
        return next((one.token for one in self.added if one.text == text), None)

    def encode(self, text: str | bytes, add_special: bool = True, restored: Restored = str) -> list[int]:
        """Tokens of a text; bytes need not be valid UTF-8, a string must be.

        `restored` changes normalised text once added tokens were looked for: what it writes is never one of them.
        """
        found = [token for piece in self._parts(_characters(text), restored) for token in piece]
        return [*self.prefix, *found, *self.suffix] if add_special else found

    def _parts(self, text: str, restored: Restored) -> Iterator[Iterable[int]]:
        for part, is_first in _between(text, self._finder):
            if isinstance(part, AddedToken):
                yield (part.token,)
            else:
                yield from self._normalised_parts(self.normaliser(part), is_first, restored)

    def _normalised_parts(self, text: str, is_first: bool, restored: Restored) -> Iterator[Iterable[int]]:
        for part, is_start in _between(text, self._normalised_finder):
            if isinstance(part, AddedToken):
                yield (part.token,)
            else:
                yield from map(self._word, self.words(restored(part), is_first and is_start))

    @cached_property
    def _finder(self) -> Finder:
        return Finder({one.text: one for one in self.added if one.text and not one.is_normalised})

    @cached_property
    def _normalised_finder(self) -> Finder:
        return Finder({one.text: one for one in self.normalised_added() if one.text})

    def normalised_added(self) -> Iterator[AddedToken]:
        """Added tokens that are looked for in normalised text, as they look there."""
        for one in self.added:
            if one.is_normalised:
                yield AddedToken(
                    one.token, self.normaliser(one.text), one.is_special, True, one.strips_left, one.strips_right
                )

    @cached_property
    def _known_words(self) -> dict[str, list[int]]:
        """Words come again and again."""
        return {word: [token] for word, token in self.whole_words.items()}

    def _word(self, word: str) -> list[int]:
        found = self._known_words.get(word)
        if found is None:
            found = merged(list(self.symbols(word)), self.merges)
            if len(word) <= LONGEST_KNOWN and len(self._known_words) < MOST_KNOWN:
                self._known_words[word] = found
        return found

    def symbols(self, word: str) -> Iterator[int]:
        """What a word begins as."""
        was_unknown = False
        for character in word:
            found = self._symbol(character)
            is_unknown = found == [self.unknown]
            if not (is_unknown and was_unknown and self.fuses_unknown):
                yield from (token for token in found if token != NONE)
            was_unknown = is_unknown

    def _symbol(self, character: str) -> list[int]:
        token = self.characters.get(character)
        if token is not None:
            return [token]
        if not self.bytes_:
            return [self.unknown]
        return [self.bytes_[byte] for byte in _bytes(character)]

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """The text of tokens; special ones and those that do not exist stand for nothing."""
        shown = [t for t in tokens if 0 <= t < len(self.pieces) and t not in self.special]
        pieces = [self.pieces[token] for token in shown]
        if self.start == Start.FIRST_TOKEN:
            return b"".join([*(piece.replace(b" ", b"") for piece in pieces[:1]), *pieces[1:]])
        return self._without_spaces(b"".join(pieces))

    def _without_spaces(self, text: bytes) -> bytes:
        spaces = len(text) - len(text.lstrip(b" "))
        return text[min(spaces, self.dropped_spaces) :]

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens, with replacement characters for what is not UTF-8."""
        if not self.byte_runs:
            return self.decode_bytes(tokens).decode("utf-8", "replace")
        text = "".join(_shown(run) for run in self._runs(tokens)).encode()
        return (self._without_spaces(text) if self.start == Start.SPACES else text).decode()

    def _runs(self, tokens: Sequence[int]) -> Iterator[tuple[bool, bytes]]:
        """Texts of tokens, those of bytes in a row together; and whether they are bytes."""
        run, is_first = b"", True
        for token in tokens:
            if token in self.special or not 0 <= token < len(self.pieces):
                continue
            if token in self.byte_runs:
                run += self.pieces[token]
            else:
                yield True, run
                run = b""
                drops = is_first and self.start == Start.FIRST_TOKEN
                yield False, self.pieces[token].replace(b" ", b"") if drops else self.pieces[token]
            is_first = False
        yield True, run


def _shown(run: tuple[bool, bytes]) -> str:
    is_bytes, text = run
    try:
        return text.decode()
    except UnicodeDecodeError:
        return "\ufffd" * len(text) if is_bytes else text.decode("utf-8", "replace")


def merged(symbols: list[int], merges: Mapping[tuple[int, int], tuple[int, int]]) -> list[int]:
    """Symbols after all merges: always the pair of the lowest rank, the leftmost of them."""
    following = list(range(1, len(symbols) + 1))
    previous = list(range(-1, len(symbols) - 1))
    waiting: list[tuple[int, int, int, int]] = []

    def note(left: int) -> None:
        right = following[left] if left >= 0 else len(symbols)
        pair = (symbols[left], symbols[right]) if right < len(symbols) else (NONE, NONE)
        if pair in merges:
            heapq.heappush(waiting, (merges[pair][0], left, *pair))

    for place in range(len(symbols) - 1):
        note(place)
    while waiting:
        _, left, *pair = heapq.heappop(waiting)
        right = following[left]
        if right == len(symbols) or [symbols[left], symbols[right]] != pair:
            continue
        symbols[left], symbols[right] = merges[pair[0], pair[1]][1], NONE
        following[left] = following[right]
        if following[left] < len(symbols):
            previous[following[left]] = left
        note(previous[left])
        note(left)
    return [symbol for symbol in symbols if symbol != NONE]


class Finder:
    """Looks for tokens in a text; at each place the longest one wins."""

    def __init__(self, tokens: Mapping[str, AddedToken]) -> None:
        self.tokens = tokens
        longest_first = sorted(tokens, key=len, reverse=True)
        self.expression = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")

    def __call__(self, text: str) -> Iterator[tuple[AddedToken, int]]:
        return ((self.tokens[found[0]], found.start()) for found in self.expression.finditer(text))


def _between(text: str, finder: Finder) -> Iterator[tuple[AddedToken | str, bool]]:
    """Added tokens and the text between them, and whether it is the start."""
    done = 0
    for found, at in finder(text):
        start, end = _stripped(text, found, done, at)
        if done < start:
            yield text[done:start], done == 0
        yield found, start == 0
        done = end
    if done < len(text):
        yield text[done:], done == 0


def _stripped(text: str, token: AddedToken, done: int, at: int) -> tuple[int, int]:
    """Where a token begins and ends with the whitespace that belongs to it."""
    start, end, spaces = at, at + len(token.text), whitespace()
    while token.strips_left and start > done and text[start - 1] in spaces:
        start -= 1
    while token.strips_right and end < len(text) and text[end] in spaces:
        end += 1
    return start, end


def _characters(text: str | bytes) -> str:
    if isinstance(text, bytes):
        return text.decode("utf-8", "surrogateescape")
    place = next((i for i, c in enumerate(text) if 0xD800 <= ord(c) < 0xE000), None)
    if place is not None:
        raise CompileError(
            "prompt",
            f"its character {place + 1} of {len(text)} is not valid Unicode: {text[place]!a}",
            "give text in UTF-8; Tokenizer.encode also takes bytes as they are",
        )
    return text


def _bytes(character: str) -> bytes:
    return character.encode("utf-8", "surrogateescape")
