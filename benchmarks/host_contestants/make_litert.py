"""A network as .tflite: python make_litert.py DEFINITIONS NETWORK fp32|int8 MODEL.onnx INPUTS.npz TO"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import ai_edge_torch
import numpy as np


def main() -> None:
    definitions, name, kind, _, stored, to = sys.argv[1:]
    sys.path.append(definitions)
    import models_def

    module, example, *_ = models_def.build(name)
    floats = Path(to).parent / f"{name}_fp32.tflite"
    if kind == "int8" and floats.exists():
        shutil.copyfile(floats, to)
    else:
        ai_edge_torch.convert(module, example).export(to)
    if kind == "int8":
        quantise(Path(to), list(np.load(stored).values()))


def quantise(path: Path, inputs: list[np.ndarray]) -> None:
    """Static, per channel, with the ranges of some random inputs."""
    from ai_edge_quantizer import quantizer, recipe

    names = [f"args_{number}" for number in range(len(inputs))]
    rng = np.random.default_rng(0)
    drawn = [{name: another(rng, value) for name, value in zip(names, inputs, strict=True)} for _ in range(8)]
    made = quantizer.Quantizer(str(path), recipe.static_wi8_ai8())
    ranges = made.calibrate({"serving_default": drawn})
    path.unlink()
    made.quantize(ranges).export_model(str(path))


def another(rng: np.random.Generator, like: np.ndarray) -> np.ndarray:
    """Values as those of an input; what is not drawn from a normal distribution stays."""
    if like.dtype != np.float32 or abs(float(like.std()) - 1) > 0.2:
        return like
    return rng.standard_normal(like.shape).astype(np.float32)


if __name__ == "__main__":
    main()
