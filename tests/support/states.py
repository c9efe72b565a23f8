"""Small networks that keep something between calls, and what they mean call by call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tilewright.ir.evaluate import evaluate, initial_states, states_after
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.op import Op
from tilewright.ir.types import Array, TensorType
from tilewright.ops.add import Add
from tilewright.ops.concat import Concat
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.mul import Mul
from tilewright.ops.relu import Relu
from tilewright.ops.reshape import Reshape
from tilewright.ops.slice import of_ranges
from tilewright.ops.sub import Sub
from tilewright.ops.tanh import Tanh

Feeds = Mapping[str, Array]


def calls(graph: Graph, feeds: Sequence[Feeds]) -> list[dict[str, Array]]:
    """The outputs of calls in order, by numpy, under the names that the user knows."""
    states, found = initial_states(graph), []
    for one in feeds:
        values = evaluate(graph, one, states)
        states = states_after(graph, values)
        found.append({name: values[tensor] for name, tensor in zip(graph.output_names, graph.outputs, strict=True)})
    return found


def accumulator(size: int = 12) -> Graph:
    """s = s + x, element by element: the new value is made in the place of the old one."""
    b = Builder("accumulator")
    x = b.input("x", TensorType("float32", (1, size)))
    s = b.state("sum", np.arange(size, dtype=np.float32).reshape(1, size))
    (total,) = b(Add(), [s, x])
    (y,) = b(Relu(), [total], ["y"])
    b.output(y)
    b.set_next_state("sum", total)
    return b.build()


def window(frames: int = 3, width: int = 8) -> Graph:
    """The last frames of a signal, as streaming convolutions keep them: a Concat, a product, and a Slice."""
    rng = np.random.default_rng(1)
    b = Builder("window")
    x = b.input("x", TensorType("float32", (1, 1, width)))
    s = b.state("frames", np.zeros((1, frames, width), np.float32))
    (joined,) = b(Concat(1), [s, x])
    (kept,) = b(of_ranges((1, frames + 1, width), {1: (1, frames + 1, 1)}), [joined])
    (rows,) = b(Reshape((1, (frames + 1) * width)), [joined])
    weights = b.constant(rng.standard_normal(((frames + 1) * width, 5)).astype(np.float32), "weights")
    (y,) = b(MatMul(), [rows, weights], ["y"])
    b.output(y)
    b.set_next_state("frames", kept)
    return b.build()


def shift(frames: int = 4, width: int = 6) -> Graph:
    """A shift register: its new value is a Concat of a part of the old one and of the input."""
    b = Builder("shift")
    x = b.input("x", TensorType("int8", (1, width)))
    s = b.state("register", np.full((frames, width), -7, np.int8))
    (older,) = b(of_ranges((frames, width), {0: (1, frames, 1)}), [s])
    (new,) = b(Concat(0), [older, x])
    b.output(new, "y")
    b.set_next_state("register", new)
    return b.build()


def swapped(size: int = 5) -> Graph:
    """Two states that become each other, one that becomes the input, one that stays, one that becomes a constant."""
    b = Builder("swapped")
    x = b.input("x", TensorType("int32", (size,)))
    one, two = (b.state(name, np.full(size, value, np.int32)) for name, value in (("one", 1), ("two", 2)))
    last, fixed = (b.state(name, np.arange(size, dtype=np.int32)) for name in ("last", "fixed"))
    reset = b.state("reset", np.full(size, 9, np.int32))
    total = x
    for tensor in (one, one, two, last, fixed, reset):
        (total,) = b(Add(), [total, tensor])
    b.output(total, "y")
    b.output(one, "one_before")
    for name, tensor in (("one", two), ("two", one), ("last", x), ("fixed", fixed)):
        b.set_next_state(name, tensor)
    b.set_next_state("reset", b.constant(np.full(size, 3, np.int32)))
    return b.build()


def crossed(size: int = 7) -> Graph:
    """Two states each of which is made from the other's old value: both in place is impossible."""
    b = Builder("crossed")
    x = b.input("x", TensorType("float32", (1, size)))
    p, q = b.state("p", np.ones((1, size), np.float32)), b.state("q", np.full((1, size), 2, np.float32))
    (new_p,) = b(Sub(), [q, x])
    (new_q,) = b(Add(), [p, x])
    (y,) = b(Mul(), [new_p, new_q], ["y"])
    b.output(y)
    b.set_next_state("p", new_p)
    b.set_next_state("q", new_q)
    return b.build()


def cell(width: int = 6, hidden: int = 8) -> Graph:
    """A recurrent cell: h = tanh(x W + h U), c = c * h + x W."""
    rng = np.random.default_rng(2)
    b = Builder("cell")
    x = b.input("x", TensorType("float32", (1, width)))
    h, c = b.state("h", np.zeros((1, hidden), np.float32)), b.state("c", np.zeros((1, hidden), np.float32))
    w = b.constant(rng.standard_normal((width, hidden)).astype(np.float32) / 2, "w")
    u = b.constant(rng.standard_normal((hidden, hidden)).astype(np.float32) / 3, "u")
    (from_x,) = b(MatMul(), [x, w])
    (from_h,) = b(MatMul(), [h, u])
    (both,) = b(Add(), [from_x, from_h])
    (new_h,) = b(Tanh(), [both])
    (gated,) = b(Mul(), [c, new_h])
    (new_c,) = b(Add(), [gated, from_x])
    b.output(new_h, "y")
    b.set_next_state("h", new_h)
    b.set_next_state("c", new_c)
    return b.build()


def streaming_conv(frames: int = 4, bins: int = 10, channels: int = 8) -> Graph:
    """A convolution over the last frames, whose state holds them in the layout of ONNX."""
    rng = np.random.default_rng(3)
    b = Builder("streaming_conv")
    x = b.input("x", TensorType("float32", (1, 2, 1, bins)))
    s = b.state("frames", np.zeros((1, 2, frames, bins), np.float32))
    (joined,) = b(Concat(2), [s, x])
    (kept,) = b(of_ranges((1, 2, frames + 1, bins), {2: (1, frames + 1, 1)}), [joined])
    weights = b.constant(rng.standard_normal((channels, 2, 3, 3)).astype(np.float32) / 4, "weights")
    (made,) = b(Conv((1, 1), (1, 1), (1, 1, 1, 1), 1), [joined, weights])
    (y,) = b(Relu(), [made], ["y"])
    b.output(y)
    b.set_next_state("frames", kept)
    return b.build()


def large_product(width: int = 64, size: int = 256) -> Graph:
    """A product with large weights makes the new value, when others have read the old one."""
    rng = np.random.default_rng(4)
    b = Builder("large_product")
    x = b.input("x", TensorType("float32", (3, width)))
    s = b.state("s", np.ones((3, size), np.float32))
    (squashed,) = b(Tanh(), [s])
    (new,) = b(MatMul(), [x, b.constant(rng.standard_normal((width, size)).astype(np.float32) / 8, "w")])
    weights = b.constant(rng.standard_normal((size, 8)).astype(np.float32) / 8, "u")
    b.output(b(MatMul(), [squashed, weights], ["y"])[0])
    b.set_next_state("s", new)
    return b.build()


NETWORKS = {make.__name__: make for make in (accumulator, window, shift, swapped, crossed, cell, streaming_conv)}


def random_network(seed: int) -> Graph:
    """A few states and operators on tensors of one shape, joined at random."""
    rng = np.random.default_rng(seed)
    kind = TensorType("int32", (2, int(rng.integers(3, 9))))
    b = Builder(f"random_{seed}")
    tensors = [b.input("x", kind)]
    names = [f"s{i}" for i in range(rng.integers(1, 5))]
    tensors += [b.state(name, rng.integers(-9, 9, kind.shape).astype(np.int32)) for name in names]
    for _ in range(rng.integers(2, 9)):
        ops: list[Op] = [Add(), Sub(), Concat(0)]
        op, pair = ops[rng.integers(len(ops))], [tensors[rng.integers(len(tensors))] for _ in range(2)]
        (made,) = b(op, pair)
        if isinstance(op, Concat):
            rows = int(rng.integers(0, 3))
            (made,) = b(of_ranges((4, kind.shape[1]), {0: (rows, rows + 2, 1)}), [made])
        if rng.integers(4) == 0:
            (flat,) = b(Reshape((kind.elements,)), [made])
            (made,) = b(Reshape(kind.shape), [flat])
        tensors.append(made)
    for name in names:
        b.set_next_state(name, tensors[rng.integers(len(tensors))])
    for number in range(rng.integers(1, 3)):
        b.output(tensors[rng.integers(len(tensors))], f"y{number}")
    return b.build()


def feeds_of(graph: Graph, steps: int, seed: int = 0) -> list[dict[str, Array]]:
    rng = np.random.default_rng(seed)
    return [{name: _values(rng, graph.types[name]) for name in graph.inputs} for _ in range(steps)]


def _values(rng: np.random.Generator, kind: TensorType) -> Array:
    if kind.dtype == "float32":
        return rng.standard_normal(kind.shape).astype(np.float32)
    return rng.integers(-100, 100, kind.shape).astype(kind.dtype)
