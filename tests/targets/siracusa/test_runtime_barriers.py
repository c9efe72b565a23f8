"""Compiler barriers of the runtime, seen in what a compiler makes of it: whatever others may have written is read again
after every function that waits for them, and whatever they read is written before they are started. Each source is
compiled together with its caller, so that nothing but a barrier keeps the compiler from moving or dropping accesses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.targets.siracusa.machine import SIRACUSA
from tilewright import targets
from tilewright.codegen.limits import limits_header
from tilewright.toolchain.compiler import find_compiler

RUNTIME = SIRACUSA.runtime_files()
KERNELS = [f"-I{folder / 'kernels'}" for folder in SIRACUSA.folders]
MACHINE = ("-target", "riscv32-freestanding", "-mcpu=generic_rv32+m+c+f", "-O2", "-g0", "-S", "-fno-sanitize=all")

WAITS = {
    "tw_dma_wait(0)": "dma.c",
    "tw_npu_wait(2)": "npu.c",
    "tw_l3_wait(2)": "l3_tiles.c",
    "tw_l3_stage_wait()": "l3.c",
    "tw_barrier_all()": "dma.c",
    "tw_event_pop()": "dma.c",
}
"""Whatever returns when others have written something, and where it is."""

STARTS = {
    "tw_dma_out(l2, data, 8)": "dma.c",
    "tw_dma_out_rows(l2, data, 2, 8, 16)": "dma.c",
    "tw_dma_in_strided(data, 8, l2, 8, 2, 4)": "dma.c",
    "tw_npu_commit()": "npu.c",
    "tw_l3_write(0, data, 8)": "l3.c",
    "tw_l3_store(0, data, 1, 8, 8)": "l3_tiles.c",
    "tw_event_push(1)": "dma.c",
}
"""Whatever lets others read what was written, and where it is."""


def assembly(folder: Path, source: str, function: str) -> list[str]:
    """The instructions of a function `probe` that stands behind the source in one file."""
    copies = folder / "runtime"
    copies.mkdir()
    for name, path in RUNTIME.items():
        if name.endswith((".c", ".h")) and "/" not in name:
            (copies / name).write_text(path.read_text().replace("../kernels/", ""))
    (copies / "limits.h").write_text(limits_header(SIRACUSA))
    text = f'#include "{source}"\n#include "events.h"\n{function}\n'
    (copies / "probe.c").write_text(text)
    find_compiler().run([*MACHINE, *KERNELS, "probe.c", "-o", "probe.s"], copies)
    body = re.split(r"^probe:.*$", (copies / "probe.s").read_text(), flags=re.MULTILINE)[1].split(".Lfunc_end")[0]
    lines = (line.split("#")[0].strip() for line in body.splitlines())
    return [line for line in lines if line and not line.startswith(".")]


@pytest.mark.parametrize("wait", WAITS)
def test_memory_is_read_again_after_a_wait(wait: str, tmp_path: Path) -> None:
    """`data` keeps its address in a register, so that each read of it is one load through that."""
    body = f"int before = data; {wait}; return data - before;"
    function = f"extern int data; __attribute__((flatten)) int probe(void) {{ {body} }}"
    found = assembly(tmp_path, WAITS[wait], function)
    loads = [line for line in found if re.match(r"lw\s+\w+, %lo\(data\)", line)]
    assert len(loads) == 2, "\n".join(found)


@pytest.mark.parametrize("start", STARTS)
def test_memory_is_written_before_others_start(start: str, tmp_path: Path) -> None:
    """Two values one after the other: without a barrier the first is never written."""
    body = f"data[0] = 77; {start}; data[0] = 78;"
    function = f"extern int data[2], l2[2]; __attribute__((flatten)) void probe(void) {{ {body} }}"
    found = assembly(tmp_path, STARTS[start], function)
    stores = [line for line in found if re.match(r"li\s+\w+, 7[78]$", line)]
    assert len(stores) == 2, "\n".join(found)


@pytest.mark.parametrize("wait", [wait for wait in WAITS if not wait.startswith(("tw_barrier", "tw_event"))])
def test_every_wait_ends_with_a_barrier(wait: str) -> None:
    """In the source, as a compiler may read again for reasons of its own."""
    name = wait.split("(")[0]
    body = re.search(rf"^void {name}\(.*?^}}", RUNTIME[WAITS[wait]].read_text(), re.MULTILINE | re.DOTALL)
    assert body is not None
    assert body.group().endswith("\n  TW_COMPILER_BARRIER();\n}")


@pytest.mark.fast
@pytest.mark.parametrize("target", ["quad", "snitch", "minpool"])
def test_waits_of_other_runtimes_do_too(target: str) -> None:
    text = targets.find(target).runtime_files()["dma.c"].read_text()
    body = re.search(r"^void tw_dma_wait\(.*?^}", text, re.MULTILINE | re.DOTALL)
    assert body is not None
    assert body.group().endswith("\n  TW_COMPILER_BARRIER();\n}")
    events = targets.find(target).runtime_files()["events.h"].read_text()
    assert '#define TW_COMPILER_BARRIER() __asm__ volatile("" ::: "memory")' in events
