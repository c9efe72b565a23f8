"""Products of bytes with constant bytes that give floats, as networks have them whose activations are quantised when
they run: the zero point and the scale of X are operands."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field, replace
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal, instance
from tilewright.ir.affine import FIRST, Affine, axis_loops, whole
from tilewright.ir.exact import exact_matmul
from tilewright.ir.op import Index, Op, Params
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._activation import activated
from tilewright.ops._internal import Internal
from tilewright.ops._rearranged import Rearranged
from tilewright.records import dataclass
from tilewright.target.params import params_of
from tilewright.targets.cpu.packed_forms import PackedConvolution, PackedProduct

PACKED = ("X", "W", "Y")
"""What the packed form knows under the same name."""
BY_ROW = ("zero", "row_scale")


@dataclass(frozen=True)
class ScaledProduct(Rearranged, Internal):
    """activation(float((X - zero) * W) * scale * row_scale + bias), each step rounded.

    `scale` and `bias` are one value, or one for each filter; `zero` and `row_scale` one, or one for each row of X.
    `sums` has each filter's weights added up.
    """

    operands: ClassVar[tuple[str, ...]] = ("X", "W", "sums", "scale", "zero", "row_scale?", "bias?")
    multiplies: ClassVar[bool] = True
    packed: PackedConvolution | PackedProduct = field(default_factory=PackedConvolution)
    activation: Op | None = None
    """A clamp."""

    @property
    def form(self) -> PackedConvolution:
        return self.packed.form if isinstance(self.packed, PackedProduct) else self.packed

    @property
    def plain(self) -> Op:
        return self.packed

    def of(self, plain: Op) -> Op:
        return replace(self, packed=plain) if isinstance(plain, PackedConvolution | PackedProduct) else self

    def plain_shapes(self, shapes: Shapes) -> Shapes:
        return {name: shape for name, shape in shapes.items() if name in PACKED} | {"B": shapes["sums"]}

    def plain_types(self, types: Mapping[str, TensorType]) -> dict[str, TensorType]:
        """Results are totals there."""
        known = {name: kind for name, kind in types.items() if name in PACKED} | {"B": types["sums"]}
        return {**known, **({"Y": TensorType("int32", types["Y"].shape)} if "Y" in types else {})}

    def index(self, shapes: Shapes) -> Index:
        known = dict(self.packed.index(self.plain_shapes(shapes)))
        sums = known.pop("B")
        others = {name: self._of_filters(shapes[name], known["Y"][-1]) for name in self.operands_there(shapes)}
        rows = (*axis_loops(len(shapes["X"]) - 1), FIRST)
        own = {name: rows for name in BY_ROW if name in shapes and np.prod(shapes[name]) > 1}
        return {**known, "sums": sums, **others, **own}

    def _of_filters(self, shape: Shape, filters: Affine) -> tuple[Affine, ...]:
        """Where operands lie that have one value, or one for each filter."""
        if math.prod(shape) == 1:
            return tuple(map(whole, shape))
        return (*map(whole, shape[:-1]), filters)

    def operands_there(self, shapes: Shapes) -> list[str]:
        return [name for name in ("scale", "zero", "row_scale", "bias") if name in shapes]

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return self.packed.unsplittable(self.plain_shapes(shapes))

    # ---- types and meaning ------------------------------------------------------------------------------------------

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check(types)
        if types["zero"].dtype != types["X"].dtype:
            raise Refusal(f"X is {types['X'].dtype} and its zero point {types['zero'].dtype}")
        for name in {"scale", "row_scale", "bias"} & set(types):
            if types[name].dtype != "float32":
                raise Refusal(f"{name} is {types[name].dtype}, it should be float32")
        for name in {"scale", "bias"} & set(types):
            if types[name].elements not in (1, self.form.filters):
                raise Refusal(f"{types[name].elements} values of {name} for {self.form.filters} filters")
        rows = (*types["X"].shape[:-1], 1)
        for name in set(BY_ROW) & set(types):
            if types[name].elements != 1 and (types[name].shape != rows or not isinstance(self.packed, PackedProduct)):
                raise Refusal(f"{name} has shape {types[name].shape}, for rows of shape {rows}")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("float32",)

    def numpy(
        self, X: Array, W: Array, sums: Array, scale: Array, zero: Array, row_scale: Array | None = None,
        bias: Array | None = None,
    ) -> Array:  # fmt: skip
        total = self._totals(X.astype(np.int32) - zero.astype(np.int32), W)
        made = total.astype(np.float32) * scale.reshape(-1)
        made = made if row_scale is None else made * row_scale.reshape(row_scale.shape if row_scale.size > 1 else -1)
        made = made if bias is None else made + bias.reshape(-1)
        return np.asarray(activated(self.activation, made), np.float32)

    def _totals(self, centred: Array, W: Array) -> Array:
        form, channels = self.form, centred.shape[-1] // self.form.conv.groups
        rows = form.plain_weights(W, channels).astype(np.int32)
        if isinstance(self.packed, PackedProduct):
            return exact_matmul(centred, rows.T)
        made: Array = form.conv.numpy(centred, rows.reshape(form.filters, *form.kernel, channels))
        return made

    def params(self, types: Mapping[str, TensorType]) -> Params:
        return params_of(instance(self.packed, Op), self.plain_types(types))
