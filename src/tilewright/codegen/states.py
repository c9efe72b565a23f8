"""What a network keeps between calls, as C: the function that sets the first values, and what the header says of it."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.codegen.literals import C_TYPES, array_items
from tilewright.codegen.names import comment
from tilewright.ir.graph import Graph, State

Address = Callable[[str], str]
"""Tensor -> the C expression of its first byte."""


def reset_body(graph: Graph, address: Address, placed: str = "") -> str:
    """The statements that give every state its first value; `placed` is said of arrays of these."""
    return "\n".join(_set(graph, state, address(state.before), placed) for state in graph.states if state.initial.size)


def _set(graph: Graph, state: State, address: str, placed: str) -> str:
    c_type, count = C_TYPES[graph.types[state.before].dtype], state.initial.size
    values = state.initial[(0,) * state.initial.ndim].reshape(1) if state.is_uniform else state.initial
    table = f"    static const {c_type} values[]{placed} = {{\n    {array_items(values)}}};\n"
    value = array_items(values).strip().rstrip(",") if state.is_uniform else "values[i]"
    return (
        f"  {{ /* {comment(state.name)}: {graph.types[state.before]} */\n{'' if state.is_uniform else table}"
        f"    {c_type} *const state = ({c_type} *)({address});\n"
        f"    for (int32_t i = 0; i < {count}; i++) state[i] = {value};\n"
        "  }"
    )


def listed(graph: Graph) -> str:
    """The states, as lines of a comment."""
    return "\n".join(f" *   {_described(graph, state)}" for state in graph.states)


def _described(graph: Graph, state: State) -> str:
    kind = graph.types[state.before]
    shape = f"[{' x '.join(map(str, kind.shape))}]" if kind.shape else "scalar"
    return f"{comment(state.name)}: {kind.dtype} {shape}"
