"""The C of one small network on each kind of machine, as text. `TILEWRIGHT_UPDATE_GOLDEN=1 pytest` rewrites them."""

from __future__ import annotations

from functools import cache

import pytest

from tests.golden.test_golden import FOLDER, compare
from tests.support.models import residual
from tests.targets.ethos_u.test_target import network
from tilewright import pipeline
from tilewright.target.settings import Settings

MACHINES = {
    "cpu": Settings(cpu="x86-64-v3", threads=2),
    "cortex-m4": Settings(),
    "rv32": Settings(),
    "quad": Settings(l1=1600),
    "siracusa": Settings(l1=3000),
    "snitch": Settings(l1=4000),
    "minpool": Settings(),
}
GPU = {
    "gpu.c": "network.c",
    "gpu_kernel.c": "kernels/gpu_each_reducemean_f32.c",
    "gpu_kernel_opencl.c": "kernels/gpu_each_reducemean_f32_opencl.c",
}
"""What starts layers on a GPU, by CUDA and by OpenCL; one kernel, of which clang makes PTX, whose text depends on its
version; the same kernel in OpenCL C."""


@cache
def gpu() -> dict[str, str]:
    *_, files = pipeline.stages(pipeline.import_model(residual()), "gpu", "residual")
    return files


@pytest.mark.parametrize("target", MACHINES)
def test_c(target: str) -> None:
    *_, files = pipeline.stages(pipeline.import_model(residual()), target, "residual", MACHINES[target])
    compare(files["network.c"], FOLDER / "machines" / f"{target}.c")


@pytest.mark.parametrize("name", GPU)
def test_c_of_a_gpu(name: str) -> None:
    compare(gpu()[GPU[name]], FOLDER / "machines" / name)


@pytest.mark.parametrize("name", ["network.c", "network_data.c"])
def test_c_beside_an_npu(name: str) -> None:
    """The core's program, which starts the NPU and waits for it, and the NPU's stream of commands."""
    *_, files = pipeline.stages(network(), "cortex-m55+u55-128", "pool")
    compare(files[name], FOLDER / "machines" / f"ethos_u_{name}")
