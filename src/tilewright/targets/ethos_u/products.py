"""Products of two computed tensors, as in attention, on the NPU: the core writes one of them as weights, the NPU
multiplies. Transpositions before and behind a product are part of it: the NPU reads and writes rows where they lie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from itertools import product as combinations
from math import prod

import numpy as np

from tilewright.errors import Refusal, instance, present
from tilewright.ir.graph import Builder, Graph, Node, rebuild
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import BYTES as SIZES
from tilewright.ir.types import Array, Shape, limits
from tilewright.ir.unused import drop_unused
from tilewright.ops._ethosu import EthosU
from tilewright.ops._ethosuweights import ALIGNMENT, BYTES, OUTER, EthosUWeights
from tilewright.ops.matmul import MatMul
from tilewright.ops.transpose import Transpose
from tilewright.records import dataclass
from tilewright.sim.ethos_u.configurations import find_configuration
from tilewright.sim.ethos_u.payload import read_payload
from tilewright.target.core_or_accelerator import fewest_cycles
from tilewright.target.target import Target
from tilewright.targets.ethos_u import product_stream
from tilewright.targets.ethos_u.costs import SLOWER, costs_of
from tilewright.targets.ethos_u.product_stream import Map, Matrices, Places

RESULTS = ("int8", "uint8", "int16")
MOST_INPUTS = 32768
"""Of a row: totals of its products have 32 bits."""
MOST_ROWS = 65536
MOST_SHIFT = 63
SEED = 22
DIFFERS = "the NPU's stream gives other results than the network"


@dataclass(frozen=True, eq=False)
class Read:
    """A tensor of matrices, as it lies: its axes in the order of the product."""

    tensor: str
    shape: Shape
    axes: Shape

    @property
    def strides(self) -> tuple[int, ...]:
        """In elements, along the axes of the product."""
        return tuple(prod(self.shape[axis + 1 :]) for axis in self.axes)

    @property
    def sizes(self) -> Shape:
        return tuple(self.shape[axis] for axis in self.axes)

    def starts(self, outer: Shape) -> Iterator[int]:
        """Elements before each matrix, of as many as the result has."""
        steps = [stride if size > 1 else 0 for stride, size in zip(self.strides[:-2], self.sizes[:-2], strict=True)]
        steps = [0] * (len(outer) - len(steps)) + steps
        for place in combinations(*map(range, outer)):
            yield sum(at * step for at, step in zip(place, steps, strict=True))


@dataclass(frozen=True, eq=False)
class Product:
    """A node with the transpositions around it, and what it becomes."""

    node: Node
    a: Read
    b: Read
    y: Read
    weights: EthosUWeights
    job: EthosU
    stream: Array
    constants: Array


def with_products(npu: str, core: Target | None, graph: Graph) -> tuple[Graph, dict[str, str]]:
    """The graph with jobs instead of products that the NPU computes in fewer cycles, and why others stay."""
    found, reasons = dict[str, Product](), dict[str, str]()
    for node in graph.nodes:
        if is_computed(graph, node):
            try:
                found[node.key] = _product(npu, graph, node)
                _check_cost(core, graph, found[node.key])
                _check_results(graph, found[node.key])
            except Refusal as refusal:
                found.pop(node.key, None)
                reasons[node.key] = refusal.what
    return (_joined(graph, found), reasons) if found else (graph, reasons)


def is_computed(graph: Graph, node: Node) -> bool:
    return isinstance(node.op, MatMul) and not set(node.inputs[:2]) & set(graph.constants)


def _product(npu: str, graph: Graph, node: Node) -> Product:
    op, mul = instance(node.op, MatMul), _factors(graph, node)
    requant = present(op.requant, node.where, "gives totals")
    a, b, y = _ends(graph, node, op)
    chip = find_configuration(npu)
    if b.sizes[-1] < chip.cores:
        raise Refusal(f"matrices of one column, and the NPU has {chip.cores} cores")
    shape = _Shape(a, b, y, graph.types[a.tensor].dtype, op.a_zero, requant)
    constants, scales = product_stream.records(mul, requant.shift, chip.cores)
    block = product_stream.best_block(npu, shape.matrices(0, 0, ((0, ALIGNMENT),) * chip.cores, scales))
    weights = EthosUWeights(b.axes, op.b_zero, chip.unit[2], max(block[2], chip.unit[2]), chip.cores, shape.dtype)
    words = product_stream.payload(npu, list(shape.all(weights, scales)), block)
    before = len(read_payload(words.astype("<u4").tobytes(), node.where).before)
    w_at, y_at, end = shape.places(weights)
    job = EthosU(
        npu, end, 0, (0, w_at), (y_at,), (shape.y_bytes,), y.shape, requant.dtype,
        products=graph.macs(node), first=before,
    ).of_stream(words[before:])  # fmt: skip
    return Product(node, a, b, y, weights, job, words, np.frombuffer(constants, np.uint8))


def _ends(graph: Graph, node: Node, op: MatMul) -> tuple[Read, Read, Read]:
    a, b = _read(graph, node.inputs[0], op.perm_a, op.trans_a), _read(graph, node.inputs[1], op.perm_b, op.trans_b)
    y = _written(graph, node)
    if a.axes[-1] != len(a.shape) - 1 or y.axes[-1] != len(y.shape) - 1:
        raise Refusal("its rows do not lie side by side")
    (rows, inputs), results = a.sizes[-2:], b.sizes[-1]
    if inputs > MOST_INPUTS or max(rows, results) > MOST_ROWS or len(b.sizes) > OUTER + 2:
        raise Refusal(f"matrices of {rows} x {inputs} and {inputs} x {results} are too large for the NPU")
    return a, b, y


@dataclass(frozen=True, eq=False)
class _Shape:
    """The arena of a job: rows, behind them weights, behind those results."""

    a: Read
    b: Read
    y: Read
    dtype: str
    zero: int
    requant: Requant

    @property
    def y_bytes(self) -> int:
        return prod(self.y.shape) * SIZES[self.requant.dtype]

    def places(self, weights: EthosUWeights) -> tuple[int, int, int]:
        """Of weights and of results, and the end."""
        w_at = _up(prod(self.a.shape))
        y_at = w_at + sum(weights.sizes(self.b.shape))
        return w_at, y_at, y_at + _up(self.y_bytes)

    def all(self, weights: EthosUWeights, scales: Places) -> Iterator[Matrices]:
        """Each matrix of the result, with its weights, which several may share."""
        outer, sizes = self.y.sizes[:-2], weights.sizes(self.b.shape)
        w_at, y_at, _ = self.places(weights)
        starts = [w_at, *(w_at + end for end in accumulate(sizes))]
        numbers = np.arange(len(sizes)).reshape(*self.b.sizes[:-2], weights.cores)
        own = np.broadcast_to(numbers, (*outer, weights.cores)).reshape(-1, weights.cores)
        width = SIZES[self.requant.dtype]
        for x, y, streams in zip(self.a.starts(outer), self.y.starts(outer), own, strict=True):
            yield self.matrices(x, y_at + width * y, tuple((starts[one], sizes[one]) for one in streams), scales)

    def matrices(self, x_at: int, y_at: int, weights: Places, scales: Places) -> Matrices:
        x = Map(x_at, self.a.strides[-2], self.dtype, self.zero)
        y = Map(y_at, self.y.strides[-2] * SIZES[self.requant.dtype], self.requant.dtype, self.requant.zero_point)
        rows, inputs = self.a.sizes[-2:]
        return Matrices(x, y, rows, inputs, self.b.sizes[-1], weights, scales)


def _factors(graph: Graph, node: Node) -> Array:
    """Of each result; a refusal where the NPU does not scale so."""
    op, operands = instance(node.op, MatMul), node.operands()
    kinds = {graph.types[name].dtype for name in node.inputs[:2]}
    if op.requant is None or not kinds <= BYTES or op.requant.dtype not in RESULTS:
        raise Refusal("multiplies two computed tensors; the NPU takes bytes and gives int8 or int16")
    requant = op.requant
    if op.perm_y or len(graph.types[node.inputs[0]].shape) < 2 or len(graph.types[node.inputs[1]].shape) < 2:
        raise Refusal("multiplies a vector, or stores its results in another order")
    mul, add = (graph.constants.get(operands.get(name, "")) for name in ("mul", "add"))
    if operands.get("C") or mul is None or (operands.get("add") and (add is None or np.any(add))):
        raise Refusal("adds something to products of computed tensors")
    if mul.size not in (1, mul.shape[-1] if mul.ndim else 1) or np.any(mul <= 0) or requant.shift > MOST_SHIFT:
        raise Refusal("has a factor for each row, or one that is not positive")
    if requant.rounding != Rounding.HALF_UP or (requant.low, requant.high) != limits(requant.dtype):
        raise Refusal(f"its results are {requant}, which the NPU does not give of computed tensors")
    return np.broadcast_to(mul.reshape(-1), graph.types[node.key].shape[-1:])


def _read(graph: Graph, name: str, perm: Shape, transposed: bool) -> Read:
    """Before a transposition, which nobody has to compute."""
    shape = graph.types[name].shape
    axes = list(perm or range(len(shape)))
    maker = graph.producers.get(name)
    if maker is not None and isinstance(maker.op, Transpose) and not _is_of_product(graph, maker.inputs[0]):
        axes = [maker.op.perm[axis] for axis in axes]
        name, shape = maker.inputs[0], graph.types[maker.inputs[0]].shape
    if transposed:
        axes[-2:] = axes[:-3:-1]
    return Read(name, shape, tuple(axes))


def _is_of_product(graph: Graph, name: str) -> bool:
    """Then the product may write it transposed."""
    maker = graph.producers.get(name)
    return maker is not None and is_computed(graph, maker)


def _written(graph: Graph, node: Node) -> Read:
    """Behind a transposition, if nobody else reads the product."""
    shape = graph.types[node.key].shape
    readers = graph.consumers.get(node.key, [])
    if len(readers) == 1 and isinstance(readers[0].op, Transpose) and node.key not in graph.sinks:
        perm, name = readers[0].op.perm, readers[0].key
        if perm[-1] == len(shape) - 1:
            return Read(name, graph.types[name].shape, tuple(perm.index(axis) for axis in range(len(shape))))
    return Read(node.key, shape, tuple(range(len(shape))))


def _up(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _check_cost(core: Target | None, graph: Graph, found: Product) -> None:
    """A refusal where the core is predicted to be faster; without costs of its kernels nobody knows."""
    if core is None or not core.costs.kernels:
        return
    costs, weights = costs_of(core), sum(found.weights.sizes(found.b.shape))
    theirs = costs.job + found.job.cycles + costs.copied(sum((prod(found.a.shape), weights, *found.job.results_bytes)))
    theirs += costs.written(weights)
    ours = fewest_cycles(graph, found.node, core)
    if theirs > ours:
        raise Refusal(SLOWER.format(theirs, ours))


def _check_results(graph: Graph, one: Product) -> None:
    """A refusal where the stream gives something else than the node, of bytes drawn at random."""
    draws, op = np.random.default_rng(SEED), instance(one.node.op, MatMul)
    a, b = (draws.integers(*limits(kind), at.shape, kind, True)
            for at, kind in ((of, graph.types[of.tensor].dtype) for of in (one.a, one.b)))  # fmt: skip
    plain = replace(op, trans_a=False, trans_b=False, perm_a=(), perm_b=())
    others = [graph.constants.get(name) for name in one.node.inputs[2:]]
    wanted = plain.numpy(a.transpose(one.a.axes), b.transpose(one.b.axes), *others)
    found = one.job.numpy(one.stream.view(np.int32), one.constants, a, one.weights.numpy(b))
    if not np.array_equal(found.transpose(one.y.axes), wanted):
        raise Refusal(DIFFERS)


def _joined(graph: Graph, found: dict[str, Product]) -> Graph:
    """Behind each job the weights of others that are known then: the core writes them while the NPU works."""
    builder, written = rebuild(graph), dict[str, str]()
    moved = {one.y.tensor for one in found.values()} - set(found)
    for node in graph.nodes:
        if node.key in found:
            _write(builder, {node.key: found[node.key]}, written)
            one = found[node.key]
            inputs = [one.a.tensor, written[node.key]]
            add_job(builder, node.name, one.job, (one.stream, one.constants), inputs, one.y.tensor)
            _write(builder, {key: one for key, one in found.items() if one.b.tensor in builder.types}, written)
        elif node.key not in moved:
            builder.copy_node(node, graph)
    builder.copy_outputs(graph)
    return drop_unused(builder.build())


def _write(builder: Builder, products: dict[str, Product], written: dict[str, str]) -> None:
    for key, one in products.items():
        if key not in written:
            (written[key],) = builder.add(one.weights, [one.b.tensor], name=one.node.name)


def add_job(
    builder: Builder, name: str, job: EthosU, constants: tuple[Array, Array], inputs: Sequence[str], result: str
) -> None:
    """Of a stream of our own and what it reads of constants."""
    stream = builder.constant(constants[0].view(np.int32), f"{name}_stream")
    others = builder.constant(constants[1], f"{name}_constants")
    builder.add(job, [stream, others, *inputs], [result], name)
