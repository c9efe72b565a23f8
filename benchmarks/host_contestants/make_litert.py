"""A network as .tflite: python make_litert.py DEFINITIONS NETWORK fp32|int8 MODEL.onnx INPUTS.npz TO

Both formats are made of the float model: TensorFlow's converter quantises it, per channel, with random inputs.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx2tf

SAMPLES = 8
MADE = {"fp32": "_float32.tflite", "int8": "_integer_quant.tflite"}
"""How the names of the converter's files end; bytes inside, floats outside."""


def main() -> None:
    _, name, kind, model, stored, to = sys.argv[1:]
    inputs = dict(np.load(stored))
    # Images become channels last; what else has axes keeps them.
    kept = [] if is_image(inputs) else list(inputs)
    with tempfile.TemporaryDirectory() as folder:
        options: dict[str, Any] = {"keep_shape_absolutely_input_names": kept} if kept else {}
        if kind == "int8":
            options |= {"output_integer_quantized_tflite": True, "quant_type": "per-channel"}
            options["custom_input_op_name_np_data_path"] = samples(inputs, Path(folder))
        source = Path(model).with_name(f"{name}_fp32.onnx")
        made = Path(folder) / "made"
        onnx2tf.convert(str(source), output_folder_path=str(made), non_verbose=True, not_use_onnxsim=True, **options)
        shutil.copyfile(next(made.glob(f"*{MADE[kind]}")), to)


def is_image(inputs: dict[str, np.ndarray]) -> bool:
    return len(inputs) == 1 and all(array.ndim == 4 for array in inputs.values())


def samples(inputs: dict[str, np.ndarray], folder: Path) -> list[list[Any]]:
    """What the converter finds ranges with: name, file, mean and deviation of each input."""
    rng, found = np.random.default_rng(0), []
    for number, (name, array) in enumerate(inputs.items()):
        drawn = np.concatenate([another(rng, array) for _ in range(SAMPLES)])
        path = folder / f"{number}.npy"
        np.save(path, drawn.transpose(0, 2, 3, 1) if is_image(inputs) else drawn)
        found.append([name, str(path), 0.0, 1.0])
    return found


def another(rng: np.random.Generator, like: np.ndarray) -> np.ndarray:
    """Values as those of an input; what is not drawn from a normal distribution stays."""
    if like.dtype != np.float32 or abs(float(like.std()) - 1) > 0.2:
        return like
    return rng.standard_normal(like.shape).astype(np.float32)


if __name__ == "__main__":
    main()
