from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import loops
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Index
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._compose import Compose
from tilewright.ops._gradients import declared, require_floats
from tilewright.ops._pool import read_pool
from tilewright.ops._windows import Windowed
from tilewright.ops.scatterelements import ScatterElements
from tilewright.records import dataclass


@dataclass(frozen=True)
class MaxPoolGrad(Windowed):
    """The gradient of a MaxPool's operand X: each window adds its element of G to that of its first largest element."""

    operands: ClassVar[tuple[str, ...]] = ("G", "X")
    kernel: Shape = (1, 1)

    def taps(self, shapes: Shapes) -> Shape:
        return self.kernel

    def index(self, shapes: Shapes) -> Index:
        n, c = loops("n c")
        image = loops("i j")[-self.rank :]
        return {
            "G": self.arranged(n, c, self.out_loops()),
            "X": self.arranged(n, c, image),
            "Y": self.arranged(n, c, image),
        }

    def extents(self, shapes: Shapes) -> dict[str, int]:
        sizes = {"n": shapes["X"][0], "c": self.channels(shapes["X"])}
        outs = dict(zip("yx"[-self.rank :], self.spatial(shapes["G"]), strict=True))
        return sizes | outs | dict(zip("ij"[-self.rank :], self.spatial(shapes["X"]), strict=True))

    def padding_of(self, shapes: Shapes) -> Mapping[tuple[str, int], tuple[int, int]]:
        return {}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset("yxij")

    def check(self, types: Mapping[str, TensorType]) -> None:
        require_floats(types)
        x, g = types["X"].shape, types["G"].shape
        self.check_window({"X": x})
        outs = tuple(size for name, size in self.spatial_extents({"X": x}).items() if name in "yx")
        if len(g) != len(x) or (g[0], self.channels(g), self.spatial(g)) != (x[0], self.channels(x), outs):
            raise Refusal(f"G has shape {g}, but the window has {outs} positions on X of shape {x}")

    def numpy(self, G: Array, X: Array) -> Array:
        """A window that lies in the padding altogether adds to nothing."""
        seen = self.patches(X, self.kernel, fill=-np.inf)
        places = np.arange(np.prod(self.spatial(X.shape))).reshape(self.arranged(1, 1, self.spatial(X.shape)))
        under = np.broadcast_to(self.patches(places, self.kernel, fill=-1), seen.shape)
        best = np.argmax(np.where(under < 0, -np.inf, seen), axis=-1)
        chosen = np.take_along_axis(under, best[..., None], -1)[..., 0]
        gradient = self.channels_second(G)
        planes = gradient.shape[0] * gradient.shape[1]
        total = np.zeros((planes, places.size + 1), np.float32)
        np.add.at(total, (np.arange(planes)[:, None], chosen.reshape(planes, -1)), gradient.reshape(planes, -1))
        image = total[:, :-1].reshape(*gradient.shape[:2], *self.spatial(X.shape))
        return np.ascontiguousarray(self.stored(image))

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        """The second operand is what was pooled, or (int64) the places of the largest elements in it."""
        node.ignore("storage_order", "ceil_mode")
        if node.type(1).dtype in ("int64", "int32"):
            return _scattered(node, emit)
        make = Compose(node, emit)
        strides, dilations, padding, kernel, _ = read_pool(_of_pooled(node))
        return make.give(make(cls(strides, dilations, padding, kernel=kernel), *node.inputs[:2]))


def _of_pooled(node: OnnxNode) -> OnnxNode:
    """The node as the pool itself would see it."""
    return OnnxNode(
        node.kind, node.domain, node.name, node.opset, node.attributes, node.inputs[1:], node.outputs, node.types[1:],
        node.constants[1:], used=node.used,
    )  # fmt: skip


def _scattered(node: OnnxNode, emit: Emit) -> Sequence[str]:
    make, shape = Compose(node, emit), declared(node)
    node.ignore("auto_pad", "kernel_shape", "pads", "strides", "dilations")
    if shape is None:
        raise Refusal("the file does not say which shape the result has", "let it be declared: value_info")
    gradient, places = (make.reshape(name, (make.kind(name).elements,)) for name in node.inputs[:2])
    zeros = make.constant(np.zeros(int(np.prod(shape)), np.float32), "zeros")
    return make.give(make.reshape(make(ScatterElements("add", 0), zeros, places, gradient), shape))
