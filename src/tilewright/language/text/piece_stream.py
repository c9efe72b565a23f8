"""The text of tokens as they come: what each adds to it, as `tw_tokenizer_decode` in C gives it."""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.language.text.tokenizer import Start, Tokenizer


class PieceStream:
    """One text, from its first token on. A character may be spread over tokens: pieces are bytes."""

    def __init__(self, tokenizer: Tokenizer, before: Iterable[int] = ()) -> None:
        """Behind tokens that were said already."""
        self._tokenizer = tokenizer
        self._is_first = True
        self._spaces = tokenizer.dropped_spaces
        """That are still dropped."""
        for token in before:
            self.piece(token)

    def piece(self, token: int) -> bytes:
        """What the next token adds; nothing where it is special, or no token at all."""
        known = self._tokenizer
        if not 0 <= token < len(known.pieces) or token in known.special:
            return b""
        piece, is_first = known.pieces[token], self._is_first
        self._is_first = False
        if known.start == Start.FIRST_TOKEN:
            return piece.replace(b" ", b"") if is_first else piece
        dropped = min(self._spaces, len(piece) - len(piece.lstrip(b" ")))
        self._spaces = self._spaces - dropped if dropped == len(piece) else 0
        return piece[dropped:]
