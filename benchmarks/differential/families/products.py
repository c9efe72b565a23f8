"""Matrix products: batched, broadcast, of vectors, of bytes with zero points."""

from __future__ import annotations

from benchmarks.differential.case import Case
from benchmarks.differential.choices import Choices
from benchmarks.differential.families.arithmetic import thinned
from benchmarks.differential.net import Net, grown


def matmul(net: Net) -> None:
    dtype = "float32" if net.opset < 9 or net.chance(0.8) else "int32"
    rows, inner, columns = (net.number(1, 70 if net.chance(0.15) else 12) for _ in range(3))
    batch = [net.number(1, 3) for _ in range(net.number(0, 3))]
    left = [inner] if net.chance(0.15) else [*thinned(net, batch), rows, inner]
    right = [inner] if net.chance(0.15) else [*thinned(net, batch)[net.number(0, len(batch)) :], inner, columns]
    net.add("MatMul", [net.new(left, dtype), net.new(right, dtype)])


def gemm(net: Net) -> None:
    rows, inner, columns = (net.number(1, 40 if net.chance(0.3) else 9) for _ in range(3))
    a, b = net.number(0, 1), net.number(0, 1)
    operands = [net.new((inner, rows) if a else (rows, inner)), net.new((columns, inner) if b else (inner, columns))]
    if net.opset < 11 or net.chance(0.7):
        operands.append(net.new(net.choice([(rows, columns), (1, columns), (rows, 1), (columns,), (1,), ()])))
    net.add("Gemm", operands, transA=a, transB=b, alpha=net.choice([None, 0.5]), beta=net.choice([None, 2.0]))


def integers(net: Net) -> None:
    """Products of bytes over their whole range, with zero points."""
    first, second = net.choice(["uint8", "int8"]), net.choice(["uint8", "int8"])
    a = net.array((net.number(1, 3), net.number(1, 12), net.number(1, 40)), first, -40, 40)
    b = net.array((a.shape[-1], net.number(1, 20)), second, -40, 40)
    zeros = [net.constant(net.number(0, 30), dtype) for dtype in (first, second)]
    if net.opset >= 10:
        net.add("MatMulInteger", [net.give(a), net.give(b), *zeros])


NODES = {matmul: 4, gemm: 3, integers: 2}
"""How often each is tried, relative to the others."""


def draw(choices: Choices, room: int) -> Case:
    return grown(Net(choices, room), NODES, choices.number(1, 3))
