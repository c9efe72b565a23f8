"""An ONNX model as a module of IREE's: python make_iree.py DEFINITIONS NETWORK fp32|int8 MODEL.onnx INPUTS.npz TO"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

GATHERED = "--iree-preprocessing-pass-pipeline=builtin.module(util.func(iree-global-opt-convert-conv2d-to-img2col))"
"""Convolutions as matrix products, which are several times faster there."""


def main() -> None:
    _, _, _, model, _, to = sys.argv[1:]
    tools = Path(sys.executable).parent
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "model.mlir"
        subprocess.run([tools / "iree-import-onnx", model, "--opset-version", "17", "-o", text], check=True)
        command = [tools / "iree-compile", text, "-o", to, "--iree-hal-target-backends=llvm-cpu"]
        subprocess.run([*command, "--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3", GATHERED], check=True)


if __name__ == "__main__":
    main()
