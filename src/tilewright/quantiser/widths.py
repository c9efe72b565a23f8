"""How wide each layer computes: data, so that a decision about widths is a mapping and nothing else."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field
from difflib import get_close_matches

from tilewright.errors import CompileError, printable
from tilewright.records import dataclass

ACTIVATIONS = ("int8", "int16", "float32")
WEIGHT_BITS = range(2, 9)


@dataclass(frozen=True)
class Width:
    """Of one layer: the bits of its weights, and the type of its result."""

    weights: int = 8
    activations: str = "int8"

    def __post_init__(self) -> None:
        if self.weights not in WEIGHT_BITS:
            raise CompileError(f"weights of {self.weights} bits", "are not supported", "use 2 to 8")
        if self.activations not in ACTIVATIONS:
            raise CompileError(f"activations '{self.activations}'", "are unknown", f"use {', '.join(ACTIVATIONS)}")

    @property
    def is_float(self) -> bool:
        return self.activations == "float32"

    def __str__(self) -> str:
        return "float" if self.is_float else f"w{self.weights} {self.activations}"


EIGHT = Width()


@dataclass(frozen=True)
class Widths:
    """The width of every layer: one for all, and those that differ, by the names of layers or of their results."""

    default: Width = EIGHT
    layers: Mapping[str, Width] = field(default_factory=dict)

    def of(self, *names: str) -> Width:
        """The first of some names that has a width of its own decides."""
        return next((self.layers[name] for name in names if name in self.layers), self.default)

    def check(self, known: Collection[str]) -> None:
        """A width of something that the network does not have would change nothing, without a word."""
        for name, width in self.layers.items():
            if name not in known:
                close = get_close_matches(name, known, 3) or sorted(known)[:8]
                hint = f"for example {', '.join(map(printable, close))}; batch normalisations and the like are folded"
                raise CompileError(f"width {width} of '{printable(name)}'", "the network has no such layer", hint)


ALL_EIGHT = Widths()
