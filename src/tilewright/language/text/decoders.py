"""How `tokenizer.json` says that tokens become text again, as what a token stands for and what a text's start loses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from tilewright.errors import Refusal
from tilewright.language.text.byte_level import bytes_of
from tilewright.language.text.tokenizer import Start
from tilewright.records import dataclass

KNOWN = (
    "ByteLevel; Metaspace; or a Sequence of Replace (of a text), ByteFallback, Fuse "
    "and Strip (of spaces at the start), in this order"
)
ORDER = ("Replace", "Metaspace", "ByteFallback", "Fuse", "Strip")
BYTE = re.compile("<0x([0-9A-Fa-f]{2})>")


@dataclass(frozen=True)
class Decoding:
    is_byte_level: bool = False
    replaced: tuple[tuple[str, str], ...] = ()
    has_bytes: bool = False
    is_fused: bool = False
    start: Start = Start.SPACES
    dropped_spaces: int = 0

    def piece(self, text: str) -> bytes:
        """What a token stands for."""
        if self.is_byte_level:
            raw = bytes_of(text)
            return text.encode() if raw is None else raw
        for old, new in self.replaced:
            text = text.replace(old, new)
        byte = BYTE.fullmatch(text) if self.has_bytes else None
        return text.encode() if byte is None else bytes([int(byte[1], 16)])

    def byte_tokens(self, vocabulary: Mapping[str, int]) -> frozenset[int]:
        named: Iterable[str] = vocabulary if self.has_bytes else ()
        return frozenset(vocabulary[text] for text in named if BYTE.fullmatch(text))


def decoding(part: Mapping[str, Any] | None) -> Decoding:
    steps = _steps(part)
    if [step.get("type") for step in steps] == ["ByteLevel"]:
        return Decoding(is_byte_level=True)
    found, place = Decoding(), 0
    for step in steps:
        name = step.get("type")
        if name not in ORDER or ORDER.index(name) < place:
            raise _unsupported(step)
        found, place = _with(found, step), ORDER.index(name)
    if not steps:
        raise Refusal("it has no decoder", f"supported are {KNOWN}")
    return found


def _steps(part: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    if part is None:
        return []
    return [step for one in part["decoders"] for step in _steps(one)] if part.get("type") == "Sequence" else [part]


def _with(found: Decoding, step: Mapping[str, Any]) -> Decoding:
    kind = step["type"]
    if kind == "Replace" and list(step["pattern"]) == ["String"]:
        return replace(found, replaced=(*found.replaced, (step["pattern"]["String"], step["content"])))
    if kind == "Metaspace":
        drops = step.get("prepend_scheme", "always") != "never" and step.get("add_prefix_space", True)
        start = Start.FIRST_TOKEN if drops else Start.SPACES
        return replace(found, replaced=(*found.replaced, (step["replacement"], " ")), start=start)
    if kind == "ByteFallback":
        return replace(found, has_bytes=True)
    if kind == "Fuse":
        return replace(found, is_fused=True)
    # Before all tokens are one text, each of them would lose its spaces.
    if kind == "Strip" and found.is_fused and step["content"] == " " and step["stop"] == 0:
        return replace(found, dropped_spaces=int(step["start"]))
    raise _unsupported(step)


def _unsupported(step: Mapping[str, Any]) -> Refusal:
    return Refusal(f"its decoder {json.dumps(step)} is not supported at its place", f"supported are {KNOWN}")
