"""Base of convolutions whose constants lie as a kernel wants them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace

from tilewright.errors import Refusal, instance
from tilewright.ir.affine import Box, Span
from tilewright.ir.op import Op, Params
from tilewright.ir.types import Shape, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.ops._linear import NARROW
from tilewright.ops.conv import Conv


class RearrangedConv(Internal):
    """All but the constants is that of the convolution, of bytes. It is cut along its results only, with all of the
    constants."""

    conv: Conv

    @abstractmethod
    def plain_shapes(self, shapes: Shapes) -> Shapes:
        """As the convolution has them."""

    @abstractmethod
    def plain_types(self, types: Mapping[str, TensorType]) -> dict[str, TensorType]:
        """As the convolution has them."""

    def padding_of(self, shapes: Shapes) -> Mapping[tuple[str, int], Span]:
        return self.conv.padding_of(self.plain_shapes(shapes))

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({"g", "f", "c"})

    def extents(self, shapes: Shapes) -> dict[str, int]:
        return self.conv.extents(self.plain_shapes(shapes))

    def at(self, shapes: Shapes, box: Box) -> Op:
        cut = instance(self.conv.at(self.plain_shapes(shapes), box), Conv)
        return replace(self, conv=cut)  # type: ignore[call-arg]  # every subclass has that field

    def macs(self, shapes: Shapes) -> int:
        return self.conv.macs(self.plain_shapes(shapes))

    def result_shapes(self, shapes: Shapes) -> tuple[Shape, ...]:
        return self.conv.result_shapes(self.plain_shapes(shapes))

    def check(self, types: Mapping[str, TensorType]) -> None:
        if types["X"].dtype not in NARROW or types["W"].dtype != "int8":
            raise Refusal(f"X is {types['X'].dtype} and W {types['W'].dtype}, bytes are expected")
        self.conv.check(self.plain_types(types))

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return self.conv.result_dtypes({"X": dtypes["X"], "W": "int8"})

    def params(self, types: Mapping[str, TensorType]) -> Params:
        return self.conv.params(self.plain_types(types))
