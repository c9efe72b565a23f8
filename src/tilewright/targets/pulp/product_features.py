"""What the cycles of matrix products grow with: work of the core that has most, in the units of the C."""

from __future__ import annotations

from typing import cast

from tilewright.ir.op import Op
from tilewright.ops.matmul import MatMul
from tilewright.target.extents import Extents, product_sizes, up
from tilewright.target.kernel import Types
from tilewright.targets.pulp.requant_ways import is_exact, is_high_word, is_one_by_one


def product_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, strips, blocks of four rows and columns, those that are requantised, their words and what is left of
    them; rows alone and their words; packed bytes and matrices; results that are stored one by one, and those that are
    requantised in 64 bits; columns with factors or a bias of their own, and blocks of high words of products; and
    results of 16 bits."""
    product = cast(MatMul, op)
    matrices, rows, inner, columns = product_sizes(types, extents)
    strips, blocks, words = columns if columns < 4 else up(columns, 4), up(rows, 4), up(inner, 4)
    whole = matrices * strips
    parts = 1 if whole % cores == 0 or whole >= 4 * cores else min(blocks, cores)
    own = up(whole * parts, cores)
    alone = rows < 4 or columns < 4
    some = 0.0 if alone else own * up(blocks, parts)
    single = float(own * up(rows, parts)) if alone else 0.0
    packs_a = product.trans_a or bool(product.perm_a)
    packs_b = not product.trans_b or bool(product.perm_b)
    packed = matrices * inner * (packs_a * rows + packs_b * columns) / cores
    copies = float(up(matrices, cores) * (packs_a + packs_b))
    is_scattered = rows > 1 and bool(product.perm_y) and product.perm_y[-1] != len(product.perm_y) - 1
    scattered = 16 * some + 4 * single if is_scattered else 0.0
    return (
        1.0, float(own), some, some * (product.requant is not None), some * (inner // 4), some * (inner % 4), single,
        single * words, packed, copies, scattered,
        (16 * some + 4 * single) * is_one_by_one(product.requant, product.b_zero, types),
        float(own) * any(types[name].elements > 1 for name in ("C", "mul", "add") if name in types),
        some * is_high_word(product.requant, types), (16 * some + 4 * single) * (types["Y"].dtype == "int16"),
    )  # fmt: skip


def few_rows_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, strips of four columns, rows of them, those that are requantised in 64 bits, and their words."""
    matrices, rows, inner, columns = product_sizes(types, extents)
    strips = up(matrices * up(columns, 4), cores)
    own = float(strips * rows)
    exact = own * is_exact(cast(MatMul, op).requant, types)
    return 1.0, float(matrices), float(strips), own, exact, own * up(inner, 4)


def few_quantised_rows_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The same; strips with factors of their own, and rows of strips that are requantised by the high words of their
    products; rows of strips with results of 16 bits."""
    found, requant = few_rows_features(op, types, extents, cores), cast(MatMul, op).requant
    strips, own = found[2:4]
    differ = "mul" in types and types["mul"].elements > 1
    is_high = requant is not None and requant.shift > 32 and not is_exact(requant, types)
    return *found, strips * differ, own * is_high, own * (types["Y"].dtype == "int16")


def word_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, strips of four columns, and rows of them."""
    matrices, rows, _, columns = product_sizes(types, extents)
    strips = matrices * up(columns, 4)
    return 1.0, float(up(strips, cores)), float(up(strips * rows, cores))


def word_row_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, rows, and strips of four of their columns."""
    matrices, rows, _, columns = product_sizes(types, extents)
    own = up(matrices * rows, cores)
    return 1.0, float(own), float(own * up(columns, 4))


def across_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, words of columns that are transposed, blocks of four rows and columns and their words."""
    matrices, rows, inner, columns = product_sizes(types, extents)
    strips, words = matrices * up(columns, 4), up(inner, 4)
    blocks = up(strips * up(rows, 4), cores)
    return 1.0, float(up(strips, cores) * words), float(blocks), float(blocks * words)


def alike_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, strips of four columns, blocks of four rows and columns and their words."""
    matrices, rows, inner, columns = product_sizes(types, extents)
    strips, blocks = matrices * up(columns, 4), up(rows, 4)
    parts = 1 if strips % cores == 0 or strips >= 4 * cores else min(blocks, cores)
    own = up(strips * parts, cores)
    some = own * up(blocks, parts)
    return 1.0, float(own), float(some), float(some * up(inner, 4))


def float_product_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, blocks of four rows and columns, their products; blocks of several cores share an adder."""
    matrices, rows, inner, columns = product_sizes(types, extents)
    blocks = up(matrices * up(rows, 4) * up(columns, 4), cores)
    shared = float(blocks * inner) if cores > 1 else 0.0
    return 1.0, float(blocks), float(blocks * inner), shared
