"""What a target is made of: plain data that the generic stages read. Generic code never names a target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.types import Array
from tilewright.passes import Pass
from tilewright.target.costs import Costs
from tilewright.target.kernel import (
    Kernel,
)


@dataclass(frozen=True, eq=False)
class Offer:
    """A node as an engine would compute it: with an operator of its own, and constants in the form that it wants."""

    op: Op
    inputs: tuple[str, ...]
    """Tensors of the graph and names in `constants`; the results are those of the node."""
    constants: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class Engine:
    """Something that runs kernels: a core, a cluster, an accelerator."""

    name: str
    kernels: tuple[Kernel, ...]
    offer: Callable[[Graph, Node], Offer] | None = None
    """What it makes of a node, or a `Refusal` that says why not; without it the kernels take nodes as they are."""


@dataclass(frozen=True)
class Memory:
    name: str
    bytes: int | None
    """None where the caller decides."""
    alignment: int = 16


@dataclass(frozen=True)
class Cluster:
    """Cores that share a small software-managed memory, which a DMA engine fills from a larger one."""

    cores: int
    l1: str
    """The memory that kernels work in."""
    l2: str
    """Where tensors live that do not fit there; cores reach it too, slowly."""
    l3: str
    """Where constants and activations go that do not fit the others. Cores do not reach it: constants are staged in the
    far memory, activations come and go through buffers there, tile by tile."""
    wmem: str
    """Where activations go that do not fit the far memory; the code lies there too."""
    wmem_reserved: int
    """Bytes of it for code, and stacks where the near memory is too small for them."""
    platform: str
    """The simulated SoC that programs for this target run on."""
    reserved: int
    """Bytes of the far memory for code, stacks of other cores and the program around the network."""
    state: int
    """Bytes of the near memory for the runtime's variables."""
    stack: int
    """Bytes of stack for each core beyond what kernels need."""
    dma_core: int
    """The number of the core that moves data and drives accelerators; it computes nothing."""


@dataclass(frozen=True)
class Target:
    name: str
    summary: str
    engines: tuple[Engine, ...]
    memories: tuple[Memory, ...]
    folder: Path
    """Where `kernels/` and `runtime/` lie."""
    fallback: Path | None = None
    """The folder of a target whose kernels this one also uses."""
    flags: tuple[str, ...] = ()
    """Compiler flags beyond the language standard."""
    libraries: tuple[str, ...] = ()
    cluster: Cluster | None = None
    """None where one core works in one memory."""
    costs: Costs = field(default_factory=Costs)
    stacks: Mapping[str, int] = field(default_factory=dict)
    """Bytes of stack that a call needs, by the kernel's stem."""
    passes: tuple[Pass, ...] = ()
    """Rewrites that bring a lowered graph into the form that the target's kernels want, in order."""

    def kernel_file(self, name: str) -> Path:
        """A source or header of the kernels."""
        own = self.folder / "kernels" / name
        return own if self.fallback is None or own.is_file() else self.fallback / "kernels" / name
