"""The runtimes whose arithmetic a quantised network may be meant in: their results differ in a step here and there."""

from __future__ import annotations

from tilewright.errors import CompileError
from tilewright.ir.rounding import Rounding
from tilewright.records import dataclass


@dataclass(frozen=True)
class Arithmetic:
    """How totals are scaled, as ir/tflite_rounding.py has it."""

    name: str
    meant: str
    rounding: Rounding
    """Of convolutions and sums."""
    products: Rounding
    """Of FULLY_CONNECTED."""
    others: Rounding
    """Of whatever else is scaled."""
    float_softmax: bool = False
    """Whether exponentials are floats, not fixed-point numbers; so are the tables of LOGISTIC and TANH."""

    @property
    def integers(self) -> Rounding:
        """Of operators that no runtime computes in floats."""
        return Rounding.DOUBLE if self.others == Rounding.FLOAT else self.others


DOUBLE, DOUBLE_UP, SINGLE, FLOAT = Rounding.DOUBLE, Rounding.DOUBLE_UP, Rounding.SINGLE, Rounding.FLOAT
KNOWN = (
    Arithmetic("micro", "TensorFlow Lite Micro", DOUBLE, DOUBLE, DOUBLE),
    Arithmetic("reference", "LiteRT's reference kernels", DOUBLE, SINGLE, DOUBLE, float_softmax=True),
    Arithmetic("optimised", "LiteRT's optimised kernels", DOUBLE_UP, DOUBLE_UP, DOUBLE, float_softmax=True),
    Arithmetic("single", "builds that round once", SINGLE, SINGLE, SINGLE),
    Arithmetic("float", "LiteRT with XNNPACK", FLOAT, FLOAT, FLOAT, float_softmax=True),
)
DEFAULT = "micro"


def find(name: str) -> Arithmetic:
    found = next((one for one in KNOWN if one.name == (name or DEFAULT)), None)
    if found is None:
        names = ", ".join(one.name for one in KNOWN)
        raise CompileError(f"--tflite-rounding {name}", "is unknown", f"use one of {names}")
    return found
