"""From a TensorFlow Lite file to a typed graph: every operator by its rule, or everything that stands in the way."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

import numpy as np

from tilewright.errors import CompileError, Refusal, own_faults, raise_all
from tilewright.frontends.model_options import ModelOptions
from tilewright.frontends.tflite import arithmetic, control_flow, file
from tilewright.frontends.tflite.file import Operator, Subgraph, Tensor
from tilewright.frontends.tflite.node import Node, Scope
from tilewright.frontends.tflite.operators import RULES
from tilewright.frontends.tflite.rules import complex
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.op import Op
from tilewright.ir.scale import SCALED, Scale, Scales
from tilewright.ir.types import BYTES, Array, Shape, TensorType
from tilewright.ir.unused import drop_unused
from tilewright.ops._control_flow import Body
from tilewright.ops.reshape import Reshape
from tilewright.ops.where import Where
from tilewright.records import dataclass

ONCE = "CALL_ONCE"
"""Runs a subgraph before the first call, which gives variables their first values."""
FLEX = "Flex"
OTHERWISE = (
    "if another runtime computes the file, this form of the operator is not supported: write the layer otherwise; "
    "if not, convert the model again"
)


def load(model: str | Path | bytes, options: ModelOptions | None = None, name: str = "") -> Graph:
    """Read a file and turn its first subgraph into a typed graph."""
    options = options or ModelOptions()
    _refuse_options(options)
    meant = arithmetic.find(options.tflite_rounding)
    read = file.read(model)
    with np.errstate(all="ignore"):
        return _Import(read.subgraphs, 0, meant, name or read.stem).run(options.shapes)


def _refuse_options(options: ModelOptions) -> None:
    said = {"--dim": options.dims, "--dtype": options.dtypes, "--bind": options.bind, "--state": options.states}
    for option, given in said.items():
        for name, value in given.items():
            held = "variables of its own" if option == "--state" else "all types stated, and no symbols"
            raise CompileError(
                f"{option} {name}={value}",
                f"a TensorFlow Lite file has {held}",
                "drop the option; --shape gives sizes that a file leaves open",
            )


NEWEST_VERSION, NEWEST_VERSIONS = 8, {"FULLY_CONNECTED": 14}
"""Of operators: what later ones mean is not known here. Versions up to these add types, which are looked at."""


@dataclass(frozen=True)
class _Calls:
    """What the imports of a file's subgraphs share."""

    active: tuple[int, ...]
    """The subgraphs that are being converted, each called by the one before."""
    constants: dict[int, dict[int, str]] = field(default_factory=dict)
    """Of each subgraph the constants that are in the graph already: iterations share them."""
    count: list[int] = field(default_factory=lambda: [0])
    """Operators so far."""
    by_data: bool = False
    """Whether these subgraphs are converted without knowing that they are meant."""


class _Import:
    def __init__(self, subgraphs: Sequence[Subgraph], number: int, meant: arithmetic.Arithmetic, name: str) -> None:
        graph = subgraphs[number]
        self.subgraphs, self.graph, self.meant = subgraphs, graph, meant
        self.scope = Scope(name, graph.tensors, meant)
        self.operators = _live(graph)
        self.poisoned: set[int] = set()
        """Tensors that have no type because what makes them was refused."""
        self.errors: list[CompileError] = []
        self.calls = _Calls((number,))

    def run(self, shapes: Mapping[str, Sequence[int]]) -> Graph:
        self._declare_inputs(shapes)
        for operator in self.operators:
            if operator.kind == ONCE:
                self._initialise(operator)
        for operator in self.operators:
            if operator.kind != ONCE:
                self._convert(operator)
        self._declare_outputs()
        raise_all(self.errors)
        if self.scope.is_quantised:
            self._note_arithmetic()
        self.scope.variables.end()
        inputs = {self.scope.names[number]: self.graph.tensors[number] for number in self.graph.inputs}
        outputs = {self.graph.tensors[number].name: self.graph.tensors[number] for number in self.graph.outputs}
        inner = {name: self.graph.tensors[number] for number, name in self.scope.names.items()}
        self.scope.builder.scales = Scales(_scales(inputs), _scales(outputs), _scales(inner))
        return self.scope.builder.build()

    def _initialise(self, operator: Operator) -> None:
        """Run the subgraph of a CALL_ONCE now: all that it computes is constant."""
        number = int(operator.options.get("InitSubgraphIndex", 0))
        if not 0 < number < len(self.subgraphs):
            what = f"calls subgraph {number} of {len(self.subgraphs)}"
            self.errors.append(CompileError(f"node ({ONCE})", what, "the file contradicts itself: convert it again"))
            return
        once = _Import(self.subgraphs, number, self.meant, self.subgraphs[number].name)
        once.scope.variables.initial, once.scope.variables.is_first = self.scope.variables.initial, True
        for inner in once.operators:
            once._convert(inner)
        self.errors += once.errors

    def _note_arithmetic(self) -> None:
        others = ", ".join(one.name for one in arithmetic.KNOWN if one is not self.meant)
        self.scope.builder.notes.append(
            f"integers are rounded as in {self.meant.meant} ({self.meant.name}; --tflite-rounding {others} for others)"
        )

    def _declare_inputs(self, shapes: Mapping[str, Sequence[int]]) -> None:
        names = [self.graph.tensors[number].name for number in self.graph.inputs]
        for name in shapes.keys() - set(names):
            unknown = CompileError(
                f"--shape {name}=...", f"the model has no input '{name}'", f"inputs: {', '.join(names)}"
            )
            self.errors.append(unknown)
        for number in dict.fromkeys(self.graph.inputs):
            tensor = self.graph.tensors[number]
            try:
                _check_tensor(tensor)
                self.scope.input(number, TensorType(tensor.dtype, _bound(tensor, shapes.get(tensor.name))))
            except Refusal as refusal:
                self._poison((number,), refusal.at(f"input '{tensor.name}'", OTHERWISE))

    def _declare_outputs(self) -> None:
        if not self.graph.outputs:
            self.errors.append(CompileError(f"graph '{self.graph.name}'", "has no outputs", "convert the model again"))
        for number in self.graph.outputs:
            tensor = self.graph.tensors[number]
            if number in self.poisoned:
                continue
            try:
                _check_tensor(tensor)
                made = self.scope.tensor(number)
            except Refusal as refusal:
                self.errors.append(refusal.at(f"output '{tensor.name}'", OTHERWISE))
                continue
            self.scope.builder.output(made, tensor.name)
            found = self.scope.builder.types[made].shape
            if not _fits(found, tensor):
                self.errors.append(
                    CompileError(
                        f"output '{tensor.name}'", f"is declared with shape {list(tensor.shape)}, but the operators "
                        f"give {list(found)}", "the file contradicts itself: convert it again",
                    )
                )  # fmt: skip

    # ---- operators ----------------------------------------------------------------------------------------------

    def _convert(self, operator: Operator) -> None:
        where = f"node '{self._name(operator)}' ({operator.kind})"
        try:
            _refuse_unknown(operator)
            if any(number in self.poisoned for number in operator.inputs):
                self.poisoned.update(operator.outputs)
                return
            self._emit(operator)
        except control_flow.Poisoned:
            self.poisoned.update(operator.outputs)
        except Refusal as refusal:
            self._poison(operator.outputs, refusal.at(where, OTHERWISE))
        except CompileError as error:
            self._poison(operator.outputs, error)

    def _emit(self, operator: Operator) -> None:
        for number in (*operator.inputs, *operator.outputs):
            if number >= 0:
                _check_tensor(self.graph.tensors[number], operator.kind in complex.RULES)
        node = Node(operator, self.scope, self._name(operator))
        self.scope.builder.node_name = node.name
        with own_faults(f"node '{node.name}' ({operator.kind})"):
            made = self._made(operator, node)
        for number, tensor in zip(operator.outputs, made, strict=False):
            self._refuse_other_type(number, tensor)
            self.scope.define(number, tensor)

    def _made(self, operator: Operator, node: Node) -> Sequence[str]:
        if self.calls.by_data and not operator.outputs:
            raise Refusal("is in a branch whose condition is data, and has side effects", control_flow.KNOWN)
        if operator.kind in control_flow.KINDS:
            return control_flow.convert(operator, node.inputs(), self)
        return RULES[operator.kind](node)

    # ---- subgraphs ----------------------------------------------------------------------------------------------

    def value(self, tensor: str) -> Array | None:
        return self.scope.builder.constants.get(tensor)

    def kind(self, tensor: str) -> TensorType:
        return self.scope.builder.types[tensor]

    def add(self, op: Op, inputs: Sequence[str]) -> list[str]:
        return list(self.scope.builder.add(op, inputs))

    def keeps(self, number: int) -> bool:
        seen, waiting = set[int](), [number]
        while waiting:
            at = waiting.pop()
            if at in seen or not 0 <= at < len(self.subgraphs):
                continue
            seen.add(at)
            for operator in self.subgraphs[at].operators:
                if operator.kind in control_flow.VARIABLES:
                    return True
                waiting += [int(operator.options[one]) for one in control_flow.SUBGRAPHS if one in operator.options]
        return False

    def body(self, number: int, kinds: Sequence[TensorType], run: control_flow.Run) -> Body:
        if not 0 <= number < len(self.subgraphs):
            self._inner(number)  # which says so
        outer, calls = self.scope.builder, self.calls
        own = Builder(f"{outer.node_name}/{self.subgraphs[number].name}")
        self.scope.builder, self.calls = own, replace(calls, constants={})
        try:
            given = [own.input(own.fresh(f"given_{at}"), kind) for at, kind in enumerate(kinds)]
            for at, tensor in enumerate(run(given)):
                own.output(tensor, f"result_{at}")
        finally:
            self.scope.builder, self.calls = outer, calls
        if own.states:
            raise Refusal("keeps variables where data decides whether it runs", control_flow.KNOWN)
        return Body(drop_unused(own.build()))

    def select(self, condition: str, then: str, other: str) -> str:
        kinds = [self.scope.builder.types[name] for name in (condition, then, other)]
        if kinds[0].elements != 1 or kinds[0].dtype != "bool" or kinds[1] != kinds[2]:
            results = f"the results are {kinds[1]} and {kinds[2]}"
            raise Refusal(
                f"the condition '{condition}' depends on data and is {kinds[0]}, {results}", control_flow.KNOWN
            )
        (flag,) = self.scope.emit(Reshape(()), [condition])
        return self.scope.emit(Where(), [flag, then, other])[0]

    def inline(self, number: int, given: Sequence[str], by_data: bool = False) -> list[str]:
        """A copy of a subgraph in this graph, which reads the tensors that are given."""
        inner = self._inner(number)
        inner.calls = replace(inner.calls, by_data=inner.calls.by_data or by_data)
        if len(given) != len(inner.graph.inputs):
            raise Refusal(f"gives {len(given)} tensors to a subgraph of {len(inner.graph.inputs)} inputs")
        constants = self.calls.constants.setdefault(number, {})
        inner.scope.names |= constants
        for tensor, name in zip(inner.graph.inputs, given, strict=True):
            inner._refuse_other_type(tensor, name)
            inner.scope.define(tensor, name)
        for operator in inner.operators:
            inner._convert(operator)
        self.errors += inner.errors
        self.scope.is_quantised |= inner.scope.is_quantised
        if inner.poisoned & set(inner.graph.outputs):
            raise control_flow.Poisoned
        made = [inner.scope.tensor(tensor) for tensor in inner.graph.outputs]
        changing = {*inner.graph.inputs, *(tensor for operator in inner.operators for tensor in operator.outputs)}
        constants |= {tensor: name for tensor, name in inner.scope.names.items() if tensor not in changing}
        return made

    def _inner(self, number: int) -> _Import:
        """The import of a subgraph that adds to this one's graph."""
        if not 0 <= number < len(self.subgraphs) or number in self.calls.active:
            raise Refusal(
                f"calls subgraph {number} of {len(self.subgraphs)}, from {', '.join(map(str, self.calls.active))}",
                "the file contradicts itself: convert it again",
            )
        inner = _Import(self.subgraphs, number, self.meant, self.subgraphs[number].name)
        # Handles are tensors of a subgraph; what the variables hold is one for all.
        inner.scope.builder, inner.scope.variables = self.scope.builder, replace(self.scope.variables, handles={})
        inner.calls = replace(self.calls, active=(*self.calls.active, number))
        self.calls.count[0] += len(inner.operators) + 1
        if self.calls.count[0] > control_flow.MOST_UNROLLED:
            raise Refusal(
                f"more than the {control_flow.MOST_UNROLLED} operators that subgraphs may become",
                "fewer steps at a time",
            )
        return inner

    def _refuse_other_type(self, number: int, tensor: str) -> None:
        declared, found = self.graph.tensors[number], self.scope.builder.types[tensor]
        if found.dtype != self.scope.stored_dtype(declared) or not _fits(found.shape, declared):
            raise Refusal(
                f"gives {found}, but '{declared.name}' is declared {TensorType(declared.dtype, declared.shape)}",
                "the file contradicts itself: convert it again",
            )

    def _poison(self, numbers: tuple[int, ...], error: CompileError) -> None:
        self.errors.append(error)
        self.poisoned.update(numbers)

    def _name(self, operator: Operator) -> str:
        """The name of what it makes: operators have none."""
        return self.graph.tensors[operator.outputs[0]].name if operator.outputs else operator.kind


def _bound(tensor: Tensor, given: Sequence[int] | None) -> Shape:
    """The shape of an input: as it stands in the file, or as given where that leaves sizes open."""
    if given is None:
        return tensor.shape
    stated = tensor.signature or tensor.shape
    fits = len(given) == len(stated) and all(a == b or (b == -1 and a > 0) for a, b in zip(given, stated, strict=True))
    if not fits:
        raise Refusal(f"--shape gives {list(given)}, but the file says {list(stated)}", "-1 stands for open sizes")
    return tuple(given)


def _live(graph: Subgraph) -> list[Operator]:
    """Operators that an output needs, in their order; those without a result do something besides."""
    needed, kept = set(graph.outputs), []
    for operator in reversed(graph.operators):
        if not operator.outputs or needed & set(operator.outputs):
            needed.update(operator.inputs)
            kept.append(operator)
    return kept[::-1]


def _fits(shape: Shape, declared: Tensor) -> bool:
    """Whether a tensor is as large as declared; of an open shape a file does not say how large."""
    return declared.is_open or math.prod(shape) == math.prod(declared.shape)


def _check_tensor(tensor: Tensor, may_be_complex: bool = False) -> None:
    if tensor.is_sparse:
        raise Refusal(f"tensor '{tensor.name}' is sparse", "convert the model without sparsity")
    if tensor.dtype not in BYTES and tensor.dtype not in ("float16", "resource", *["complex64"] * may_be_complex):
        hint = "quantise to 8 or 16 bits" if tensor.dtype in ("int4", "uint4", "int2") else "convert it to another type"
        raise Refusal(f"tensor '{tensor.name}' has elements of {tensor.dtype}; supported: {', '.join(BYTES)}", hint)


def _scales(tensors: Mapping[str, Tensor]) -> dict[str, Scale]:
    """What the file says of integers at its ends."""
    given = {name: tensor.quantisation for name, tensor in tensors.items() if tensor.dtype in SCALED}
    return {
        name: Scale(float(one.scale[0]), int(one.zero_point[0]))
        for name, one in given.items()
        if one is not None and len(one.scale) == 1 and one.scale[0] > 0
    }


def _refuse_unknown(operator: Operator) -> None:
    if operator.is_custom and operator.kind.startswith(FLEX):
        raise Refusal(
            f"is the TensorFlow operator {operator.kind[len(FLEX) :]}, which TensorFlow Lite passes on to TensorFlow",
            "convert the model with built-in operators only",
        )
    if operator.is_custom and operator.kind not in RULES:
        raise Refusal("is a custom operator: what it computes is not in the file", "replace it before conversion")
    if operator.kind not in RULES and operator.kind not in control_flow.KINDS:
        raise Refusal(f"operator {operator.kind} is not supported", "docs/tflite.md lists what is")
    if operator.is_custom:
        return
    newest = NEWEST_VERSIONS.get(operator.kind, NEWEST_VERSION)
    if not 1 <= operator.version <= newest:
        what = f"has version {operator.version} of {operator.kind}, {newest} is the newest known"
        raise Refusal(what, "it may mean something else there: convert the model with an older TensorFlow")
