"""Writes and reads a model's folder in Hugging Face's format, its weights as int8 with one float scale per row."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

SCALE = ".scale"
"""A tensor `X` of int8 has its scales, one for each row, in a tensor `X.scale`."""


def quantised(weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Matrices as int8 and scales, everything else as it is."""
    stored: dict[str, np.ndarray] = {}
    for name, weight in weights.items():
        if weight.ndim != 2:
            stored[name] = weight.astype(np.float32)
            continue
        scale = np.maximum(np.abs(weight).max(1) / np.float32(127), np.float32(1e-8)).astype(np.float32)
        stored[name] = np.rint(weight / scale[:, None]).astype(np.int8)
        stored[name + SCALE] = scale
    return stored


def dequantised(stored: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The float weights that the stored int8 stand for."""
    weights = {}
    for name, tensor in stored.items():
        if name.endswith(SCALE):
            continue
        scale = stored.get(name + SCALE)
        weights[name] = tensor if scale is None else tensor.astype(np.float32) * scale[:, None]
    return weights


def save(folder: Path, config: dict, weights: dict[str, np.ndarray]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    save_file(quantised(weights), folder / "model.safetensors", metadata={"format": "pt"})
    _write(folder / "config.json", config)
    words = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    limits = {"model_max_length": config["max_position_embeddings"]}
    _write(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", **words, **limits})


def _write(path: Path, content: dict) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def load(folder: Path) -> dict[str, np.ndarray]:
    return dequantised(load_file(folder / "model.safetensors"))
