"""Parameter structs of kernels of sums of products, and of pools."""

from __future__ import annotations

import math

from tilewright.ir.op import Params
from tilewright.ir.types import Shape, Shapes
from tilewright.ops._elementwise import broadcast
from tilewright.ops._global_pool import GlobalPool
from tilewright.ops._loops import broadcast_strides, merge_loops, permuted, row_major, unpermuted
from tilewright.ops._pool import Pool
from tilewright.ops._rearranged import RearrangedConv
from tilewright.ops._windows import pair
from tilewright.ops.argmaxmatmul import ArgMaxMatMul
from tilewright.ops.averagepool import AveragePool
from tilewright.ops.batchnormalization import BatchNormalization
from tilewright.ops.bestblock import BestBlock
from tilewright.ops.conv import Conv
from tilewright.ops.convinputgrad import ConvInputGrad
from tilewright.ops.convtranspose import ConvTranspose
from tilewright.ops.convweightgrad import ConvWeightGrad
from tilewright.ops.convweightstep import ConvWeightStep
from tilewright.ops.matmul import MatMul, _matrices, _ordered
from tilewright.ops.matmulnbits import MatMulNBits
from tilewright.ops.maxpoolgrad import MaxPoolGrad
from tilewright.ops.packedconv import PackedConv
from tilewright.ops.packedmatmul import PackedMatMul
from tilewright.target.params import Types, params_for, params_of
from tilewright.target.structs.common import activation_params, filter_params, requant_params, window_params


@params_for(GlobalPool)
def global_pool_params(op: GlobalPool, types: Types) -> Params:
    shape = types["X"].shape
    return {"planes": shape[0] * shape[1], "elements": math.prod(shape[2:])}


@params_for(Pool)
def pool_params(op: Pool, types: Types) -> Params:
    fields: Params = {"channels": op.channels(types["X"].shape)}
    return fields | window_params(op, types["X"].shape, types["Y"].shape, op.kernel)


@params_for(RearrangedConv)  # type: ignore[type-abstract]
def rearranged_conv_params(op: RearrangedConv, types: Types) -> Params:
    return params_of(op.conv, op.plain_types(types))


@params_for(AveragePool)
def average_pool_params(op: AveragePool, types: Types) -> Params:
    ends = op._counted_ends if op.rank == 2 else (0, *op._counted_ends)
    counted: Params = {"count_pads": int(op.count_pads), "pad_bottom": ends[0], "pad_right": ends[1]}
    return pool_params(op, types) | counted


@params_for(BatchNormalization)
def batch_normalization_params(op: BatchNormalization, types: Types) -> Params:
    shape = types["X"].shape
    outer, inner = (shape[: op.axis], shape[op.axis + 1 :]) if len(shape) > 1 else ((), shape)
    return {
        "batch": math.prod(outer), "channels": op.channels(shape), "elements": math.prod(inner), "epsilon": op.epsilon,
    }  # fmt: skip


@params_for(BestBlock)
def best_block_params(op: BestBlock, types: Types) -> Params:
    *outer, count = types["best"].shape
    return {"rows": math.prod(outer), "count": count, "block": op.block}


@params_for(ArgMaxMatMul)
def argmax_matmul_params(op: ArgMaxMatMul, types: Types) -> Params:
    words, length = types["B"].shape
    multipliers = types["mul"].elements if "mul" in types else 0
    return {
        "rows": math.prod(types["A"].shape[:-1]), "length": length, "words": words, "block": op.block,
        "blocks": op.blocks(words), **requant_params(op, multipliers),
    }  # fmt: skip


@params_for(Conv)
def conv_params(op: Conv, types: Types) -> Params:
    w = types["W"].shape
    fields: Params = {"in_channels": op.channels(w), "out_channels": w[0] // op.groups}
    fields |= window_params(op, types["X"].shape, types["Y"].shape, op.spatial(w))
    return fields | filter_params(op, types)


@params_for(ConvTranspose)
def conv_transpose_params(op: ConvTranspose, types: Types) -> Params:
    x, w = types["X"].shape, types["W"].shape
    (in_h, in_w), (out_h, out_w), (kernel_h, kernel_w) = pair(x[2:]), pair(op.spatial), pair(w[2:])
    (stride_h, stride_w), (dilation_h, dilation_w) = pair(op.strides), pair(op.dilations)
    top, left = pair(op.before, 0)
    return {
        "batch": x[0], "in_channels": x[1] // op.groups, "out_channels": w[1], "in_h": in_h, "in_w": in_w,
        "out_h": out_h, "out_w": out_w, "kernel_h": kernel_h, "kernel_w": kernel_w, "stride_h": stride_h,
        "stride_w": stride_w, "dilation_h": dilation_h, "dilation_w": dilation_w, "pad_top": top,
        "pad_left": left, **filter_params(op, types),
    }  # fmt: skip


@params_for(ConvInputGrad)
def conv_input_grad_params(op: ConvInputGrad, types: Types) -> Params:
    """An operand's gradient has the place of the operand: G is the convolution's result, Y its image."""
    w = types["W"].shape
    fields: Params = {"channels": op.channels(w), "filters": w[0] // op.groups}
    return _gradient_params(op, types["Y"].shape, types["G"].shape, op.spatial(w)) | fields


@params_for(ConvWeightStep)
@params_for(ConvWeightGrad)
def conv_weight_grad_params(op: ConvWeightGrad, types: Types) -> Params:
    channels, filters = (op.channels(types[name].shape) // op.groups for name in "XG")
    fields: Params = {"channels": channels, "filters": filters}
    return _gradient_params(op, types["X"].shape, types["G"].shape, op.kernel) | fields


def _gradient_params(op: ConvInputGrad | ConvWeightGrad, x: Shape, g: Shape, taps: Shape) -> Params:
    flags: Params = {"groups": op.groups, "channels_last": int(op.channels_last)}
    return window_params(op, x, g, taps) | flags


@params_for(MaxPoolGrad)
def max_pool_grad_params(op: MaxPoolGrad, types: Types) -> Params:
    fields: Params = {"channels": op.channels(types["X"].shape), "channels_last": int(op.channels_last)}
    return fields | window_params(op, types["X"].shape, types["G"].shape, op.kernel)


@params_for(MatMul)
def mat_mul_params(op: MatMul, types: Types) -> Params:
    """Loops over matrices and rows, joined where both operands allow it: a batch of rows on one B is one matrix."""
    shapes = {name: kind.shape for name, kind in types.items()}
    a, b = _matrices(op, shapes)
    batch = broadcast([a[:-2], b[:-2]])
    y = (*batch, a[-2], b[-1])
    strides = {name: _over_result(op, shapes, name, y) for name in ("C", "mul", "add")}
    strides |= {
        "A": _operand_strides(shapes["A"], op.perm_a, op.trans_a, (1, 0), batch),
        "B": _operand_strides(shapes["B"], op.perm_b, op.trans_b, (0, 1), batch),
        "Y": _result_strides(shapes, op.perm_y),
    }
    walks = {name.lower(): walk[:-1] for name, walk in strides.items()}
    walks["b"] = [*strides["B"][:-2], 0]
    sizes, merged = merge_loops(y[:-1], walks)
    joined = merged["b"][-1] == 0
    outer = len(sizes) - 1 if joined else len(sizes)
    rows = sizes[-1] if joined else 1
    row = {name: walk[-1] if joined else 0 for name, walk in merged.items()}
    return {
        "rank": outer, "size": sizes[:outer], "stride_a": merged["a"][:outer], "stride_b": merged["b"][:outer],
        "stride_c": merged["c"][:outer], "stride_y": merged["y"][:outer],
        "rows": rows, "inner": a[-1], "columns": b[-1], "a_row": row["a"], "a_column": strides["A"][-1],
        "b_row": strides["B"][-2], "b_column": strides["B"][-1], "y_row": row["y"],
        "y_column": strides["Y"][-1], "c_row": row["c"], "c_column": strides["C"][-1],
        "mul_row": row["mul"], "mul_column": strides["mul"][-1], "add_row": row["add"],
        "add_column": strides["add"][-1], "alpha": op.alpha, "beta": op.beta, "a_zero": op.a_zero,
        "b_zero": op.b_zero, **requant_params(op, types["mul"].elements if "mul" in types else 0),
        **activation_params(op.activation),
    }  # fmt: skip


@params_for(MatMulNBits)
def mat_mul_n_bits_params(op: MatMulNBits, types: Types) -> Params:
    columns, blocks, length = types["B"].shape
    return {
        "rows": types["A"].elements // max(op.inner, 1), "inner": op.inner, "columns": columns,
        "blocks": blocks, "block": op.block, "block_bytes": length, "bits": op.bits,
    }  # fmt: skip


@params_for(PackedConv)
def packed_conv_params(op: PackedConv, types: Types) -> Params:
    conv = params_of(op.conv, op.plain_types(types))
    return {"conv": conv, "row_bytes": types["W"].shape[1], "bits": op.bits, "least": op.least}


@params_for(PackedMatMul)
def packed_mat_mul_params(op: PackedMatMul, types: Types) -> Params:
    columns, length = types["B"].shape
    inner = types["A"].shape[-1]
    several = {name for name, kind in types.items() if kind.elements > 1}
    steps = {f"{name.lower()}_step": int(name in several) for name in ("C", "mul", "add")}
    return {
        "rows": types["A"].elements // max(inner, 1), "inner": inner, "columns": columns, "row_bytes": length,
        "bits": op.bits, "least": op.least, **steps,
        **requant_params(op, types["mul"].elements if "mul" in types else 0),
    }  # fmt: skip


def _result_strides(shapes: Shapes, perm: Shape) -> list[int]:
    """Strides of Y along the batch, rows and columns of the product; a vector leaves out rows or columns."""
    strides = list(unpermuted(tuple(row_major(shapes["Y"])), perm))
    if len(shapes["B"]) == 1:
        strides.append(1)
    if len(shapes["A"]) == 1:
        strides.insert(-1, 0)
    return strides


def _operand_strides(stored: Shape, perm: Shape, transposed: bool, missing: tuple[int, int], batch: Shape) -> list[int]:
    """Strides of a factor along the batch and its two matrix axes, of which a vector has but one."""
    strides, sizes = permuted(tuple(row_major(stored)), perm), permuted(stored, perm)
    if len(stored) == 1:
        return [0] * len(batch) + [strides[0] if there == 0 else 1 for there in missing]
    along = [0 if size == 1 else stride for size, stride in zip(sizes[:-2], strides[:-2], strict=True)]
    return [0] * (len(batch) - len(along)) + along + list(_ordered(strides[-2:], transposed))


def _over_result(op: MatMul, shapes: Shapes, name: str, y: Shape) -> list[int]:
    """Strides of an operand that broadcasts to the result, along the result's axes with its rows and columns."""
    if name not in shapes:
        return [0] * len(y)
    shape = shapes[name]
    if len(shapes["B"]) == 1 and shape:
        shape = (*shape, 1)
    if len(shapes["A"]) == 1 and len(shape) > 1:
        shape = (*shape[:-1], 1, shape[-1])
    return broadcast_strides(shape, y)
