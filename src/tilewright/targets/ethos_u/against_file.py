"""A file that Vela has made of a whole network, held to the file that it was given: streams are not always right."""

from __future__ import annotations

import numpy as np

from tilewright.errors import CompileError
from tilewright.frontends.tflite import importer
from tilewright.ir.evaluate import evaluate_outputs
from tilewright.ir.types import Array, TensorType, limits

SEED = 21
FAR = 1 / 64
"""Of the range of an output: what is further off is another result, and no rounding."""
DRAWN = ("int8", "uint8", "int16", "float32")
"""Types of inputs that any value suits."""
SPREAD = 4.0
"""Of inputs that are floats."""
UNREAD = "nobody has compared Vela's streams with the file: {}"
OTHER = "Vela's streams give other results than the file"


def differences(given: bytes, made: bytes, stem: str) -> tuple[str, ...]:
    """Notes on outputs whose elements differ, of a first call on inputs drawn at random; an error where they are far
    off."""
    try:
        wanted, found = importer.load(given), importer.load(made)
    except CompileError as error:
        return (UNREAD.format(f"{error.where} {error.what}"),)
    others = [name for name in wanted.inputs if wanted.types[name].dtype not in DRAWN]
    if others:
        return (UNREAD.format(f"its input '{others[0]}' is {wanted.types[others[0]].dtype}"),)
    draws = np.random.default_rng(SEED)
    values = [_drawn(draws, wanted.types[name]) for name in wanted.inputs]
    ours = evaluate_outputs(wanted, dict(zip(wanted.inputs, values, strict=True)))
    streams = evaluate_outputs(found, dict(zip(found.inputs, values, strict=True)))
    outputs = zip(wanted.output_names, wanted.outputs, found.outputs, strict=True)
    return tuple(note for name, a, b in outputs if (note := _difference(stem, name, ours[a], streams[b])))


def _drawn(draws: np.random.Generator, kind: TensorType) -> Array:
    if kind.dtype == "float32":
        return (SPREAD * draws.standard_normal(kind.shape)).astype(np.float32)
    return draws.integers(*limits(kind.dtype), kind.shape, kind.element, endpoint=True)


def _difference(stem: str, output: str, wanted: Array, found: Array) -> str:
    off = np.abs(wanted.astype(np.float64) - found.reshape(wanted.shape).astype(np.float64))
    most = float(off.max(initial=0))
    if not most:
        return ""
    said = f"{np.count_nonzero(off)} of {off.size} elements of '{output}' differ, by at most {most:g}"
    low, high = limits(wanted.dtype.name) if wanted.dtype.kind in "iu" else (wanted.min(), wanted.max())
    if most > FAR * (float(high) - float(low)):
        raise CompileError(f"model '{stem}'", f"{OTHER}: {said}", "choose the core alone")
    return f"{OTHER}: {said}"
