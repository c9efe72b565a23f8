"""ONNX in: load, bind dimensions, fold constants, and turn every node into typed operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx

from tilewright import ops
from tilewright.errors import CompileError, Refusal, own_faults, raise_all
from tilewright.frontends.model_options import ModelOptions
from tilewright.frontends.onnx import binding, declared_shapes, open_lengths, random_numbers, states, subgraphs
from tilewright.frontends.onnx import file as onnx_file
from tilewright.frontends.onnx.bodies import all_names, all_nodes
from tilewright.frontends.onnx.control_flow import ControlFlow, Scope
from tilewright.frontends.onnx.folding import FOLDABLE, fold, known_operands
from tilewright.frontends.onnx.functions import definition
from tilewright.frontends.onnx.input_types import InputTypes, integers_of
from tilewright.frontends.onnx.integers import MOVEMENT, as_integers
from tilewright.frontends.onnx.open_lengths import OpenLength
from tilewright.frontends.onnx.own_graphs import Frame, OwnGraph, copied, own_graph
from tilewright.frontends.onnx.problems import grouped
from tilewright.frontends.onnx.schemas import fewest_inputs, is_defined_by_others
from tilewright.frontends.onnx.stored_floats import add_constant, declare_input, declare_output, with_whole_bytes
from tilewright.ir.graph import MAX_ELEMENTS, Builder, Graph
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Op
from tilewright.ir.types import BYTES, Array, TensorType
from tilewright.ops._control_flow import ControlFlow as ControlFlowOp
from tilewright.ops.cast import Cast

OTHERWISE = (
    "if onnx.checker accepts the file, this form of the operator is not supported: write the layer otherwise; "
    "if not, export the model again"
)
NEVER_FOLDED = frozenset({"DequantizeLinear"})
"""Quantised constants stay quantised; what needs them as floats folds them later."""

MUST_KNOW = {"Pad": (2,), "Clip": (1, 2)}
"""Operands that quantisers of whole graphs quantise too, although they are part of what the operator is."""

DOMAINS = frozenset(
    {
        "",
        "ai.onnx",
        "ai.onnx.ml",
        "ai.onnx.preview",
        "ai.onnx.preview.training",
        "com.microsoft",
        "PACTOps",
        "ai.onnx.contrib",
        "tilewright",
    }
)


def load(model: str | Path | bytes | onnx.ModelProto, options: ModelOptions | None = None, name: str = "") -> Graph:
    """Read a model and turn it into a typed graph, or say everything that stands in the way."""
    proto, stem = onnx_file.read(model)
    options = options or ModelOptions()
    proto, kept = states.taken_out(proto, options.states)
    bound = binding.bind(proto, options.dims, options.shapes, options.bind)
    options = replace(options, dims=bound.dims, states=kept.outputs)
    # Weights are data: what overflows while they are folded is not worth a warning.
    with np.errstate(all="ignore"):
        return states.put_in(_Import(bound.proto, options, name or stem).run(), kept)


class _Import:
    """The state of one import: tensors known so far, by name."""

    def __init__(self, proto: onnx.ModelProto, options: ModelOptions, name: str) -> None:
        self.proto, self.options, self.graph = proto, options, proto.graph
        self.opsets = onnx_file.opsets(proto)
        self.nodes = onnx_file.live_nodes(self.graph)
        self.unread = onnx_file.unread_outputs(self.graph, self.nodes)
        self.updated = frozenset(name for node in self.nodes if _is_update(node) for name in node.output)
        """Tensors that are declared as the flag that a buffer was updated; they are the buffer."""
        self.builder = Builder(name)
        self.constants: dict[str, Array] = {}
        self.current: dict[str, str] = {}
        """ONNX tensor name -> graph tensor name, where they differ."""
        self.captured: dict[str, str] = {}
        """Of a body: its inputs that are tensors from around it, by their names there."""
        self.added: dict[tuple[str, bool], str] = {}
        """Constants that are in the graph already, as declared or as integers."""
        self.poisoned: set[str] = set()
        """Tensors that have no type because what makes them was refused."""
        self.errors: list[CompileError] = []
        self.integers: frozenset[str] = frozenset()
        self.declared_shapes = declared_shapes.static_shapes(self.graph)
        self.outer: list[Frame] = []
        """Of the graphs around the body that is read now, the outermost first."""
        self.scope = Scope(
            self._convert, self.constants, self._type, self.poisoned, all_names(self.graph), self._ignore,
            lambda names: self.builder.reserve(names), self.opsets.get("", 1), self._attempt, self._read_body,
            self._add_flow, self.errors.extend, options.max_trips,
        )  # fmt: skip

    def run(self) -> Graph:
        self.builder.reserve(name for node in self.nodes for name in node.output)
        self.constants |= onnx_file.initialisers(self.graph, self.nodes, self.builder.word) | dict(
            self.options.constants
        )
        self._fold_constant_nodes()
        self.integers = integers_of(self.graph, self.nodes, self.constants, self.options)
        self._declare_inputs()
        for node in self.nodes:
            self._convert(node)
        self._declare_outputs()
        raise_all(grouped([_hinted(error) for error in self.errors]))
        self._note_words()
        return self.builder.build()

    def _note_words(self) -> None:
        if self.builder.words:
            meant = ", ".join(f"{number} is '{word}'" for word, number in self.builder.words.items())
            self.builder.note(f"texts are numbers: {meant}")

    # ---- types of the graph's inputs and outputs ----------------------------------------------------------------

    def _fold_constant_nodes(self) -> None:
        for node in self.nodes:
            if node.op_type == "Constant":
                self.constants[node.output[0]] = onnx_file.constant_value(node)

    def _declare_inputs(self) -> None:
        types = InputTypes(self.graph, self.options, self.integers)
        for value in onnx_file.true_inputs(self.graph):
            try:
                shape = onnx_file.shape_of(value, self.options.dims)
                kind = TensorType(types.dtype_of(value, self.builder.notes), shape)
                self.current[value.name] = declare_input(self.builder, value.name, kind)
                if kind.shape == (0,):
                    # Of a list without elements everything is known.
                    self.constants[value.name] = np.zeros(0, kind.element)
            except CompileError as error:
                self.errors.append(error)
                self.poisoned.add(value.name)

    def _declare_outputs(self) -> None:
        for value in self.graph.output:
            if value.name in self.poisoned:
                continue
            if value.name not in self.constants and self._type(value.name) is None:
                where = f"output '{value.name}'"
                hint = "take it out of the graph's outputs, or export the model again"
                self.errors.append(CompileError(where, "nothing in the graph defines this tensor", hint))
                continue
            declared = onnx_file.declared_dtype(value)
            declare_output(self.builder, self._tensor(value.name), value.name, declared)
            self._refuse_other_size(value)
        lengths = self.scope.open_lengths
        tensors = {value.name: self._tensor(value.name) for value in self.graph.output if value.name in lengths}
        open_lengths.declare_counts(self.builder, tensors, lengths)

    def _refuse_other_size(self, value: onnx.ValueInfoProto) -> None:
        """A declared output of another size means that the file's operators are not what they are called."""
        if value.name in self.updated:
            return
        declared = onnx_file.static_shape(value)
        found = self.builder.types[self.builder.outputs[-1]].shape
        if declared is not None and math.prod(declared) != math.prod(found):
            self.errors.append(
                CompileError(
                    f"output '{value.name}'",
                    f"is declared with shape {list(declared)}, but the graph gives {list(found)}",
                    "the file contradicts itself: export it again, or correct the declaration",
                )
            )

    # ---- nodes --------------------------------------------------------------------------------------------------

    def _convert(self, node: onnx.NodeProto) -> None:
        where = f"node '{onnx_file.name_of(node)}' ({node.op_type})"
        try:
            if node.op_type == "Constant":
                self.constants[node.output[0]] = onnx_file.constant_value(node)
                return
            self._refuse_unknown(node)
            if any(name in self.poisoned for name in node.input):
                raise _Poisoned
            length = self._behind_open_lengths(node)
            self._capture(node.input)
            node = self._with_declared_operand(with_whole_bytes(node, self.constants, self.builder))
            if node.op_type in subgraphs.KINDS:
                subgraphs.convert(ControlFlow(node, self.scope, self.unread))
            elif node.op_type in random_numbers.KINDS:
                self._draw(node)
            elif not self._fold(node) and not self._emit(node):
                self._convert_definition(node)
            self._note_open_lengths(node, length)
        except _Poisoned:
            self.poisoned.update(node.output)
            self._refuse_unsupported((node, *all_nodes(node)))
        except Refusal as refusal:
            self._fail(node, refusal.at(where, OTHERWISE))
        except CompileError as error:
            self._fail(node, error)

    def _with_declared_operand(self, node: onnx.NodeProto) -> onnx.NodeProto:
        """An operand that is computed at run time, where the declared shape of a result leaves one value for it."""
        if node.op_type not in declared_shapes.RULES:
            return node
        position = declared_shapes.RULES[node.op_type][0]
        name = node.input[position] if position < len(node.input) else ""
        if not name or name in self.constants:
            return node
        kind = self.builder.types.get(self._tensor(node.input[0])) if position else None
        found = declared_shapes.decided(node, kind.shape if kind else (), self.declared_shapes)
        if found is None:
            return node
        known = self.builder.fresh(f"{onnx_file.name_of(node)}_declared")
        self.constants[known] = found[1]
        self.builder.notes.append(
            f"node '{onnx_file.name_of(node)}': '{name}' is taken from the declared shape of its result"
        )
        return declared_shapes.with_operand(node, position, known)

    def _fail(self, node: onnx.NodeProto, error: CompileError) -> None:
        self.errors.append(error)
        self.poisoned.update(node.output)
        self._refuse_unsupported(all_nodes(node))

    def _refuse_unsupported(self, nodes: Iterable[onnx.NodeProto]) -> None:
        """What could not be converted even if all operands were known, also inside control flow."""
        for node in nodes:
            if node.op_type != "Constant" and not self._may_be_supported(node):
                self.errors.append(_unsupported(node).at(f"node '{onnx_file.name_of(node)}' ({node.op_type})"))

    def _ignore(self, names: Iterable[str]) -> None:
        self.unread |= frozenset(names)

    def _type(self, name: str) -> TensorType | None:
        kind = self.builder.types.get(self.current.get(name, name))
        if kind is not None:
            return kind
        around = (frame.builder.types.get(frame.current.get(name, name)) for frame in reversed(self.outer))
        return next(filter(None, around), None)

    # ---- bodies of control flow ---------------------------------------------------------------------------------

    def _read_body(
        self, name: str, inputs: Sequence[tuple[str, TensorType]], insert: Callable[[], Sequence[str]]
    ) -> OwnGraph | None:
        """A graph of its own from what is inserted now, whose outputs have the names that this gives; None where
        something in it was refused."""
        self.outer.append(Frame(self.builder, self.current, self.added, self.captured))
        self.builder, self.current, self.added, self.captured = Builder(name), {}, {}, {}
        self.builder.reserve(self.scope.taken)
        try:
            for tensor, kind in inputs:
                self.builder.input(tensor, kind)
            made = insert()
            if any(tensor in self.poisoned for tensor in made):
                return None
            open_lengths.refuse_any(made, self.scope.open_lengths)
            for position, tensor in enumerate(made):
                self.builder.output(self._tensor(tensor), f"result_{position}")
            return own_graph(self.builder.build(), len(inputs), self.captured)
        finally:
            self._go_back(self.outer.pop())

    def _go_back(self, frame: Frame) -> None:
        self.builder, self.current, self.added = frame.builder, frame.current, frame.added
        self.captured = frame.captured

    def _capture(self, names: Iterable[str]) -> None:
        """Makes what a body reads from around it known in it."""
        if not self.outer:
            return
        for name in names:
            if name and name not in self.constants and self.current.get(name, name) not in self.builder.types:
                self._captured(name)

    def _captured(self, name: str) -> str | None:
        """An input of the body for a tensor from around it, which may be captured there too."""
        if not self.outer:
            return None
        inner = Frame(self.builder, self.current, self.added, self.captured)
        self._go_back(self.outer.pop())
        try:
            tensor = self.current.get(name, name)
            if tensor not in self.builder.types and self._captured(name) is None:
                return None
            kind = self.builder.types[self.current.get(name, name)]
        finally:
            self.outer.append(Frame(self.builder, self.current, self.added, self.captured))
            self._go_back(inner)
        self.current[name] = self.builder.input(self.builder.fresh(f"{name}/outer"), kind)
        self.captured[self.current[name]] = name
        return self.current[name]

    def _add_flow(self, node: onnx.NodeProto, op: ControlFlowOp, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        """An operator with bodies, on tensors of these names."""
        self._capture(inputs)
        self.builder.add(op, [self._tensor(name) for name in inputs], outputs, onnx_file.name_of(node))

    def _attempt(self, where: str, action: Callable[[], None]) -> list[CompileError]:
        """What stands in the way of an action; where anything does, nothing has happened."""
        kept, unrolled, before = copied(self.builder), self.scope.unrolled, len(self.errors)
        current, added, captured = dict(self.current), dict(self.added), dict(self.captured)
        poisoned, open_lengths = set(self.poisoned), dict(self.scope.open_lengths)
        try:
            action()
        except Refusal as refusal:
            self.errors.append(refusal.at(where, OTHERWISE))
        except CompileError as error:
            self.errors.append(error)
        found = self.errors[before:]
        if found:
            del self.errors[before:]
            self.builder, self.current, self.added, self.captured = kept, current, added, captured
            self.scope.unrolled, self.scope.open_lengths = unrolled, open_lengths
            self.poisoned.clear()
            self.poisoned.update(poisoned)
        return found

    def _behind_open_lengths(self, node: onnx.NodeProto) -> OpenLength | None:
        """Of the results of a node that reads a tensor of open length; a `Refusal` where it may not."""
        lengths, found = self.scope.open_lengths, [name for name in node.input if name in self.scope.open_lengths]
        if not found or self._operand_type(found[0]) is None:
            return None
        known = tuple(lengths.get(name) for name in node.input)
        if open_lengths.is_sum_of_rows(node, known, self.builder.types):
            return None
        kinds = [self._operand_type(name) for name in node.input]
        given = open_lengths.Operands(known, tuple(kind.shape if kind else () for kind in kinds), self.constants)
        return open_lengths.behind(node, given)

    def _note_open_lengths(self, node: onnx.NodeProto, length: OpenLength | None) -> None:
        if length is not None:
            self.scope.open_lengths |= {name: length for name in node.output if name}

    def _refuse_unknown(self, node: onnx.NodeProto) -> None:
        if node.domain not in DOMAINS:
            raise Refusal(f"domain '{node.domain}' is unknown", f"known domains: {', '.join(sorted(DOMAINS - {''}))}")

    def _may_be_supported(self, node: onnx.NodeProto) -> bool:
        """Whether a node could be converted if its operands were known."""
        read_here = FOLDABLE | subgraphs.KINDS.keys() | random_numbers.KINDS
        known = node.op_type in read_here or ops.find(node.op_type) is not None
        return known or is_defined_by_others(node.op_type, node.domain, self._opset(node))

    def _draw(self, node: onnx.NodeProto) -> None:
        kind = self._operand_type(node.input[0]) if node.input else None
        self.constants[node.output[0]] = random_numbers.drawn(node, kind, self.options.random_seed)

    def _operand_type(self, name: str) -> TensorType | None:
        value = self.constants.get(name)
        return self._type(name) if value is None else TensorType(value.dtype.name, value.shape)

    def _fold(self, node: onnx.NodeProto) -> bool:
        """Compute a node whose inputs are known; its outputs are then constants."""
        values = None if node.op_type in NEVER_FOLDED else known_operands(node, self.constants, self.builder.types)
        if values is None:
            return False
        if node.op_type not in MOVEMENT and any(name in self.integers for name in node.output):
            return False
        folded = fold(node, values, self._opset(node), self.proto)
        if folded is None:
            return False
        for name, value in zip(node.output, folded, strict=False):
            if value.size > MAX_ELEMENTS:
                raise Refusal(f"the constant '{name}' would have {value.size} elements")
            self.constants[name] = value
        return True

    def _emit(self, node: onnx.NodeProto) -> bool:
        """Add the operator of that name, if there is one."""
        operator = ops.find(node.op_type)
        if operator is None or (operator.domains and node.domain not in operator.domains):
            return False
        view = self._view(node)
        _refuse_missing_inputs(operator, view)
        if node.op_type in open_lengths.SUMS and (
            length := self.scope.open_lengths.get(node.input[open_lengths.UPDATES])
        ):
            view = open_lengths.without_rows_behind(view, length, self.builder)
        self.builder.node_name = onnx_file.name_of(node)
        with own_faults(f"node '{onnx_file.name_of(node)}' ({node.op_type})"):
            made = operator.expand(view, self.builder)
        if unused := view.unused_attributes():
            raise Refusal(f"attribute {', '.join(unused)} is not supported")
        self.current.update(zip(node.output, made, strict=False))
        if node.op_type in open_lengths.DATA_SIZED and len(made) > len(node.output):
            self._note_data_sized(node, made)
        return True

    def _note_data_sized(self, node: onnx.NodeProto, made: Sequence[str]) -> None:
        """A declared size says how many rows there are; otherwise a count does."""
        *results, count = made
        if self.declared_shapes.get(node.output[0]) is not None:
            name = onnx_file.name_of(node)
            note = f"node '{name}': how many there are is taken from the declared shape of its result"
            self.builder.notes.append(note)
            return
        ranks = [len(self.builder.types[name].shape) if name else 0 for name in results]
        self.scope.open_lengths |= open_lengths.made_by(node, ranks, count)

    def _convert_definition(self, node: onnx.NodeProto) -> None:
        """Put ONNX's own definition in the place of an operator that we do not have."""
        types = [self.builder.types.get(self._tensor(name)) if name else None for name in node.input]
        found = definition(node, self._opset(node), types, self.opsets[""])
        if found is None:
            raise _unsupported(node)
        nodes, version = found
        outer, self.opsets = self.opsets, {**self.opsets, "": version}
        for inner in nodes:
            self._convert(inner)
        self.opsets = outer

    def _view(self, node: onnx.NodeProto) -> OnnxNode:
        integers = any(name in self.integers for name in (*node.input, *node.output) if name)
        floats = integers and not any(name in self.integers for name in node.output) and node.op_type != "Dequant"
        names = tuple(self._operand(name, integers and not floats, floats) for name in node.input)
        return OnnxNode(
            node.op_type, node.domain, onnx_file.name_of(node), self._opset(node), onnx_file.attributes(node), names,
            tuple(node.output), tuple(self.builder.types.get(name) for name in names),
            tuple(self._known(node.op_type, position, name) for position, name in enumerate(names)),
            integers and not floats, self.unread, tuple(self.declared_shapes.get(name) for name in node.output),
        )  # fmt: skip

    def _known(self, kind: str, position: int, name: str) -> Array | None:
        """An operand's value if it is a constant, also a quantised one where the operator must know it."""
        value = self.builder.constants.get(name)
        if value is not None or position not in MUST_KNOW.get(kind, ()):
            return value
        maker = next((node for node in self.builder.nodes if name in node.outputs), None)
        if maker is None or maker.op.kind != "DequantizeLinear":
            return None
        operands = [self.builder.constants.get(operand) for operand in maker.inputs]
        if any(operand is None for operand in operands):
            return None
        return np.asarray(maker.op.numpy(*operands))

    def _operand(self, name: str, as_integer: bool, as_float: bool) -> str:
        if not name:
            return ""
        tensor = self._tensor(name, as_integer and name in self.integers)
        if as_float and name in self.integers and name not in self.constants:
            # A float operator after integer ones: the declared type is FLOAT, so the values are meant as floats.
            return self.builder.add(Cast("float32"), [tensor], name=f"{name}_to_float")[0]
        return tensor

    def _tensor(self, name: str, as_integer: bool = False) -> str:
        """The graph's name of an ONNX tensor; constants enter the graph when they are first used."""
        if name in self.constants:
            return self._constant(name, as_integer)
        tensor = self.current.get(name, name)
        if tensor in self.builder.types:
            return tensor
        captured = self._captured(name)
        if captured is None:
            raise Refusal(f"reads tensor '{name}', which nothing defines")
        return captured

    def _constant(self, name: str, as_integer: bool) -> str:
        """A constant may be used as floats by one node and as integers by another."""
        if (name, as_integer) not in self.added:
            array = _storable(self.constants[name], name)
            array = as_integers(array) if as_integer else array
            self.added[name, as_integer] = add_constant(self.builder, array, name)
        return self.added[name, as_integer]

    def _opset(self, node: onnx.NodeProto) -> int:
        return self.opsets.get(node.domain, self.opsets.get("", 1))


class _Poisoned(Exception):
    """An operand has no type because its producer was refused: one error is enough."""


def _hinted(error: CompileError) -> CompileError:
    """What a user can always do about a node."""
    return (
        error
        if error.hint
        else CompileError(error.where, error.what, "look at it in Netron; the export may be at fault")
    )


def _is_update(node: onnx.NodeProto) -> bool:
    return node.op_type == "InPlaceAccumulatorV2" and len(node.output) == 1


def _refuse_missing_inputs(operator: type[Op], node: OnnxNode) -> None:
    needed = len(node.inputs) if operator.operands[-1].endswith("*") else 0
    for position in range(max(fewest_inputs(node.kind), needed, 1)):
        if not node.has(position):
            raise Refusal(f"input {position} is missing")


def _unsupported(node: onnx.NodeProto) -> Refusal:
    return Refusal(f"operator {node.op_type} is not supported", "`tilewright ops` lists what is")


def _storable(array: Array, name: str) -> Array:
    if array.dtype.name not in BYTES:
        raise Refusal(f"constant '{name}' is {array.dtype.name}", f"supported: {', '.join(BYTES)}")
    return np.ascontiguousarray(array) if array.ndim else array
