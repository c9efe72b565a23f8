"""Logits of the tiny decoders by the library that their formats come from.

    python -m tests.frontends.checkpoint.transformers_logits

writes `logits.json`, which tests compare with where that library is not installed.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np

from tests.frontends.checkpoint.small import CASES, Json, save
from tilewright.ir.types import Array

GOLDEN = Path(__file__).with_name("logits.json")
IDS = (3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5)


def transformers_logits(folder: Path, positions: Array | None = None) -> Array:
    """Of IDS, [tokens, words]."""
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    more = {} if positions is None else {"position_ids": torch.tensor(positions[None])}
    with torch.no_grad():
        return np.asarray(model(torch.tensor([IDS]), **more).logits[0].numpy())


def written(config: Json) -> list[float]:
    """The logits of the last token."""
    with tempfile.TemporaryDirectory() as folder:
        return [round(float(value), 5) for value in transformers_logits(save(Path(folder), config))[-1]]


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps({name: written(config) for name, config in CASES.items()}, indent=0) + "\n")
