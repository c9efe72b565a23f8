"""Kernels on their virtual SoC one by one: operands in L1, or a board's RAM; one call; results and cycles.

measured = measure([Case(kernel, MatMul(), [a, b])], target, cores=8)
print(measured[0].cycles, measured[0].results)
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from pathlib import Path

import numpy as np

from tilewright.codegen import board_program, cluster_program
from tilewright.codegen.kernels import PREFIX_FILE, Instance, has_exponents, included
from tilewright.codegen.literals import number
from tilewright.emulator.machine import Emulator
from tilewright.emulator.qemu import Qemu
from tilewright.errors import CompileError, InternalError
from tilewright.ir.op import Op, Param, Params
from tilewright.ir.types import Array, TensorType, type_of
from tilewright.ops._activation import curve_of
from tilewright.sim.platform import Memory
from tilewright.sim.results import Report
from tilewright.sim.simulator import Simulator
from tilewright.target.kernel import Argument, Kernel
from tilewright.target.memory import Memory as PlannedMemory
from tilewright.target.target import Model, Target
from tilewright.toolchain.compiler import STRICT, compile_objects, find_cross_compiler, link_objects

STACK = 2064
"""Bytes for each core of a cluster: 2 KiB, and 16 more, so that equal depths lie in different banks."""
VARIABLES = 1024
"""Bytes below the stacks for the runtime's variables."""
OF_A_BOARD = 17_536
"""The same of a board, with the bench's own variables."""
REGISTERS = 256
"""Of a user's device that are looked at."""
GUARD = 64
"""Bytes between two operands, which a kernel may not change."""
PARAMS = 4096
"""Bytes for a kernel's parameters."""
MAX_CYCLES = 1_000_000_000
CALLS = Path(__file__).parent / "c" / "bench_calls.h"
"""Calls the case that was asked for, twice."""
CORES, ANY_CORES = (Path(__file__).parent / "c" / name for name in ("cores.S", "cores.h"))
"""Say the number of cores to kernels that are compiled for any: to the linker, and where the linker says it."""
CODE = 1 << 20
"""Bytes of the weight memory before the constants that accelerators read there."""


@dataclass(frozen=True, eq=False)
class Case:
    kernel: Kernel
    op: Op
    arrays: Sequence[Array | None]
    skew: int = 0
    """Bytes by which operands are off their alignment of 16."""
    limit: int = MAX_CYCLES
    """After so many it counts as hung."""

    @cached_property
    def types(self) -> dict[str, TensorType]:
        operands = self.op.bind([None if array is None else type_of(array) for array in self.arrays])
        results = self.op.infer(operands)
        return operands | dict(zip(self.op.result_names(len(results)), results, strict=True))

    @cached_property
    def instance(self) -> Instance:
        types = self.types
        chosen = []
        for argument in self.kernel.arguments():
            if argument.dtype:
                continue
            name = f"{argument.stem}0" if argument.variadic else argument.stem
            absent = min(self.kernel.dtypes.get(argument.stem, {"int32"}))
            chosen.append((argument.stem, types[name].dtype if name in types else absent))
        return Instance(self.kernel, tuple(chosen), has_exponents(self.op), curve_of(self.op))


@dataclass(frozen=True, eq=False)
class Measured:
    results: tuple[Array, ...]
    cycles: int
    """From the call to the last core's return, with the code in the caches."""
    cold: int
    """The same for the first call."""
    busy: Mapping[str, int] = field(default_factory=dict)
    """Cycles of each device in both calls together."""
    registers: Mapping[str, list[int]] = field(default_factory=dict)
    """Of devices that a user has added: what was written or read last."""


class DeviceFailure(CompileError):
    """A program with devices that a user has added does not come to its end."""

    def __init__(self, case: Case, error: CompileError, registers: Mapping[str, list[int]]) -> None:
        super().__init__(error.where, error.what, error.hint)
        self.case, self.registers = case, registers


@dataclass(frozen=True)
class Layout:
    """Where a case's operands, results, parameters and working memory lie."""

    places: Mapping[str, int]
    start: int
    end: int


def measure(
    cases: Sequence[Case], target: Target, cores: int = 8, checked: bool = False, any_cores: bool = False
) -> list[Measured]:
    """All cases in one program, each on a fresh machine. `checked` finds reads of memory that nobody has written, and
    uses of the machine that it is not made for. With `any_cores` kernels learn the number of cores from the linker:
    they are compiled once for all numbers, and take a little longer."""
    layouts = [_layout(case, target) for case in cases]
    for case, layout in zip(cases, layouts, strict=True):
        _check_room(case, layout, target)
    with (
        tempfile.TemporaryDirectory(prefix="tilewright-bench-") as name,
        target.machine() as simulator,
    ):
        program = _build(Path(name), cases, layouts, target, cores, any_cores)
        if isinstance(simulator, Qemu):
            what = "runs in QEMU, where kernels are not measured"
            raise CompileError(f"target {target.name}", what, "measure on a target of the virtual SoC or a Cortex-M4")
        if checked and isinstance(simulator, Simulator):
            simulator.check(unwritten=True, misuse=True)
        if isinstance(simulator, Emulator):
            simulator.has_counter = True
        simulator.load(program)
        start = simulator.snapshot()
        return [_run(simulator, start, i, case, layouts[i], target.models) for i, case in enumerate(cases)]


# ---- one case ---------------------------------------------------------------------------------------------------


def _layout(case: Case, target: Target) -> Layout:
    places: dict[str, int] = {}
    start, _ = _l1(target)
    at = start + GUARD
    sizes = {name: kind.bytes for name, kind in case.types.items()}
    sizes["scratch"] = case.kernel.scratch(case.op, case.types)
    wmem = target.hierarchy.wmem if target.cluster else None
    resident = _memory(target, wmem).base + CODE if wmem else 0
    for name, size in sizes.items():
        if name in case.kernel.resident:
            places[name] = resident
            continue
        skew = 0 if name == "scratch" or case.types[name].dtype not in ("int8", "uint8") else case.skew
        places[name] = at + skew
        at += -(-(size + skew + GUARD) // 16) * 16
    places["params"] = at
    return Layout(places, start, at + PARAMS)


def has_room(case: Case, target: Target) -> bool:
    """Whether its operands, results and working memory fit beside the stacks; on this machine all do."""
    if not target.simulated:
        return True
    layout = _layout(case, target)
    return layout.end - layout.start <= _room(target)


def _check_room(case: Case, layout: Layout, target: Target) -> None:
    needed, room = layout.end - layout.start, _room(target)
    if needed > room:
        raise CompileError(str(case.op), f"needs {needed} bytes", f"{room} are free")


def _room(target: Target) -> int:
    start, end = _l1(target)
    return end - start - _stacks(target)


def _stacks(target: Target) -> int:
    """What stacks and variables take of L1: nothing where each core has its own memory for them."""
    if target.cluster is None:
        return OF_A_BOARD
    return 0 if target.cluster.local_stack else target.cluster.cores * STACK + VARIABLES


def _run(
    simulator: Simulator | Emulator, start: object, index: int, case: Case, layout: Layout, models: Sequence[Model]
) -> Measured:
    simulator.restore(start)  # type: ignore[arg-type]
    simulator.write("tw_case", index.to_bytes(4, "little"))
    operands = case.op.bind(list(case.arrays))
    for name, array in operands.items():
        simulator.write(layout.places[name], np.ascontiguousarray(array).tobytes())
    before = simulator.read(layout.start, layout.end - layout.start)
    report = _ended(simulator, case, models)
    if report.exit_code != 0:
        raise InternalError(f"kernel {case.kernel.stem}", f"its bench ended with code {report.exit_code}")
    after = simulator.read(layout.start, layout.end - layout.start)
    _check_guards(case, layout, before, after)
    results = tuple(
        np.frombuffer(after, kind.element, kind.elements, layout.places[name] - layout.start).reshape(kind.shape)
        for name, kind in case.types.items()
        if name not in operands
    )
    cold, warm = (simulator.read_word(f"tw_cycles_{which}") for which in ("cold", "warm"))
    registers = {model.name: simulator.registers(model.name, REGISTERS) for model in models}
    return Measured(results, warm, cold, report.busy, registers)


def _ended(simulator: Simulator | Emulator, case: Case, models: Sequence[Model]) -> Report:
    """What a user has added may never end, or be driven in a wrong way."""
    try:
        return simulator.run(simulator.cycle + case.limit)
    except CompileError as error:
        if not models:
            raise
        registers = {model.name: simulator.registers(model.name, REGISTERS) for model in models}
        raise DeviceFailure(case, error, registers) from None


def _check_guards(case: Case, layout: Layout, before: bytes, after: bytes) -> None:
    """Nothing but results and working memory may change."""
    changed = np.frombuffer(before, np.uint8) != np.frombuffer(after, np.uint8)
    kinds = case.types
    operands = case.op.bind(list(case.arrays))
    sizes = {name: kind.bytes for name, kind in kinds.items() if name not in operands}
    sizes |= {"scratch": case.kernel.scratch(case.op, kinds), "params": PARAMS}
    for name, size in sizes.items():
        first = layout.places[name] - layout.start
        changed[first : first + size] = False
    if changed.any():
        where = int(np.flatnonzero(changed)[0]) + layout.start
        near = max((place, name) for name, place in layout.places.items() if place <= where + 1)
        raise InternalError(str(case.op), f"{case.kernel.source} wrote to {where:#x}, near {near[1]} at {near[0]:#x}")


# ---- the program ------------------------------------------------------------------------------------------------


def _build(
    folder: Path, cases: Sequence[Case], layouts: Sequence[Layout], target: Target, cores: int, any_cores: bool
) -> Path:
    instances = {f"kernels/{case.instance.file}": case.instance for case in cases}
    runtime = _runtime_sources(target, _has_runtime_jobs(cases, target))
    texts = {name: instance.text(target.kernel_text) for name, instance in instances.items()}
    texts["main.c"] = _main(cases, layouts, target)
    texts = _surroundings(target) | texts
    for name, text in (_headers(texts, target) | texts).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    headers = ["-I.", "-Iruntime/libc", "-Ikernels"]
    always = [*STRICT, *target.flags, *headers]
    compiled = [*always, f"-DTW_CORES={cores}", f"-DTW_BENCH_STACK={STACK}"]
    of_kernels = [*always, "-include", ANY_CORES.name] if any_cores and target.cluster else compiled
    sources = dict.fromkeys((folder / name for name in ("boot.S", CORES.name, "main.c", *runtime)), compiled)
    sources |= dict.fromkeys((folder / name for name in instances), of_kernels)
    compiler, program = find_cross_compiler(), folder / "bench.elf"
    objects = compile_objects(sources, folder, compiler)
    link_objects(objects, [], program, compiler, [*target.flags, "-T", "link.ld", "-Wl,--gc-sections"])
    return program


def _headers(texts: Mapping[str, str], target: Target) -> dict[str, str]:
    """Those of kernels that the files include, and what these include: side by side, so that one of the target's own
    stands for the portable one of its name."""
    found: dict[str, str] = {}
    waiting = [name for text in texts.values() for name in included(text)]
    while waiting:
        place = f"kernels/{Path(waiting.pop()).name}"
        if place not in found and place not in texts and target.kernel_file(Path(place).name).is_file():
            found[place] = target.kernel_text(Path(place).name)
            waiting += included(found[place])
    return found


def _surroundings(target: Target) -> dict[str, str]:
    """The runtime, and what boots a measurement."""
    boot = {name: target.bench_file(name) for name in ("boot.S", "link.ld", "bench.h")}
    texts = {name: path.read_text() for name, path in boot.items()}
    runtime = cluster_program.files(target) if target.cluster else board_program.runtime_files(target)
    stacks = f"tw_bench_stacks = {_stacks(target)};\ntw_bench_variables = {VARIABLES};\n"
    own = {path.name: path.read_text() for path in (CALLS, CORES, ANY_CORES)}
    return texts | runtime | own | {"stacks.ld": stacks, f"kernels/{PREFIX_FILE}": ""}


def _runtime_sources(target: Target, offloads: bool) -> list[str]:
    names = sorted(name for name in target.runtime_files() if name.startswith("libc/") and name.endswith(".c"))
    return [f"runtime/{name}" for name in (*names, *(_OFFLOADING if offloads else ()))]


_OFFLOADING = ("npu.c", "units.c", "dma.c")


def _has_runtime_jobs(cases: Sequence[Case], target: Target) -> bool:
    """Whether a runtime waits for accelerators; on a board their drivers do."""
    return target.cluster is not None and any(case.kernel.offloaded for case in cases)


def check_simulated(target: Target) -> None:
    if not target.simulated:
        raise CompileError(
            f"target '{target.name}'", "runs on this machine, where nothing counts cycles",
            "measure one that has a virtual SoC: `tilewright targets`",
        )  # fmt: skip


def _l1(target: Target) -> tuple[int, int]:
    """The first address of the memory that kernels work in and the one behind its last."""
    check_simulated(target)
    planned = target.hierarchy.l1 if target.cluster else target.memories[0]
    memory = _memory(target, planned)
    return memory.base + planned.behind, memory.base + memory.size


def _memory(target: Target, planned: PlannedMemory) -> Memory:
    return next(memory for memory in target.platform.memories if memory.name.lower() == planned.symbol)


def _main(cases: Sequence[Case], layouts: Sequence[Layout], target: Target) -> str:
    instances = list({case.instance.function: case.instance for case in cases}.values())
    headers = sorted({instance.kernel.params_header for instance in instances})
    together = "cluster.h" if target.cluster else "platform.h"
    lines = ["#include <math.h>", *(f'#include "{name}"' for name in (together, "bench.h", "bytes.h", *headers))]
    lines += [instance.prototype() for instance in instances]
    for i, (case, layout) in enumerate(zip(cases, layouts, strict=True)):
        lines += _case(i, case, layout)
    table = ", ".join(map(_entry, range(len(cases)), cases, layouts))
    lines += [
        "typedef struct {",
        "  void *place;",
        "  const void *params;",
        "  uint32_t bytes;",
        "  void (*call)(void), (*gather)(void), (*finish)(void);",
        "  int cooperative;",
        "} entry;",
        f"static const entry entries[] = {{{table}}};",
        f"#define TW_BENCH_ON_CLUSTER {int(target.cluster is not None)}",
        f"#define TW_BENCH_OFFLOADS {int(_has_runtime_jobs(cases, target))}",
        f'#include "{CALLS.name}"',
        "",
    ]
    return "\n".join(lines)


def _entry(index: int, case: Case, layout: Layout) -> str:
    kernel = case.kernel
    others = [
        f"{name}_{index}" if has else "0" for name, has in (("gather", kernel.gathers), ("finish", kernel.finishes))
    ]
    words = [_place(layout), f"&params_{index}", f"sizeof params_{index}", f"run_{index}", *others]
    return f"{{{', '.join([*words, str(int(kernel.cooperative))])}}}"


def _place(layout: Layout) -> str:
    """Of the parameters."""
    return f"(void *){layout.places['params']:#x}"


def _case(index: int, case: Case, layout: Layout) -> Iterator[str]:
    instance = case.instance
    params = case.kernel.params(case.op, case.types)
    yield from _tables(index, params)
    yield f"static const {case.kernel.params_type} params_{index} = {{{_fields(index, params)}}};"
    arguments = [_place(layout), *(_pointer(case, layout, instance, argument) for argument in case.kernel.arguments())]
    if instance.takes_scratch:
        arguments.append(f"(void *){layout.places['scratch']:#x}")
    for name, function in instance.functions.items():
        yield f"static void {name}_{index}(void) {{ {function}({', '.join(arguments)}); }}"


def _pointer(case: Case, layout: Layout, instance: Instance, argument: Argument) -> str:
    c_type = instance.c_type(argument)
    if not argument.variadic:
        return f"({c_type} *){layout.places.get(argument.stem, 0):#x}"
    names = [name for name in case.types if name.startswith(argument.stem)]
    pointers = ", ".join(f"({c_type} *){layout.places[name]:#x}" for name in names)
    return f"(const {c_type} *const[]){{{pointers}}}"


def _tables(index: int, params: Params) -> Iterator[str]:
    for name, value in params.items():
        if isinstance(value, list):
            yield f"static const int32_t {name}_{index}[] = {{{', '.join(map(number, value)) or '0'}}};"


def _fields(index: int, params: Mapping[str, Param]) -> str:
    return ", ".join(f".{name} = {_value(index, name, value)}" for name, value in params.items())


def _value(index: int, name: str, value: Param) -> str:
    if isinstance(value, list):
        return f"{name}_{index}"
    if isinstance(value, tuple):
        return f"{{{', '.join(map(number, value)) or '0'}}}"
    if isinstance(value, Mapping):
        return f"{{{_fields(index, value)}}}"
    return number(value)


def check(cases: Sequence[Case], target: Target, cores: int = 8, tolerance: float = 1e-5) -> list[Measured]:
    """Measure, and compare with the operators' numpy meaning. Cycles are a little more than in networks, whose kernels
    are compiled for their number of cores."""
    found = measure(cases, target, cores, checked=True, any_cores=True)
    for case, measured in zip(cases, found, strict=True):
        wanted = case.op.numpy(*case.arrays)
        for left, right in zip_longest(measured.results, wanted if isinstance(wanted, tuple) else (wanted,)):
            _same(case, cores, left, np.asarray(right), tolerance)
    return found


def _same(case: Case, cores: int, found: Array, wanted: Array, tolerance: float) -> None:
    scale = float(np.abs(wanted).max(initial=0)) if wanted.dtype == np.float32 else 0.0
    differs = np.abs(found.astype(np.float64) - wanted.astype(np.float64)) > tolerance * scale
    if differs.any():
        at = tuple(int(i) for i in np.argwhere(differs)[0])
        types = " ".join(f"{name}:{kind}" for name, kind in case.types.items())
        raise InternalError(
            f"kernel {case.kernel.source} on {cores} cores",
            f"{case.op} {types}: {int(differs.sum())} wrong, first at {at}: {found[at]}, expected {wanted[at]}",
        )
