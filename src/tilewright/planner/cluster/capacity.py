"""How many bytes each memory of a cluster has for a network, and the errors that say what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tilewright.errors import CompileError
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op
from tilewright.memory import allocator
from tilewright.records import dataclass
from tilewright.target.kernel import Kernel
from tilewright.target.mapping import Mapped
from tilewright.target.memory import Memory, Paths
from tilewright.target.settings import Settings
from tilewright.target.target import Target

UNKNOWN_STACK = 2048
"""Bytes for a kernel whose need was never measured."""

ARGUMENT_REGISTERS = 8
STACK_UNIT = 16
"""Bytes that stacks begin at multiples of. Both are the calling convention's."""

STACKS_SHARE = 4
"""Stacks that would take more than one part in this many of L1 go into a slower memory, unless that is predicted to
take longer."""

STACKS_INSIDE_LEAVE = 5
"""Stacks in L1 leave at least one part in this many of it."""


@dataclass(frozen=True)
class TileBudget:
    """L1: what is taken before any tensor, and what is left."""

    memory: Memory
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
    stacks_inside: bool
    stacks_are_local: bool = False
    """In banks of their own beside L1."""

    @property
    def stacks(self) -> int:
        return self.cores * self.stack + self.dma_core_stack

    @property
    def arena(self) -> int:
        unit = self.memory.alignment
        return (self.total - rounded(self.base, self.memory.placement)) // unit * unit


def tile_budget(mapped: Mapped, settings: Settings) -> TileBudget:
    check_memory_names(mapped.target, settings)
    agents, tiles = mapped.target.agents, mapped.target.paths.tiles
    cores = settings.cores or agents.cores
    if not 1 <= cores <= agents.cores:
        raise CompileError(f"--cores {cores}", f"the cluster has {agents.cores}", f"choose 1 to {agents.cores}")
    kernels = {kernel for node in mapped.graph.nodes if not node.op.view for kernel in _preferred(mapped, node)}
    deepest = max((stack_of(mapped, kernel) for kernel in kernels), default=0)
    # An odd number of units: at equal depths cores use different banks, however many there are.
    needed = max(deepest + agents.stack + _argument_bytes(mapped.graph), settings.stack or 0)
    stack = rounded(needed - STACK_UNIT, 4 * STACK_UNIT) + STACK_UNIT
    total = capacity(mapped.target, tiles, settings)
    local = stack <= agents.local_stack
    inside = not local and cores * stack * STACKS_SHARE <= total
    offloaded = max((stack_of(mapped, kernel) for kernel in kernels if kernel.offloaded), default=0)
    waiting = agents.waiting_stack * any(kernel.in_order for kernel in kernels)
    dma_core = rounded(max(offloaded + agents.stack + waiting, settings.stack or 0), STACK_UNIT)
    base = agents.state + (cores * stack + dma_core) * inside
    budget = TileBudget(tiles, cores, total, base, deepest, stack, dma_core, inside, local)
    if budget.arena < tiles.alignment:
        raise CompileError(
            f"{tiles.name} of {total} bytes", f"{budget.base} are needed for the runtime",
            f"give it more, for example {option_for(tiles, budget.base + 4096)}",
        )  # fmt: skip
    return budget


def with_stacks_inside(budget: TileBudget) -> TileBudget | None:
    """The budget with the stacks in L1, where they are in a slower memory but would leave something."""
    base = budget.base + budget.stacks
    if (
        budget.stacks_inside
        or budget.stacks_are_local
        or base * STACKS_INSIDE_LEAVE > budget.total * (STACKS_INSIDE_LEAVE - 1)
    ):
        return None
    return replace(budget, base=base, stacks_inside=True)


def with_stacks_outside(budget: TileBudget) -> TileBudget:
    """The budget with stacks in L1, without them."""
    return replace(budget, base=budget.base - budget.stacks, stacks_inside=False)


def _preferred(mapped: Mapped, node: Node) -> list[Kernel]:
    """The first kernel of every engine, for each form that it takes the node in, and what may take its place."""
    first: dict[tuple[str, type[Op]], Kernel] = {}
    choices = mapped.all_choices(node)
    for choice in choices:
        first.setdefault((choice.engine.name, type(choice.node.op)), choice.kernel)
    others = {kernel.instead for kernel in first.values()}
    return [*first.values(), *(choice.kernel for choice in choices if choice.kernel.source in others)]


def _argument_bytes(graph: Graph) -> int:
    """What the caller of the network puts on the stack: pointers to inputs and outputs that no register is left for,
    and as much again for what it saves to prepare them."""
    return 8 * max(len({*graph.inputs, *graph.outputs}) - ARGUMENT_REGISTERS, 0)


def capacity(target: Target, memory: Memory, settings: Settings) -> int:
    """Bytes of a memory that a network may use, those for the program included."""
    size, (option, wanted) = memory.bytes or 0, _wanted(target, memory, settings)
    if wanted is not None and not 0 < wanted <= size:
        hint = f"give it 1 to {size}, or leave it out for all of them"
        raise CompileError(f"{option}", f"{memory.name} of {target.name} has {size} bytes", hint)
    return wanted or size


def option_for(memory: Memory, size: int) -> str:
    """The words of a command that give a memory a size; two usual names have options of their own."""
    return f"--{memory.symbol} {size}" if memory.symbol in ("l1", "l2") else f"--memory {memory.symbol}={size}"


def _wanted(target: Target, memory: Memory, settings: Settings) -> tuple[str, int | None]:
    """The option that speaks of a memory, as it was given, and its bytes."""
    sizes = dict(settings.memories)
    if memory.symbol in sizes:
        return f"--memory {memory.symbol}={sizes[memory.symbol]}", sizes[memory.symbol]
    tiles, tensors = target.paths.tiles, target.paths.home
    if memory in (tiles, tensors):
        option, size = ("--l1", settings.l1) if memory is tiles else ("--l2", settings.l2)
        return f"{option} {size}", size
    return "", None


def check_memory_names(target: Target, settings: Settings) -> None:
    """Every memory that the user gave a size is one of the target's, and was given no other."""
    known = [memory.symbol for memory in target.memories]
    given = _short_forms(target, settings) if settings.memories else {}
    for name, size in settings.memories:
        option = f"--memory {name}={size}"
        if name not in known:
            raise CompileError(option, f"is not a memory of {target.name}", f"its memories: {', '.join(known)}")
        if given.setdefault(name, size) != size:
            raise CompileError(option, f"contradicts {given[name]} bytes, which {name} was given too", "leave one out")
    for memory in target.memories:
        if memory.symbol in given:
            capacity(target, memory, settings)


def _short_forms(target: Target, settings: Settings) -> dict[str, int]:
    """Sizes that were given by options of their own."""
    sizes = {target.paths.tiles.symbol: settings.l1, target.paths.home.symbol: settings.l2}
    return {name: size for name, size in sizes.items() if size is not None}


def home_capacity(mapped: Mapped, settings: Settings) -> int:
    home = mapped.target.paths.home
    total = capacity(mapped.target, home, settings)
    if total <= home.reserved:
        raise CompileError(
            f"{home.name} of {total} bytes", f"{home.reserved} are kept for the program",
            f"give it more, for example {option_for(home, 4 * home.reserved)}",
        )  # fmt: skip
    return total - home.reserved


COPIED_SHARE = 4
"""Outputs up to this part of L1 may be made there and copied."""


def most_copied(target: Target, settings: Settings) -> int:
    return capacity(target, target.paths.tiles, settings) // COPIED_SHARE


def io_bytes(graph: Graph, memories: Paths) -> int:
    """Inputs and outputs, and the first values of states if they lie in the home too."""
    home = memories.home
    given = sum(home.whole(graph.types[name].bytes) for name in {*graph.inputs, *graph.outputs})
    return first_values(graph, memories, home) + given


def first_values(graph: Graph, memories: Paths, memory: Memory) -> int:
    """Bytes of a memory for the constants that states are set to, but for those whose elements are all the same."""
    kept = [state.initial.nbytes for state in graph.states if not state.is_uniform]
    return sum(map(memory.whole_constant, kept)) if memory == memories.first_values else 0


LESS_STATE = (
    "keep less from call to call; of a training, keep no gradients (--in-place), or train fewer weights, for example "
    "--trainable last:2"
)


def check_states(mapped: Mapped, settings: Settings) -> None:
    """States that L2 does not hold are refused before anything is planned around them: they stay there."""
    _check_first_values(mapped, settings)
    graph, memories = mapped.graph, mapped.target.paths
    budget, first = home_capacity(mapped, settings), first_values(graph, memories, memories.home)
    kept = sum(memories.home.whole(graph.types[state.before].bytes) for state in graph.states)
    if kept + first > budget:
        said = f", and {first} are their first values" if first else ""
        raise CompileError(
            f"{memories.home.name}, states of '{graph.name}'",
            f"{kept} bytes are kept there from call to call{said}; {budget} are there: "
            f"{kept + first - budget} are missing",
            f"{LESS_STATE}{_more_home(memories, settings, kept + first)}",
        )


def _check_first_values(mapped: Mapped, settings: Settings) -> None:
    """Those that lie beside L2."""
    graph, memories = mapped.graph, mapped.target.paths
    memory = memories.first_values
    first = first_values(graph, memories, memory)
    room = capacity(mapped.target, memory, settings) - memory.reserved
    if memory != memories.home and first > room:
        raise CompileError(
            f"{memory.name}, states of '{graph.name}'",
            f"{first} bytes are first values of what is kept from call to call; {room} are there", LESS_STATE,
        )  # fmt: skip


def stack_of(mapped: Mapped, kernel: Kernel) -> int:
    return kernel.stack or mapped.target.stacks.get(kernel.stem, UNKNOWN_STACK)


def check_home(mapped: Mapped, settings: Settings, arena: allocator.Solution, constants: int) -> None:
    graph, memories = mapped.graph, mapped.target.paths
    budget = home_capacity(mapped, settings)
    given = io_bytes(graph, memories)
    needed = arena.peak + constants + given
    if needed > budget:
        staged = f" and constants of {listed_names(memories.behind)} in use" if memories.behind else ""
        states = sum(s.initial.nbytes for s in graph.states)
        kept = f", of which calls keep {states}" if 0 < states <= arena.peak else ""
        raise CompileError(
            f"{memories.home.name}, {_largest(graph).where}",
            f"{needed} bytes are needed ({arena.peak} for activations{kept}{staged}, {constants} for constants, "
            f"{given} for inputs and outputs), {budget} are there: {needed - budget} are missing",
            f"the largest layer is named; make it smaller{_more_home(memories, settings, needed)}"
            + f"; or {LESS_STATE}" * (0 < states <= arena.peak),
        )


def _more_home(memories: Paths, settings: Settings, needed: int) -> str:
    """What else to try where L2 is too small."""
    if memories.behind and settings.home == memories.home.name:
        return f", or use --home {memories.behind[0].name}"
    whole = needed + memories.home.reserved
    return f", or give it more: {option_for(memories.home, whole)}" if whole <= (memories.home.bytes or 0) else ""


def check_constants(mapped: Mapped, settings: Settings) -> None:
    """Constants that L2 alone has to hold are refused before anything is planned around them."""
    memories, graph = mapped.target.paths, mapped.graph
    if not memories.beside and not memories.behind:
        nothing = allocator.Solution({}, 0, 0, "heuristic")
        check_home(mapped, settings, nothing, constant_sizes(graph, graph.constants, memories.home))


def beside_capacity(mapped: Mapped, settings: Settings, memory: Memory) -> int:
    """Bytes of a memory beside L2 for constants; activations that go there have less."""
    first = first_values(mapped.graph, mapped.target.paths, memory)
    return max(capacity(mapped.target, memory, settings) - memory.reserved - first, 0)


def constants_capacity(mapped: Mapped, settings: Settings) -> int:
    """Bytes for constants of all memories beside L2 together."""
    return sum(beside_capacity(mapped, settings, memory) for memory in mapped.target.paths.beside)


def room_beside(
    mapped: Mapped, settings: Settings, staged: Mapping[str, str], resident: Mapping[str, str]
) -> dict[str, int]:
    """Bytes of each memory beside the home that activations may have; none where these are the accelerators' alone.
    `resident` are constants there, `staged` those that are staged, with their memories."""
    found = {}
    for memory in mapped.target.paths.beside:
        taken = _image(mapped, memory, staged) + constants_in(mapped, memory, resident)
        found[memory.name] = max(beside_capacity(mapped, settings, memory) - taken, 0) if settings.weight_memory else 0
    return found


def _image(mapped: Mapped, memory: Memory, staged: Mapping[str, str]) -> int:
    """Bytes of a memory for staged constants before the program has copied them to where they live."""
    return sum(constants_in(mapped, one, staged) for one in _loaded_into(mapped, memory))


def _loaded_into(mapped: Mapped, memory: Memory) -> list[Memory]:
    """Memories whose constants come with the program into this one."""
    return [one for one in mapped.target.paths.behind if one.image == memory.name]


def listed_names(memories: Iterable[Memory]) -> str:
    return " and ".join(memory.name for memory in memories)


def constants_in(mapped: Mapped, memory: Memory, resident: Mapping[str, str]) -> int:
    """Bytes of those constants that live in a memory."""
    return constant_sizes(mapped.graph, (name for name, home in resident.items() if home == memory.name), memory)


def constant_sizes(graph: Graph, names: Iterable[str], memory: Memory) -> int:
    """What constants take of a memory."""
    return sum(memory.whole_constant(graph.types[name].bytes) for name in names)


def spill_capacity(mapped: Mapped, settings: Settings, staged: Mapping[str, str]) -> int:
    """Bytes for activations in the memory that they are spilled to, behind its constants."""
    memory = mapped.target.paths.spill
    return capacity(mapped.target, memory, settings) - constants_in(mapped, memory, staged) if memory else 0


def check_behind(
    mapped: Mapped, settings: Settings, memory: Memory, solution: allocator.Solution, staged: Mapping[str, str]
) -> None:
    budget, constants = capacity(mapped.target, memory, settings), constants_in(mapped, memory, staged)
    needed = solution.peak + constants
    if needed > budget:
        more = f", or give it more: {option_for(memory, needed)}" if needed <= (memory.bytes or 0) else ""
        raise CompileError(
            memory.name,
            f"{needed} bytes are needed ({solution.peak} for activations, {constants} for constants), "
            f"{budget} are there: {needed - budget} are missing", f"use a smaller input or network{more}",
        )  # fmt: skip


def check_beside(
    mapped: Mapped, settings: Settings, memory: Memory, solution: allocator.Solution, staged: Mapping[str, str],
    resident: Mapping[str, str],
) -> None:  # fmt: skip
    """A memory beside the home also has weights of accelerators, the code and, before the program starts, images of
    memories behind."""
    loaded = listed_names(_loaded_into(mapped, memory))
    image, weights = _image(mapped, memory, staged), constants_in(mapped, memory, resident)
    budget, needed = beside_capacity(mapped, settings, memory), solution.peak + image + weights
    if needed > budget:
        raise CompileError(
            f"{memory.name}, {_largest(mapped.graph).where}",
            f"{needed} bytes are needed ({solution.peak} for activations, {image} for the constants of "
            f"{loaded}, {weights} for weights), {budget} are there: {needed - budget} are missing",
            "the largest layer is named; use a smaller input or network",
        )  # fmt: skip


def _largest(graph: Graph) -> Node:
    return max(graph.nodes, key=lambda node: touched(graph, node))


def touched(graph: Graph, node: Node) -> int:
    return sum(graph.types[name].bytes for name in {*node.inputs, *node.outputs} if name)


def rounded(size: int, unit: int) -> int:
    return -(-size // unit) * unit
