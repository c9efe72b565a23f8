"""Kernels that move elements, all cores together and a word at a time."""

from __future__ import annotations

from tilewright.ops.identity import Identity
from tilewright.target import Kernel
from tilewright.types import BYTES

ALL = frozenset(BYTES)

KERNELS = (
    Kernel(Identity, "identity_words.c", "X -> Y", {"X": ALL, "Y": ALL}, cooperative=True, header="unary.h"),
)  # fmt: skip
