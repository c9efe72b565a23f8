"""How much room each memory of a cluster has for a network, and the errors that say what is missing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tilewright.errors import CompileError
from tilewright.ir.graph import Graph, Node
from tilewright.memory import allocator
from tilewright.planner.options import ALIGNMENT
from tilewright.target.kernel import Kernel
from tilewright.target.mapping import Mapped
from tilewright.target.settings import Settings
from tilewright.target.target import Cluster, Target

UNKNOWN_STACK = 2048
"""Bytes for a kernel whose need was never measured."""

ARGUMENT_REGISTERS = 8

STACKS_SHARE = 4
"""Stacks that would take more than this part of the near memory go into a slower one, unless that is predicted to take
longer."""

STACKS_IN_L1_LEAVE = 5
"""At least this part of the near memory is left by stacks there."""


@dataclass(frozen=True)
class L1Budget:
    """The near memory: what is taken before any tensor, and what is left."""

    cores: int
    total: int
    base: int
    """Bytes of the runtime's variables and, if they are there, the stacks."""
    deepest: int
    """Bytes of stack that kernels may use."""
    stack: int
    """Bytes for each core that computes."""
    dma_core_stack: int
    """Bytes for the one that moves data and drives accelerators."""
    stacks_in_l1: bool

    @property
    def stacks(self) -> int:
        return self.cores * self.stack + self.dma_core_stack

    @property
    def arena(self) -> int:
        return (self.total - self.base) // ALIGNMENT * ALIGNMENT


def l1_budget(mapped: Mapped, settings: Settings) -> L1Budget:
    cluster = cluster_of(mapped)
    cores = settings.cores or cluster.cores
    if not 1 <= cores <= cluster.cores:
        raise CompileError(f"--cores {cores}", f"the cluster has 1 to {cluster.cores}")
    kernels = {kernel for node in mapped.graph.nodes if not node.op.view for kernel in _preferred(mapped, node)}
    deepest = max((stack_of(mapped, kernel) for kernel in kernels), default=0)
    # An odd number of quarters of all banks: at equal depths, cores use different banks.
    stack = rounded(deepest + cluster.stack + _argument_bytes(mapped.graph) - 16, 64) + 16
    total = capacity(mapped, cluster.l1, settings.l1, "--l1")
    l1 = cores * stack * STACKS_SHARE <= total
    offloaded = max((stack_of(mapped, kernel) for kernel in kernels if kernel.offloaded), default=0)
    dma_core = rounded(offloaded + cluster.stack, 16)
    budget = L1Budget(cores, total, cluster.state + (cores * stack + dma_core) * l1, deepest, stack, dma_core, l1)
    if budget.arena < ALIGNMENT:
        raise CompileError(
            f"{cluster.l1} of {total} bytes", f"{budget.base} are needed for the runtime",
            f"give it more, for example --l1 {budget.base + 4096}",
        )  # fmt: skip
    return budget


def with_stacks_in_l1(budget: L1Budget) -> L1Budget | None:
    """The room with the stacks in it, where they are not yet but would leave something."""
    base = budget.base + budget.stacks
    if budget.stacks_in_l1 or base * STACKS_IN_L1_LEAVE > budget.total * (STACKS_IN_L1_LEAVE - 1):
        return None
    return replace(budget, base=base, stacks_in_l1=True)


def with_far_stacks(budget: L1Budget) -> L1Budget:
    """The room with near stacks, without them."""
    return replace(budget, base=budget.base - budget.stacks, stacks_in_l1=False)


def _preferred(mapped: Mapped, node: Node) -> list[Kernel]:
    """The first kernel of every engine."""
    first: dict[str, Kernel] = {}
    for choice in mapped.all_choices(node):
        first.setdefault(choice.engine.name, choice.kernel)
    return list(first.values())


def _argument_bytes(graph: Graph) -> int:
    """What the caller of the network puts on the stack: pointers to inputs and outputs that no register is left for,
    and as much again for what it saves to prepare them."""
    return 8 * max(len({*graph.inputs, *graph.outputs}) - ARGUMENT_REGISTERS, 0)


def capacity(mapped: Mapped, name: str, wanted: int | None, option: str) -> int:
    size = next(m.bytes for m in mapped.target.memories if m.name == name) or 0
    if wanted is not None and not 0 < wanted <= size:
        raise CompileError(f"{option} {wanted}", f"{name} of {mapped.target.name} has {size} bytes")
    return wanted or size


def cluster_of(mapped: Mapped) -> Cluster:
    assert mapped.target.cluster is not None
    return mapped.target.cluster


def l2_capacity(mapped: Mapped, settings: Settings) -> int:
    cluster = cluster_of(mapped)
    total = capacity(mapped, cluster.l2, settings.l2, "--l2")
    if total <= cluster.reserved:
        raise CompileError(
            f"{cluster.l2} of {total} bytes", f"{cluster.reserved} are kept for the program",
            f"give it more, for example --l2 {4 * cluster.reserved}",
        )  # fmt: skip
    return total - cluster.reserved


COPIED_SHARE = 8
"""Outputs up to this part of the near memory may be made there and copied."""


def most_copied(target: Target, settings: Settings) -> int:
    assert target.cluster is not None
    size = next(m.bytes for m in target.memories if m.name == target.cluster.l1) or 0
    return (settings.l1 or size) // COPIED_SHARE


STAGED_SHARE = 4
"""What is staged at once has at most this part of the far memory: one constant is in use while the next one comes."""


def most_staged(mapped: Mapped, settings: Settings) -> int | None:
    """The most bytes that a constant of the store should have; None where no constant lives there."""
    graph, cluster = mapped.graph, cluster_of(mapped)
    budget = l2_capacity(mapped, settings) - io_bytes(graph)
    used = {name for node in graph.nodes for name in node.inputs if name in graph.constants}
    constants = sum(rounded(graph.types[name].bytes, 16) for name in used)
    activations = max((_touched(graph, node) - _read(graph, node) for node in graph.nodes), default=0)
    fit = constants + activations <= budget
    if settings.home == cluster.l2 or (fit and settings.home != cluster.l3) or budget <= 0:
        return None
    return budget // STAGED_SHARE


def io_bytes(graph: Graph) -> int:
    return sum(rounded(graph.types[name].bytes, 16) for name in {*graph.inputs, *graph.outputs})


def stack_of(mapped: Mapped, kernel: Kernel) -> int:
    return kernel.stack or mapped.target.stacks.get(kernel.stem, UNKNOWN_STACK)


def check_l2(mapped: Mapped, settings: Settings, l2: allocator.Solution, constants: int) -> None:
    graph, cluster = mapped.graph, cluster_of(mapped)
    budget = l2_capacity(mapped, settings)
    needed = l2.peak + constants + io_bytes(graph)
    if needed > budget:
        raise CompileError(
            f"{cluster.l2}, {_largest(graph).where}",
            f"{needed} bytes are needed ({l2.peak} for activations and constants of {cluster.l3} in use, "
            f"{constants} for constants, {io_bytes(graph)} for inputs and outputs), {budget} are there: "
            f"{needed - budget} are missing",
            "the largest layer is named; make it smaller"
            + (f", or use --home {cluster.l3}" if settings.home == cluster.l2 else ""),
        )  # fmt: skip


def wmem_capacity(mapped: Mapped) -> int:
    """Bytes of the weight memory for constants; activations that go there have less."""
    cluster = cluster_of(mapped)
    return capacity(mapped, cluster.wmem, None, "") - cluster.wmem_reserved


def wmem_for_activations(
    mapped: Mapped, settings: Settings, l3_constants: frozenset[str], resident: frozenset[str]
) -> int:
    """Bytes of the spare memory that activations may have; none where it is the accelerator's alone."""
    graph = mapped.graph
    taken = constant_sizes(graph, l3_constants) + constant_sizes(graph, resident, 32)
    return max(wmem_capacity(mapped) - taken, 0) if settings.weight_memory else 0


def constant_sizes(graph: Graph, names: Iterable[str], unit: int = 16) -> int:
    return sum(rounded(graph.types[name].bytes, unit) for name in names)


def l3_capacity(mapped: Mapped, l3_constants: frozenset[str]) -> int:
    """Bytes of the store behind its constants."""
    return capacity(mapped, cluster_of(mapped).l3, None, "") - constant_sizes(mapped.graph, l3_constants)


def check_l3(mapped: Mapped, l3: allocator.Solution, l3_constants: frozenset[str]) -> None:
    budget = l3_capacity(mapped, l3_constants)
    if l3.peak > budget:
        raise CompileError(
            cluster_of(mapped).l3,
            f"{l3.peak} bytes are needed for activations, {budget} are there beside constants: {l3.peak - budget} are "
            "missing", "use a smaller input or network",
        )  # fmt: skip


def check_wmem(
    mapped: Mapped, wmem: allocator.Solution, l3_constants: frozenset[str], resident: frozenset[str]
) -> None:
    """The spare memory also has weights of accelerators, the code and, before the program starts, the store's image."""
    graph, cluster = mapped.graph, cluster_of(mapped)
    image, weights = constant_sizes(graph, l3_constants), constant_sizes(graph, resident, 32)
    budget, needed = wmem_capacity(mapped), wmem.peak + image + weights
    if needed > budget:
        raise CompileError(
            f"{cluster.wmem}, {_largest(graph).where}",
            f"{needed} bytes are needed ({wmem.peak} for activations, {image} for the constants of {cluster.l3}, "
            f"{weights} for weights), {budget} are there: {needed - budget} are missing",
            "the largest layer is named; use a smaller input or network",
        )  # fmt: skip


def _largest(graph: Graph) -> Node:
    return max(graph.nodes, key=lambda node: _touched(graph, node))


def _touched(graph: Graph, node: Node) -> int:
    return sum(graph.types[name].bytes for name in {*node.inputs, *node.outputs} if name)


def _read(graph: Graph, node: Node) -> int:
    """Bytes of the constants of a layer."""
    return sum(graph.types[name].bytes for name in set(node.inputs) if name in graph.constants)


def rounded(size: int, unit: int = ALIGNMENT) -> int:
    return -(-size // unit) * unit
