"""What only code for NVIDIA's GPUs has, computed here: weights that groups bring to shared memory before their turn."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.targets.gpu.test_tiles import floats
from tilewright import pipeline
from tilewright.ir.graph import Builder
from tilewright.ir.op import Params
from tilewright.ir.types import Array, type_of
from tilewright.ops.matmul import MatMul
from tilewright.targets.gpu import few_rows
from tilewright.targets.gpu.tile_costs import costs
from tilewright.toolchain.compiler import compile_objects, find_compiler, link_without_runtime

OWN = Path(__file__).parent / "device_items.c"
ROOM, UNTOUCHED = 1 << 17, 0x5C
"""Bytes of this machine for what a group shares, of which a launch says how many there are; and what is behind them."""
REGISTERS = ("tid_x", "ctaid_x", "ctaid_y", "ctaid_z", "nctaid_x")
DECLARED = "".join(f"int __nvvm_read_ptx_sreg_{name}(void);\n" for name in REGISTERS)
HERE = {
    "__attribute__((address_space(3)))": "",
    "__attribute__((nvptx_kernel)) ": "",
    '__asm__ volatile("griddepcontrol.launch_dependents;" ::: "memory")': "((void)0)",
    '__asm__ volatile("griddepcontrol.wait;" ::: "memory")': "((void)0)",
    '__asm__ volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;" : "=f"(other) : "f"(x), "r"(apart))': (
        "other = tw_lane(x, apart)"
    ),
    "__nvvm_sqrt_rn_f": "__builtin_sqrtf",
}
"""Of the code: what a processor has in place of it."""


def of_this_machine(text: str) -> str:
    for gpu, here in HERE.items():
        text = text.replace(gpu, here)
    return text


def initialiser(fields: Mapping[str, object]) -> str:
    parts = (f".{name} = {initialiser(one) if isinstance(one, dict) else one}" for name, one in fields.items())
    return f"{{{', '.join(parts)}}}"


def product(x: Array, w: Array) -> tuple[str, dict[str, str], Params]:
    """The kernel of x * w', the texts that it is made of, and its parameters."""
    builder, op = Builder("row"), MatMul(trans_b=True)
    names = [builder.input("x", type_of(x)), builder.constant(w)]
    builder.output(builder.add(op, names)[0], "y")
    graph = builder.build()
    files = pipeline.stage(graph, "gpu", "c")
    texts = {name.removeprefix("kernels/"): text for name, text in files.items() if name.startswith("kernels/")}
    (kernel,) = (name for name in texts if re.fullmatch(r"gpu_\w*matmul_few_f32\.c", name))
    types = {"A": type_of(x), "B": type_of(w), "Y": type_of(x @ w.T)}
    return kernel, texts, few_rows.matmul_params(op, types)


def computed(x: Array, w: Array, place: Path) -> tuple[str, Params, Array]:
    """By the code for a GPU: which kernel it is, its parameters and the product."""
    kernel, texts, params = product(x, w)
    for name, text in texts.items():
        (place / name).write_text(of_this_machine(text))
    array = re.search(r"TW_GROUP_DYNAMIC\(tw_weights, (\w+)\)", texts[_parts(kernel)])
    assert array
    (place / "called.c").write_text(f"""\
{DECLARED}void __syncthreads(void);
float tw_lane(float x, int apart);
int tw_run_groups(void (*entry)(void), int groups);
#include "{kernel}"
static tw_gpu_few_rows_params given = {initialiser(params)};
static const float *x, *w;
static float *y;
static void run_item(void) {{ tw_kernel(given, x, w, 0, 0, y); }}
int tw_product(const float *of, const float *by, float *to) {{
  x = of, w = by, y = to;
  return tw_run_groups(run_item, grid(&given).x);
}}
int tw_bytes(void) {{
  const tw_gpu_few_rows_params *const params = &given;
  return TW_DYNAMIC_BYTES;
}}
""")
    (place / "shared.c").write_text(f"char {array[1]}[{ROOM}] __attribute__((aligned(64)));\n")
    flags, compiler = ["-O1", "-fPIC", "-w", "-DTW_GPU_DEVICE", f"-I{place}"], find_compiler()
    sources = dict.fromkeys((place / "called.c", place / "shared.c", OWN), flags)
    library = place / "product.so"
    link_without_runtime(compile_objects(sources, place, compiler), ["m"], library, compiler, ["-O1", "-shared"])
    y, loaded = np.full((1, len(w)), np.nan, np.float32), ctypes.CDLL(str(library))
    shared = np.frombuffer((ctypes.c_uint8 * ROOM).in_dll(loaded, array[1]), np.uint8)
    shared[:] = UNTOUCHED
    assert loaded.tw_product(*(ctypes.c_void_p(one.ctypes.data) for one in (x, w, y))) == 0
    assert (shared[loaded.tw_bytes() :] == UNTOUCHED).all()
    return kernel, params, y


def _parts(kernel: str) -> str:
    return "gpu_columns_held.h" if "held" in kernel else "gpu_columns.h"


@pytest.mark.parametrize(("inner", "columns"), [(64, 40), (96, 7), (256, 2100), (128, 1000)])
@pytest.mark.one_in(2)
def test_all_weights_before_a_groups_turn(inner: int, columns: int, tmp_path: Path) -> None:
    x, w = floats(1, inner), floats(columns, inner)
    kernel, params, y = computed(x, w, tmp_path)
    assert "staged" in kernel
    assert params["shape"]["held"] > 0
    np.testing.assert_allclose(y, x @ w.T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("inner", "columns", "held"), [(64, 901, 5000), (256, 1200, 20000), (128, 5001, 9000)])
@pytest.mark.one_in(2)
def test_some_weights_at_a_time(
    inner: int, columns: int, held: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several rounds of each group, each in the place of one that was before; more of them than sums are kept of."""
    monkeypatch.setattr(few_rows, "STAGED_BYTES", 0)
    monkeypatch.setattr(few_rows, "HELD_BYTES", held)
    monkeypatch.setattr(few_rows, "SHORTEST_HELD", 0)
    monkeypatch.setattr(few_rows, "costs", lambda: replace(costs(), multiprocessors=4))
    x, w = floats(1, inner), floats(columns, inner)
    kernel, params, y = computed(x, w, tmp_path)
    shape = params["shape"]
    assert "held" in kernel
    assert 0 < shape["held"] < -(-shape["twos"] // (shape["groups"] * (few_rows.WARPS // shape["sharing"])))
    np.testing.assert_allclose(y, x @ w.T, rtol=1e-4, atol=1e-4)
