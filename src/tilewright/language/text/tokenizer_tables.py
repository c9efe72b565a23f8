"""A tokenizer's tables as constant C, and the C that reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from tilewright.codegen.literals import C_TYPES, array_items
from tilewright.errors import CompileError, InternalError
from tilewright.ir.types import Array
from tilewright.language.text.character_classes import LAST, Characters, whitespace
from tilewright.language.text.composition import composition
from tilewright.language.text.patterns import Alternative, sets
from tilewright.language.text.tokenizer import AddedToken, Start, Tokenizer

FOLDER = Path(__file__).parent
SOURCES = (
    "tokenizer.c", "tokenizer_utf8.c", "tokenizer_words.c", "tokenizer_merges.c", "tokenizer_compose.c",
)  # fmt: skip
HEADERS = ("tokenizer.h", "tokenizer_parts.h")

WHITESPACE, NO_SET = 31, 255
"""Bit of whitespace among the sets of characters; and what stands for no set."""
MOST_SETS, MOST_ITEMS, MOST_SPLITS, MOST_ROWS = 31, 16, 8, 256
"""What the C has room for."""


def tokenizer_files(tokenizer: Tokenizer, prefix: str) -> dict[str, str]:
    """Every file of a tokenizer in C: `<prefix>_tokenizer` is its name there; a prefix is a C identifier."""
    if not (prefix.isascii() and prefix.isidentifier()):
        raise InternalError("tokenizer", f"{prefix!r} is no name in C")
    own = {name: (FOLDER / name).read_text() for name in (*HEADERS, *SOURCES)}
    return {
        **own,
        f"{prefix}_tokenizer.h": _header(tokenizer, prefix),
        f"{prefix}_tokenizer.c": _Tables(tokenizer).source(prefix),
    }


def _header(tokenizer: Tokenizer, prefix: str) -> str:
    name = prefix.upper()
    longest = max(map(len, tokenizer.pieces))
    return f"""/* The tokenizer of {prefix}: {tokenizer.vocabulary} tokens, {len(tokenizer.merges)} merges. */
#ifndef {name}_TOKENIZER_H
#define {name}_TOKENIZER_H

#include "tokenizer.h"

#define {name}_LONGEST_PIECE {longest} /* bytes that one token may add to a text */

extern const tw_tokenizer {prefix}_tokenizer;

#endif
"""


class _Tables:
    """The arrays of a tokenizer and the struct that points to them, in the order in which they are asked for."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.arrays: list[str] = []
        self.fields: list[str] = []
        self.sets = _checked_sets(tokenizer)

    def source(self, prefix: str) -> str:
        self._vocabulary()
        self._symbols()
        self._merges()
        self._whole_words()
        self._added()
        self._normaliser()
        self._sets()
        self._splits()
        self._ends()
        fields = "\n".join(f"    .{field}," for field in self.fields)
        head = f'/* Tables of the tokenizer: tokens, merges, characters. */\n#include "{prefix}_tokenizer.h"\n'
        return "\n".join([head, *self.arrays, f"const tw_tokenizer {prefix}_tokenizer = {{\n{fields}\n}};\n"])

    def _field(self, name: str, value: object) -> None:
        self.fields.append(f"{name} = {value}")

    def _array(self, name: str, values: Array, field: str = "", remark: str = "") -> None:
        """A constant array, and the field that points to it; one that is empty has an element that nobody reads."""
        filled = values if values.size else np.zeros(1, values.dtype)
        said = f"/* {remark} */\n" if remark else ""
        c_type = C_TYPES[values.dtype.name]
        self.arrays.append(f"{said}static const {c_type} {name}[{filled.size}] = {{\n    {array_items(filled)}\n}};\n")
        self._field(field or name, name)

    def _numbers(self, name: str, values: Iterable[int], remark: str = "") -> None:
        self._array(name, np.array(list(values), np.uint32), remark=remark)

    def _tokens(self, name: str, values: Iterable[int], remark: str = "") -> None:
        self._array(name, np.array(list(values), np.int32), remark=remark)

    def _vocabulary(self) -> None:
        t = self.tokenizer
        self._field("vocabulary", t.vocabulary)
        self._field("unknown", t.unknown)
        self._field("fuses_unknown", int(t.fuses_unknown))
        self._numbers("piece_starts", _starts(t.pieces), "where each token's text begins")
        lines = "\n".join(_piece_lines(t.pieces)) or "    0"
        self.arrays.append(f"static const uint8_t pieces[] = {{\n{lines}\n}};\n")
        self._field("pieces", "pieces")
        self._tokens("special", sorted(t.special))
        self._field("special_count", len(t.special))

    def _symbols(self) -> None:
        t = self.tokenizer
        known = sorted((ord(character), token) for character, token in t.characters.items())
        self._numbers("characters", (code for code, _ in known), "characters that have a token")
        self._tokens("character_tokens", (token for _, token in known))
        self._field("character_count", len(known))
        if t.bytes_:
            self._tokens("bytes", t.bytes_, "tokens of bytes")

    def _merges(self) -> None:
        t = self.tokenizer
        found = sorted((left, right, rank, made) for (left, right), (rank, made) in t.merges.items())
        lefts, rights, ranks, made = np.array(found, np.int64).reshape(-1, 4).T
        starts = np.searchsorted(lefts, np.arange(t.vocabulary + 1))
        is_wide = max(t.vocabulary, len(found), int(ranks.max(initial=0))) > 0xFFFF
        kind = np.uint32 if is_wide else np.uint16
        self._array("merge_starts", starts.astype(kind), remark="merges by their left token")
        self._array("merge_rights", rights.astype(kind), remark="of each, their right tokens in order")
        self._array("merge_ranks", ranks.astype(kind), remark="the lowest goes first")
        first = int(made[0] - ranks[0]) if len(found) else 0
        if first >= 0 and bool(np.all(made - ranks == first)):
            self._field("merge_results", "0")
        else:
            self._array("merge_results", made.astype(kind), remark="what they give")
        self._field("first_result", max(first, 0))
        self._field("wide", int(is_wide))

    def _whole_words(self) -> None:
        words = sorted((tuple(map(ord, word)), token) for word, token in self.tokenizer.whole_words.items())
        self._numbers("whole_starts", _starts([word for word, _ in words]), "words that are a token without merges")
        self._numbers("whole_text", (code for word, _ in words for code in word))
        self._tokens("whole_tokens", (token for _, token in words))
        self._field("whole_count", len(words))

    def _added(self) -> None:
        t = self.tokenizer
        raw = [one for one in t.added if not one.is_normalised and one.text]
        normalised = [one for one in t.normalised_added() if one.text]
        self._numbers("added_text", (ord(c) for one in (*_by_length(raw), *_by_length(normalised)) for c in one.text))
        self._added_list("added", _by_length(raw), 0)
        self._added_list("added_normalised", _by_length(normalised), sum(len(one.text) for one in raw))

    def _added_list(self, name: str, tokens: Sequence[AddedToken], start: int) -> None:
        rows = []
        for one in tokens:
            strips = int(one.strips_left) + 2 * int(one.strips_right)
            rows.append(f"    {{{one.token}, {start}, {len(one.text)}, {strips}}},")
            start += len(one.text)
        body = "\n".join(rows) or "    {0, 0, 0, 0},"
        self.arrays.append(f"static const tw_added {name}_tokens[] = {{\n{body}\n}};\n")
        bits = 0
        for one in tokens:
            bits |= 1 << (ord(one.text[0]) % 32)
        self._field(name, f"{{{name}_tokens, {len(tokens)}, 0x{bits:x}u}}")

    def _normaliser(self) -> None:
        t = self.tokenizer
        if t.normaliser.nfc:
            self.arrays.append(_composition())
            self._field("composition", "&composition")
        self._field("normal_prefix", _code(t.normaliser.prefix))
        self._field("normal_space", _code(t.normaliser.space))
        self._field("word_prefix", _code(t.words.prefix))
        self._field("word_space", _code(t.words.space))
        self._field("word_scheme", int(t.words.scheme))

    def _sets(self) -> None:
        rows: dict[int, int] = {}
        ranges = [start << 8 | rows.setdefault(row, len(rows)) for start, row in _rows(self.sets)]
        if len(rows) > MOST_ROWS:
            raise CompileError(
                "tokenizer", f"its patterns tell {len(rows)} kinds of characters apart", "use fewer sets"
            )
        self._numbers("set_ranges", ranges, "character << 8 | row of set_rows, from this character on")
        self._field("set_range_count", len(ranges))
        self._numbers("set_rows", rows, "a bit for each set")

    def _splits(self) -> None:
        """Alternatives of all splits, then those that may follow them."""
        splits = self.tokenizer.words.splits
        main = [one for split in splits for one in split.pattern.alternatives]
        everything = [*main, *(tail for one in main for tail in one.tails)]
        items = [item for one in everything for item in one.items]
        if max(len(items), len(everything)) > NO_SET:
            raise CompileError(
                "tokenizer", f"its patterns have {len(items)} items, more than {NO_SET}", "simplify them"
            )
        self._rows("items", "tw_item", [f"{self.sets.index(i.characters)}, {i.least}, {i.most}" for i in items])
        self._rows("alternatives", "tw_alternative", self._alternatives(everything, len(main)))
        firsts = _starts([split.pattern.alternatives for split in splits])
        rows = zip(firsts, splits, strict=False)
        counted = [f"{first}, {len(one.pattern.alternatives)}, {int(one.behaviour)}" for first, one in rows]
        self._rows("splits", "tw_split", counted)
        self._field("split_count", len(splits))

    def _alternatives(self, everything: Sequence[Alternative], tail: int) -> Iterator[str]:
        first = 0
        for one in everything:
            barred = NO_SET if one.barred is None else self.sets.index(one.barred)
            yield f"{first}, {len(one.items)}, {barred}, {tail}, {len(one.tails)}"
            first, tail = first + len(one.items), tail + len(one.tails)

    def _rows(self, name: str, kind: str, rows: Iterable[str]) -> None:
        body = ",\n    ".join(f"{{{row}}}" for row in rows) or "{0}"
        self.arrays.append(f"static const {kind} {name}[] = {{\n    {body}\n}};\n")
        self._field(name, name)

    def _ends(self) -> None:
        t = self.tokenizer
        self._tokens("prefix", t.prefix)
        self._tokens("suffix", t.suffix)
        self._field("prefix_count", len(t.prefix))
        self._field("suffix_count", len(t.suffix))
        self._field("dropped_spaces", -1 if t.start == Start.FIRST_TOKEN else t.dropped_spaces)


def _checked_sets(tokenizer: Tokenizer) -> list[Characters]:
    splits = tokenizer.words.splits
    found = sets(split.pattern for split in splits)
    longest = max((len(one.items) for one in _alternatives(tokenizer)), default=0)
    for what, count, most in (
        ("sets of characters in its patterns", len(found), MOST_SETS),
        ("splits", len(splits), MOST_SPLITS),
        ("items in an alternative of its patterns", longest, MOST_ITEMS),
    ):
        if count > most:
            raise CompileError("tokenizer", f"has {count} {what}, more than {most}", "simplify its pre_tokenizer")
    return found


def _alternatives(tokenizer: Tokenizer) -> Iterator[Alternative]:
    main = (one for split in tokenizer.words.splits for one in split.pattern.alternatives)
    return (each for one in main for each in (one, *one.tails))


def _rows(found: Sequence[Characters]) -> Iterator[tuple[int, int]]:
    """From which character on which sets have it, as bits."""
    numbered = [*enumerate(found), (WHITESPACE, whitespace())]
    before = -1
    for start in sorted({0, *(bound for _, one in numbered for bound in one.bounds if bound <= LAST)}):
        row = sum(1 << bit for bit, one in numbered if one.has(start))
        if row != before:
            yield start, row
        before = row


def _composition() -> str:
    tables = composition()
    lines = [
        _static(f"composition_{name}", values)
        for name, values in (
            ("code", tables.codes), ("first", tables.firsts), ("second", tables.seconds), ("composed", tables.composed),
            ("classes", tables.classes),
        )
    ]  # fmt: skip
    struct = (
        "static const tw_composition composition = {\n"
        "    composition_code, composition_first, composition_second, composition_composed, composition_classes,\n"
        f"    {tables.codes.size}, {tables.composed.size}, {tables.classes.size}\n}};\n"
    )
    return "\n".join([*lines, struct])


def _static(name: str, values: Array) -> str:
    c_type = C_TYPES[values.dtype.name]
    return f"static const {c_type} {name}[{values.size}] = {{\n    {array_items(values)}\n}};\n"


def _starts(texts: Sequence[Sequence[object]]) -> list[int]:
    return [0, *np.cumsum([len(text) for text in texts], dtype=np.int64).tolist()]


def _by_length(tokens: Iterable[AddedToken]) -> list[AddedToken]:
    return sorted(tokens, key=lambda one: -len(one.text))


def _code(text: str) -> int:
    return ord(text) if text else 0


def _piece_lines(pieces: Sequence[bytes], per_line: int = 8) -> Iterator[str]:
    for first in range(0, len(pieces), per_line):
        shown = "  ".join("".join(f"{_byte(byte)}," for byte in piece) for piece in pieces[first : first + per_line])
        if shown.strip():
            yield f"    /* {first} */ {shown}".rstrip()


def _byte(byte: int) -> str:
    return f"'{chr(byte)}'" if 0x20 <= byte < 0x7F and byte not in b"'\\" else str(byte)
