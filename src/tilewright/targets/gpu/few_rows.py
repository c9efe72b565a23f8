"""Products of a few rows, as of one token or of one pixel, as fast as their weights can be read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import cast

from tilewright.ir.op import Op, Params
from tilewright.ir.types import TensorType
from tilewright.ops._activation import ACTIVATIONS
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.generic.linear import FLOAT, channels_last
from tilewright.targets.gpu.plain import stored
from tilewright.targets.gpu.summed import ADDED, SummedConv, SummedMatMul, sum_params
from tilewright.targets.gpu.tile_costs import costs

MOST_ROWS = 4
"""With more of them tiles take less time."""
PIECE = 16
"""Bytes that are read at once, of which rows are multiples."""
WARP, WARPS = 32, 4
"""Items of a warp, and warps of a group."""
GROUPS, MORE_GROUPS, MANY_PIECES = 4, 8, 8
"""On a multiprocessor at once; and where every item of warps that share columns still has many pieces of a row."""
MOST_GROUPS = 16
"""For each multiprocessor: with more columns than these have, groups have several pairs one after the other."""


STAGED_BYTES, STAGED_OF_ALL = 48 * 1024, 180 * 1024
"""Weights that a group brings to shared memory before its turn, at most, and the groups of a multiprocessor."""
HELD_GROUPS, HELD_BYTES, HELD_ROUND = 2, 72 * 1024, 32 * 1024
"""On a multiprocessor, where shared memory holds some rounds of a group alone: what it has for each with x, which
leaves room for groups of the launch behind it; and the most that a round has."""
SHORTEST_HELD, HELD_OF_X = 4096, 2
"""For a kernel that has x in shared memory too: bytes of a row, for rounds of shorter ones end too often; and so many
times the size of x is what it has of weights at least, where it has all."""
ELEMENT = 4
"""Bytes of an element of x, in shared memory."""


def shape_params(
    rows: int, inner: int, x_row: int, twos: int, pieces: int, most_groups: int = MOST_GROUPS, row_bytes: int = 0
) -> Params:
    """How so many pairs of columns are shared among groups: the fields of tw_columns. Items read a row in `pieces`.
    Warps share columns as far as there are multiprocessors for more groups, and pieces for all items; where there are
    more columns than that, groups have several one after the other: fewest on the multiprocessor that has most, where
    shared memory holds them (rows of w have so many bytes), or at least some of them at once. (Numbers: what was
    fastest on an H200.)"""
    chip, sharing = costs().multiprocessors, 1
    while 2 * sharing <= WARPS and _may_share(twos, 2 * sharing, pieces, chip):
        sharing *= 2
    whole = -(-twos * sharing // WARPS)
    known: Params = {"rows": rows, "inner": inner, "x_row": x_row, "twos": twos, "sharing": sharing}
    groups = _even_groups(whole, chip)
    rounds = -(-twos // (groups * (WARPS // sharing)))
    if rows == 1 and _fits(2 * (WARPS // sharing) * rounds * row_bytes, -(-groups // chip)):
        return {**known, "groups": groups, "held": rounds}
    some = _with_some_held(twos, inner, pieces, row_bytes, chip) if rows == 1 and row_bytes else {}
    return {**known, "groups": min(whole, most_groups * chip), "held": 0, **some}


def _with_some_held(twos: int, inner: int, pieces: int, row_bytes: int, chip: int) -> Params:
    """Where shared memory holds some rounds of few large groups; none where rows are too long for that."""
    sharing = 1
    while 2 * sharing <= WARPS and 2 * (WARPS // sharing) * row_bytes > HELD_ROUND and pieces >= 2 * sharing * WARP:
        sharing *= 2
    teams = WARPS // sharing
    round_bytes = 2 * teams * row_bytes
    held = (HELD_BYTES - ELEMENT * inner) // round_bytes
    is_large = row_bytes >= SHORTEST_HELD and HELD_GROUPS * chip * teams <= twos
    if held < 1 or round_bytes > HELD_ROUND or not is_large:
        return {}
    rounds = -(-twos // (HELD_GROUPS * chip * teams))
    return {"sharing": sharing, "groups": -(-twos // (rounds * teams)), "held": min(held, rounds)}


def _even_groups(whole: int, chip: int) -> int:
    """Of so many groups with one round each: fewer of them, with several rounds, as even on all multiprocessors."""
    placed = min(range(1, MORE_GROUPS + 1), key=lambda count: (count * -(-whole // (count * chip)), -count))
    return -(-whole // -(-whole // (placed * chip)))


def _fits(group: int, placed: int) -> bool:
    """Whether shared memory holds all weights of the groups of a multiprocessor."""
    return 0 < group <= STAGED_BYTES and placed * group <= STAGED_OF_ALL


def _may_share(twos: int, sharing: int, pieces: int, chip: int) -> bool:
    most = MORE_GROUPS if pieces >= MANY_PIECES * sharing * WARP else GROUPS
    return pieces >= sharing * WARP and twos * sharing <= most * chip * WARPS


def matmul_params(op: Op, types: Types) -> Params:
    known = params_of(op, types)
    fields: Params = {name: known[name] for name in ("columns", "y_row", "activation") if name in known}
    rows, columns, inner, x_row = (cast(int, known[name]) for name in ("rows", "columns", "inner", "a_row"))
    row_bytes = inner * element_bytes(types["B"])
    shape = shape_params(rows, inner, x_row, -(-columns // 2), row_bytes // PIECE, row_bytes=row_bytes)
    return {
        **fields, **sum_params(op), "shape": shape, "w_row": known["b_column"],
        "bias_row": known["c_row"], "bias_column": known["c_column"],
    }  # fmt: skip


def conv_params(op: Op, types: Types) -> Params:
    known, channels, filters = params_of(op, types), types["X"].shape[-1], types["Y"].shape[-1]
    fields: Params = {"activation": known["activation"]} if "activation" in known else {}
    rows, twos, row_bytes = types["X"].elements // channels, -(-filters // 2), channels * element_bytes(types["W"])
    shape = shape_params(rows, channels, channels, twos, row_bytes // PIECE, row_bytes=row_bytes)
    return {
        **fields, **sum_params(op), "shape": shape,
        "columns": filters, "w_row": channels, "y_row": filters, "bias_row": 0, "bias_column": known["bias_step"],
    }  # fmt: skip


def no_plain_matrix(op: Op, types: Types) -> str | None:
    """Why a product is not one of rows with a matrix whose columns have their elements side by side."""
    if types["Y"].elements == 0 or types["A"].elements == 0:
        return "there is nothing to multiply"
    fields = params_of(op, types)
    if fields["rank"]:
        return "it takes one matrix"
    if (fields["a_column"], fields["b_row"], fields["y_column"]) != (1, 1, 1):
        return "rows of A, columns of B and rows of Y have their elements side by side"
    if fields["alpha"] != 1.0 or ("C" in types and fields["beta"] != 1.0):
        return "it adds products and C as they are"
    return None


def no_matmul(op: Op, types: Types) -> str | None:
    reason = no_plain_matrix(op, types)
    if reason is not None:
        return reason
    fields = params_of(op, types)
    sizes = (fields["inner"], fields["a_row"], fields["b_column"])
    return _others(cast(int, fields["rows"]), math.gcd(*(cast(int, size) for size in sizes)), element_bytes(types["B"]))


def no_conv(op: Op, types: Types) -> str | None:
    conv, w, x = cast(Conv, op), types["W"], types["X"]
    reason = channels_last(op, types)
    if reason is not None or w.elements == 0 or x.elements == 0:
        return reason or "there is nothing to multiply"
    if conv.groups != 1 or math.prod(conv.spatial(w.shape)) != 1 or any(conv.padding) or set(conv.strides) != {1}:
        return "it takes filters of one tap that see every pixel once"
    return _others(x.elements // x.shape[-1], x.shape[-1], element_bytes(w))


def element_bytes(kind: TensorType) -> int:
    """Bytes."""
    return kind.bytes // kind.elements


def _others(rows: int, distance: int, size: int) -> str | None:
    if rows > MOST_ROWS:
        return f"it takes at most {MOST_ROWS} rows"
    bytes_apart = distance * size
    return f"a row has {bytes_apart} bytes, which are no multiple of {PIECE}" if bytes_apart % PIECE else None


Reason = Callable[[Op, Types], "str | None"]


def few(
    op: type[Op], source: str, operands: tuple[str, str, str], params: Callable[[Op, Types], Params], reason: Reason
) -> tuple[Kernel, ...]:
    left, right, bias = operands
    kernel = Kernel(
        op, source, f"{left} {right} {bias} {ADDED} -> Y", {bias: FLOAT}, params, unsupported_reason=reason,
        header="gpu_few_rows.h", activations=ACTIVATIONS,
    )  # fmt: skip
    return stored_rows(kernel, f"{left} {right} {ADDED} Y", right)


def stored_rows(kernel: Kernel, short: str, weights: str) -> tuple[Kernel, ...]:
    """Those for one row, with weights in shared memory as far as it holds them, and for several."""
    one = replace(kernel, around="gpu_one_row.h", unsupported_reason=partial(_more_rows, kernel.unsupported_reason))
    held = with_held(one, "gpu_one_row_staged.h", "gpu_one_row_held.h", lambda types: element_bytes(types[weights]))
    return tuple(form for each in (*held, kernel) for form in stored(each, short))


def with_held(
    kernel: Kernel, all_of_them: str, some: str, element: Callable[[Types], int]
) -> tuple[Kernel, ...]:  # fmt: skip
    """That kernel where shared memory holds x and weights, whose elements have so many bytes, of some rounds or of all;
    where it holds all weights of short rows; and the kernel itself."""
    reasons = {some: partial(_none_held, kernel, element), all_of_them: partial(_not_all_held, kernel, element)}
    return *(replace(kernel, around=name, unsupported_reason=reason) for name, reason in reasons.items()), kernel


def _not_all_held(kernel: Kernel, element: Callable[[Types], int], op: Op, types: Types) -> str | None:
    reason = kernel.unsupported_reason(op, types)
    if reason is not None:
        return reason
    rounds, shape = _rounds(kernel, op, types)
    weights = _group_weights(rounds, shape, element(types))
    fits = shape["rows"] == 1 and (shape["held"] >= rounds or _fits(weights, _placed(shape)))
    return None if fits else "shared memory does not hold its weights"


def _none_held(kernel: Kernel, element: Callable[[Types], int], op: Op, types: Types) -> str | None:
    reason = kernel.unsupported_reason(op, types)
    if reason is not None:
        return reason
    rounds, shape = _rounds(kernel, op, types)
    if 0 < shape["held"] < rounds:
        return None
    weights, x = _group_weights(rounds, shape, element(types)), ELEMENT * shape["inner"]
    is_long = shape["inner"] * element(types) >= SHORTEST_HELD and weights >= HELD_OF_X * x
    fits = shape["held"] >= rounds and is_long and _placed(shape) * (weights + x) <= STAGED_OF_ALL
    return None if fits else "shared memory holds no part of its weights, or rows are short"


def _group_weights(rounds: int, shape: Mapping[str, int], element: int) -> int:
    """Bytes, as long as rows are stored; parameters know them as floats of 32 bits."""
    return 2 * (WARPS // shape["sharing"]) * rounds * shape["inner"] * element


def _placed(shape: Mapping[str, int]) -> int:
    """Groups on a multiprocessor."""
    return -(-shape["groups"] // costs().multiprocessors)


def _rounds(kernel: Kernel, op: Op, types: Types) -> tuple[int, dict[str, int]]:
    shape = cast("dict[str, int]", kernel.params(op, types)["shape"])
    return -(-shape["twos"] // (shape["groups"] * (WARPS // shape["sharing"]))), shape


def _more_rows(reason: Reason, op: Op, types: Types) -> str | None:
    result = types["Y"]
    return reason(op, types) or (None if result.elements == result.shape[-1] else "it takes one row")


KERNELS = (
    *(
        one
        for op in (MatMul, SummedMatMul)
        for one in few(op, "gpu_matmul_few.c", ("A", "B", "C"), matmul_params, no_matmul)
    ),
    *(one for op in (Conv, SummedConv) for one in few(op, "gpu_conv_few.c", ("X", "W", "B"), conv_params, no_conv)),
)
