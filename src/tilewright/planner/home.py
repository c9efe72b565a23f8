"""Where a tensor lives."""

from __future__ import annotations

from tilewright.records import dataclass

ARENA, CONSTANT, INPUT, OUTPUT = "arena", "constant", "input", "output"
"""Whose bytes they are: a memory's arena, the network's constants, or the caller's."""

COPY = "copy"
"""Of a constant that a program copies when it starts, to the memory that kernels read it in."""

STATE = "state"
"""The role of tensors whose bytes an arena keeps between calls."""


@dataclass(frozen=True)
class Home:
    kind: str
    """arena, constant, copy, input or output."""
    owner: str
    """The tensor whose bytes it uses: itself, what it is a view of, or what it is computed in the place of."""
    memory: str = ""
    """The name of the memory; empty where the caller of a network decides."""
    offset: int = 0
    """Bytes from the start of the memory's arena."""

    def __str__(self) -> str:
        if self.kind == ARENA:
            return f"{self.memory}+{self.offset}"
        return f"{self.memory} {self.kind}" if self.kind in (CONSTANT, COPY) and self.memory else self.kind

    def is_in(self, memory: str) -> bool:
        """Whether it is in a memory's arena."""
        return self.kind == ARENA and self.memory == memory
