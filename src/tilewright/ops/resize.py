from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ir.types import Array, Shape, TensorType
from tilewright.ops._interpolation import Interpolation
from tilewright.ops._resampling import INWARD, Resampling
from tilewright.ops.cast import Cast
from tilewright.ops.gather import Gather
from tilewright.ops.identity import Identity
from tilewright.records import dataclass

SHORT = ("int8", "uint8", "int16", "uint16")
"""Integers that float32 holds with eight bits to spare: what lies between two of them cannot leave their type."""


@dataclass(frozen=True)
class Resize(Interpolation):
    """Along one axis, output j is the sum over t of weight[j, t] * X[index[j, t]].

    Interpolation is separable: one such operator for each resized axis. Nearest-neighbour resizing becomes Gathers.
    """

    def check(self, types: Mapping[str, TensorType]) -> None:
        if types["X"].dtype != "float32":
            raise Refusal(
                f"interpolation of {types['X'].dtype} is not supported", "use mode nearest, or a Cast before and after"
            )
        super().check(types)

    def numpy(self, X: Array, taps: Array, weight: Array) -> Array:
        parts = np.moveaxis(X, self.axis, 0)[taps]
        scaled = parts * weight.reshape(*weight.shape, *(1,) * (X.ndim - 1))
        return np.ascontiguousarray(np.moveaxis(scaled.sum(axis=1, dtype=np.float32), 0, self.axis))

    def gradients(self, at: Adjoint) -> Gradients:
        x, taps, weight = at["X"], at["taps"].known, at["weight"].known
        if taps is None or weight is None:
            raise Refusal("there is a gradient where the positions are constants only")
        matrix = np.zeros((x.shape[self.axis], len(taps)))
        np.add.at(matrix, (taps, np.arange(len(taps))[:, None]), weight)
        inner = math.prod(x.shape[self.axis + 1 :])
        flat = at.gradient.reshape((math.prod(x.shape[: self.axis]), len(taps), inner))
        return {"X": x.constant(matrix).times_matrix(flat).reshape(x.shape)}

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        how = _resampling(node)
        sizes, scales = _sizes(node)
        return resample(node, emit, how, sizes, scales)


def resample(node: OnnxNode, emit: Emit, how: Resampling, sizes: Shape, scales: Sequence[float]) -> Sequence[str]:
    """Axis by axis, the last first: it is the one whose elements are read one at a time. Between short integers, floats
    are interpolated and then cut off, as ONNX defines it."""
    x, (dtype, shape) = node.inputs[0], (node.type(0).dtype, node.type(0).shape)
    is_short = how.mode == "linear" and dtype in SHORT and (list(shape) != list(sizes) or any(s != 1 for s in scales))
    if is_short and how.antialias:
        raise Refusal(f"interpolation of {dtype} with antialias is not supported", "use a Cast to float32 before it")
    if is_short:
        (x,) = emit(Cast("float32"), [x])
    for axis in reversed(range(len(shape))):
        size, result, scale = shape[axis], sizes[axis], scales[axis]
        if result == size and math.isclose(scale, 1.0):
            continue
        if not size or scale <= 0:
            raise Refusal(f"an axis of {size} resized to {result}, by {scale:g}")
        if how.mode == "nearest":
            (x,) = emit(Gather(axis), [x, emit.constant(how.nearest(size, result, scale), f"{node.name}_rows")])
            continue
        taps, weights = how.taps(size, result, scale)
        tables = emit.constant(taps, f"{node.name}_taps"), emit.constant(weights, f"{node.name}_weights")
        (x,) = emit(Resize(axis), [x, *tables])
    return emit(Cast(dtype) if is_short else Identity(), [x], node.outputs)


def _resampling(node: OnnxNode) -> Resampling:
    mode = node.attribute("mode", "nearest")
    if mode not in ("nearest", "linear", "cubic"):
        raise Refusal(f"mode {mode} is unknown", "known: nearest, linear, cubic")
    node.ignore("extrapolation_value")
    old = len(node.inputs) == 2
    return Resampling(
        mode,
        node.attribute("coordinate_transformation_mode", "asymmetric" if old else "half_pixel"),
        node.attribute("nearest_mode", INWARD if old else "round_prefer_floor"),
        node.attribute("cubic_coeff_a", -0.75),
        bool(node.attribute("exclude_outside", 0)),
        bool(node.attribute("antialias", 0)),
    )


def _sizes(node: OnnxNode) -> tuple[Shape, list[float]]:
    """The result's shape and the scale of each axis."""
    shape = node.type(0).shape
    axes = [node.axis(axis, len(shape)) for axis in node.attribute("axes", tuple(range(len(shape))))]
    policy = node.attribute("keep_aspect_ratio_policy", "stretch")
    lengths = [shape[axis] for axis in axes]
    scales, wanted = scales_at(node, 1 if len(node.inputs) == 2 else 2), node.integers_at(3, "the sizes")
    if len(scales or wanted or ()) != len(axes) or 0 in lengths:
        raise Refusal(f"scales {scales} or sizes {wanted} do not fit shape {shape}")
    if scales:
        wanted = tuple(map(resized, lengths, scales))
    else:
        wanted, scales = _aspect(lengths, wanted or (), policy)
    sizes, all_scales = dict(zip(axes, wanted, strict=True)), dict(zip(axes, scales, strict=True))
    return (
        tuple(sizes.get(axis, size) for axis, size in enumerate(shape)),
        [all_scales.get(axis, 1.0) for axis in range(len(shape))],
    )


def resized(length: int, scale: float) -> int:
    """In float32 as ONNX's shape inference: 40 elements by 0.7 are 28, though the 0.7 of a file is a little less."""
    with np.errstate(over="ignore", invalid="ignore"):
        size = float(np.float32(length) * np.float32(scale))
    if not 0 <= size < 2**31:
        raise Refusal(f"an axis of {length} resized by {scale:g}")
    return int(size)


def _aspect(lengths: Sequence[int], wanted: Sequence[int], policy: str) -> tuple[tuple[int, ...], list[float]]:
    """Sizes and scales of the resized axes; with a policy all have the same scale."""
    scales = [result / length for result, length in zip(wanted, lengths, strict=True)]
    if policy == "stretch":
        return tuple(wanted), scales
    scale = min(scales) if policy == "not_larger" else max(scales)
    return tuple(int(scale * length + 0.5) for length in lengths), [scale] * len(lengths)


def scales_at(node: OnnxNode, position: int) -> list[float]:
    """The scales given as an input; none where it is absent or empty."""
    value = node.constant(position, "the scales")
    return [] if value is None else [float(scale) for scale in value.reshape(-1)]
