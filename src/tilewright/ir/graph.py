"""The typed graph: nodes over named tensors, in execution order. Frozen; a pass builds a new one."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, lru_cache
from typing import TypeVar

from tilewright.errors import CompileError, Refusal, printable
from tilewright.ir.half_floats import infer
from tilewright.ir.numerics_record import NumericsRecord
from tilewright.ir.op import Op
from tilewright.ir.scale import NO_SCALES, Scale, Scales
from tilewright.ir.short_names import short_names
from tilewright.ir.types import BYTES, Array, Shape, TensorType, type_of
from tilewright.records import dataclass

MAX_ELEMENTS = 2**31 - 1
"""Element counts and offsets are 32-bit integers in the generated C."""

MAX_AXES = 32
"""What numpy can broadcast."""

Value = TypeVar("Value")


@dataclass(frozen=True)
class Node:
    name: str
    op: Op
    inputs: tuple[str, ...]
    """Tensor names; an absent optional operand is the empty string."""
    outputs: tuple[str, ...]

    def operands(self) -> dict[str, str]:
        """Operand name -> tensor name, without the absent ones."""
        names = self.op.operand_names(len(self.inputs))
        return {name: tensor for name, tensor in zip(names, self.inputs, strict=True) if tensor}

    def results(self) -> dict[str, str]:
        """Result name -> tensor name, without the unused ones."""
        names = self.op.result_names(len(self.outputs))
        return {name: tensor for name, tensor in zip(names, self.outputs, strict=True) if tensor}

    @property
    def key(self) -> str:
        """The first tensor that the node defines: unique, unlike its name."""
        return next(filter(None, self.outputs))

    @property
    def where(self) -> str:
        return f"node '{printable(self.name)}' ({self.op.kind})"


@dataclass(frozen=True, eq=False)
class State:
    """A value that is kept from one call of the network to the next; the caller sees nothing of it."""

    name: str
    before: str
    """The tensor that is its value when a call begins; no node makes it."""
    after: str
    """The tensor that is its value when the call ends."""
    initial: Array
    """Its value before the first call."""
    is_shared: bool = False
    """Whether other networks have it too, so that no pass may keep it in another layout."""

    @property
    def is_uniform(self) -> bool:
        """Whether all elements have the same first value."""
        flat = self.initial.reshape(-1)
        return flat.tobytes() == flat[:1].tobytes() * flat.size


@dataclass(frozen=True)
class Graph:
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    output_names: tuple[str, ...]
    """What the user calls each output; passes may compute it in a tensor of another name."""
    nodes: tuple[Node, ...]
    types: Mapping[str, TensorType]
    constants: Mapping[str, Array]
    notes: tuple[str, ...] = ()
    """What was assumed on the way, for the user to read."""
    states: tuple[State, ...] = ()
    kept_floats: tuple[str, ...] = ()
    """The names of nodes that compute floats between quantised tensors; notes say why."""
    numerics_records: tuple[NumericsRecord, ...] = ()
    """Requantisations that were asked to be the hardware's."""
    scales: Scales = NO_SCALES
    """What integers at the network's ends stand for."""

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """What is there when a call begins and is no constant: inputs, and values of states."""
        return (*self.inputs, *(state.before for state in self.states))

    @cached_property
    def sinks(self) -> tuple[str, ...]:
        """What is needed when a call has ended: outputs, and values of states."""
        return (*self.outputs, *(state.after for state in self.states))

    def outputs_by_name(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """Values of the output tensors, under the names that the model gives them."""
        pairs = zip(self.output_names, self.outputs, strict=True)
        return {name: values[tensor] for name, tensor in pairs if tensor in values}

    def scale_of(self, tensor: str) -> Scale | None:
        """What the integers of an input or an output tensor stand for."""
        named = zip(self.outputs, self.output_names, strict=True)
        outputs = (self.scales.outputs.get(name) for made, name in named if made == tensor)
        return self.scales.inputs.get(tensor) if tensor in self.inputs else next(outputs, None)

    def operand_types(self, node: Node) -> dict[str, TensorType]:
        return {name: self.types[tensor] for name, tensor in node.operands().items()}

    def operand_shapes(self, node: Node) -> dict[str, Shape]:
        return {name: self.types[tensor].shape for name, tensor in node.operands().items()}

    def all_types(self, node: Node) -> dict[str, TensorType]:
        """The types of operands and results by their names in the operator."""
        return self.operand_types(node) | {name: self.types[tensor] for name, tensor in node.results().items()}

    @cached_property
    def short_names(self) -> dict[str, str]:
        """What tables call nodes."""
        return short_names(node.name or node.key for node in self.nodes)

    def short_name(self, node: Node) -> str:
        return self.short_names[node.name or node.key]

    @cached_property
    def producers(self) -> dict[str, Node]:
        return {tensor: node for node in self.nodes for tensor in node.outputs if tensor}

    @cached_property
    def consumers(self) -> dict[str, list[Node]]:
        consumers: dict[str, list[Node]] = {}
        for node in self.nodes:
            for tensor in dict.fromkeys(filter(None, node.inputs)):
                consumers.setdefault(tensor, []).append(node)
        return consumers

    def macs(self, node: Node) -> int:
        return node.op.macs(self.operand_shapes(node))

    def parameters(self, node: Node) -> int:
        """Elements of constants that a node reads."""
        return sum(self.types[tensor].elements for tensor in set(node.inputs) if tensor in self.constants)

    def __str__(self) -> str:
        lines = [f"graph {printable(self.name)}"]
        lines += [f"  input  {_typed(self, name)}" for name in self.inputs]
        lines += [f"  const  {_typed(self, name)}" for name in self.constants]
        lines += [f"  state  {_typed(self, state.before)}" for state in self.states]
        lines += [f"  {line}" for node in self.nodes for line in (_node_text(self, node), *_body_lines(node.op))]
        lines += [f"  output {_typed(self, name)}" for name in self.outputs]
        lines += [f"  state  %{printable(s.before)} becomes %{printable(s.after)}" for s in self.states]
        return "\n".join(lines)


@dataclass
class Builder:
    """Grows a graph node by node, inferring every type; the only way in which graphs are made."""

    name: str
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    output_names: list[str] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    types: dict[str, TensorType] = field(default_factory=dict)
    constants: dict[str, Array] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    kept_floats: list[str] = field(default_factory=list)
    numerics_records: tuple[NumericsRecord, ...] = ()
    scales: Scales = NO_SCALES
    states: dict[str, State] = field(default_factory=dict)
    """By name; one whose value at the end is not known yet has no `after`."""
    node_name: str = ""
    """The name given to nodes that are added without one."""
    words: dict[str, int] = field(default_factory=dict)
    """The numbers that stand for texts."""
    _taken: set[str] = field(default_factory=set)

    def input(self, name: str, kind: TensorType) -> str:
        self._define(name, kind, f"input '{name}'")
        self.inputs.append(name)
        return name

    def state(self, name: str, initial: Array, before: str = "", is_shared: bool = False) -> str:
        """A value that is kept between calls: the tensor that is its value when a call begins."""
        if name in self.states:
            raise CompileError(f"state '{name}'", "is defined twice", "give every state a name of its own")
        tensor = before or self.fresh(name)
        self._define(tensor, type_of(initial), f"state '{name}'")
        self.states[name] = State(name, tensor, "", initial, is_shared)
        return tensor

    def set_next_state(self, name: str, tensor: str) -> None:
        """The tensor that is a state's value when the call ends."""
        if name not in self.states:
            raise CompileError(f"state '{name}'", "is not defined", "call state() first")
        self.states[name] = replace(self.states[name], after=tensor)

    def constant(self, array: Array, hint: str = "constant") -> str:
        name = self.fresh(hint)
        self._define(name, type_of(array), f"constant '{hint}'")
        self.constants[name] = array
        return name

    def __call__(self, op: Op, inputs: Sequence[str], outputs: Sequence[str] | None = None) -> tuple[str, ...]:
        """Add a node; without `outputs` its results get fresh names."""
        return self.add(op, inputs, outputs)

    def add(
        self, op: Op, inputs: Sequence[str], outputs: Sequence[str] | None = None, name: str = ""
    ) -> tuple[str, ...]:
        name = name or self.node_name or (outputs[0] if outputs else op.kind)
        where = f"node '{name}' ({op.kind})"
        inputs = _without_trailing_blanks(inputs)
        try:
            types = _infer(op, tuple([self.types[tensor] if tensor else None for tensor in inputs]))
        except Refusal as refusal:
            raise refusal.at(where, "write the layer otherwise, or export the model again") from None
        if outputs is None:
            outputs = self._made_up(f"{name}_{op.kind.lower()}", len(types))
        if len(outputs) > len(types):
            what = f"{len(outputs)} outputs asked for, {len(types)} are supported"
            raise CompileError(where, what, "take the further outputs out of the model")
        for tensor, kind in zip(outputs, types, strict=False):
            if tensor:
                self._define(tensor, kind, where)
        self.nodes.append(Node(name, op, tuple(inputs), tuple(outputs)))
        return tuple(outputs)

    def copy_node(self, node: Node, graph: Graph) -> None:
        """A node of another graph as it is: with operands of the same types, its results have theirs too."""
        types, known = self.types, graph.types
        made = [tensor for tensor in node.outputs if tensor]
        read = [(types[tensor], known.get(tensor)) for tensor in node.inputs if tensor]
        # Mostly they are the same objects.
        changed = [new for new, old in read if new is not old and new != old]
        if changed or not types.keys().isdisjoint(made):
            self.add(node.op, node.inputs, node.outputs, node.name)
            return
        for tensor in made:
            types[tensor] = known[tensor]
        self.nodes.append(node)

    def output(self, tensor: str, name: str = "") -> None:
        """The next output: its tensor, and what the user calls it if that is another name."""
        self.outputs.append(tensor)
        self.output_names.append(name or tensor)

    def copy_outputs(self, graph: Graph, standing: Callable[[str], str] = str) -> None:
        """The outputs and states of a graph, each by the tensor that stands for the one there."""
        for tensor, name in zip(graph.outputs, graph.output_names, strict=True):
            self.output(standing(tensor), name)
        for state in graph.states:
            self.set_next_state(state.name, standing(state.after))

    def word(self, text: str) -> int:
        """The number that stands for a text: there are none in C."""
        return self.words.setdefault(text, len(self.words))

    def note(self, text: str) -> None:
        self.notes.append(text)

    def type_of(self, tensor: str) -> TensorType:
        return self.types[tensor]

    def fresh(self, hint: str) -> str:
        """A tensor name that is not in use."""
        name, number = hint, 1
        while name in self.types or name in self._taken:
            number += 1
            name = f"{hint}_{number}"
        return name

    def _made_up(self, hint: str, count: int) -> list[str]:
        first = self.fresh(hint)
        return [first, *(self.fresh(f"{first}_{position}") for position in range(1, count))]

    def reserve(self, names: Iterable[str]) -> None:
        """Names that will be defined later and must not be made up before."""
        self._taken.update(names)

    def build(self) -> Graph:
        return verify(
            Graph(
                self.name, tuple(self.inputs), tuple(self.outputs), tuple(self.output_names), tuple(self.nodes),
                dict(self.types), dict(self.constants), tuple(dict.fromkeys(self.notes)), tuple(self.states.values()),
                tuple(self.kept_floats), self.numerics_records, self.scales,
            )
        )  # fmt: skip

    def _define(self, name: str, kind: TensorType, where: str) -> None:
        if name in self.types:
            raise CompileError(where, f"tensor '{name}' is defined twice", "every tensor needs one producer")
        if kind.dtype not in BYTES:
            raise CompileError(where, f"element type {kind.dtype} is not supported", f"use one of {', '.join(BYTES)}")
        if len(kind.shape) > MAX_AXES:
            what = f"tensor '{name}' has {len(kind.shape)} axes, at most {MAX_AXES} are supported"
            raise CompileError(where, what, "reshape it to fewer in the model")
        if kind.elements > MAX_ELEMENTS:
            what = f"tensor '{name}' has {kind.elements} elements, at most {MAX_ELEMENTS} fit"
            raise CompileError(where, what, "give inputs smaller shapes (--dim, --shape), or shrink the layer")
        self.types[name] = kind


def rebuild(graph: Graph) -> Builder:
    """A builder that starts with a graph's inputs, states and constants, for a pass that walks the nodes."""
    notes, kept_floats = list(graph.notes), list(graph.kept_floats)
    builder = Builder(
        graph.name, notes=notes, kept_floats=kept_floats, numerics_records=graph.numerics_records, scales=graph.scales
    )
    for name in graph.inputs:
        builder.input(name, graph.types[name])
    for state in graph.states:
        builder.state(state.name, state.initial, state.before, state.is_shared)
    for name, array in graph.constants.items():
        builder.types[name] = graph.types[name]
        builder.constants[name] = array
    builder.reserve(graph.types)
    return builder


IN_ORDER = "a node stands behind those that make its inputs, and an output is made by one"


def verify(graph: Graph) -> Graph:
    """Check that every tensor is defined before use and has the type that its operator gives it."""
    defined = {*graph.sources, *graph.constants}
    for node in graph.nodes:
        for tensor in filter(None, node.inputs):
            if tensor not in defined:
                raise CompileError(node.where, f"reads tensor '{tensor}' before anything defines it", IN_ORDER)
        types = _infer(node.op, tuple([graph.types[tensor] if tensor else None for tensor in node.inputs]))
        for tensor, kind in zip(node.outputs, types, strict=False):
            if tensor and graph.types[tensor] != kind:
                what = f"gives {kind}, but tensor '{tensor}' is {graph.types[tensor]}"
                raise CompileError(node.where, what, "give the tensor the type that its operator infers")
        defined.update(filter(None, node.outputs))
    for tensor in graph.outputs:
        if tensor not in defined:
            raise CompileError(f"output '{tensor}'", "nothing defines this tensor", IN_ORDER)
    for state in graph.states:
        _verify_state(graph, state, defined)
    return graph


def _verify_state(graph: Graph, state: State, defined: Container[str]) -> None:
    where = f"state '{printable(state.name)}'"
    if not state.after:
        raise CompileError(where, "nothing says what it becomes at the end of a call", "call set_next_state()")
    if state.after not in defined:
        what = f"nothing defines '{state.after}', which it becomes at the end of a call"
        raise CompileError(where, what, IN_ORDER)
    if state.before in graph.producers or state.before in graph.inputs or state.before in graph.constants:
        what = f"'{state.before}' is its value when a call begins, but something else makes it"
        raise CompileError(where, what, "give the state's value a name of its own")
    kinds = type_of(state.initial), graph.types[state.before], graph.types[state.after]
    if len(set(kinds)) > 1:
        what = f"is {kinds[0]} before the first call, {kinds[1]} when a call begins and {kinds[2]} when it ends"
        raise CompileError(where, what, "all three must be of one type")


@lru_cache(maxsize=2**14)
def _infer(op: Op, operands: tuple[TensorType | None, ...]) -> tuple[TensorType, ...]:
    """What an operator gives; passes ask that again and again of nodes that they leave alone."""
    return infer(op, op.bind(operands))


def _without_trailing_blanks(names: Sequence[str]) -> list[str]:
    kept = list(names)
    while kept and kept[-1] == "":
        kept.pop()
    return kept


def _typed(graph: Graph, name: str) -> str:
    return f"%{printable(name)}: {graph.types[name]}"


def _body_lines(op: Op) -> list[str]:
    return [f"  {line}" for body in op.bodies for line in str(body.graph).splitlines()]


def _node_text(graph: Graph, node: Node) -> str:
    results = ", ".join(_typed(graph, name) for name in node.outputs if name)
    operands = ", ".join(f"%{printable(name)}" if name else "-" for name in node.inputs)
    return f"{results} = {node.op} {operands}"
