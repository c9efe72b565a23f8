"""Recurrent cells in parts, for L1 memories that cannot hold all of their steps: the state goes from part to part.

Where not even one step fits, because of the matrix that the state is multiplied by, that product is a layer of its own,
which comes in tiles; then each step is a part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops._cells import Cells
from tilewright.ops.concat import Concat
from tilewright.ops.grucells import GRUCells
from tilewright.ops.lstmcells import LSTMCells
from tilewright.ops.matmul import MatMul
from tilewright.ops.reshape import Reshape
from tilewright.ops.slice import of_ranges
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite

STATES = 8
"""Vectors of hidden units that are in L1 besides gates, at most."""
MARGIN = 512
"""Bytes for parameters and what alignment costs."""
MOST_STEPS = 64
"""Steps that may become layers of their own: each costs the compiler time, and its C space."""


def splitting_steps(steps: Mapping[str, int]) -> Pass:
    """Of some cells (by key), in parts of so many steps; of 0 steps: with products apart."""
    return Pass("split steps", partial(split_steps, steps=steps), ensures=partial(none_whole, steps=steps))


def split_steps(graph: Graph, steps: Mapping[str, int]) -> Graph:
    """The graph with some cells (by key) in parts of so many steps; of 0 steps: with products apart."""

    def split(node: Node, builder: Builder) -> Mapping[str, str] | None:
        if node.key not in steps or not isinstance(node.op, Cells):
            return None
        return _Parts(graph, node, node.op, builder).made(steps[node.key])

    return rewrite(graph, split)


def none_whole(graph: Graph, steps: Mapping[str, int]) -> Iterator[Complaint]:
    """Parts have names of their own."""
    for node in graph.nodes:
        if isinstance(node.op, Cells) and node.key in steps:
            yield node.where, f"is not in parts of {steps[node.key]} steps"


def can_be_split(graph: Graph, node: Node) -> bool:
    """Whether the state may go from part to part: lengths of sequences are counted from the first step."""
    return isinstance(node.op, Cells) and "N" not in node.operands() and graph.types[node.inputs[0]].shape[0] > 1


def can_multiply_apart(graph: Graph, node: Node) -> bool:
    """Whether products with the state can be computed before all the rest of a step."""
    op, operands = node.op, node.operands()
    if not isinstance(op, Cells) or "S?" not in op.operands or "N" in operands or "R" not in operands:
        return False
    resets_state = isinstance(op, GRUCells) and not op.linear_before_reset
    rounds_state = isinstance(op, LSTMCells) and op.dynamic
    return graph.types[node.inputs[0]].shape[0] <= MOST_STEPS and not (resets_state or rounds_state)


def steps_at_once(graph: Graph, node: Node, room: int) -> int:
    """Steps of one sequence that so many bytes hold, besides what all steps need; 0 where not even one does."""
    types = graph.all_types(node)
    _, batch, width = types["X"].shape
    moving = [name for name in ("X", "Y") if name in types]
    each = sum(types[name].bytes // (types[name].shape[0] * batch) for name in moving)
    fixed = sum(types[name].bytes for name in node.operands() if name not in ("X", "H", "C", "N"))
    # The state comes, goes, and is there once more with the gates while cells work.
    working = (STATES + cast(Cells, node.op).gates) * width // cast(Cells, node.op).gates * 4
    return max(0, (room - fixed - working - MARGIN) // each)


class _Parts:
    """One node while it is taken apart."""

    def __init__(self, graph: Graph, node: Node, op: Cells, builder: Builder) -> None:
        self.node, self.op, self.builder = node, op, builder
        self.operands, self.results = node.operands(), node.results()
        self.shape = graph.types[node.inputs[0]].shape

    def made(self, size: int) -> dict[str, str]:
        """The tensors that stand for the node's results."""
        state = {name: self.operands.get(name, "") for name in ("H", "C")}
        outputs, last = [], dict[str, str]()
        for first, end in self._ranges(max(size, 1)):
            last = self._part(first, end, state, size == 0)
            state = {"H": last["Yh"], "C": last.get("Yc", "")}
            outputs.append(last.get("Y", ""))
        found = {self.results[name]: last[name] for name in ("Yh", "Yc") if name in self.results}
        return found | self._joined(outputs)

    def _ranges(self, size: int) -> list[tuple[int, int]]:
        """In the order in which they are computed."""
        found = [(first, min(first + size, self.shape[0])) for first in range(0, self.shape[0], size)]
        return found[::-1] if self.op.reverse else found

    def _part(self, first: int, end: int, state: Mapping[str, str], is_apart: bool) -> dict[str, str]:
        x = self._steps(first, end)
        given = {**self.operands, **state, "X": x}
        if is_apart:
            given |= {"R": "", "S": self._product(state["H"])}
        inputs = [given.get(name.rstrip("?"), "") for name in self.op.operands]
        wanted = ["Y" if "Y" in self.results else "", "Yh", "Yc"][: len(self.op.results)]
        names = [name and self.builder.fresh(f"{self.node.name}_{name}_{first}") for name in wanted]
        made = self.builder.add(replace(self.op), inputs, names, self.node.name)
        return {name: tensor for name, tensor in zip(wanted, made, strict=True) if name}

    def _steps(self, first: int, end: int) -> str:
        x = self.operands["X"]
        if (first, end) == (0, self.shape[0]):
            return x
        return self.builder.add(of_ranges(self.shape, {0: (first, end, 1)}), [x], None, self.node.name)[0]

    def _product(self, state: str) -> str:
        if state:
            return self.builder.add(MatMul(trans_b=True), [state, self.operands["R"]], None, self.node.name)[0]
        return self.builder.constant(np.zeros(self.shape[1:], np.float32), f"{self.node.name}_zeros")

    def _joined(self, outputs: Sequence[str]) -> dict[str, str]:
        """The outputs of all steps, in their order."""
        if "Y" not in self.results:
            return {}
        ordered = list(outputs[::-1] if self.op.reverse else outputs)
        op = Concat(0) if len(ordered) > 1 else Reshape(self.builder.types[ordered[0]].shape)
        return {self.results["Y"]: self.builder.add(op, ordered, None, self.node.name)[0]}
