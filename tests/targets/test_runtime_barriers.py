"""Compiler barriers of runtimes, seen in what a compiler makes of them: whatever others may have written is read again
after every function that waits for them, and whatever they read is written before they are started. Each source is
compiled together with its caller, so that nothing but a barrier keeps the compiler from moving or dropping accesses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tilewright import targets
from tilewright.codegen.limits import limits_header
from tilewright.target.target import Target
from tilewright.toolchain.compiler import find_compiler

UNIT_TABLE = """
#define TW_UNITS 1
typedef struct {
  uint32_t done, bits, lines;
} tw_unit;
static const tw_unit tw_unit_table[TW_UNITS + 1] = {{0, 0, 0}, {0x1b000000u, 1u, 0}};
"""
"""Of one declared accelerator."""

WAITS = {
    "siracusa": {
        "dma.c": ["tw_dma_wait(0)", "tw_barrier_all()", "tw_barrier()", "tw_event_pop()"],
        "accelerator.c": ["tw_accelerator_wait(2)"],
        "l3_tiles.c": ["tw_l3_wait(2)"],
        "l3.c": ["tw_l3_stage_wait()"],
        "units.c": ["tw_unit_wait(1u << TW_UNIT_SHIFT)"],
    },
    "quad": {"dma.c": ["tw_dma_wait(0)", "tw_barrier_all()", "tw_barrier()", "tw_event_pop()"]},
    "snitch": {
        "dma.c": ["tw_dma_wait(0)", "tw_barrier_all()", "tw_barrier()", "tw_event_pop()"],
        "accelerator.c": ["tw_accelerator_wait(2)", "if (!tw_accelerator_has_ended(2)) return 0"],
        "requests.c": ["tw_request_wait(2)"],
        "units.c": ["tw_unit_wait(1u << TW_UNIT_SHIFT)"],
        "ita.h": ["tw_ita_wait(&(tw_ita){0}, 2)"],
    },
    "minpool": {"dma.c": ["tw_dma_wait(0)", "tw_barrier_all()", "tw_barrier()"]},
    "itapool": {"itapool.h": ["tw_ita_wait(0)"]},
}
"""Whatever returns when others have written something: by target and source."""

STARTS = {
    "siracusa": {
        "dma.c": [
            "tw_dma_out(l2, data, 8)", "tw_dma_out_rows(l2, data, 2, 8, 16)",
            "tw_dma_in_strided(data, 8, l2, 8, 2, 4)", "tw_event_push(1)", "tw_barrier_all()", "tw_barrier()",
        ],
        "accelerator.c": ["tw_accelerator_commit()"],
        "l3.c": ["tw_l3_write(0, data, 8)"],
        "l3_tiles.c": ["tw_l3_store(0, data, 1, 8, 8)"],
        "units.c": ["tw_unit_commit(1)"],
    },
    "quad": {"dma.c": ["tw_dma_out(l2, data, 8)", "tw_event_push(1)", "tw_barrier_all()", "tw_barrier()"]},
    "snitch": {
        "dma.c": [
            "tw_dma_out(l2, data, 8)", "tw_dma_out_rows(l2, data, 2, 8, 16)",
            "tw_dma_in_strided(data, 8, l2, 8, 2, 4)", "tw_event_push(1)", "tw_barrier_all()", "tw_barrier()",
        ],
        "accelerator.c": ["tw_accelerator_commit()"],
        "requests.c": ["tw_request(transfers, 0, 0)"],
        "units.c": ["tw_unit_commit(1)"],
        "ita.h": ["tw_ita_give(&(tw_ita){0}, 0, 0)"],
    },
    "minpool": {
        "dma.c": ["tw_dma_out((void *)0x80000000u, data, 4096)", "tw_wake(8)", "tw_barrier_all()", "tw_barrier()"],
    },
    "itapool": {"itapool.h": ["tw_ita_start(0, &(tw_itapool_head){64, 64, 64, {0, 0, 0}}, 0, 0)"]},
}  # fmt: skip
"""Whatever lets others read what was written, likewise."""

Calls = dict[str, dict[str, list[str]]]


def cases(calls: Calls) -> list[tuple[str, str, str]]:
    return [(name, source, call) for name, own in calls.items() for source, some in own.items() for call in some]


def assembly(target: Target, folder: Path, source: str, function: str) -> list[str]:
    """The instructions of a function `probe` that stands behind the source in one file."""
    copies = folder / "runtime"
    copies.mkdir()
    for base in reversed(target.folders):
        for path in (base / "kernels").glob("*.h"):
            (copies / path.name).write_text(path.read_text())
    for name, path in target.runtime_files().items():
        if name.endswith((".c", ".h")) and "/" not in name:
            (copies / name).write_text(path.read_text().replace("../kernels/", ""))
    (copies / "limits.h").write_text(limits_header(target))
    if source == "units.c":
        (copies / "unit_table.h").write_text(UNIT_TABLE)
    (copies / "probe.c").write_text(f'#include "{source}"\n#include "events.h"\n{function}\n')
    find_compiler().run([*target.flags, "-S", "probe.c", "-o", "probe.s"], copies)
    body = re.split(r"^probe:.*$", (copies / "probe.s").read_text(), flags=re.MULTILINE)[1].split(".Lfunc_end")[0]
    lines = (line.split("#")[0].strip() for line in body.splitlines())
    return [line for line in lines if line and not line.startswith(".")]


@pytest.mark.in_turns(6)
@pytest.mark.parametrize(("name", "source", "wait"), cases(WAITS))
def test_memory_is_read_again_after_a_wait(name: str, source: str, wait: str, tmp_path: Path) -> None:
    """`data` keeps its address in a register, so that each read of it is one load through that."""
    body = f"int before = data; {wait}; return data - before;"
    function = f"extern int data; __attribute__((flatten)) int probe(void) {{ {body} }}"
    found = assembly(targets.find(name), tmp_path, source, function)
    loads = [line for line in found if re.match(r"lw\s+\w+, %lo\(data\)", line)]
    assert len(loads) == 2, "\n".join(found)


@pytest.mark.in_turns(6)
@pytest.mark.parametrize(("name", "source", "start"), cases(STARTS))
def test_memory_is_written_before_others_start(name: str, source: str, start: str, tmp_path: Path) -> None:
    """Two values one after the other: without a barrier the first is never written."""
    body = f"data[0] = 77; {start}; data[0] = 78;"
    given = "extern int data[2], l2[2]; void transfers(int, int);"
    function = f"{given} __attribute__((flatten)) void probe(void) {{ {body} }}"
    found = assembly(targets.find(name), tmp_path, source, function)
    stores = [line for line in found if re.match(r"li\s+\w+, 7[78]$", line)]
    assert len(stores) == 2, "\n".join(found)


BARRIER = ("\n  TW_COMPILER_BARRIER();\n}", '\n  __asm__ volatile("" ::: "memory");\n}')


@pytest.mark.fast
@pytest.mark.parametrize(
    ("name", "source", "function"),
    [
        (name, source, wait.split("(")[0])
        for name, source, wait in cases(WAITS)
        if wait.startswith(("tw_dma", "tw_l3", "tw_ita")) or (name, source) == ("siracusa", "accelerator.c")
    ],
)
def test_every_wait_ends_with_a_barrier(name: str, source: str, function: str) -> None:
    """In the source, as a compiler may read again for reasons of its own."""
    target = targets.find(name)
    path = target.runtime_files()[source] if source.endswith(".c") else target.kernel_file(source)
    body = re.search(rf"^(static inline )?void {function}\(.*?^}}", path.read_text(), re.MULTILINE | re.DOTALL)
    assert body is not None
    assert re.sub(r" /\*.*?\*/", "", body.group()).endswith(BARRIER)


@pytest.mark.fast
@pytest.mark.parametrize("name", ["siracusa", "quad", "snitch", "minpool"])
def test_what_runtimes_call_a_barrier_is_one(name: str) -> None:
    events = targets.find(name).runtime_files()["events.h"].read_text()
    assert '#define TW_COMPILER_BARRIER() __asm__ volatile("" ::: "memory")' in events
