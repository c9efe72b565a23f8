"""A schema and a vocabulary together: which tokens may come next, as a text of the schema grows."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from typing import Any

import numpy as np

from tilewright.errors import CompileError
from tilewright.grammar.automaton import DEAD, START, Automaton
from tilewright.grammar.schema import schema_terms
from tilewright.grammar.vocabulary import Vocabulary
from tilewright.ir.types import Array

MOST_MASKS, MOST_SCHEMAS, LONGEST_SCHEMA = 2000, 16, 1 << 20
"""That are kept; and characters of a schema."""


class Schemas:
    """Of one vocabulary; those that were used last are kept with their masks.

    Texts may be begun by several threads; only one may be inside of texts.
    """

    def __init__(self, pieces: tuple[bytes, ...], first: Array | None = None) -> None:
        """`first`: tokens that a text may begin with, where that is not all of them."""
        self.pieces, self.first, self.vocabulary = pieces, first, Vocabulary(pieces)
        self._known: OrderedDict[str, _Masks] = OrderedDict()
        self._lock = threading.Lock()

    def texts(self, schema: Any, where: str = "JSON schema") -> JsonText:
        """A text that begins; CompileError for what is not supported of the schema."""
        return JsonText(self._masks(schema, where), self.pieces, self.first)

    def _masks(self, schema: Any, where: str) -> _Masks:
        key = self._key(schema, where)
        with self._lock:
            if key not in self._known:
                self._known[key] = _Masks(Automaton(*schema_terms(schema, where)), self.vocabulary)
            self._known.move_to_end(key)
            while len(self._known) > MOST_SCHEMAS:
                self._known.popitem(last=False)
            return self._known[key]

    def _key(self, schema: Any, where: str) -> str:
        try:
            key = json.dumps(schema, ensure_ascii=False, allow_nan=False)
            key.encode()  # Half a character in JSON's escapes is none.
        except (TypeError, ValueError, RecursionError) as error:
            raise CompileError(where, f"is no JSON: {error}", "give what json.loads gives") from None
        if len(key) > LONGEST_SCHEMA:
            raise CompileError(where, f"has {len(key)} characters", f"give at most {LONGEST_SCHEMA}")
        return key


class _Masks:
    """Of the states of an automaton, each made once and kept as bits."""

    def __init__(self, automaton: Automaton, vocabulary: Vocabulary) -> None:
        self.automaton, self.vocabulary = automaton, vocabulary
        self._kept: OrderedDict[int, Array] = OrderedDict()

    def of(self, state: int) -> Array:
        if state not in self._kept:
            self._kept[state] = np.packbits(self.vocabulary.allowed(self.automaton, state))
        self._kept.move_to_end(state)
        if len(self._kept) > MOST_MASKS:
            self._kept.popitem(last=False)
        return np.unpackbits(self._kept[state], count=self.vocabulary.size).view(bool)


class JsonText:
    """One text, token by token."""

    def __init__(self, masks: _Masks, pieces: tuple[bytes, ...], first: Array | None) -> None:
        self._masks, self._pieces, self._first = masks, pieces, first
        self._state = START
        self._has_begun = False

    def allowed(self) -> Array:
        found = self._masks.of(self._state)
        return found if self._has_begun or self._first is None else found & self._first

    def took(self, token: int) -> None:
        self._has_begun = True
        self._state = self._masks.automaton.after(self._state, self._pieces[token])
        if self._state == DEAD:
            raise CompileError("grammar", f"does not allow token {token} here", "choose one that is allowed")

    @property
    def may_end(self) -> bool:
        return self._masks.automaton.may_end(self._state)

    @property
    def must_end(self) -> bool:
        return self.may_end and self._masks.automaton.must_end(self._state)
