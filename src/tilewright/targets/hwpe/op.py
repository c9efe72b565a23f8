"""What N-EUREKA's operators have in common: encoded weights, and two ways from totals to results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import Affine, whole
from tilewright.ir.op import Op, Params
from tilewright.ir.types import BYTES, Array, Shapes, TensorType, limits
from tilewright.records import dataclass
from tilewright.targets.hwpe.finish import MULTIPLIED, Finish, finish_params
from tilewright.targets.hwpe.jobs import Job, Result, Weights

BY_NPU, BY_CORES, THINNED = "by the NPU", "by the cores", "thinned"
"""How results are made: all by N-EUREKA; from its totals, by the cores; or the cores keep some of its results."""


@dataclass(frozen=True)
class Neureka(Op):
    """Sums of products of bytes with encoded weights W.

    By the NPU, a result is (total * scale + bias) >> shift, clipped to its type, or without `scale` the total. By the
    cores, it is what `finishing` makes of the total plus bias, with factor `scale` and summand `add`.
    """

    operands: ClassVar[tuple[str, ...]] = ("X", "W", "scale?", "bias?", "add?")
    multiplies: ClassVar[bool] = True
    bits: int = 8
    """Of a code."""
    offset: int = 0
    """A code plus this is a weight."""
    dtype: str = "int32"
    """Of the result."""
    shift: int = 0
    made: str = BY_NPU
    finishing: Finish | None = None
    """What the cores do with totals; None where there is nothing to do."""
    bare: bool = False
    """Whether totals that the cores finish come without their bias, which N-EUREKA takes 29 cycles to add for every 32
    filters."""
    groups: int = 1
    """Of channels, each with filters of its own: a filter's weights of other groups are 0, and no products."""

    @property
    def has_whole_codes(self) -> bool:
        """Whether a code takes a byte, however few bits it has: those of filters with one tap do."""
        return True

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.dtype,)

    def constants_index(self, filters: Affine, words: Affine, shapes: Shapes) -> dict[str, tuple[Affine, ...]]:
        """Constants by `filters`, and their encoded weights by `words`."""
        found: dict[str, tuple[Affine, ...]] = {"W": (words, whole(shapes["W"][1]))}
        if "bias" in shapes:
            found["bias"] = (whole(shapes["bias"][0]), filters)
        return found | {name: (filters,) for name in ("scale", "add") if name in shapes}

    def check_constants(self, words: tuple[int, int], filters: int, types: Mapping[str, TensorType]) -> None:
        if types["X"].dtype not in ("int8", "uint8"):
            raise Refusal(f"X is {types['X'].dtype}, int8 or uint8 is expected")
        if types["W"] != TensorType("uint8", words):
            raise Refusal(f"W is {types['W']}, encoded weights {words} are expected")
        for name in {"scale", "bias", "add"} & set(types):
            if types[name].shape[-1] != filters:
                raise Refusal(f"{name} has shape {types[name].shape} for {filters} filters")

    # ---- meaning --------------------------------------------------------------------------------------------------

    def totals(self, X: Array, W: Array) -> Array:
        """Sums of products, without a bias: int32 [..., filters]."""
        raise NotImplementedError(type(self).__name__)

    def quantised(self, totals: Array, scale: Array | None, bias: Array | None) -> Array:
        """As N-EUREKA stores totals [..., filters]."""
        if scale is None:
            return totals
        value = totals.astype(np.int64) * scale.astype(np.int64) + (0 if bias is None else bias[0])
        value = value.astype(np.int32) >> self.shift
        return np.clip(value, *limits(self.dtype)).astype(self.dtype)

    @property
    def is_multiplied(self) -> bool:
        """Whether cores get totals that are multiplied with `scale`."""
        return self.finishing is not None and self.finishing.mode == MULTIPLIED

    def lifted(self, totals: Array, scale: Array | None) -> Array:
        """As N-EUREKA leaves totals for the cores, but for the bias and a shift."""
        if self.is_multiplied and scale is not None:
            return totals * scale.astype(np.int32)
        return totals if self.finishing is None else totals << self.finishing.lift

    def finished(self, totals: Array, scale: Array | None, add: Array | None) -> Array:
        """As the cores store totals that have their bias."""
        return totals if self.finishing is None else self.finishing(totals >> self.shift, scale, add)

    # ---- jobs -----------------------------------------------------------------------------------------------------

    def jobs(self, types: Mapping[str, TensorType], resident: bool) -> list[Job]:
        """What N-EUREKA is told to do, for one image of a batch."""
        raise NotImplementedError(type(self).__name__)

    def batch(self, types: Mapping[str, TensorType]) -> int:
        """Images that have jobs of their own."""
        return 1

    def x_step(self, types: Mapping[str, TensorType]) -> int:
        """Bytes from image to image of what N-EUREKA reads."""
        return types["X"].bytes // self.batch(types)

    def tile_types(self, types: Mapping[str, TensorType], extents: Mapping[str, int]) -> dict[str, TensorType]:
        """What jobs depend on, for a tile with these extents of the loops."""
        raise NotImplementedError(type(self).__name__)

    def weights(self, resident: bool) -> Weights:
        return Weights(self.bits, self.offset, resident)

    def finish_params(self, types: Mapping[str, TensorType]) -> Params:
        """What the cores have to know of the results that they make."""
        return {
            **self.finish_walk(types), "filters": types["Y"].shape[-1],
            "ones": types["bias"].elements - types["Y"].shape[-1] if "bias" in types else 0,
            "bare": int(self.bare), "up": self.finishing.lift if self.bare and self.finishing else 0,
            **finish_params(self.finishing, self.made == BY_CORES),
        }  # fmt: skip

    def finish_walk(self, types: Mapping[str, TensorType]) -> Params:
        """Pixels of the result, and where the cores find what they are made of."""
        raise NotImplementedError(type(self).__name__)

    def npu_result(self, types: Mapping[str, TensorType]) -> Result:
        if self.made == BY_CORES and not self.is_multiplied:
            return Result(quantises=not self.bare)
        if "scale" not in types:
            return Result()
        dtype = "int32" if self.is_multiplied else self.dtype
        return Result(8 * BYTES[dtype], dtype != "uint8", True, 8 * BYTES[types["scale"].dtype], self.shift)


def one_column(pixels: int, filters: int) -> Params:
    """The walk over pixels that are all alike and lie one after the other."""
    return {
        "images": 1, "rows": pixels, "columns": 1, "source_image": 0, "source_row": filters, "source_pixel": filters,
        "over_bottom": 0, "over_right": 0,
    }  # fmt: skip
