"""The runtimes whose arithmetic a quantised network may be meant in: their results differ in a step here and there."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.errors import CompileError


@dataclass(frozen=True)
class Arithmetic:
    """How totals are scaled, as ir/tflite_rounding.py has it."""

    name: str
    meant: str
    rounding: str
    """Of convolutions and sums."""
    products: str
    """Of FULLY_CONNECTED."""
    others: str
    """Of whatever else is scaled."""
    float_softmax: bool = False
    """Whether exponentials are floats, not fixed-point numbers; so are the tables of LOGISTIC and TANH."""

    @property
    def integers(self) -> str:
        """Of operators that no runtime computes in floats."""
        return "double" if self.others == "float" else self.others


KNOWN = (
    Arithmetic("micro", "TensorFlow Lite Micro", "double", "double", "double"),
    Arithmetic("reference", "LiteRT's reference kernels", "double", "single", "double", float_softmax=True),
    Arithmetic("optimised", "LiteRT's optimised kernels", "double_up", "double_up", "double", float_softmax=True),
    Arithmetic("single", "builds that round once", "single", "single", "single"),
    Arithmetic("float", "LiteRT with XNNPACK", "float", "float", "float", float_softmax=True),
)
DEFAULT = "micro"


def find(name: str) -> Arithmetic:
    found = next((one for one in KNOWN if one.name == (name or DEFAULT)), None)
    if found is None:
        names = ", ".join(one.name for one in KNOWN)
        raise CompileError(f"--tflite-rounding {name}", "is unknown", f"use one of {names}")
    return found
