"""Element-by-element functions of one 8-bit tensor become tables of 256 entries.

The operators' own arithmetic fills the table, so every rounding, clamp and wrap-around stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.types import BYTES, Array, is_integer, limits
from tilewright.ops._arithmetic import Arithmetic
from tilewright.ops._elementwise import Elementwise
from tilewright.ops.cast import Cast
from tilewright.ops.clip import Clip
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.erf import Erf
from tilewright.ops.exp import Exp
from tilewright.ops.gelu import Gelu
from tilewright.ops.lookup import ENTRIES, Lookup
from tilewright.ops.max import Max
from tilewright.ops.min import Min
from tilewright.ops.mish import Mish
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearfunction import QLinearFunction
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.relu import Relu
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.sigmoid import Sigmoid
from tilewright.ops.softplus import Softplus
from tilewright.ops.swish import Swish
from tilewright.ops.tanh import Tanh
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass

CHEAP = (Arithmetic, Cast, Clip, Lookup, Max, Min, Relu)
"""Operators that alone are no slower than a table."""

JOINED = (QLinearAdd, QLinearFunction, QLinearMul)
"""Operators that are functions of bytes where all that they read is."""

CURVES = (Erf, Exp, Gelu, Mish, Sigmoid, Softplus, Swish, Tanh)
"""Functions of floats that are slower than a table."""

FEWEST_ELEMENTS = 64
"""For less, a table is not worth the flash that it takes."""


@dataclass(frozen=True)
class Function:
    """A tensor as a function of a tensor of bytes."""

    source: str
    values: Array
    """For each byte, from the lowest on."""
    costly: bool
    """Whether what is on the way is slower than a table."""


FunctionOf = Callable[[Graph, Node, dict[str, Function]], Function | None]


def run(graph: Graph) -> Graph:
    return _tabulated(graph, _function)


def run_joined(graph: Graph) -> Graph:
    return _tabulated(graph, _joined_function)


def _tabulated(graph: Graph, function_of: FunctionOf) -> Graph:
    functions: dict[str, Function] = {}

    def tabulate(node: Node, builder: Builder) -> dict[str, str] | None:
        function = function_of(graph, node, functions)
        if function is None:
            return None
        functions[node.key] = function
        if _changes_nothing(graph, function):
            return {node.key: function.source}
        if not _is_worth_a_table(graph, node, function):
            return None
        builder.add(Lookup(), [function.source, builder.constant(function.values, f"{node.name}_table")], node.outputs)
        return {node.key: node.key}

    return rewrite(graph, tabulate)


def _changes_nothing(graph: Graph, function: Function) -> bool:
    """Every byte is its own value: scales of exporters are often equal."""
    kind = graph.types[function.source]
    return function.values.dtype.name == kind.dtype and np.array_equal(function.values, _every_byte(kind.dtype))


def _every_byte(dtype: str) -> Array:
    low, high = limits(dtype)
    return np.arange(low, high + 1).astype(dtype)


def _function(graph: Graph, node: Node, functions: dict[str, Function]) -> Function | None:
    """What a node makes of its one operand that is no constant, or None where that is no function of bytes."""
    given = [name for name in node.inputs if name not in graph.constants]
    if len(given) != 1 or not isinstance(node.op, Elementwise | RequantShift | Lookup):
        return None
    kind, result = graph.types[given[0]], graph.types[node.key]
    if not is_integer(result.dtype) or kind.shape != result.shape or not _is_uniform(graph, node):
        return None
    before = functions.get(given[0])
    # A table of something that is computed is faster with that in it.
    costly = not isinstance(node.op, CHEAP) or (isinstance(node.op, Lookup) and before is not None)
    if before is None:
        if kind.dtype not in ("int8", "uint8"):
            return None
        before = Function(given[0], _every_byte(kind.dtype), False)
    operands = [before.values if name == given[0] else _flat(node.op, graph.constants[name]) for name in node.inputs]
    with np.errstate(all="ignore"):
        values = np.asarray(node.op.numpy(*operands))
    if values.shape != (ENTRIES,) or values.dtype.name != result.dtype:
        return None
    return Function(before.source, values, costly or before.costly)


def _joined_function(graph: Graph, node: Node, functions: dict[str, Function]) -> Function | None:
    """The same of a finer table, or of two operands that are functions of the same bytes."""
    given = [name for name in node.inputs if name not in graph.constants]
    if isinstance(node.op, (DequantizeLinear, *CURVES)):
        return _curve(graph, node, functions)
    if not isinstance(node.op, JOINED) or not given:
        return _function(graph, node, functions)
    shapes = {graph.types[name].shape for name in (*given, node.key)}
    sources = set.intersection(*(_sources(graph, name, functions) for name in given))
    if len(shapes) != 1 or not sources or not (isinstance(node.op, QLinearFunction) or _is_uniform(graph, node)):
        return None
    source = min(sources)
    own = {source: _every_byte(graph.types[source].dtype)}
    values = [own.get(name, graph.constants.get(name)) for name in node.inputs]
    operands = [
        functions[name].values if array is None else array for name, array in zip(node.inputs, values, strict=True)
    ]
    made = np.asarray(node.op.numpy(*operands)).reshape(-1)
    return Function(source, made, True) if made.shape == (ENTRIES,) else None


def _curve(graph: Graph, node: Node, functions: dict[str, Function]) -> Function | None:
    """Of floats that bytes stand for."""
    name = node.inputs[0]
    if isinstance(node.op, DequantizeLinear):
        kind = graph.types[name]
        if kind.dtype not in ("int8", "uint8") or name in graph.constants or not _is_uniform(graph, node):
            return None
        parts = [graph.constants.get(part) for part in node.inputs[1:]]
        if any(part is None for part in parts):
            return None
        scalars = [part.reshape(()) for part in parts if part is not None]
        return Function(name, np.asarray(node.op.numpy(_every_byte(kind.dtype), *scalars)), False)
    before = functions.get(name)
    if before is None or len(node.inputs) != 1 or graph.types[node.key].dtype != "float32":
        return _function(graph, node, functions)
    return Function(before.source, np.asarray(node.op.numpy(before.values), np.float32), True)


def _sources(graph: Graph, name: str, functions: dict[str, Function]) -> set[str]:
    """Tensors of bytes that a tensor is a function of."""
    found = {functions[name].source} if name in functions else set()
    return found | ({name} if graph.types[name].dtype in ("int8", "uint8") else set())


def _is_uniform(graph: Graph, node: Node) -> bool:
    """Whether every element is treated alike."""
    constants = [graph.constants[name] for name in node.inputs if name in graph.constants]
    if isinstance(node.op, Lookup):
        return constants[-1].ndim == 1
    return all(values.size == 1 for values in constants)


def _flat(op: Op, values: Array) -> Array:
    return values if isinstance(op, Lookup) else values.reshape(1)


def _is_worth_a_table(graph: Graph, node: Node, function: Function) -> bool:
    """A tensor that is large enough, and a table that is no wider than two bytes an entry, or of a curve."""
    kind = graph.types[node.key]
    is_narrow = BYTES[kind.dtype] <= 2 or kind.dtype == "float32"
    return function.costly and kind.elements >= FEWEST_ELEMENTS and is_narrow


def all_tabulated(graph: Graph) -> Iterator[Complaint]:
    """Of functions that one node makes of bytes; those of several nodes begin with one."""
    for node in graph.nodes:
        if isinstance(node.op, CHEAP):
            continue
        function = _function(graph, node, {})
        if function is not None and _is_worth_a_table(graph, node, function):
            yield node.where, f"computes a function of the bytes of '{function.source}', which a table could hold"


TABULATE = Pass("tabulate functions of bytes", run, ensures=all_tabulated)
TABULATE_JOINED = Pass("tabulate what is joined", run_joined, ensures=all_tabulated)
"""For targets where a table is faster than what follows from two of them."""
