"""Code of kernels for a GPU: every kernel has some, and where NVIDIA's assembler is installed it takes it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.support.checks import Case
from tests.targets.gpu.test_kernels import MAKERS, elements, made
from tilewright import pipeline
from tilewright.codegen.gpu_files import CODE, SOURCES, gpu_kernels, text_of_lines
from tilewright.codegen.kernels import Instance
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType, type_of
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.relu import Relu
from tilewright.passes import narrow_floats
from tilewright.target.settings import Settings
from tilewright.targets.gpu import few_rows, plain
from tilewright.targets.gpu.target import COMPUTING, CPU_KERNELS
from tilewright.targets.gpu.transfers import TRANSFERS

CHIPS = ("sm_80", "sm_90a", "sm_100")
EVERY_CHIP = ("sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120")
"""For kernels whose registers are scarce."""
NEWER = re.compile(r"^.*(griddepcontrol|cluster|wgmma).*\n", re.MULTILINE)
"""Lines that the runtime leaves out for older ones."""
HOPPER = re.compile(r"^.*wgmma.*\n", re.MULTILINE)
"""Lines that it leaves out for all but 9.0."""


def assembler() -> str | None:
    """Of pip's package, or of the machine."""
    found = [path for folder in map(Path, sys.path) for path in folder.glob("nvidia/*/bin/ptxas")]
    return str(found[0]) if found else shutil.which("ptxas")


def codes(cases: list[Case], precision: str = "fp32", ending: str = CODE, capability: str = "") -> dict[str, str]:
    """File -> the code of each kernel that these operators use, in the form of files that end so."""
    builder = Builder("codes")
    for number, (op, arrays) in enumerate(cases):
        names = ["" if array is None else f"case{number}_{i}" for i, array in enumerate(arrays)]
        for name, array in zip(names, arrays, strict=True):
            if array is not None:
                builder.input(name, type_of(array))
        for tensor in builder.add(op, names):
            builder.output(tensor)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(narrow_floats, "pays", bool)
        files = pipeline.stage(
            builder.build(), "gpu", "c", settings=Settings(precision=precision, capability=capability)
        )
    named = (name for name in files if name.endswith(ending) and Path(name).name not in SOURCES)
    return {name: text_of_lines(files[name]) for name in named}


def for_chip(code: str, chip: str) -> str:
    """As the runtime gives it to a driver."""
    if chip.startswith(("sm_7", "sm_8")):
        return NEWER.sub("", code)
    kept, family = (code, "sm_90a") if chip == "sm_90a" else (HOPPER.sub("", code), "sm_90")
    return kept.replace(".version 7.0\n.target sm_80\n", f".version 8.0\n.target {family}\n")


def assembled(code: str, folder: Path, chips: Sequence[str] = CHIPS) -> str:
    """What the assembler says of it."""
    program = assembler()
    if program is None:
        pytest.skip("pip install 'tilewright[gpu-test]' has NVIDIA's assembler")
    said = ""
    for chip in chips:
        (folder / "kernel.ptx").write_text(for_chip(code, chip))
        command = [program, "-v", f"-arch={chip}", "kernel.ptx", "-o", "kernel.cubin"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        said += done.stderr
    return said


def spills(said: str) -> list[str]:
    """Of each chip."""
    return [found for found in re.findall(r"(\d+ bytes spill stores)", said) if found != "0 bytes spill stores"]


def products(dtype: str) -> list[Case]:
    image, filters = np.zeros((1, 8, 9, 9), dtype), np.zeros((16, 8, 3, 3), dtype)
    few = np.zeros((8, 1, 3, 3), dtype)
    cases: list[Case] = [(Conv(), [image, filters, None]), (Conv(groups=8), [image, few, None])]
    return [*cases, (MatMul(), [np.zeros((4, 70), dtype), np.zeros((70, 5), dtype)])]


@pytest.mark.in_turns(3)
@pytest.mark.one_in(2)
def test_products_assemble_without_spills(tmp_path: Path) -> None:
    found = codes([*products("float32"), *products("int8")])
    assert {re.split(r"_[fi]\d", name.split("/")[1])[0] for name in found} == {
        "gpu_tile_16x32_gpu_conv_tiles", "gpu_tile_16x32_gpu_conv_pairs", "gpu_conv_direct", "gpu_matmul", "gpu_copied",
    }  # fmt: skip
    for code in found.values():
        assert code.startswith(".version 7.0\n.target sm_80\n")
        assert re.search(r"\.maxntid (128|256), 1, 1", code)
        assert spills(assembled(code, tmp_path)) == []


@pytest.mark.in_turns(3)
@pytest.mark.one_in(2)
def test_what_hopper_alone_has_is_left_out_elsewhere(tmp_path: Path) -> None:
    """Tiles that four warps multiply together, and a row whose weights shared memory holds."""
    sizes = ((197, 2304, 768), (128, 3072, 768), (1, 900, 896))
    given = [np.zeros(size, np.float32) for rows, columns, inner in sizes for size in ((rows, inner), (columns, inner))]
    found = codes([(MatMul(trans_b=True), [x, w, None]) for x, w in zip(given[::2], given[1::2], strict=True)], "fp16")
    taken = {name.split("/")[1].split("_f16")[0]: code for name, code in found.items()}
    assert {"gpu_tile_128x64_4w_gpu_matmul_tiles", "gpu_tile_64x64_4w_gpu_matmul_tiles"} < taken.keys()
    for name, code in taken.items():
        assert ("wgmma" in code) == ("_4w_" in name)
        assert spills(assembled(code, tmp_path)) == []


@pytest.mark.in_turns(3)
def test_a_row_of_whose_weights_shared_memory_holds_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(few_rows, "STAGED_BYTES", 0)
    monkeypatch.setattr(few_rows, "HELD_BYTES", 5000)
    monkeypatch.setattr(few_rows, "SHORTEST_HELD", 0)
    product = [np.zeros((1, 64), np.float32), np.zeros((6600, 64), np.float32), None]
    ((name, code),) = codes([(MatMul(trans_b=True), product)]).items()
    assert "gpu_one_row_held_gpu_matmul_few" in name
    assert spills(assembled(code, tmp_path)) == []


@pytest.mark.in_turns(5)
@pytest.mark.parametrize(("precision", "dtype"), [("fp32", "float32"), ("fp16", "float32"), ("fp32", "int8")])
@pytest.mark.one_in(3)
def test_code_of_older_chips(precision: str, dtype: str, tmp_path: Path) -> None:
    """Without copies that go on by themselves and the tensor cores of newer ones."""
    found = codes(products(dtype), precision, capability="7.0")
    assert len(found) >= 3
    for code in found.values():
        assert code.startswith(".version 6.3\n.target sm_70\n")
        assert "mma.sync" not in code
        assert "cp.async" not in code
        assert spills(assembled(code, tmp_path, ["sm_75"])) == []


@pytest.mark.fast
def test_capability_is_what_the_runtime_asks_for() -> None:
    told = {"": 80, "7.5": 75}
    for capability, number in told.items():
        files = pipeline.stage(relu(), "gpu", "c", settings=Settings(capability=capability))
        assert f", !WATCHED, {number}}};" in files["network.c"]


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("precision", ["fp32", "fp16", "bf16"])
@pytest.mark.one_in(3)
def test_all_other_kernels_assemble_without_spills(precision: str, tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    others = [MAKERS[kind](random) for kind in made((*plain.ROWS, *plain.MOVEMENT, *plain.FILLED, *plain.QUANTISED))]
    found = codes([*others, *elements("float32")], precision)
    assert len(found) > 80
    for code in found.values():
        assert spills(assembled(code, tmp_path)) == []


@pytest.mark.fast
def test_every_kernel_of_the_gpu_has_code() -> None:
    """But for copies between memories: whatever header makes kernels of what a source defines."""
    made = [Instance(kernel, (("Y", "float32"),)) for kernel in COMPUTING]
    schedule = pipeline.prediction(relu(), "gpu")
    assert gpu_kernels(schedule, made) == list({one.file: one for one in made}.values())
    copies = [Instance(kernel, ()) for kernel in (TRANSFERS.into, TRANSFERS.out_of)]
    portable = [Instance(kernel, ()) for kernel in CPU_KERNELS]
    assert gpu_kernels(schedule, [*copies, *portable]) == []


def relu() -> Graph:
    builder = Builder("relu")
    builder.output(builder.add(Relu(), [builder.input("x", TensorType("float32", (4,)))])[0])
    return builder.build()
