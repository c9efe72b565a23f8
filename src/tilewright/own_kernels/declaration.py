"""What a folder of kernels declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op
from tilewright.records import dataclass
from tilewright.target.kernel import Kernel
from tilewright.target.target import Offer


@dataclass(frozen=True)
class Library:
    """C of somebody else's that kernels call: what they need of it is copied into the output folder."""

    path: str | Path
    """Where it lies."""
    sources: tuple[str, ...] = ("**/*.c",)
    """Patterns of files below that."""
    includes: tuple[str, ...] = (".",)
    """Folders below it that kernels find headers in: `#include <name.h>`."""
    licences: tuple[str, ...] = ("LICENSE*", "LICENCE*", "COPYING*", "NOTICE*")
    """Patterns of what has to go with every copy."""


@dataclass(frozen=True)
class OwnKernels:
    kernels: Sequence[Kernel]
    """The first that takes a node is preferred, and all of them to the target's own."""
    name: str = ""
    """As `--engines` and tables call them; the folder's name without it."""
    forms: Callable[[Graph, Node], Sequence[Offer]] | None = None
    """Other forms in which kernels take nodes, with constants arranged for them."""
    refused: Mapping[type[Op], str] = field(default_factory=dict)
    """Why operators have no kernel here, for `analyze --explain`."""
    layout: str = ""
    """channels_last or channels_second: what convolutions and pools get; empty for the target's own choice."""
    library: Library | None = None
    flags: tuple[str, ...] = ()
    """For the compiler, when it compiles these kernels and the library."""
    every_product: bool = False
    """Kernels compute each product of an operator, by instructions of the target's core: its peak rate bounds them. Not
    those that leave out zeros or compute products of sums; without it, what they could compute counts as nothing."""
