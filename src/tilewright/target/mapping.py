"""Which engine and which kernel computes each node, with the reason for every refusal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from difflib import get_close_matches
from functools import cached_property, lru_cache
from types import MappingProxyType

from tilewright.errors import CompileError, Refusal, raise_all
from tilewright.ir.digest import first_equal
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.types import Array, TensorType, type_of
from tilewright.records import dataclass
from tilewright.target.kernel import Kernel, Types
from tilewright.target.memory import Memory
from tilewright.target.struct_size import struct_bytes
from tilewright.target.target import Engine, Offer, Target

CAST, OTHERWISE = "insert a Cast before it", "use another target or operator"
"""What to try where element types do not fit, and where something else does not."""
MORE_ENGINES = "add an engine with cores"
"""What to try where the only engine is an accelerator that has not everything."""


TOGETHER = " + "
"""Between the names of layers that are one node."""
ALL_ENGINES = "all"
NOTHING_PINNED: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Choice:
    engine: Engine
    kernel: Kernel
    node: Node
    """What the kernel computes: a node of the graph, or what the engine offers for it."""


@dataclass(frozen=True)
class Refused:
    """Why an engine, or one of its kernels, does not take a node."""

    engine: str
    kernel: str
    """Empty where the engine takes it with none."""
    reason: str


@dataclass(frozen=True)
class Estimate:
    """What a layer would take on an engine, its tensors being wherever they suit it."""

    engine: str
    kernel: str
    cycles: int


@dataclass(frozen=True)
class Mapped:
    graph: Graph
    """With the constants of every offer."""
    target: Target
    choices: Mapping[str, Choice]
    """By the node's key; views have none."""
    alternatives: Mapping[str, tuple[Choice, ...]] = field(default_factory=dict)
    """What else could compute each node."""
    refusals: Mapping[str, tuple[Refused, ...]] = field(default_factory=dict)
    estimates: Mapping[str, tuple[Estimate, ...]] = field(default_factory=dict)
    """Where no planner weighs engines: what each would take for a node that several could compute."""
    is_weighed: bool = False
    """Whether the choice follows from these and from copies, for the whole network."""

    def choice(self, node: Node) -> Choice:
        return self.choices[node.key]

    def all_choices(self, node: Node) -> tuple[Choice, ...]:
        """The preferred one first."""
        return self.choices[node.key], *self.alternatives.get(node.key, ())

    def params_bytes(self, kernel: Kernel) -> int:
        """Of a kernel's parameter struct, on a 32-bit core."""
        name = (kernel.params_header, kernel.params_type)
        if name not in self._struct_bytes:
            self._struct_bytes[name] = struct_bytes(self.target.kernel_text, *name)
        return self._struct_bytes[name]

    @cached_property
    def _struct_bytes(self) -> dict[tuple[str, str], int]:
        return {}

    def __str__(self) -> str:
        nodes = (f"  {node.op.kind:<24} {node.name:<40} {self._engines(node)}" for node in self.graph.nodes)
        return "\n".join([f"mapped {self.graph.name} on {self.target.name}", *nodes])

    def _engines(self, node: Node) -> str:
        """The first kernel of each engine that could compute a node."""
        if node.key not in self.choices:
            return "view"
        first: dict[str, str] = {}
        for choice in self.all_choices(node):
            first.setdefault(choice.engine.name, choice.kernel.stem)
        return " or ".join(f"{engine}: {kernel}" for engine, kernel in first.items())


def only_engines(target: Target, names: tuple[str, ...]) -> Target:
    """The target with none but the engines of these names; all where none is named, or `all`."""
    known = [engine.name for engine in target.engines]
    if names in ((), (ALL_ENGINES,)):
        return target
    for name in names:
        if name not in known:
            raise CompileError(
                f"engine '{name}'", f"is not an engine of {target.name}", f"its engines: {', '.join(known)}"
            )
    return replace(target, engines=tuple(e for e in target.engines if e.name in names))


def in_reach(target: Target, graph: Graph) -> Target:
    """The target with memories in which everything begins where engines that have a part of a graph can read it."""
    kinds = {type(node.op) for node in graph.nodes}
    used = [engine for engine in target.engines if any(kernel.op in kinds for kernel in engine.kernels)]
    return replace(target, memories=tuple(_with_starts(memory, used) for memory in target.memories))


def _with_starts(memory: Memory, engines: Sequence[Engine]) -> Memory:
    wanted = [engine.base_alignment for engine in engines if engine.name in memory.reachable_by]
    return replace(memory, base_alignment=max(memory.base_alignment, *wanted, 1))


def check_engines(target: Target) -> Target:
    """The target, if something in it takes what accelerators leave."""
    if all(engine.offer is not None for engine in target.engines):
        names = ",".join(engine.name for engine in target.engines)
        raise CompileError(f"--engines {names}", "an accelerator cannot compute every operator", MORE_ENGINES)
    return target


def without_offers(target: Target, graph: Graph) -> Target:
    """The target with the engines that take nodes as they are, and those that alone compute an operator of the graph;
    all where there are none."""
    plain = [engine for engine in target.engines if engine.offer is None]
    known = {kernel.op for engine in plain for kernel in engine.kernels}
    others = {type(node.op) for node in graph.nodes} - known
    alone = [engine for engine in target.engines if any(kernel.op in others for kernel in engine.kernels)]
    kept = tuple(engine for engine in target.engines if engine in plain or engine in alone)
    return replace(target, engines=kept or target.engines)


def map_nodes(graph: Graph, target: Target, pinned: Mapping[str, str] = NOTHING_PINNED) -> Mapped:
    """The engines and kernels that take each node, the first one preferred; all refusals at once.

    Nodes of the names in `pinned` are for one engine alone.
    """
    choices: dict[str, Choice] = {}
    alternatives: dict[str, tuple[Choice, ...]] = {}
    refusals: dict[str, tuple[Refused, ...]] = {}
    constants: dict[str, Array] = {}
    pinned = by_full_names(graph, pinned)
    errors: list[CompileError] = _unknown_pins(graph, target, pinned)
    raise_all(errors)
    engines = _engines_by_key(graph, target, pinned)
    for node in graph.nodes:
        if node.op.view:
            continue
        found = _Search(graph, node, only_engines(target, tuple(filter(None, [engines.get(node.key, "")]))))
        try:
            choices[node.key], *others = found.choices()
        except Refusal as refusal:
            errors.append(refusal.at(node.where))
            continue
        alternatives[node.key] = tuple(others)
        refusals[node.key] = tuple(found.refused)
        constants |= found.constants
    raise_all(errors)
    types = {name: type_of(array) for name, array in constants.items()}
    full = replace(graph, constants={**graph.constants, **constants}, types={**graph.types, **types})
    return Mapped(full, target, choices, alternatives, refusals)


def as_chosen(mapped: Mapped) -> Mapped:
    """The graph with what the first engine that takes a node makes of it, where no planner weighs them: of its forms
    the first one that it has a kernel for."""
    nodes = {node.key: node for node in mapped.graph.nodes if node.key in mapped.choices}
    taken = {key: first_form(mapped.all_choices(node), node) for key, node in nodes.items()}
    same = _made_equal(mapped.graph, [(node, taken[key].node) for key, node in nodes.items()])
    taken = {key: replace(choice, node=_renamed(choice.node, same)) for key, choice in taken.items()}
    return replace(with_nodes(mapped, {key: choice.node for key, choice in taken.items()}), choices=taken)


def _made_equal(graph: Graph, offers: Sequence[tuple[Node, Node]]) -> dict[str, str]:
    """Constants that engines have made of nodes -> the first that is equal: a layer in parts has some for each part."""
    made = [name for node, offered in offers for name in offered.inputs if name not in node.inputs]
    constants = {name: graph.constants[name] for name in dict.fromkeys(made) if name in graph.constants}
    return first_equal(constants, graph.types)


def _renamed(node: Node, names: Mapping[str, str]) -> Node:
    return replace(node, inputs=tuple(names.get(name, name) for name in node.inputs))


def first_form(choices: Sequence[Choice], node: Node) -> Choice:
    first = choices[0]
    forms = (choice for choice in choices if choice.engine is first.engine and choice.node is not node)
    return first if first.engine.offer else next(forms, first)


def with_nodes(mapped: Mapped, chosen: Mapping[str, Node]) -> Mapped:
    """With these in the place of nodes that have the same key, and no constants but theirs."""
    graph = mapped.graph
    nodes = tuple(chosen.get(node.key, node) for node in graph.nodes)
    used = {name for node in nodes for name in node.inputs} | set(graph.sinks)
    unused = graph.constants.keys() - used
    types = {name: kind for name, kind in graph.types.items() if name not in unused}
    constants = {name: array for name, array in graph.constants.items() if name in used}
    return replace(mapped, graph=replace(graph, nodes=nodes, types=types, constants=constants))


def by_full_names(graph: Graph, pinned: Mapping[str, str]) -> dict[str, str]:
    """Tables show nodes by short names, so those are understood too. Of layers that are one node the name of each
    stands for it, and the name that they have together for each of them where they are not."""
    nodes = [node for node in graph.nodes if node.name]
    full = {part: node.name for node in nodes for part in node.name.split(TOGETHER)}
    full |= {shown: node.name for node in nodes for shown in (graph.short_name(node), node.name)}
    parts = {name: [name] if name in full else name.split(TOGETHER) for name in pinned}
    return {full.get(part, name): engine for name, engine in pinned.items() for part in _known(parts[name], full, name)}


def _known(parts: list[str], full: Mapping[str, str], name: str) -> list[str]:
    """The parts of a name, if the graph has all of them."""
    return parts if all(part in full for part in parts) else [name]


def _unknown_pins(graph: Graph, target: Target, pinned: Mapping[str, str]) -> list[CompileError]:
    known = {node.name for node in graph.nodes if not node.op.view}
    engines = [engine.name for engine in target.engines]
    errors = [
        CompileError(
            f"--place {name}={engine}", f"is not an engine of {target.name}", f"its engines: {', '.join(engines)}"
        )
        for name, engine in pinned.items()
        if engine not in engines
    ]
    for name in pinned:
        if name not in known:
            close = get_close_matches(name, known, 1)
            hint = f"is '{close[0]}' meant?" if close else "`tilewright analyze` lists the nodes"
            errors.append(CompileError(f"--place {name}", "no node of the lowered graph has this name", hint))
    return errors


def _engines_by_key(graph: Graph, target: Target, pinned: Mapping[str, str]) -> dict[str, str]:
    """The engines of the nodes that are pinned. A copy for a layout has the name of the node that it is for: of several
    nodes with a name, those that the engine takes are meant."""
    found: dict[str, str] = {}
    for name, engine in pinned.items():
        named = [node for node in graph.nodes if node.name == name and not node.op.view]
        able = [node for node in named if _takes(graph, node, only_engines(target, (engine,)))]
        found |= {node.key: engine for node in able or named}
    return found


def _takes(graph: Graph, node: Node, target: Target) -> bool:
    try:
        return bool(_Search(graph, node, target).choices())
    except Refusal:
        return False


class _Search:
    """Every engine and kernel that takes a node, in the target's order, and the reasons of the others."""

    def __init__(self, graph: Graph, node: Node, target: Target) -> None:
        self.graph, self.node, self.target = graph, node, target
        self.refused: list[Refused] = []
        self.hints: list[str] = []
        self.constants: dict[str, Array] = {}

    def choices(self) -> list[Choice]:
        """At least one."""
        found = [choice for engine in self.target.engines for choice in self._of(engine)]
        if found:
            return found
        if not self.refused:
            raise Refusal(f"target {self.target.name} has no kernel for {self.node.op.kind}", OTHERWISE)
        reasons = "; ".join(f"{refused.kernel or refused.engine}: {refused.reason}" for refused in self.refused)
        raise Refusal(f"no kernel of target {self.target.name} supports it ({reasons})", _best_hint(self.hints))

    def _of(self, engine: Engine) -> list[Choice]:
        try:
            own = self._offered(engine)
        except Refusal as refusal:
            self._refuse(engine, "", refusal)
            return []
        if engine.explain_skipped and not engine.kernels_of(self.node.op):
            is_alone = all(other.explain_skipped for other in self.target.engines)
            self._refuse(
                engine, "", Refusal(engine.explain_skipped(self.graph, self.node), MORE_ENGINES if is_alone else "")
            )
            return []
        forms = engine.forms(self.graph, self.node) if engine.forms else ()
        candidates = [own, *(self._as_offered(form) for form in forms)]
        return [choice for node, types in candidates for choice in self._with_kernels(engine, node, types)]

    def _with_kernels(self, engine: Engine, node: Node, types: Types) -> list[Choice]:
        found = []
        for kernel in engine.kernels_of(node.op):
            unsupported_reason = unsupported(kernel, node.op, tuple(types.items()))
            if unsupported_reason is None:
                found.append(Choice(engine, kernel, node))
            else:
                self._refuse(engine, kernel.stem, unsupported_reason)
        return found

    def _offered(self, engine: Engine) -> tuple[Node, Types]:
        """The node as the engine computes it."""
        if engine.offer is None:
            return self.node, self.graph.all_types(self.node)
        return self._as_offered(engine.offer(self.graph, self.node))

    def _as_offered(self, offer: Offer) -> tuple[Node, Types]:
        node = replace(self.node, op=offer.op, inputs=offer.inputs)
        self.constants |= offer.constants
        made = {name: type_of(array) for name, array in offer.constants.items()}
        operands = {name: made.get(tensor) or self.graph.types[tensor] for name, tensor in node.operands().items()}
        return node, operands | {name: self.graph.types[tensor] for name, tensor in node.results().items()}

    def _refuse(self, engine: Engine, kernel: str, refusal: Refusal) -> None:
        self.refused.append(Refused(engine.name, kernel, refusal.what))
        self.hints.append(refusal.hint)


def _best_hint(hints: list[str]) -> str:
    """What to try: a Cast helps only where no kernel is for these element types."""
    others = dict.fromkeys(hint for hint in hints if hint != CAST)
    return "; ".join(filter(None, others)) or OTHERWISE if others else CAST


@lru_cache(maxsize=2**13)
def unsupported(kernel: Kernel, op: Op, operands: tuple[tuple[str, TensorType], ...]) -> Refusal | None:
    """Why a kernel does not take a node; many nodes are alike, and they are mapped again after each rewrite."""
    types = dict(operands)
    for argument in kernel.arguments():
        for name, kind in types.items():
            if name != argument.stem and not (argument.variadic and name.startswith(argument.stem)):
                continue
            allowed = kernel.allowed(argument)
            if allowed is not None and kind.dtype not in allowed:
                return Refusal(f"{name} is {kind.dtype}, it takes {', '.join(sorted(allowed))}", CAST)
    activation = getattr(op, "activation", None)
    if activation is not None and type(activation) not in kernel.activations:
        return Refusal(f"it does not apply {activation.kind} to its results", OTHERWISE)
    try:
        reason = kernel.unsupported_rounding(op) or kernel.unsupported_reason(op, types)
        if reason is None:
            kernel.params(op, types)
    except Refusal as refusal:
        return refusal
    return None if reason is None else Refusal(reason)
