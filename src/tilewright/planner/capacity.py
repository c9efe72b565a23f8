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

NEAR_STACKS_LEAVE = 5
"""At least this part of the near memory is left by stacks there."""


@dataclass(frozen=True)
class Room:
    """The near memory: what is taken before any tensor, and what is left."""

    cores: int
    total: int
    base: int
    """Bytes of the runtime's variables and, if they are there, the stacks."""
    deepest: int
    """Bytes of stack that kernels may use."""
    stack: int
    """Bytes for each core that computes."""
    mover_stack: int
    """Bytes for the one that moves data and drives accelerators."""
    stacks_near: bool

    @property
    def stacks(self) -> int:
        return self.cores * self.stack + self.mover_stack

    @property
    def arena(self) -> int:
        return (self.total - self.base) // ALIGNMENT * ALIGNMENT


def near_room(mapped: Mapped, settings: Settings) -> Room:
    cluster = cluster_of(mapped)
    cores = settings.cores or cluster.cores
    if not 1 <= cores <= cluster.cores:
        raise CompileError(f"--cores {cores}", f"the cluster has 1 to {cluster.cores}")
    kernels = {kernel for node in mapped.graph.nodes if not node.op.view for kernel in _preferred(mapped, node)}
    deepest = max((stack_of(mapped, kernel) for kernel in kernels), default=0)
    # An odd number of quarters of all banks: at equal depths, cores use different banks.
    stack = rounded(deepest + cluster.stack + _argument_bytes(mapped.graph) - 16, 64) + 16
    total = capacity(mapped, cluster.near, settings.l1, "--l1")
    near = cores * stack * STACKS_SHARE <= total
    offloaded = max((stack_of(mapped, kernel) for kernel in kernels if kernel.offloaded), default=0)
    mover = rounded(offloaded + cluster.stack, 16)
    room = Room(cores, total, cluster.state + (cores * stack + mover) * near, deepest, stack, mover, near)
    if room.arena < ALIGNMENT:
        raise CompileError(
            f"{cluster.near} of {total} bytes", f"{room.base} are needed for the runtime",
            f"give it more, for example --l1 {room.base + 4096}",
        )  # fmt: skip
    return room


def with_near_stacks(room: Room) -> Room | None:
    """The room with the stacks in it, where they are not yet but would leave something."""
    base = room.base + room.stacks
    if room.stacks_near or base * NEAR_STACKS_LEAVE > room.total * (NEAR_STACKS_LEAVE - 1):
        return None
    return replace(room, base=base, stacks_near=True)


def with_far_stacks(room: Room) -> Room:
    """The room with near stacks, without them."""
    return replace(room, base=room.base - room.stacks, stacks_near=False)


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


def far_room(mapped: Mapped, settings: Settings) -> int:
    cluster = cluster_of(mapped)
    total = capacity(mapped, cluster.far, settings.l2, "--l2")
    if total <= cluster.reserved:
        raise CompileError(
            f"{cluster.far} of {total} bytes", f"{cluster.reserved} are kept for the program",
            f"give it more, for example --l2 {4 * cluster.reserved}",
        )  # fmt: skip
    return total - cluster.reserved


COPIED_SHARE = 8
"""Outputs up to this part of the near memory may be made there and copied."""


def most_copied(target: Target, settings: Settings) -> int:
    assert target.cluster is not None
    size = next(m.bytes for m in target.memories if m.name == target.cluster.near) or 0
    return (settings.l1 or size) // COPIED_SHARE


STAGED_SHARE = 4
"""What is staged at once has at most this part of the far memory: one constant is in use while the next one comes."""


def most_staged(mapped: Mapped, settings: Settings) -> int | None:
    """The most bytes that a constant of the store should have; None where no constant lives there."""
    graph, cluster = mapped.graph, cluster_of(mapped)
    room = far_room(mapped, settings) - io_bytes(graph)
    used = {name for node in graph.nodes for name in node.inputs if name in graph.constants}
    constants = sum(rounded(graph.types[name].bytes, 16) for name in used)
    activations = max((_touched(graph, node) - _read(graph, node) for node in graph.nodes), default=0)
    fit = constants + activations <= room
    if settings.home == cluster.far or (fit and settings.home != cluster.store) or room <= 0:
        return None
    return room // STAGED_SHARE


def io_bytes(graph: Graph) -> int:
    return sum(rounded(graph.types[name].bytes, 16) for name in {*graph.inputs, *graph.outputs})


def stack_of(mapped: Mapped, kernel: Kernel) -> int:
    return kernel.stack or mapped.target.stacks.get(kernel.stem, UNKNOWN_STACK)


def check_far(mapped: Mapped, settings: Settings, far: allocator.Solution, constants: int) -> None:
    graph, cluster = mapped.graph, cluster_of(mapped)
    room = far_room(mapped, settings)
    needed = far.peak + constants + io_bytes(graph)
    if needed > room:
        raise CompileError(
            f"{cluster.far}, {_largest(graph).where}",
            f"{needed} bytes are needed ({far.peak} for activations and constants of {cluster.store} in use, "
            f"{constants} for constants, {io_bytes(graph)} for inputs and outputs), {room} are there: "
            f"{needed - room} are missing",
            "the largest layer is named; make it smaller"
            + (f", or use --home {cluster.store}" if settings.home == cluster.far else ""),
        )  # fmt: skip


def weight_room(mapped: Mapped) -> int:
    """Bytes of the weight memory for constants; activations that go there have less."""
    cluster = cluster_of(mapped)
    return capacity(mapped, cluster.spare, None, "") - cluster.spare_reserved


def spare_room(mapped: Mapped, settings: Settings, stored: frozenset[str], resident: frozenset[str]) -> int:
    """Bytes of the spare memory that activations may have; none where it is the accelerator's alone."""
    graph = mapped.graph
    taken = constant_sizes(graph, stored) + constant_sizes(graph, resident, 32)
    return max(weight_room(mapped) - taken, 0) if settings.weight_memory else 0


def constant_sizes(graph: Graph, names: Iterable[str], unit: int = 16) -> int:
    return sum(rounded(graph.types[name].bytes, unit) for name in names)


def store_room(mapped: Mapped, stored: frozenset[str]) -> int:
    """Bytes of the store behind its constants."""
    return capacity(mapped, cluster_of(mapped).store, None, "") - constant_sizes(mapped.graph, stored)


def check_store(mapped: Mapped, deep: allocator.Solution, stored: frozenset[str]) -> None:
    room = store_room(mapped, stored)
    if deep.peak > room:
        raise CompileError(
            cluster_of(mapped).store,
            f"{deep.peak} bytes are needed for activations, {room} are there beside constants: {deep.peak - room} are "
            "missing", "use a smaller input or network",
        )  # fmt: skip


def check_spare(mapped: Mapped, spare: allocator.Solution, stored: frozenset[str], resident: frozenset[str]) -> None:
    """The spare memory also has weights of accelerators, the code and, before the program starts, the store's image."""
    graph, cluster = mapped.graph, cluster_of(mapped)
    image, weights = constant_sizes(graph, stored), constant_sizes(graph, resident, 32)
    room, needed = weight_room(mapped), spare.peak + image + weights
    if needed > room:
        raise CompileError(
            f"{cluster.spare}, {_largest(graph).where}",
            f"{needed} bytes are needed ({spare.peak} for activations, {image} for the constants of {cluster.store}, "
            f"{weights} for weights), {room} are there: {needed - room} are missing",
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
