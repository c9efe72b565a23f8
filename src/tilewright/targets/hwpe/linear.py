from __future__ import annotations

import math
from collections.abc import Mapping

from tilewright.ir.affine import axis_loops, loops, whole
from tilewright.ir.exact import exact_matmul
from tilewright.ir.op import Index, Params
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.records import dataclass
from tilewright.targets.hwpe.encoding import NARROW, ONE_TAP, WORD
from tilewright.targets.hwpe.jobs import POINTWISE, SIDE, Job
from tilewright.targets.hwpe.op import BY_CORES, Neureka, one_column


@dataclass(frozen=True)
class NeurekaLinear(Neureka):
    """Y[..., f] from X[..., c] and filters with one tap: matrix products and pointwise convolutions."""

    def index(self, shapes: Shapes) -> Index:
        x = shapes["X"]
        (f,) = loops("f")
        pixels = axis_loops(len(x) - 1)
        return {"X": (*pixels, whole(x[-1])), **self.constants_index(f, f, shapes), "Y": (*pixels, f)}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        sizes = {f"d{axis}": size for axis, size in enumerate(shapes["X"][:-1])}
        return sizes | {"f": shapes["W"][0]}

    def macs(self, shapes: Shapes) -> int:
        return math.prod(shapes["X"]) // self.groups * shapes["W"][0]

    def check(self, types: Mapping[str, TensorType]) -> None:
        filters = types["W"].shape[0]
        self.check_constants((filters, filter_bytes(types["X"].shape[-1])), filters, types)

    def numpy(
        self, X: Array, W: Array, scale: Array | None = None, bias: Array | None = None, add: Array | None = None
    ) -> Array:
        totals = self.totals(X, W)
        if self.made != BY_CORES:
            return self.quantised(totals, scale, bias)
        totals = self.lifted(totals, scale)
        return self.finished(totals if bias is None else totals + bias[0], scale, add)

    def totals(self, X: Array, W: Array) -> Array:
        rows, weights = self.rows_and_weights(X, W)
        return exact_matmul(rows.astype("int32"), weights.T.astype("int32"))

    def rows_and_weights(self, X: Array, W: Array) -> tuple[Array, Array]:
        """What is multiplied: elements of rows, and the weight of each for every filter."""
        return X, ONE_TAP.unpack(W, (len(W), X.shape[-1])) + self.offset

    def jobs(self, types: Mapping[str, TensorType], resident: bool) -> list[Job]:
        return row_jobs(self, types, resident)

    def finish_walk(self, types: Mapping[str, TensorType]) -> Params:
        return one_column(math.prod(types["Y"].shape[:-1]), types["Y"].shape[-1])

    def tile_types(self, types: Mapping[str, TensorType], extents: Mapping[str, int]) -> dict[str, TensorType]:
        pixels = tuple(extents[f"d{axis}"] for axis in range(len(types["X"].shape) - 1))
        filters = extents["f"]
        x, w = (*pixels, types["X"].shape[-1]), (filters, types["W"].shape[1])
        shapes = {"X": x, "W": w, "Y": (*pixels, filters)}
        return {name: TensorType(kind.dtype, shapes.get(name, kind.shape)) for name, kind in types.items()}


def row_jobs(op: Neureka, types: Mapping[str, TensorType], resident: bool) -> list[Job]:
    """Rows X[..., c] times filters with one tap, as pixels of images."""
    shape, filters, result = types["X"].shape, types["W"].shape[0], op.npu_result(types)
    channels, out = shape[-1], filters * result.width // 8
    return [
        Job(
            POINTWISE, channels, filters, height, width, types["X"].dtype == "int8", op.weights(resident), result,
            channels, width * channels, out, width * out, first * channels, first * out,
        )
        for first, height, width in rectangles(math.prod(shape[:-1]))
    ]  # fmt: skip


def filter_bytes(channels: int) -> int:
    return WORD * -(-channels // NARROW)


def rectangles(pixels: int) -> list[tuple[int, int, int]]:
    """Neighbouring pixels as one or two images that take as few tiles of the array as possible: the first pixel, height
    and width of each. The second may begin with pixels of the first, which it computes again in no more time."""
    tiles = pixels // (SIDE * SIDE)
    height, width = (SIDE * tiles, SIDE) if tiles else _largest(pixels)
    rest = pixels - height * width
    if rest == 0:
        return [(0, height, width)]
    last = _smallest(rest)
    return [(0, height, width), (pixels - math.prod(last), *last)]


SIZES = [(height, width) for height in range(1, SIDE + 1) for width in range(1, SIDE + 1)]


def _largest(pixels: int) -> tuple[int, int]:
    """The tile with the most of some pixels."""
    return max((size for size in SIZES if math.prod(size) <= pixels), key=math.prod)


def _smallest(pixels: int) -> tuple[int, int]:
    """The tile that has room for some pixels and is stored fastest."""
    return min((size for size in SIZES if math.prod(size) >= pixels), key=lambda size: (size[0], size[1]))
