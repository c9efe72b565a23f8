"""Kernels of weights in blocks, and the rewrite to the rows that they read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial

from tilewright.errors import instance
from tilewright.ir.block_formats import SMALL
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Op, Params
from tilewright.ir.types import TensorType
from tilewright.ops._activation import ACTIVATIONS, is_activation
from tilewright.ops.blockgather import BlockGather
from tilewright.ops.blockmatmul import OF_FLOATS, BlockMatMul
from tilewright.passes import Complaint, Pass
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.rewriting import rewrite
from tilewright.target.kernel import Kernel, Types
from tilewright.target.structs.common import activation_params
from tilewright.targets.cpu.block_packing import FLOATS
from tilewright.targets.cpu.block_products import packed
from tilewright.targets.generic.linear import FLOAT
from tilewright.targets.generic.movement import INDICES
from tilewright.targets.gpu.block_forms import FORMATS, BlockProduct, RowsOfBlocks, layout
from tilewright.targets.gpu.few_rows import GROUPS, PIECE, shape_params, with_held
from tilewright.targets.gpu.summed import ADDED, SummedBlockProduct, sum_params

BYTES = frozenset({"uint8"})
FLOAT_BYTES = 2
"""Of weights that are floats."""

# ---- kernels --------------------------------------------------------------------------------------------------------


def columns_params(name: str, rows: int, inner: int, twos: int) -> Params:
    """The fields of tw_columns. Where x is brought to shared memory first, fewer groups find room."""
    if name in FLOATS:
        row_bytes = FLOAT_BYTES * inner
        return shape_params(rows, inner, inner, twos, row_bytes // PIECE, row_bytes=row_bytes)
    return shape_params(rows, inner, inner, twos, inner // SMALL, GROUPS)


def row_step(name: str, weights: TensorType) -> int:
    """From row to row, in what kernels take weights for: floats of 16 bits, or bytes."""
    return weights.shape[1] // 2 if name in FLOATS else weights.shape[1]


def product_params(op: Op, types: Types) -> Params:
    product = instance(op, BlockProduct)
    *rows, inner = types["A"].shape
    columns = types["B"].shape[0]
    return {
        **activation_params(product.activation), **sum_params(op),
        "shape": columns_params(product.format, math.prod(rows), inner, -(-columns // 2)), "columns": columns,
        "w_row": row_step(product.format, types["B"]), "y_row": columns, "bias_row": 0, "bias_column": 1,
    }  # fmt: skip


def header(name: str) -> str:
    return f"gpu_block_{name.lower()}.h"


def other_format(name: str, op: Op, types: Types) -> str | None:
    return None if getattr(op, "format", "") == name else f"it takes weights in {name}"


def more_rows(name: str, op: Op, types: Types) -> str | None:
    one = types["A"].elements == types["A"].shape[-1]
    return other_format(name, op, types) or (None if one else "it takes one row")


def of_one_row(kernel: Kernel, name: str) -> tuple[Kernel, ...]:
    """A kernel of one row; with weights in shared memory if they are floats."""
    if name not in FLOATS:
        return (kernel,)
    return with_held(kernel, header(f"{name}_staged"), header(f"{name}_held"), lambda _: FLOAT_BYTES)


def _products(op: type[Op], name: str) -> tuple[Kernel, ...]:
    """Of one row, and of several."""
    short = Kernel(
        op, "gpu_matmul_few.c", f"A B C {ADDED} -> Y", {"B": BYTES, **dict.fromkeys(("A", "C", ADDED, "Y"), FLOAT)},
        product_params, unsupported_reason=partial(more_rows, name), header="gpu_few_rows.h", around=header(name),
        activations=ACTIVATIONS,
    )  # fmt: skip
    tiles = Kernel(
        op, "gpu_block_tiles.c", f"A:float32 B:uint8 C:float32 {ADDED}:float32 -> Y:float32", {}, product_params,
        unsupported_reason=partial(other_format, name), header="gpu_few_rows.h", around=header(name),
        activations=ACTIVATIONS,
    )  # fmt: skip
    return *of_one_row(short, name), tiles


def _lookup(name: str) -> Kernel:
    return Kernel(
        RowsOfBlocks, "gpu_block_gather.c", "W:uint8 indices -> Y:float32", {"indices": INDICES},
        unsupported_reason=partial(other_format, name), around=header(name),
    )  # fmt: skip


KERNELS = (
    *(kernel for name in FORMATS for op in (BlockProduct, SummedBlockProduct) for kernel in _products(op, name)),
    *map(_lookup, FORMATS),
)


# ---- the rewrite ----------------------------------------------------------------------------------------------------


def run(graph: Graph) -> Graph:
    return rewrite(graph, partial(_rewritten, graph, {}))


def all_laid_out(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _is_block_product(graph, node) or _is_lookup(graph, node):
            yield node.where, "reads weights in blocks as files have them"


def _rewritten(graph: Graph, stored: dict[str, str], node: Node, builder: Builder) -> Mapping[str, str] | None:
    if _is_lookup(graph, node):
        lookup = instance(node.op, BlockGather)
        op = RowsOfBlocks(lookup.format, graph.types[node.key].shape[-1])
        table = _rows(graph, builder, stored, lookup.format, node.inputs[0])
        builder.add(op, [table, node.inputs[1]], node.outputs, node.name)
        return {node.key: node.key}
    source = graph.producers.get(node.inputs[0]) if is_activation(node.op) and node.inputs else None
    if source is not None and _is_block_product(graph, source) and is_only_reader(graph, node, source.key):
        _add_product(graph, builder, stored, source, node, node.op)
        return {node.key: node.key}
    if not _is_block_product(graph, node):
        return None
    _add_product(graph, builder, stored, node, node, None)
    return {node.key: node.key}


def _add_product(
    graph: Graph, builder: Builder, stored: dict[str, str], product: Node, made: Node, activation: Op | None
) -> None:
    name = instance(product.op, BlockMatMul).format
    inputs = [product.inputs[0], _rows(graph, builder, stored, name, product.inputs[1]), *product.inputs[2:]]
    builder.add(BlockProduct(name, activation=activation), inputs, made.outputs, product.name)


def _rows(graph: Graph, builder: Builder, stored: dict[str, str], name: str, weights: str) -> str:
    """One constant for all that read the same weights."""
    if weights not in stored:
        stored[weights] = builder.constant(packed(layout(name), graph.constants[weights]), weights)
    return stored[weights]


def _is_block_product(graph: Graph, node: Node) -> bool:
    op = node.op
    if not isinstance(op, BlockMatMul) or (op.activations != OF_FLOATS and op.format not in FLOATS):
        return False
    return op.format in FORMATS and _fits(graph, node.inputs[1], graph.types[node.inputs[0]].shape[-1])


def _is_lookup(graph: Graph, node: Node) -> bool:
    op = node.op
    is_known = isinstance(op, BlockGather) and op.format in FORMATS
    return is_known and _fits(graph, node.inputs[0], graph.types[node.key].shape[-1])


def _fits(graph: Graph, weights: str, inner: int) -> bool:
    return weights in graph.constants and graph.constants[weights].size > 0 and inner % SMALL == 0


LAY_OUT_BLOCKS = Pass("rows of blocks as a GPU reads them", run, ensures=all_laid_out)
