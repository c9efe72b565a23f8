"""The threads of control of a machine, as data: how many cores compute, which one moves data, what each has."""

from __future__ import annotations

from tilewright.records import dataclass

BY_NOBODY, BY_PORTS, BY_REQUESTS, BY_ALL_CORES = "", "ports", "requests", "all cores"
"""Who starts transfers: nobody, where all is in reach; one core that computes nothing, and each other core by a port of
its own where it has tiles of its own; that core alone, which the others ask then; all cores together, none of which is
set aside."""


@dataclass(frozen=True)
class Agents:
    """Cores of one kind that compute a layer together, and the one of them, or beside them, that moves data meanwhile.
    Cores of another kind are an `Engine`, which is given jobs."""

    cores: int = 1
    dma_core: int = 0
    """The number of the core that starts transfers and drives accelerators; it computes nothing, unless its number is
    one of those that do."""
    stack: int = 0
    """Bytes of stack for each core: all that it has, or beyond what kernels need where a plan counts those."""
    waiting_stack: int = 0
    """Bytes of stack more for the core that drives accelerators, where kernels wait for room among jobs that end in
    order: transfers begin meanwhile."""
    local_stack: int = 0
    """Bytes of stack that each core has beside L1, in banks of its own; 0 where it has none."""
    state: int = 0
    """Bytes for variables of a runtime, in the memory where tiles are computed; 0 where there is no runtime."""
    prefetch_slots: int = 0
    """Layers whose prefetched data may be in flight at once."""
    offload_slots: int = 0
    """Layers that an accelerator may be at work for at once; 0 where no runtime waits for jobs, but their drivers."""
    transfers: str = BY_NOBODY
    """Who starts transfers."""
    every_layer: tuple[str, ...] = ()
    """Files of the runtime whose code every layer runs."""
    isa: str = ""
    """The instructions that the compiler may use and a core has; empty where the compiler's flags alone say it."""
    measured_isa: str = ""
    """The instructions with which the target's costs were measured, if not `isa`."""
    threads: int = 1
    """Of a computer: those that compute a layer together."""
    pins_threads: bool = False
    """Whether each of them stays on one processor, where a network runs here."""
    has_vectors: bool = False
    """Whether products of vectors are faster than products that are compared one by one."""

    @property
    def moves_apart(self) -> bool:
        """Whether the core that moves data computes nothing."""
        return self.dma_core >= self.cores

    @property
    def has_runtime(self) -> bool:
        """Whether a runtime brings tiles, wakes cores and counts their stacks."""
        return self.state > 0

    @property
    def runtime_waits(self) -> bool:
        """Whether a runtime keeps jobs of accelerators in flight and waits for them."""
        return self.offload_slots > 0
