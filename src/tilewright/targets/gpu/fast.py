"""Convolutions and products tile by tile, through shared memory; integers and floats in 16 bits on tensor cores where
there are any.

Rows of both factors have their elements side by side: images with channels last, matrices with B column by column."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import cast

from tilewright.ir.graph import Graph, Node
from tilewright.ir.half_floats import HALF
from tilewright.ir.op import Op, Params
from tilewright.ops._activation import ACTIVATIONS
from tilewright.ops._linear import NARROW
from tilewright.ops._windows import reach
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.passes import Pass
from tilewright.passes.layout.channels_last import ChannelPosition, all_worth_it, with_layout
from tilewright.passes.layout.transpose_weights import TRANSPOSE_WEIGHTS
from tilewright.records import dataclass
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.generic.linear import FLOAT, TOTALS, channels_last
from tilewright.targets.gpu import block_products
from tilewright.targets.gpu.plain import CONVOLVED, MULTIPLIED, convolution, pools
from tilewright.targets.gpu.summed import ADDED, SummedConv, SummedMatMul, sum_params, sums_pass
from tilewright.targets.gpu.tile_costs import Tile
from tilewright.targets.gpu.tiles import Product, chosen, tiles_of

COPIED = {16: "tiles", 8: "pairs", 4: "words", 0: "elements"}
"""Bytes that are copied at once, of which rows are multiples (0: an element), and what the kernels are called."""
MOST_ELEMENTS = 1 << 31
"""Of an operand: places in it are held in 32 bits with a sign."""
LONGEST = 1 << 15
"""Rows or columns, which are held in 16 bits with a sign."""
MACS_PER_BYTE = 4
"""Multiplications whose savings pay for a byte that is transposed."""


# ---- what is multiplied -------------------------------------------------------------------------------------------


def _number(fields: Params, name: str) -> int:
    return cast(int, fields[name])


def _copied(row_bytes: int) -> int:
    return next(bytes_ for bytes_ in COPIED if bytes_ == 0 or row_bytes % bytes_ == 0)


def conv_product(op: Op, types: Types) -> Product:
    w = types["W"]
    size = w.bytes // w.elements
    inner = w.elements // w.shape[0]
    return Product(types["Y"].elements // w.shape[0], w.shape[0], inner, size, _copied(w.shape[-1] * size))


def matmul_product(op: Op, types: Types) -> Product:
    fields = params_of(op, types)
    a = types["A"]
    rows, columns, inner, *steps = (_number(fields, name) for name in ["rows", "columns", "inner", "a_row", "b_column"])
    size = a.bytes // a.elements
    return Product(rows, columns, inner, size, _copied(math.gcd(inner, *steps) * size))


def conv_params(op: Op, types: Types) -> Params:
    known, product = params_of(op, types), conv_product(op, types)
    same = """in_h in_w out_h out_w kernel_w stride_h stride_w dilation_h dilation_w pad_top pad_left mul_step add_step
        x_zero requantised requant activation"""
    fields: Params = {name: known[name] for name in same.split() if name in known}
    channels = _number(known, "in_channels")
    return {
        **_sizes(product), **fields, **sum_params(op), "x_row": channels, "w_row": product.inner,
        "y_row": product.columns, "channels": channels, "bias_row": 0, "bias_column": known["bias_step"],
    }  # fmt: skip


def matmul_params(op: Op, types: Types) -> Params:
    known, product = params_of(op, types), matmul_product(op, types)
    fields: Params = {name: known[name] for name in ("requantised", "requant", "activation") if name in known}
    return {
        **_sizes(product), **fields, **sum_params(op), "x_row": known["a_row"], "w_row": known["b_column"],
        "y_row": known["y_row"], "bias_row": known["c_row"], "bias_column": known["c_column"],
        "mul_step": known["mul_column"], "add_step": known["add_column"], "x_zero": known["a_zero"],
    }  # fmt: skip


def _sizes(product: Product) -> Params:
    choice = chosen(product)
    return {
        "rows": product.rows, "columns": product.columns, "inner": product.inner, "splits": choice.splits,
        "steps": choice.steps,
    }  # fmt: skip


# ---- what kernels take --------------------------------------------------------------------------------------------


def _other_kernel(product: Product, tile: Tile, copied: int) -> str | None:
    if product.copied != copied:
        return "rows are multiples of other sizes"
    choice = chosen(product)
    return None if choice.tile == tile else f"tiles of {choice.tile.rows} x {choice.tile.columns} are faster"


def _too_large(types: Types) -> bool:
    return any(kind.elements >= MOST_ELEMENTS for kind in types.values())


def _reached(op: Op, types: Types) -> tuple[int, int]:
    """Rows and columns of an image with its padding, or of a window where that is larger."""
    conv = cast(Conv, op)
    sizes = zip(conv.spatial(types["X"].shape), conv.spatial(types["W"].shape), conv.dilations, strict=True)
    first, *more = (size + sum(conv.padding) + reach(taps, dilation) for size, taps, dilation in sizes)
    return first, max(more, default=first)


def no_conv(tile: Tile, copied: int, op: Op, types: Types) -> str | None:
    conv, w = cast(Conv, op), types["W"]
    if conv.groups != 1 or w.elements == 0 or types["Y"].elements == 0:
        return "it takes one group of channels"
    if conv.w_zero:
        return "its weights have no zero point"
    if max(_reached(op, types)) >= LONGEST:
        return f"images and windows are up to {LONGEST} long"
    if _too_large(types):
        return f"operands have fewer than {MOST_ELEMENTS} elements"
    return channels_last(op, types) or _other_kernel(conv_product(op, types), tile, copied)


def no_matmul(tile: Tile, copied: int, op: Op, types: Types) -> str | None:
    if types["Y"].elements == 0 or types["A"].elements == 0:
        return "there is nothing to multiply"
    fields = params_of(op, types)
    if fields["rank"]:
        return "it takes one matrix"
    if (fields["a_column"], fields["b_row"], fields["y_column"]) != (1, 1, 1):
        return "rows of A, columns of B and rows of Y have their elements side by side"
    if fields["alpha"] != 1.0 or ("C" in types and fields["beta"] != 1.0):
        return "it adds products and C as they are"
    if fields["b_zero"] or _number(fields, "mul_row") or _number(fields, "add_row"):
        return "its weights have no zero point, and its rows are requantised alike"
    if _too_large(types):
        return f"operands have fewer than {MOST_ELEMENTS} elements"
    return _other_kernel(matmul_product(op, types), tile, copied)


@dataclass(frozen=True)
class Family:
    """Kernels of an operator that differ in tiles, types, and bytes that are copied at once."""

    op: type[Op]
    stem: str
    signature: str
    factors: tuple[str, str, str]
    """What is multiplied, and what is added."""
    product: Callable[[Op, Types], Product]
    params: Callable[[Op, Types], Params]
    unsupported_reason: Callable[[Tile, int, Op, Types], str | None]

    def kernels(self) -> Iterator[Kernel]:
        left, right, added = self.factors
        floats = dict.fromkeys((*self.factors, ADDED, "Y"), FLOAT)
        integers = {left: NARROW, right: frozenset({"int8"}), added: frozenset({"int32"}), ADDED: NARROW, "Y": TOTALS}
        yield from self._all(4, floats, ACTIVATIONS)
        for dtype in HALF:
            yield from self._all(
                2, dict.fromkeys((left, right, ADDED, "Y"), frozenset({dtype})) | {added: FLOAT}, ACTIVATIONS
            )
        yield from self._all(1, integers, ())

    def _all(
        self, size: int, dtypes: Mapping[str, frozenset[str]], activations: tuple[type[Op], ...]
    ) -> Iterator[Kernel]:
        """Kernels of elements of so many bytes."""
        for copied in COPIED:
            for tile in tiles_of(size, copied):
                yield self._kernel(tile, copied, dtypes, activations)

    def _kernel(
        self, tile: Tile, copied: int, dtypes: Mapping[str, frozenset[str]], activations: tuple[type[Op], ...]
    ) -> Kernel:
        return Kernel(
            self.op, f"{self.stem}_{COPIED[copied]}.c", self.signature, dtypes, self.params, self._scratch,
            partial(self.unsupported_reason, tile, copied), header="gpu_tiles.h", around=tile.header,
            activations=activations,
        )  # fmt: skip

    def _scratch(self, op: Op, types: Types) -> int:
        return chosen(self.product(op, types)).scratch


def with_sum(signature: str) -> str:
    return signature.replace("->", f"{ADDED} ->")


FAMILIES = (
    *(
        Family(op, "gpu_conv", with_sum(CONVOLVED), ("X", "W", "B"), conv_product, conv_params, no_conv)
        for op in (Conv, SummedConv)
    ),
    *(
        Family(op, "gpu_matmul", with_sum(MULTIPLIED), ("A", "B", "C"), matmul_product, matmul_params, no_matmul)
        for op in (MatMul, SummedMatMul)
    ),
)

IMAGES = (
    *convolution("gpu_conv_last.c", channels_last),
    *pools("_last", channels_last),
)
"""What has channels last beside convolutions that are products."""

KERNELS = (*(kernel for family in FAMILIES for kernel in family.kernels()), *IMAGES)


# ---- how they want it ---------------------------------------------------------------------------------------------


def _worth(graph: Graph, node: Node) -> int:
    if not isinstance(node.op, Conv) or node.op.groups != 1:
        return 0
    x, w = (graph.types[name].dtype for name in node.inputs[:2])
    taken = (x, w) == ("float32", "float32") or (x in NARROW and w == "int8")
    return graph.macs(node) // MACS_PER_BYTE if taken else 0


def takes(op: Op, types: Types) -> bool:
    return any(kernel.op is type(op) and kernel.takes(op, types) for kernel in (*KERNELS, *block_products.KERNELS))


LAST = ChannelPosition(channels_last=True, worth=_worth)
PASSES: tuple[Pass, ...] = (
    Pass("channels last of products", partial(with_layout, LAST), ensures=partial(all_worth_it, LAST)),
    TRANSPOSE_WEIGHTS,
    block_products.LAY_OUT_BLOCKS,
    sums_pass(takes),
)
