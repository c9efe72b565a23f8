"""Low-rank adaptation: beside a frozen matrix two small ones learn, whose product is added to it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.graph import Graph, Node, rebuild
from tilewright.ir.types import Array
from tilewright.ops.add import Add
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.records import dataclass
from tilewright.training.trainable import Weight, chosen, sources, words_of

PREFIX = "lora:"


@dataclass(frozen=True)
class Adapted:
    graph: Graph
    learning: tuple[str, ...]


def is_asked(trainable: str | Sequence[str]) -> bool:
    words = words_of(trainable)
    return bool(words) and words[0].startswith(PREFIX)


def adapted(graph: Graph, weights: list[Weight], asked: str | Sequence[str], seed: int = 0) -> Adapted:
    """The network with matrices of a rank beside all products (lora:4), or beside those whose weights are named
    (lora:4:head,NAME)."""
    first, *others = words_of(asked)
    rank, _, name = first.removeprefix(PREFIX).partition(":")
    if not rank.isdecimal() or not 0 < int(rank) < 2**16:
        raise CompileError(f"trainable '{first}'", f"the rank '{rank}' is no number above 0", "for example lora:4")
    if others and not name:
        what = f"'{', '.join(others)}' is no part of '{first}', which freezes all other weights"
        hint = f"{first}:{','.join(others)} to have the matrices beside these weights alone"
        raise CompileError(f"trainable '{','.join((first, *others))}'", what, hint)
    wanted = chosen(weights, (name, *others) if name else "all", graph)
    return _Adapting(graph, wanted, int(rank), np.random.default_rng(seed)).run()


class _Adapting:
    def __init__(self, graph: Graph, wanted: Collection[str], rank: int, random: np.random.Generator) -> None:
        self.graph, self.wanted, self.rank, self.random = graph, wanted, rank, random
        self.builder, self.learning = rebuild(graph), list[str]()

    def run(self) -> Adapted:
        for node in self.graph.nodes:
            if not self._adapt(node):
                self.builder.copy_node(node, self.graph)
        self.builder.copy_outputs(self.graph)
        if not self.learning:
            hint = "it adapts products with a constant matrix and convolutions of one tap"
            raise CompileError("trainable lora", "there is no product beside which it could learn", hint)
        return Adapted(self.builder.build(), tuple(self.learning))

    def _adapt(self, node: Node) -> bool:
        op, operands = node.op, node.operands()
        if not isinstance(op, MatMul | Conv) or getattr(op, "activation", None) is not None:
            return False
        name = operands["B" if isinstance(op, MatMul) else "W"]
        found = sources(self.graph, name)
        if len(found) != 1 or found[0] not in self.wanted:
            return False
        shape = self.graph.types[name].shape
        if isinstance(op, MatMul):
            return len(shape) == 2 and not (op.trans_a or op.perm_a or op.perm_y) and self._product(node, op, found[0])
        return set(shape[2:]) == {1} and op.groups == 1 and not op.channels_last and self._pointwise(node, op, found[0])

    def _product(self, node: Node, op: MatMul, weight: str) -> bool:
        rows, columns = self.graph.types[node.inputs[1]].shape[:: -1 if op.trans_b else 1]
        a, b = self._matrices(weight, (rows, self.rank), (self.rank, columns))
        (low,) = self.builder.add(MatMul(), [node.inputs[0], a], name=f"{node.name}_lora")
        return self._beside(node, MatMul(alpha=op.alpha), [low, b])

    def _pointwise(self, node: Node, op: Conv, weight: str) -> bool:
        filters, channels, *ones = self.graph.types[node.inputs[1]].shape
        a, b = self._matrices(weight, (self.rank, channels, *ones), (filters, self.rank, *ones))
        (low,) = self.builder.add(replace(op), [node.inputs[0], a], name=f"{node.name}_lora")
        plain = Conv((1,) * op.rank, (1,) * op.rank, (0,) * (2 * op.rank))
        return self._beside(node, plain, [low, b])

    def _beside(self, node: Node, op: MatMul | Conv, inputs: list[str]) -> bool:
        (frozen,) = self.builder.add(node.op, node.inputs, None, node.name)
        (learned,) = self.builder.add(op, inputs, None, f"{node.name}_lora")
        self.builder.add(Add(), [frozen, learned], node.outputs, node.name)
        return True

    def _matrices(self, weight: str, first: tuple[int, ...], second: tuple[int, ...]) -> tuple[str, str]:
        """The first by chance, the second zero: at the beginning the network is what it was."""
        inputs = max(int(np.prod(first)) // self.rank, 1)
        start = self.random.uniform(-1, 1, first) / np.sqrt(inputs)
        return self._constant(f"{weight}.lora_a", start), self._constant(f"{weight}.lora_b", np.zeros(second))

    def _constant(self, name: str, value: Array) -> str:
        found = self.builder.constant(value.astype(np.float32), name)
        self.learning.append(found)
        return found
