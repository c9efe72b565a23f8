"""What tensors are made from: operands of the operators before, where these are of a kind."""

from __future__ import annotations

import numpy as np

from tilewright.ir.graph import Graph
from tilewright.ir.op import Op


def operand_of(graph: Graph, tensor: str, kind: type[Op]) -> str:
    """The operand of what makes a tensor; empty where that is something else."""
    source = graph.producers.get(tensor)
    return source.inputs[0] if source is not None and isinstance(source.op, kind) else ""


def operands_of(graph: Graph, tensor: str, kind: type[Op]) -> tuple[str, str] | None:
    source = graph.producers.get(tensor)
    is_it = source is not None and isinstance(source.op, kind) and len(source.inputs) == 2
    return (source.inputs[0], source.inputs[1]) if source is not None and is_it else None


def other_operand(graph: Graph, tensor: str, kind: type[Op], number: float) -> str:
    """The other operand of what makes a tensor with a number."""
    operands = operands_of(graph, tensor, kind)
    return operands[0] if operands is not None and is_number(graph, operands[1], number) else ""


def is_number(graph: Graph, tensor: str, number: float) -> bool:
    value = graph.constants.get(tensor)
    return value is not None and value.size == 1 and bool(value.reshape(-1)[0] == np.float32(number))
