from __future__ import annotations

import math
from collections.abc import Sequence
from string import ascii_letters
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ir.types import Shape
from tilewright.ops._compose import Compose
from tilewright.ops.reducesum import ReduceSum
from tilewright.records import dataclass


@dataclass(frozen=True)
class Einsum(Op):
    """Sums of products by an equation such as bij,bjk->bik. Becomes Transpose, MatMul, Mul and ReduceSum."""

    operands: ClassVar[tuple[str, ...]] = ("X*",)

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make = Compose(node, emit)
        terms, result = _parsed(node.attribute("equation"), [make.shape(name) for name in node.inputs])
        operands = [_Term(make, name, labels).distinct() for name, labels in zip(node.inputs, terms, strict=True)]
        operands = _without_broadcast(operands)
        total = operands[0]
        for position, operand in enumerate(operands[1:], 1):
            later = "".join(term.labels for term in operands[position + 1 :])
            total = total.times(operand, result + later)
        return make.give(total.only(result).ordered(result).tensor)


@dataclass(frozen=True)
class _Term:
    """A tensor with one letter for each axis."""

    make: Compose
    tensor: str
    labels: str

    def size(self, label: str) -> int:
        return self.make.shape(self.tensor)[self.labels.index(label)]

    def sizes(self, labels: str) -> Shape:
        return tuple(self.size(label) for label in labels)

    def distinct(self) -> _Term:
        """A letter that occurs twice means the diagonal."""
        twice = next((label for label in self.labels if self.labels.count(label) > 1), None)
        if twice is None:
            return self
        first, second = [axis for axis, label in enumerate(self.labels) if label == twice][:2]
        shape = self.make.shape(self.tensor)
        if shape[first] != shape[second]:
            raise Refusal(f"'{twice}' stands for axes of {shape[first]} and {shape[second]} elements")
        others = [axis for axis in range(len(shape)) if axis not in (first, second)]
        moved = self.make.transpose(self.tensor, [*others, first, second])
        flat = self.make.reshape(moved, [*(shape[axis] for axis in others), shape[first] ** 2])
        found = self.make.part(flat, -1, 0, shape[first] ** 2, shape[first] + 1)
        return _Term(self.make, found, "".join(self.labels[axis] for axis in others) + twice).distinct()

    def only(self, labels: str) -> _Term:
        """Summed over all other letters."""
        axes = tuple(axis for axis, label in enumerate(self.labels) if label not in labels)
        if not axes:
            return self
        found = self.make(ReduceSum(axes, False), self.tensor)
        return _Term(self.make, found, "".join(label for label in self.labels if label in labels))

    def ordered(self, labels: str) -> _Term:
        return _Term(
            self.make, self.make.transpose(self.tensor, [self.labels.index(label) for label in labels]), labels
        )

    def without(self, labels: str) -> _Term:
        """Without axes of size 1."""
        kept = "".join(label for label in self.labels if label not in labels)
        return _Term(self.make, self.make.reshape(self.tensor, self.sizes(kept)), kept)

    def times(self, other: _Term, wanted: str) -> _Term:
        """The product, summed over letters that nobody wants."""
        left, right = self.only(wanted + other.labels), other.only(wanted + self.labels)
        common = [label for label in left.labels if label in right.labels]
        batch = "".join(label for label in common if label in wanted)
        summed = "".join(label for label in common if label not in wanted)
        rows = "".join(label for label in left.labels if label not in common)
        columns = "".join(label for label in right.labels if label not in common)
        if not summed or self.make.kind(self.tensor).dtype != "float32":
            return left._broadcast(right, batch + rows + columns + summed).only(wanted)
        sizes = (*left.sizes(batch + rows), *right.sizes(columns))
        a = self.make.reshape(left.ordered(batch + rows + summed).tensor, left._matrix(batch, rows, summed))
        b = self.make.reshape(right.ordered(batch + summed + columns).tensor, right._matrix(batch, summed, columns))
        return _Term(self.make, self.make.reshape(self.make.matmul(a, b), sizes), batch + rows + columns)

    def _matrix(self, batch: str, rows: str, columns: str) -> Shape:
        return (*self.sizes(batch), math.prod(self.sizes(rows)), math.prod(self.sizes(columns)))

    def _broadcast(self, other: _Term, labels: str) -> _Term:
        tensors = [term._spread(labels) for term in (self, other)]
        return _Term(self.make, self.make.mul(*tensors), labels)

    def _spread(self, labels: str) -> str:
        """With an axis of size 1 for each letter that the tensor does not have."""
        own = "".join(label for label in labels if label in self.labels)
        shape = [self.size(label) if label in self.labels else 1 for label in labels]
        return self.make.reshape(self.ordered(own).tensor, shape)


def _without_broadcast(terms: list[_Term]) -> list[_Term]:
    """Axes of size 1 under a letter that is longer in another operand are dropped."""
    longest: dict[str, int] = {}
    for term in terms:
        for label in term.labels:
            longest[label] = max(longest.get(label, 0), term.size(label))
    for term in terms:
        for label in term.labels:
            if term.size(label) not in (1, longest[label]):
                raise Refusal(f"'{label}' stands for axes of {term.size(label)} and {longest[label]} elements")
    return [term.without("".join(x for x in term.labels if term.size(x) == 1 < longest[x])) for term in terms]


def _parsed(equation: str, shapes: Sequence[Shape]) -> tuple[list[str], str]:
    """The letters of each operand and of the result, with letters of their own for what an ellipsis stands for."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        raise Refusal(f"equation {equation!r} has {len(terms)} operands, {len(shapes)} are given")
    spare = [letter for letter in ascii_letters if letter not in equation]
    counts = [len(shape) - len(term.replace("...", "")) for term, shape in zip(terms, shapes, strict=True)]
    if any(count < 0 or (count and "..." not in term) for count, term in zip(counts, terms, strict=True)):
        raise Refusal(f"equation {equation!r} does not fit shapes {', '.join(map(str, shapes))}")
    most = "".join(spare[: max(counts, default=0)])
    full = [term.replace("...", most[len(most) - count :]) for term, count in zip(terms, counts, strict=True)]
    result = right.replace("...", most) if arrow else most + _once("".join(terms).replace("...", ""))
    if not all(label in "".join(full) for label in result) or len(set(result)) != len(result):
        raise Refusal(f"equation {equation!r}: the result's letters must occur on the left, once each")
    return full, result


def _once(letters: str) -> str:
    return "".join(sorted(label for label in set(letters) if letters.count(label) == 1))
