"""Which layers can be stored in 16 bits: those for which the engine that computes them has such a kernel."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from tilewright.errors import Refusal
from tilewright.ir.graph import Graph, Node
from tilewright.ir.half_floats import infer
from tilewright.ir.types import TensorType
from tilewright.target.kernel import Argument, Kernel, Types
from tilewright.target.mapping import only_engines, unsupported
from tilewright.target.target import Target


def short_operands(
    target: Target, dtype: str, placed: Mapping[str, str], graph: Graph, node: Node
) -> Collection[str] | None:
    """The float32 operands of a node that a kernel reads in 16 bits; None where its layer stays in 32 bits.

    Activations are in 16 bits wherever the kernel takes them so, constants where it takes nothing else: biases, scales
    and numbers of element-wise operators stay as exact as they are."""
    if node.op.names_type:
        return None
    types = graph.all_types(node)
    constant = {name for name, tensor in node.operands().items() if tensor in graph.constants}
    for engine in only_engines(target, tuple(filter(None, [placed.get(node.name, "")]))).engines:
        for kernel in engine.kernels_of(node.op):
            short = [name for name in node.operands() if _is_short(kernel, name, types[name], name in constant, dtype)]
            made = _results(node, types, short, dtype) if short else None
            if made is None or (constant.issuperset(short) and all(kind.dtype != dtype for kind in made.values())):
                continue  # weights alone are no gain
            given = {name: replace(types[name], dtype=dtype) if name in short else types[name] for name in types}
            if unsupported(kernel, node.op, tuple({**given, **made}.items())) is None:
                return short
        if any(unsupported(kernel, node.op, tuple(types.items())) is None for kernel in engine.kernels_of(node.op)):
            return None
    return None


def _is_short(kernel: Kernel, name: str, kind: TensorType, is_constant: bool, dtype: str) -> bool:
    """Whether a kernel is to have an operand in 16 bits. One that takes float32 beside them, and nothing else, turns
    each as it reads it; one that takes anything moves bytes, all of one type."""
    argument = next((one for one in kernel.arguments() if _is_meant(one, name)), None)
    allowed = None if argument is None else kernel.allowed(argument)
    if kind.dtype != "float32" or (allowed is not None and dtype not in allowed):
        return False
    return not (is_constant and allowed == frozenset({"float32", dtype}))


def _is_meant(argument: Argument, name: str) -> bool:
    return name == argument.stem or (argument.variadic and name.startswith(argument.stem))


def _results(node: Node, types: Types, short: Collection[str], dtype: str) -> Types | None:
    """What a node makes of operands in 16 bits; None where it does not take them."""
    given = {name: replace(types[name], dtype=dtype) if name in short else types[name] for name in node.operands()}
    try:
        made = infer(node.op, given)
    except Refusal:
        return None
    results = dict(zip(node.op.result_names(len(node.outputs)), made, strict=False))
    return {name: kind for name, kind in results.items() if name in node.results()}
