"""C identifiers for tensors and layers. Names from a model are data: only letters, digits and underscores survive."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

KEYWORDS = frozenset({
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float",
    "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof",
    "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while",
    "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "uintptr_t", "main",
    "arena", "arena_memory", "memory", "params", "printf", "scratch",
})  # fmt: skip
"""Words and types of C, and names that the generated code uses for itself."""

OWN_PREFIX = "tw_"
"""Kernels and their types begin so; nothing from a model does."""


def identifier(text: str, fallback: str = "tensor") -> str:
    """The nearest legal C identifier, in lower case and not too long."""
    word = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_").lower()[:48].rstrip("_")
    if not word:
        word = fallback
    if word[0].isdigit() or word.startswith(OWN_PREFIX):
        word = f"{fallback}_{word}"
    return f"{word}_" if word in KEYWORDS else word


def unique(wanted: Mapping[str, str], taken: Iterable[str] = ()) -> dict[str, str]:
    """For each key an identifier of its own, near the text that it stands for."""
    used = set(taken)
    chosen = {}
    for name, text in wanted.items():
        base = word = identifier(text)
        number = 1
        while word in used:
            number += 1
            word = f"{base}_{number}"
        used.add(word)
        chosen[name] = word
    return chosen


def comment(text: str) -> str:
    """Text that cannot end a comment, continue a line or hold control characters."""
    safe = "".join(c if c.isprintable() and ord(c) < 127 else "?" for c in text).replace("\\", "|")
    return safe.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")[:100]
