"""Attention of masked scores in one kernel: shares as masked_softmax.c makes them, and their products with values."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import cast

import numpy as np

from tilewright.errors import present
from tilewright.ir.op import Op, Params
from tilewright.ir.requant import full_range
from tilewright.ir.types import Array, Shape, TensorType
from tilewright.ops._linear import NARROW
from tilewright.ops._scaling import Scaling
from tilewright.ops.isoftmax import iSoftmax
from tilewright.requant.requant32 import Requant32, requant32
from tilewright.target.extents import Extents, up
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.pulp import masked_softmax
from tilewright.targets.pulp.attention_operator import MaskedAttention
from tilewright.targets.pulp.dialect import shares
from tilewright.targets.pulp.elementwise_features import is_high
from tilewright.targets.pulp.masked_softmax_features import SHAPES, USUAL_DISTANCE
from tilewright.targets.pulp.masked_softmax_features import features as masked_softmax_features
from tilewright.targets.pulp.masked_softmax_features import samples as shares_samples
from tilewright.targets.pulp.masked_softmax_operator import MaskedSoftmax, score_requant
from tilewright.targets.pulp.score_tables import clipped_scores, course, unmasked_scores
from tilewright.targets.pulp.sizes import by_cores

TOGETHER = 16
"""TW_HEADS: rows of scores that a core has at a time."""
WIDEST = 4
"""Values of a row: more are faster as a product of their own, four rows and four columns at a time."""
FEW_ROWS = 4
"""Fewer do not pay for values that are stored anew."""
OWN = 68
"""Bytes of own_memory."""


def of_shares(op: MaskedAttention, types: Types) -> Types:
    """What the part of it has that makes shares."""
    scores = TensorType(
        op.shares.softmax.result_dtypes({"X": "int8"})[0], (*types["A"].shape[:-1], types["B"].shape[-2])
    )
    return {**{name: types[name] for name in "ABM"}, "Y": scores}


def params(op: Op, types: Types) -> Params:
    fused = cast(MaskedAttention, op)
    found = present(mix_requant(fused), fused.kind, "its results have no requantisation in 32 bits")
    y_head, y_row = present(result_steps(fused.perm_y, types["A"].shape, types["V"].shape[-1]), fused.kind, "strides")
    return {
        "shares": masked_softmax.params(fused.shares, of_shares(fused, types)),
        "mask_words": mask_words(types), "strips": types["V"].shape[-1] // 4,
        "y_head": y_head, "y_row": y_row, "mix": found.params(), "low": (found.low & 0xFF) * 0x01010101,
    }  # fmt: skip


@cache
def mix_requant(op: MaskedAttention) -> Requant32 | None:
    """Of products of shares with values. Shares of one row, as quotients, are no more than `top` together."""
    largest = most_of_row(op.shares.softmax)
    return None if largest is None else requant32(op.mix.requant, op.mix.mul, op.mix.add, -128 * largest, 128 * largest)


def most_of_row(softmax: iSoftmax) -> int | None:
    """What the results of a row's shares add up to at most; None where a share of 0 counts, or one is negative."""
    bits = shares(softmax)
    signed = softmax.result_dtypes({"X": "int8"})[0] == "int8"
    if bits[0] or (signed and max(bits) > 127):
        return None
    return max(-(-softmax.top * result // share) for share, result in enumerate(bits) if share)


def result_steps(perm: Shape, a: Shape, width: int) -> tuple[int, int] | None:
    """Bytes from head to head and from row to row of the result, where all heads are equally far apart."""
    heads, rows = prod(a[:-2]), a[-2]
    if not perm or perm == tuple(range(len(a))):
        return rows * width, width
    rank = len(a)
    turned = (*range(rank - 3), rank - 2, rank - 3, rank - 1)
    return (width, heads * width) if perm == turned and prod(a[:-3]) == 1 else None


def unsupported_reason(op: Op, types: Types) -> str | None:
    fused, width = cast(MaskedAttention, op), types["V"].shape[-1]
    if types["A"].shape[-2] < FEW_ROWS:
        return f"{types['A'].shape[-2]} rows; separate kernels are faster"
    if width % 4:
        return f"rows of {width} values; whole words are supported"
    if width > WIDEST:
        return f"rows of {width} values; separate kernels are faster"
    if result_steps(fused.perm_y, types["A"].shape, width) is None:
        return f"results in the order {fused.perm_y}"
    if fused.mix.requant.dtype != "int8" or mix_requant(fused) is None:
        return "results that do not fit 32 bits, or negative attention weights"
    return masked_softmax.clipping_unsupported(fused.shares, of_shares(fused, types))


FEW_HEADS, FEW_WORDS = 3, 4
"""Tiles of so few heads, which are those of small memories, have room for the words of a triangle's mask only."""


def mask_words(types: Types) -> int:
    words = types["B"].shape[-2] // 4
    return words if prod(types["A"].shape[:-2]) > FEW_HEADS else min(words, FEW_WORDS)


QUAD_ROWS = 4
"""Rows that are taken together, and bytes of a row that is one word."""


def quads_unsupported(op: Op, types: Types) -> str | None:
    fused, length, columns = cast(MaskedAttention, op), types["A"].shape[-1], types["B"].shape[-2]
    if length != QUAD_ROWS or columns % 4:
        return f"{columns} rows of {length} bytes; whole words of one-word rows are supported"
    if why := unsupported_reason(op, types):
        return why
    if present(mix_requant(fused), fused.kind, "its results have no requantisation in 32 bits").even:
        return "ties that go to the even neighbour"
    factor = abs(score_factor(fused.shares, types["M"].dtype))
    return None if 0 < factor <= MOST_FACTOR else f"products by a factor of {factor}; 1 to {MOST_FACTOR} are supported"


@cache
def score_factor(shares: MaskedSoftmax, mask: str) -> int:
    """That products of rows of one word are multiplied by; 0 where no factor of 16 bits is exact."""
    found = present(score_requant(shares.score, QUAD_ROWS), shares.kind, "its scores have no requantisation in 32 bits")
    clipped = clipped_scores(found, QUAD_ROWS, unmasked_scores(shares, found, mask))
    return clipped.factor if clipped else 0


MOST_FACTOR = 4096
"""Tables grow with it."""


def features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, rows of all heads, rows of heads, elements that are seen, that are hidden and count, and whose products
    are longer; words of longer rows; four values of rows, and their products."""
    fused, strips = cast(MaskedAttention, op), extents["e"] / 4
    scores = {loop: size for loop, size in extents.items() if loop != "e"}
    found = masked_softmax_features(fused.shares, of_shares(fused, types), scores, cores)
    _, own, looked_up, seen, hidden, high, _, words = found
    return 1.0, looked_up / extents["n"], own, seen, hidden, high, words, own * strips, (seen + hidden) * strips / 4


def quads_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, masks of four rows, values stored anew, quads, their columns that are seen, that are hidden and count,
    and whose products are longer."""
    softmax = cast(MaskedAttention, op).shares.softmax
    heads = prod(size for loop, size in extents.items() if loop not in "mnke")
    quads, columns = up(extents["m"], QUAD_ROWS), extents["n"]
    own = up(quads * heads, cores)
    seen = own * columns * (0.5 if types["M"].shape[-2:-1] > (1,) else 1.0)
    hidden = 0.0 if course(softmax).gone <= USUAL_DISTANCE else own * columns - seen
    return 1.0, up(quads, cores), heads * columns / cores, own, seen, hidden, seen * is_high(softmax)


MORE_SHAPES = ((16, 64, 64, 4), (2, 16, 64, 4))
"""As in SHAPES: whole attentions."""


def samples() -> Iterator[tuple[Op, list[Array | None]]]:
    random = np.random.default_rng(7)
    mix = Scaling(30_000, 0, full_range(16, "int8"))
    for op, (a, b, mask) in shares_samples((*SHAPES, *MORE_SHAPES)):
        if a is None or b is None or a.shape[-2] < FEW_ROWS:
            continue
        values = random.integers(-128, 128, (*b.shape[:-1], WIDEST)).astype(np.int8)
        yield MaskedAttention(cast(MaskedSoftmax, op), mix), [a, b, mask, values]


ROWS_STACK = 352
"""Of masked_attention.c, which takes the place of the faster one where L1 is small: there must be room for both."""


REASONS = (quads_unsupported, unsupported_reason)
"""Why each of the kernels does not take an operator."""


def kernels(cores: int) -> tuple[Kernel, ...]:
    """For a cluster of so many."""
    return (
        Kernel(
            MaskedAttention, "masked_quads.c", "A:int8 B:int8 M V:int8 -> Y:int8", {"M": NARROW}, params,
            by_cores("tw_masked_quads_scratch", cores), quads_unsupported, cooperative=True,
            unsplit_loops=frozenset("kne"), multiples={"m": QUAD_ROWS}, min_tile={"m": QUAD_ROWS},
            header="masked_attention.h", features=quads_features, stack=ROWS_STACK,
        ),
        Kernel(
            MaskedAttention, "masked_attention.c", "A:int8 B:int8 M V:int8 -> Y:int8", {"M": NARROW}, params,
            by_cores("tw_masked_attention_scratch", cores), unsupported_reason, cooperative=True,
            unsplit_loops=frozenset("kne"), features=features, samples=samples,
        ),
    )  # fmt: skip
