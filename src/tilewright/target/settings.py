"""What a user may ask of a target."""

from __future__ import annotations

from dataclasses import dataclass

CYCLES, RAM = "cycles", "ram"
GOALS = (CYCLES, RAM)
"""What a network may be compiled for first."""


@dataclass(frozen=True)
class Settings:
    """What a user may ask of a target: of one with a cluster, but for what is said to be a board's."""

    cores: int | None = None
    l1: int | None = None
    l2: int | None = None
    home: str = ""
    """The memory that constants live in; empty for L2, and the weight memory or L3 for what L2 does not hold."""
    buffering: str = "auto"
    """single, double or auto."""
    engines: tuple[str, ...] = ()
    time_limit: float = 10.0
    weight_memory: bool = True
    """Whether accelerators may have their weights, and activations be, in the memory that is theirs."""
    memories: tuple[tuple[str, int], ...] = ()
    """Names of memories, in small letters, and how many bytes of each may be used; `l1` and `l2` above are short forms
    for the memory of the tiles and the one of the tensors."""
    placed: tuple[tuple[str, str], ...] = ()
    """Names of nodes and the engines that they are for."""
    code_in_l1: bool = False
    """Whether what L1 has free holds code. The chip's public simulator does not take it: unconfirmed."""
    numerics: str = ""
    """exact or hardware: whether requantisations are what the network says to the bit, or what the hardware has; empty
    for what the target does where the network's format leaves the rounding open."""
    packed_weights: bool = False
    """Whether a target without a cluster stores weights of at most 4 bits in 2 or 4 bits: less flash, more cycles. With
    a cluster, what that costs decides."""
    pinned: tuple[tuple[str, str], ...] = ()
    """Digests of constants (`ir/digest.py`) and the memory that each lives in already, as another network of the same
    program has it."""
    accelerators: tuple[str, ...] = ()
    """Folders of declared accelerators, each with its parameters: `FOLDER:name=value,...`."""
    processor: str = ""
    """Of a target for computers: what its code may use; empty for what this machine has."""
    threads: int = 1
    """Of a target for computers: those that compute a layer together."""
    pins_threads: bool = False
    """Whether each of them stays on one processor."""
    kernels: tuple[str, ...] = ()
    """Folders of kernels from outside the package, each with its parameters: `FOLDER:name=value,...`."""
    isa: str = ""
    """Of a board: the instructions that its core has; empty for the board's own."""
    clock_mhz: float | None = None
    """Of a board."""
    optimise: str = CYCLES
    """Of GOALS, without a cluster: few cycles, or little RAM for more cycles."""
    emulator: str = ""
    """Of a board with an Arm core: unicorn or qemu; empty for the board's own."""
    stack: int | None = None
    """Of a board: bytes of its RAM."""
    copied_weights: int = 0
    """Of a board: bytes of its RAM, of those that are left, for copies of weights that flash delivers slowly."""
