"""Kernels as OpenCL C: every compiler takes them, they compute what their operators mean where OpenCL is installed, and
the runtime says what fails; a library that computes nothing stands for a driver there."""

from __future__ import annotations

import ctypes.util
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.support.checks import Case, check_kernels
from tests.targets.gpu.test_code import codes, products
from tests.targets.gpu.test_driver import HINT, OWN, built_program
from tests.targets.gpu.test_fused import attentions
from tests.targets.gpu.test_kernels import MAKERS, elements, made
from tests.targets.gpu.test_tiles import float_cases, floats, integer_cases
from tests.targets.gpu.test_words import rows, windows
from tilewright.codegen.gpu_files import OPENCL_CODE
from tilewright.errors import InternalError
from tilewright.ops.matmul import MatMul
from tilewright.ops.softmax import Softmax
from tilewright.target import opencl_devices, runner
from tilewright.target.settings import Settings
from tilewright.targets.gpu import plain, short_windows
from tilewright.targets.gpu.quantised_pixels import QuantisedPixels
from tilewright.toolchain.compiler import (
    Compiler,
    compile_objects,
    find_compiler,
    find_cross_compiler,
    link_without_runtime,
)
from tilewright.toolchain.opencl_c.devices import FORMS, device_code
from tilewright.toolchain.opencl_c.text import opencl_c

pytestmark = pytest.mark.in_turns(8)

HEADERS = Path(plain.__file__).parent / "opencl"
FAILURES = {
    "no library": ["there is no OpenCL on this machine: libOpenCL.so.1 is not found", HINT],
    "no device": ["OpenCL finds no GPU", HINT],
    "no gpu": ["OpenCL finds no GPU, but: Fake 1", "TILEWRIGHT_OPENCL_DEVICE=cpu takes one that is no GPU"],
    "no memory": ["Fake 1 has not enough memory: the network needs 384 bytes", "--target cpu"],
    "no queue": ["the driver of Fake 1 fails to make a queue: OpenCL's error -36", "--target cpu"],
    "bad code": [
        "cannot compile kernel gpu_each_relu_f32: kernel.cl:7:3: error: no such type; all",
        "please report it",
    ],
    "small groups": ["have 256 items that share 64 bytes, Fake 1 has groups of 64 and 32768 bytes", HINT],
    "lost": ["the driver of Fake 1 fails to compute: OpenCL's error -5", "--target cpu"],
}


FEW: Case = (MatMul(trans_b=True), [floats(1, 64), floats(8, 64), None])
"""A product of few rows."""

# ---- texts --------------------------------------------------------------------------------------------------------


def check_texts(cases: list[Case], tmp_path: Path, standards: tuple[str, ...]) -> None:
    """A compiler takes them as OpenCL C of these versions, which know no pointer into just any memory."""
    clang = Compiler((find_cross_compiler().command[0], "clang"))
    for name, text in codes(cases, ending=OPENCL_CODE).items():
        source = tmp_path / f"{Path(name).stem}.cl"
        source.write_text((HEADERS / "declared.h").read_text() + text)
        for standard in standards:
            options = ["-x", "cl", f"-cl-std={standard}", "-cl-no-stdinc", "-target", "spirv64-unknown-unknown"]
            clang.run([*options, "-fsyntax-only", "-Xclang", "-fdeclare-opencl-builtins", "-w", str(source)], tmp_path)


@pytest.fixture
def by_words(monkeypatch: pytest.MonkeyPatch) -> list[Case]:
    """Windows of few bytes, a single row of them, and an image that is quantised."""
    monkeypatch.setattr(short_windows, "FEWEST_PIXELS", 0)
    pixels = (QuantisedPixels(1, 5), [floats(2, 3, 5, 7), np.array(0.25, np.float32), np.array(5, np.uint8)])
    return [windows()[1], rows()[2], pixels]


@pytest.mark.one_in(4)
def test_products_are_opencl_c(tmp_path: Path, by_words: list[Case]) -> None:
    cases = [*products("float32"), *products("int8"), *float_cases()[:2], *integer_cases()[:1], *attentions()[-2:], FEW]
    check_texts([*cases, *by_words], tmp_path, ("CL1.2", "CL2.0", "CL3.0"))


@pytest.mark.in_turns(10)
@pytest.mark.one_in(12)
def test_all_other_kernels_are_opencl_c(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    others = [MAKERS[kind](random) for kind in made((*plain.ROWS, *plain.MOVEMENT, *plain.QUANTISED))]
    check_texts([*others, *elements("float32"), *elements("int8")], tmp_path, ("CL1.2",))


KERNEL = """
#define TW_GROUP_SIZE 32
#include "gpu.h"
typedef struct { int32_t count; } params_t;
TW_GROUP_SHARED(float, both, [2][32]);
static int32_t calls[3];
static const float table[] = {1, 2};
static inline float sum(const float *x, int32_t n) {
  float half = 0;
  for (int32_t i = 0; i < n; i++) half += x[i];
  return half;
}
TW_GPU float mean(void) { return both[0][1]; }
TW_GPU void group(const params_t *params, const float *x, float *y) {
  TW_ITEMS(t) {
    float own[2] = {0, 1};
    BODY
    both[0][t] = sum(x, 2) + sum(own, 2) + sum(table, 2);
    if (t == 0) calls[1]++;
  }
  TW_MEET();
  TW_ITEMS(t) y[t] = mean();
}
TW_GPU_KERNEL(params_t, (const float *x, float *y), (x, y))
"""


def text_of(body: str) -> tuple[str, int]:
    files = {"one.c": KERNEL.replace("BODY", body), "gpu.h": (HEADERS.parent / "kernels" / "gpu.h").read_text()}
    (kernel,) = opencl_c(["one.c"], files, HEADERS)
    return re.sub(r"\s+", " ", kernel.text), kernel.own_bytes


@pytest.mark.fast
def test_functions_are_made_for_each_memory() -> None:
    text, own_bytes = text_of("")
    assert own_bytes == 12
    for part in (
        "float sum(__global const float *x, int32_t n) { float half_ = 0;",
        "float sum_2(const float *x,", "float sum_3(__constant const float *x,", "sum(x, 2) + sum_2(own, 2) + sum_3(",
        "typedef struct { float both [2][32]; } tw_shared_struct;", "mean(__local tw_shared_struct *tw_shared) {",
        "__attribute__((reqd_work_group_size(32, 1, 1))) void tw_kernel(const params_t params, __global uchar *tw_mem",
        "__global tw_kept_struct *tw_kept) { __local tw_shared_struct tw_shared_here;", "tw_kept->calls[1]++",
        "__global const float *x = (__global const float *)(tw_memory_0 + tw_at.at[0]);",
    ):  # fmt: skip
        assert part in text, part


@pytest.mark.fast
def test_one_pointer_into_two_memories() -> None:
    with pytest.raises(InternalError, match=r"kernel one: `.*` is one pointer into two memories"):
        text_of("const float *p = t ? x : own; own[0] = *p;")


NO_PRIVATE = rb"\.amdhsa_private_segment_fixed_size 0\n"
"""What the code of a kernel says whose items have nothing outside of registers."""


@pytest.mark.one_in(5)
@pytest.mark.parametrize("form", FORMS)
def test_code_of_devices(form: str, tmp_path: Path) -> None:
    """Valid, and without memory of items for what does not fit into registers."""
    texts = codes([float_cases()[0], integer_cases()[0], attentions()[-1]], ending=OPENCL_CODE)
    made = device_code({Path(name).stem: text for name, text in texts.items()}, FORMS[form], HEADERS)
    assert len(made) == len(texts)
    for name, code in made.items():
        if form == "spirv":
            assert code[:4] == bytes.fromhex("03022307")
            check_spirv(tmp_path / name, code)
        else:
            assert b"tw_kernel:" in code
            assert "_tiles" in name or re.search(NO_PRIVATE, code), name


@pytest.mark.one_in(5)
@pytest.mark.xfail(reason="tiles keep 80 bytes of every item in memory on AMD's chips", strict=True)
def test_tiles_are_in_registers() -> None:
    texts = codes([float_cases()[0], integer_cases()[0]], ending=OPENCL_CODE)
    made = device_code({Path(name).stem: text for name, text in texts.items()}, FORMS["gfx942"], HEADERS)
    assert [name for name, code in made.items() if not re.search(NO_PRIVATE, code)] == []


def check_spirv(path: Path, code: bytes) -> None:
    """By Khronos' own program, where it is installed."""
    path.write_bytes(code)
    if shutil.which("spirv-val"):
        subprocess.run(["spirv-val", "--target-env", "opencl2.2", str(path)], check=True)


# ---- runs ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def items(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenCL whose items are threads of control of their own, instead of what is installed."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        pytest.skip("kernels are compiled for x86-64 and Linux here")
    compiler, flags = find_compiler(), ["-O1", "-fPIC", "-Wall", "-Wextra", "-Werror"]
    (made,) = compile_objects({OWN / "opencl_items.c": flags}, tmp_path, compiler)
    link_without_runtime([made], ["dl"], tmp_path / "libOpenCL.so.1", compiler, ["-O1", "-shared"])
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("OPENCL_ITEMS_COMPILER", f"{sys.executable} {OWN / 'opencl_items.py'}")
    monkeypatch.delenv(runner.DEVICE_VARIABLE, raising=False)


@pytest.mark.one_in(10)
def test_items_meet(items: None) -> None:
    """Shared memory and barriers, which are loops in C of this machine; counters of groups, integers."""
    few = np.random.default_rng(5).standard_normal((3, 40)).astype(np.float32)
    cases: list[Case] = [(Softmax(-1), [few]), float_cases()[4], integer_cases()[0], attentions()[-2]]
    check_kernels(cases, target="gpu", settings=Settings(gpu=runner.OPENCL))


@pytest.fixture
def processor(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """OpenCL's, which nobody takes who does not ask for it."""
    monkeypatch.setenv(runner.DEVICE_VARIABLE, "cpu")
    runner.has_opencl_device.cache_clear()
    if not runner.has_opencl_device() or runner.has_driver():
        runner.has_opencl_device.cache_clear()
        pytest.skip("apt-get install pocl-opencl-icd has OpenCL for a processor")
    yield
    runner.has_opencl_device.cache_clear()


@pytest.mark.parametrize(
    ("asking", "there"), [("pass", True), ("import os; os.abort()", False), ("import absent", False)]
)
def test_a_driver_that_ends_its_process_leaves_ours(
    asking: str, there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver's compiler meets TensorFlow's, say."""
    script = tmp_path / "asking.py"
    script.write_text(asking)
    monkeypatch.setattr(opencl_devices, "__file__", str(script))
    runner.has_opencl_device.cache_clear()
    assert runner.has_opencl_device() is there
    runner.has_opencl_device.cache_clear()


@pytest.mark.one_in(10)
def test_runs(processor: None, by_words: list[Case]) -> None:
    """Shared memory, counters of groups, integers, and pointers that are absent."""
    few = np.random.default_rng(5).standard_normal((3, 40)).astype(np.float32)
    cases = [(Softmax(-1), [few]), float_cases()[4], integer_cases()[0], integer_cases()[4], FEW, *by_words]
    check_kernels(cases, target="gpu")


# ---- what fails ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = built_program(tmp_path_factory.mktemp("opencl"), [runner.BY_OPENCL])
    (place / "library").mkdir()
    compiler = find_compiler()
    (library,) = compile_objects({OWN / "fake_opencl.c": ["-fPIC", "-O1", "-Wall", "-Werror"]}, place, compiler)
    link_without_runtime([library], [], place / "library" / "libOpenCL.so.1", compiler, ["-O1", "-shared"])
    return place


def said(program: Path, fake: str) -> str:
    where = program / ("nowhere" if fake == "no library" else "library")
    own = {"LD_LIBRARY_PATH": str(where), "FAKE": fake, "XDG_CACHE_HOME": str(program / f"cache {fake}")}
    done = subprocess.run([program / "program"], env=os.environ | own, capture_output=True, text=True, timeout=60)
    return done.stdout


@pytest.mark.one_in(3)
def test_what_was_built_is_kept(program: Path) -> None:
    first, second = said(program, ""), said(program, "")
    assert first.count("0, done, -1 us") == second.count("0, done, -1 us") == 3
    assert first.splitlines()[-2] == "6 launches, 2 builds, 0 from binaries"
    assert second.splitlines()[-2] == "6 launches, 0 builds, 2 from binaries"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("fake", FAILURES)
def test_failures(program: Path, fake: str) -> None:
    if fake == "no library" and ctypes.util.find_library("OpenCL"):
        pytest.skip("OpenCL is installed")
    what, hint = FAILURES[fake]
    text = said(program, fake)
    assert text.count(what) == 3, text
    assert hint in text
    if fake == "bad code":
        (log,) = (program / f"cache {fake}" / "tilewright" / "opencl").glob("*.log")
        assert "second line" in log.read_text()
