"""Operators that move elements, or make tensors of shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tilewright.errors import Refusal
from tilewright.frontends.tflite.node import MAX_FOLDED, Node
from tilewright.frontends.tflite.quantisation import activation_of, operand, result
from tilewright.frontends.tflite.windows import activated
from tilewright.ir.requant import Requant
from tilewright.ir.tflite_rounding import factors
from tilewright.ir.types import Shape, limits
from tilewright.ops.concat import Concat
from tilewright.ops.expand import Expand
from tilewright.ops.gather import Gather
from tilewright.ops.lookup import Lookup
from tilewright.ops.pad import Pad
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.reshape import Reshape
from tilewright.ops.transpose import Transpose
from tilewright.ops.where import Where

# ---- shapes ---------------------------------------------------------------------------------------------------------


def reshape(node: Node) -> Sequence[str]:
    if node.has(1):
        wanted = node.integers(1, "the shape")
    else:
        given = node.option("NewShapeAsNumpy", 0)
        wanted = [int(size) for size in given] if isinstance(given, np.ndarray) else list(node.result().shape)
    return [node.emit(Reshape(_completed(wanted, node.type(0).elements)), node.input(0))]


def _completed(wanted: Sequence[int], elements: int) -> Shape:
    """A shape in which one size may be -1: what is left for it."""
    known = math.prod(size for size in wanted if size >= 0)
    if wanted.count(-1) > 1 or min(wanted, default=0) < -1:
        raise Refusal(f"the shape {list(wanted)}")
    if -1 in wanted and (known == 0 or elements % known):
        raise Refusal(f"the shape {list(wanted)} for {elements} elements")
    return tuple(elements // known if size < 0 else size for size in wanted)


def squeeze(node: Node) -> Sequence[str]:
    shape, given = node.shape(0), node.option("SqueezeDimsAsNumpy", 0)
    axes = {node.axis(int(axis), len(shape)) for axis in given} if isinstance(given, np.ndarray) else set()
    axes = axes or {axis for axis, size in enumerate(shape) if size == 1}
    if any(shape[axis] != 1 for axis in axes):
        raise Refusal(f"axes {sorted(axes)} of shape {list(shape)} are not of size 1")
    kept = tuple(size for axis, size in enumerate(shape) if axis not in axes)
    return [node.emit(Reshape(kept), node.input(0))]


def expand_dims(node: Node) -> Sequence[str]:
    shape = node.shape(0)
    axes = node.integers(1, "the axis")
    if len(axes) != 1:
        raise Refusal(f"axes {axes}; one is expected")
    axis = node.axis(axes[0], len(shape) + 1)
    return [node.emit(Reshape((*shape[:axis], 1, *shape[axis:])), node.input(0))]


def shape_of(node: Node) -> Sequence[str]:
    return [node.add_constant(np.array(node.shape(0), node.result().dtype), "shape")]


def rank(node: Node) -> Sequence[str]:
    return [node.add_constant(np.asarray(len(node.shape(0)), node.result().dtype), "rank")]


def densify(node: Node) -> Sequence[str]:
    """Sparse constants are made dense when the file is read."""
    return [node.input(0)]


# ---- constants ------------------------------------------------------------------------------------------------------


def fill(node: Node) -> Sequence[str]:
    shape = tuple(node.integers(0, "the shape"))
    _check_folded(shape)
    value = node.constant(1, "the value")
    return [node.add_constant(np.full(shape, value.reshape(-1)[0], value.dtype), "fill")]


def zeros_like(node: Node) -> Sequence[str]:
    _check_folded(node.shape(0))
    return [node.add_constant(np.zeros(node.shape(0), node.dtype()), "zeros")]


def range_(node: Node) -> Sequence[str]:
    start, end, step = (node.constant(position, "an end or the step").reshape(-1)[0] for position in range(3))
    if step == 0 or not np.isfinite([start, end, step]).all():
        raise Refusal(f"a range from {start} to {end} by {step}")
    _check_folded((max(int(abs((float(end) - float(start)) / float(step))), 0) + 1,))
    return [node.add_constant(np.arange(start, end, step, dtype=node.result().dtype), "range")]


def _check_folded(shape: Sequence[int]) -> None:
    if min(shape, default=0) < 0 or math.prod(shape) > MAX_FOLDED:
        raise Refusal(f"a constant of shape {list(shape)}; at most {MAX_FOLDED} elements are supported")


# ---- order and repetition -------------------------------------------------------------------------------------------


def transpose(node: Node) -> Sequence[str]:
    perm = [node.axis(axis, len(node.shape(0))) for axis in node.integers(1, "the order of axes")]
    if sorted(perm) != list(range(len(node.shape(0)))):
        raise Refusal(f"{perm} is no order of {len(node.shape(0))} axes")
    return [node.emit(Transpose(tuple(perm)), node.input(0))]


def broadcast_to(node: Node) -> Sequence[str]:
    shape = tuple(node.integers(1, "the shape"))
    if min(shape, default=0) < 0:
        raise Refusal(f"the shape {list(shape)}")
    node.check_elements(shape)
    return [node.emit(Expand(shape), node.input(0))]


def tile(node: Node) -> Sequence[str]:
    repeats = node.integers(1, "how often axes are repeated")
    if len(repeats) != len(node.shape(0)) or min(repeats, default=0) < 0:
        raise Refusal(f"{repeats} repetitions of a tensor of shape {list(node.shape(0))}")
    node.check_elements([size * count for size, count in zip(node.shape(0), repeats, strict=True)])
    return node.onnx("Tile", [node.input(0), node.add_constant(np.array(repeats, np.int64), "repeats")])


def reverse(node: Node) -> Sequence[str]:
    shape, made = node.shape(0), node.input(0)
    for axis in {node.axis(axis, len(shape)) for axis in node.integers(1, "the axes")}:
        made = node.emit(Gather(axis), made, node.add_constant(np.arange(shape[axis])[::-1].astype(np.int32), "order"))
    return [made]


def _block(node: Node) -> int:
    size = int(node.option("BlockSize", 0))
    if size < 1 or len(node.shape(0)) != 4:
        raise Refusal(f"blocks of {size} in a tensor of shape {list(node.shape(0))}")
    return size


def space_to_depth(node: Node) -> Sequence[str]:
    size, (n, h, w, c) = _block(node), node.shape(0)
    if h % size or w % size:
        raise Refusal(f"blocks of {size} in an image of {h} x {w}")
    apart = node.emit(Reshape((n, h // size, size, w // size, size, c)), node.input(0))
    turned = node.emit(Transpose((0, 1, 3, 2, 4, 5)), apart)
    return [node.emit(Reshape((n, h // size, w // size, size * size * c)), turned)]


def depth_to_space(node: Node) -> Sequence[str]:
    size, (n, h, w, c) = _block(node), node.shape(0)
    if c % (size * size):
        raise Refusal(f"blocks of {size} from {c} channels")
    apart = node.emit(Reshape((n, h, w, size, size, c // (size * size))), node.input(0))
    turned = node.emit(Transpose((0, 1, 3, 2, 4, 5)), apart)
    return [node.emit(Reshape((n, h * size, w * size, c // (size * size))), turned)]


# ---- borders --------------------------------------------------------------------------------------------------------


def _borders(node: Node) -> Shape:
    shape, given = node.shape(0), node.integers(1, "the borders")
    if len(given) != 2 * len(shape) or min(given, default=0) < 0:
        raise Refusal(f"paddings {given} of a tensor of shape {list(shape)}")
    node.check_elements([size + given[2 * axis] + given[2 * axis + 1] for axis, size in enumerate(shape)])
    return (*given[0::2], *given[1::2])


def pad(node: Node) -> Sequence[str]:
    """A border of zeros: of quantised tensors, of the integer that stands for zero."""
    value: float | int = operand(node, 0)[1] if node.is_quantised() else 0
    if node.has(2):
        value = node.constant(2, "the border's value").reshape(-1)[0].item()
    return [node.emit(Pad(_borders(node), value), node.input(0))]


def mirror_pad(node: Node) -> Sequence[str]:
    """With the edge itself (1, symmetric) or without it (0)."""
    made, shape, pads = node.input(0), node.shape(0), _borders(node)
    edge = 1 if int(node.option("Mode", 0)) == 1 else 0
    for axis, size in enumerate(shape):
        before, after = pads[axis], pads[len(shape) + axis]
        if max(before, after) > size - 1 + edge:
            raise Refusal(f"a padding of {max(before, after)} cannot mirror an axis of {size}")
        if before or after:
            table = np.pad(np.arange(size), (before, after), mode="symmetric" if edge else "reflect").astype(np.int32)
            made = node.emit(Gather(axis), made, node.add_constant(table, "mirror"))
    return [made]


# ---- joined tensors -------------------------------------------------------------------------------------------------


def concatenation(node: Node) -> Sequence[str]:
    axis = node.axis(int(node.option("Axis", 0)), len(node.shape(0)))
    if not node.is_quantised():
        return [activated(node, node.emit(Concat(axis), *node.inputs()))]
    if activation_of(node):
        raise Refusal("a fused activation of quantised tensors is not supported", "put it before the concatenation")
    return [node.emit(Concat(axis), *(_in_result_scale(node, position) for position in range(node.count)))]


def _in_result_scale(node: Node, position: int) -> str:
    """An operand whose scale differs from the result's is rescaled, as floats are rounded."""
    (scale, zero), (out_scale, out_zero, dtype) = operand(node, position), result(node)
    if (scale, zero) == (out_scale, out_zero) and node.dtype(position) == dtype:
        return node.input(position)
    low, high = limits(node.dtype(position))
    if node.dtype(position) in ("int8", "uint8"):
        factor = np.float32(scale) * (np.float32(1.0) / np.float32(out_scale))
        bias = np.float32(-zero) * factor
        real = np.arange(low, high + 1).astype(np.float32) * factor + bias
        rounded = np.sign(real) * np.floor(np.abs(real) + np.float32(0.5)) + out_zero
        table = np.clip(rounded, *limits(dtype)).astype(dtype)
        return node.emit(Lookup(), node.input(position), node.add_constant(table, "table"))
    mul, add = factors(scale / out_scale, node.meant.others)
    requant = Requant(0, dtype, *limits(dtype), out_zero, node.meant.others)
    exponents = node.add_constant(np.zeros(1, np.int32) if add is None else add, "exponents")
    return node.emit(RequantShift(requant), node.input(position), node.add_constant(mul, "mul"), exponents)


def pack(node: Node) -> Sequence[str]:
    shape = node.shape(0)
    axis = node.axis(int(node.option("Axis", 0)), len(shape) + 1)
    if any(node.shape(position) != shape for position in range(node.count)):
        raise Refusal("packs tensors of different shapes")
    parts = [node.emit(Reshape((*shape[:axis], 1, *shape[axis:])), name) for name in node.inputs()]
    return [parts[0] if len(parts) == 1 else node.emit(Concat(axis), *parts)]


# ---- chosen elements ------------------------------------------------------------------------------------------------


def gather(node: Node) -> Sequence[str]:
    if int(node.option("BatchDims", 0)) != 0:
        raise Refusal(f"batch_dims is {node.option('BatchDims', 0)}; 0 is supported")
    axis = node.axis(int(node.option("Axis", 0)), len(node.shape(0)))
    return node.onnx("Gather", [node.input(0), node.input(1)], axis=axis)


def gather_nd(node: Node) -> Sequence[str]:
    return node.onnx("GatherND", [node.input(0), node.input(1)])


def select(node: Node) -> Sequence[str]:
    if node.is_quantised(1) and not operand(node, 1) == operand(node, 2) == result(node)[:2]:
        raise Refusal("operands and result differ in scale or zero point", "quantise the model again")
    chosen, wide = node.input(0), node.shape(1)
    if node.operator.kind == "SELECT" and len(node.shape(0)) == 1 and len(wide) > 1 and node.shape(0)[0] == wide[0]:
        chosen = node.emit(Reshape((wide[0], *(1,) * (len(wide) - 1))), chosen)
    return [node.emit(Where(), chosen, node.input(1), node.input(2))]


RULES = {
    "RESHAPE": reshape, "SQUEEZE": squeeze, "EXPAND_DIMS": expand_dims, "SHAPE": shape_of, "RANK": rank, "FILL": fill,
    "ZEROS_LIKE": zeros_like, "RANGE": range_, "TRANSPOSE": transpose, "BROADCAST_TO": broadcast_to, "TILE": tile,
    "REVERSE_V2": reverse, "SPACE_TO_DEPTH": space_to_depth, "DEPTH_TO_SPACE": depth_to_space, "PAD": pad,
    "PADV2": pad, "MIRROR_PAD": mirror_pad, "CONCATENATION": concatenation, "PACK": pack, "GATHER": gather,
    "GATHER_ND": gather_nd, "SELECT": select, "SELECT_V2": select,
    "DENSIFY": densify,
}  # fmt: skip
