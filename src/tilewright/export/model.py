"""The whole graph: names, types, constants, and the nodes in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import onnx
from onnx import NodeProto, ValueInfoProto, defs, helper, numpy_helper

from tilewright.errors import CompileError, Refusal, raise_all
from tilewright.export.refused import reason
from tilewright.export.registry import RULES
from tilewright.export.rules import (
    attention,
    elementwise,
    gradients,
    linear,
    movement,
    normalisations,
    plain,
    recurrent,
    reductions,
    requantised,
    resampling,
    shares,
    transforms,
    windows,
)
from tilewright.export.short_weights import shortened
from tilewright.export.writer import STANDARD, ModelWriter, NodeWriter
from tilewright.frontends.onnx.problems import grouped
from tilewright.frontends.onnx.states import declare
from tilewright.ir.graph import Graph, Node, State
from tilewright.ir.types import Array, as_computed
from tilewright.version import VERSION

LOADED = (
    attention, elementwise, gradients, linear, movement, normalisations, plain, recurrent, reductions, requantised,
    resampling, shares, transforms, windows,
)  # fmt: skip
"""Modules that have given RULES their entries."""

LEAST_OPSET = 21
"""The first with quantised values of 4 and of 16 bits. A model has a newer one only where an operator, or a type that
it takes, needs it."""

MOST_BYTES = 2**31 - 1
"""What a file of this format can hold."""


def model_of(graph: Graph, short_weights: bool = False) -> onnx.ModelProto:
    """A standard model that computes what the graph does, under the same names.

    With `short_weights`, quantised constants that fit into 4 bits are stored so. States become inputs and outputs: ONNX
    has none.
    """
    _refuse_large(graph)
    writer = ModelWriter(graph)
    raise_all(grouped([error for node in graph.nodes if (error := _problem(writer, node)) is not None]))
    outputs = _outputs(writer)
    nodes = _live(writer.nodes, outputs)
    constants = {writer.names[name]: _computed(name, graph) for name in graph.constants} | writer.constants
    if short_weights:
        nodes, constants = shortened(nodes, constants, writer.fresh)
    return _allowed(_model(writer, nodes, outputs, _read(constants, nodes, outputs)), graph)


def _problem(writer: ModelWriter, node: Node) -> CompileError | None:
    """Why a node cannot be written; nothing where it has been."""
    rule = RULES.get(node.op.kind)
    try:
        if rule is None:
            raise reason(node.op)
        rule(NodeWriter(writer, node), node.op)
    except Refusal as refusal:
        return refusal.at(node.where)
    return None


def _refuse_large(graph: Graph) -> None:
    size = sum(graph.types[name].bytes for name in graph.constants)
    if size > MOST_BYTES:
        what = f"has constants of {size / 1e9:.1f} GB; a file of ONNX holds less than {MOST_BYTES / 1e9:.1f} GB"
        raise CompileError(f"network '{graph.name}'", what, "export parts of it")


# ---- outputs --------------------------------------------------------------------------------------------------------


def _outputs(writer: ModelWriter) -> dict[str, str]:
    """Name of an output -> the tensor in the graph; those whose name is another tensor's are copies."""
    graph = writer.graph
    twice = {name for name in graph.output_names if graph.output_names.count(name) > 1}
    if twice:
        raise CompileError(f"output '{min(twice)}'", "is the name of two outputs", "give each a name of its own")
    found = dict(zip(graph.output_names, graph.outputs, strict=True))
    for state in graph.states:
        found[writer.fresh(f"{state.name}_next")] = state.after
    for name, tensor in found.items():
        if writer.names[tensor] != name:
            writer.add(helper.make_node("Identity", [writer.names[tensor]], [name], writer.node_name(name, True)))
    return found


# ---- nodes and constants --------------------------------------------------------------------------------------------


def _live(nodes: Iterable[NodeProto], outputs: Iterable[str]) -> list[NodeProto]:
    """Nodes that something needs: products that a recurrent layer has taken in are needed no longer."""
    needed, kept = set(outputs), list[NodeProto]()
    for node in reversed(list(nodes)):
        if needed.intersection(node.output):
            needed.update(node.input)
            kept.append(node)
    return kept[::-1]


def _computed(name: str, graph: Graph) -> Array:
    """A constant in the type that operators take it for: short floats are only stored so."""
    array = graph.constants[name]
    return array if name in graph.outputs else as_computed(array)


def _read(constants: Mapping[str, Array], nodes: Iterable[NodeProto], outputs: Iterable[str]) -> dict[str, Array]:
    """The constants that somebody needs."""
    used = {name for node in nodes for name in node.input} | set(outputs)
    return {name: array for name, array in constants.items() if name in used}


# ---- the model ------------------------------------------------------------------------------------------------------


def _model(
    writer: ModelWriter, nodes: list[NodeProto], outputs: dict[str, str], constants: dict[str, Array]
) -> onnx.ModelProto:
    graph = writer.graph
    made = {name for node in nodes for name in node.output}
    inner = [tensor for tensor in graph.producers if writer.names[tensor] in made - set(outputs)]
    proto = helper.make_graph(
        nodes, graph.name or "network", [_value(graph, name, name) for name in graph.sources],
        [_value(graph, tensor, name) for name, tensor in outputs.items()],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
        value_info=[_value(graph, tensor, writer.names[tensor]) for tensor in inner],
    )  # fmt: skip
    model = helper.make_model(proto, producer_name="tilewright", producer_version=VERSION)
    model.doc_string = "\n".join(map(_state_text, graph.states))
    after = {tensor: name for name, tensor in outputs.items()}
    # Files have no place for other first values than zeros that other runtimes would not take for a default.
    declare(model, {state.before: after[state.after] for state in graph.states if not np.any(state.initial)})
    return model


def _value(graph: Graph, tensor: str, name: str) -> ValueInfoProto:
    kind = graph.types[tensor]
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(kind.element), kind.shape)


def _state_text(state: State) -> str:
    first = f"all {state.initial.reshape(-1)[0]}" if state.is_uniform and state.initial.size else "the stored values"
    return (
        f"state '{state.name}': output '{state.name}_next' is input '{state.before}' of the next call, {first} at first"
    )


# ---- the opset ------------------------------------------------------------------------------------------------------


def _allowed(model: onnx.ModelProto, graph: Graph) -> onnx.ModelProto:
    """The model in the oldest opset whose rules it keeps, from the least one on."""
    kinds = {(node.domain, node.op_type) for node in model.graph.node}
    problem = ""
    for opset in range(LEAST_OPSET, defs.onnx_opset_version() + 1):
        if all(defs.has(kind, opset) for domain, kind in kinds if domain == STANDARD):
            _set_opset(model, opset, {domain for domain, _ in kinds})
            found = _violation(model)
            if not found:
                return model
            problem = problem or found
    raise CompileError(
        f"network '{graph.name}'", f"ONNX does not allow it: {problem}",
        "an operator has operands of types that ONNX does not define it for: insert a Cast",
    )  # fmt: skip


def _set_opset(model: onnx.ModelProto, opset: int, domains: Iterable[str]) -> None:
    used = [helper.make_opsetid(STANDARD, opset)]
    used += [helper.make_opsetid(domain, 1) for domain in domains if domain != STANDARD]
    del model.opset_import[:]
    model.opset_import.extend(used)
    # The oldest format that may hold it: runtimes refuse files that are newer than themselves.
    model.ir_version = helper.find_min_ir_version_for(used, ignore_unknown=True)


def _violation(model: onnx.ModelProto) -> str:
    """What is against the rules of ONNX; nothing where all is well."""
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return ""
