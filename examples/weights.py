"""Compares ways to run matrix products with constant weights: python weights.py prefill.onnx decode.onnx"""

from __future__ import annotations

import sys

import tilewright as tw
from tilewright.target.settings import Settings

WAYS = {
    "cores": Settings(engines=("cluster",)),
    "NPU, weights by DMA": Settings(weight_memory=False),
    "NPU, weight memory": Settings(),
}


def compare(path: str) -> None:
    for way, settings in WAYS.items():
        profile = tw.compile(path, target="siracusa", settings=settings).profile().profile
        weighted = [layer for layer in profile.layers if layer.name.endswith(".matmul")]
        on_npu = sum(layer.engine == "neureka" for layer in weighted)
        cycles, moved = sum(layer.cycles for layer in weighted), sum(layer.bytes_in for layer in weighted)
        macs = sum(layer.macs for layer in weighted)
        whole = f"{profile.cycles:>9,} cycles, waiting {profile.waiting_share:5.1%}"
        placed = f"{on_npu:2} of {len(weighted)} on the NPU"
        speed = f"{cycles:>7,} cycles, {macs / cycles:5.1f} MAC/cycle, {moved:>7,} bytes in"
        print(f"{path:13} {way:20} {whole}; products: {placed}, {speed}")


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit("usage: python examples/weights.py MODEL.onnx ...")
    for path in sys.argv[1:]:
        compare(path)
