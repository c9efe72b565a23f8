"""How busy a sweep keeps the cores: 3 models x 24 points, 2 processes.

python benchmarks/explore_load.py [--jobs N] [--tiny] [MODEL ...]

The models are MLPerf Tiny's anomaly detector, keyword spotter and image classifier on siracusa; with --tiny, three
small networks of floats on quad. Printed are the share of the time in which every process had a point to compute, the
share in which it had a core (less where others use the machine), and what a rerun takes, which computes nothing.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import onnx

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.support.models import residual, small
from tests.support.networks import ROOT

import tilewright as tw

NETWORKS = ("ad01_int8", "kws_ref_model", "pretrainedResnet_quant")
MUST = 0.9


def study(models: list[Path], tiny: bool) -> dict[str, Any]:
    axes: dict[str, Any] = {"cores": [1, 2, 4], "buffering": ["single", "double"]}
    if tiny:
        return {"models": models, "targets": "quad", **axes, "l1": [16000, 24000, 32000, 65536]}
    return {"models": models, "targets": "siracusa", **axes, "l1": [64000, 256000], "engines": ["cluster", ""]}


def made(folder: Path) -> list[Path]:
    batch = residual()
    batch.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 2
    paths = []
    for name, network in {"small": small(), "residual": residual(), "residual_batch": batch}.items():
        paths.append(folder / f"{name}.onnx")
        onnx.save(network, paths[-1])
    return paths


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tiny", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        stored = [ROOT / "mlperf_tiny" / f"{network}.tflite" for network in NETWORKS]
        models = asked.models or (made(Path(name)) if asked.tiny else stored)
        swept, folder = study(models, asked.tiny), Path(name) / "out"
        before = cpu_seconds()
        found = tw.explore(swept, folder, jobs=asked.jobs)
        cpu = (cpu_seconds() - before) / (found.seconds * found.processes)
        start = time.perf_counter()
        again = tw.explore(swept, folder, jobs=asked.jobs)
        rerun = time.perf_counter() - start
    print(f"{found.points} points in {found.seconds:.0f} s: {found.counts}")
    print(f"{found.processes} processes: busy {found.busy:.1%} of the time, on a core {cpu:.1%}")
    print(f"rerun: {again.computed} points computed, {rerun:.2f} s")
    sys.exit(found.busy < MUST or again.computed > 0)


if __name__ == "__main__":
    main()
