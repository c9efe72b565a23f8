"""Kernels on their virtual SoC one by one: operands in L1, or a board's RAM; one call; results and cycles.

measured = measure([Case(kernel, MatMul(), [a, b])], target, cores=8)
print(measured[0].cycles, measured[0].results)
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import zip_longest
from pathlib import Path

import numpy as np

from tilewright.codegen.kernels import Instance, has_exponents
from tilewright.emulator.machine import Emulator
from tilewright.emulator.qemu import Qemu
from tilewright.errors import CompileError, InternalError
from tilewright.ir.op import Op
from tilewright.ir.types import Array, TensorType, type_of
from tilewright.ops._activation import curve_of
from tilewright.records import dataclass
from tilewright.run.bench_memory import free_bytes, resident_start, working_memory
from tilewright.run.bench_program import BenchCall, build
from tilewright.sim.results import Report
from tilewright.sim.simulator import Simulator
from tilewright.target.kernel import Kernel
from tilewright.target.runner import CYCLES, Machine, Model
from tilewright.target.target import Target

REGISTERS = 256
"""Of a user's device that are looked at."""
GUARD = 64
"""Bytes between two operands, which a kernel may not change."""
PARAMS = 4096
"""Bytes for a kernel's parameters."""
MAX_CYCLES = 1_000_000_000


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
class CasePlaces:
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
        program = build(Path(name), list(map(_call, cases, layouts)), target, cores, any_cores)
        if checked and isinstance(simulator, Simulator):
            simulator.check(unwritten=True, misuse=True)
        if isinstance(simulator, Emulator):
            simulator.has_counter = True
        simulator.load(program)
        start = simulator.snapshot()
        return [_run(simulator, start, i, case, layouts[i], target.models) for i, case in enumerate(cases)]


# ---- one case ---------------------------------------------------------------------------------------------------


def _layout(case: Case, target: Target) -> CasePlaces:
    places: dict[str, int] = {}
    start, _ = working_memory(target)
    at = start + GUARD
    sizes = {name: kind.bytes for name, kind in case.types.items()}
    sizes["scratch"] = case.kernel.scratch_bytes(case.op, case.types)
    for name, size in sizes.items():
        if name in case.kernel.resident:
            places[name] = resident_start(target)
            continue
        skew = 0 if name == "scratch" or case.types[name].dtype not in ("int8", "uint8") else case.skew
        places[name] = at + skew
        at += -(-(size + skew + GUARD) // 16) * 16
    places["params"] = at
    return CasePlaces(places, start, at + PARAMS)


def _call(case: Case, layout: CasePlaces) -> BenchCall:
    return BenchCall(case.instance, case.kernel.params(case.op, case.types), layout.places, list(case.types))


def has_room(case: Case, target: Target) -> bool:
    """Whether its operands, results and working memory fit beside the stacks; on this machine all do."""
    if target.runner.unit != CYCLES:
        return True
    layout = _layout(case, target)
    return layout.end - layout.start <= free_bytes(target)


def _check_room(case: Case, layout: CasePlaces, target: Target) -> None:
    needed, free = layout.end - layout.start, free_bytes(target)
    if needed > free:
        raise CompileError(str(case.op), f"needs {needed} bytes", f"{free} are free")


def _run(
    simulator: Machine, start: object, index: int, case: Case, layout: CasePlaces, models: Sequence[Model]
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
    return Measured(results, warm, cold, report.busy, _registers(simulator, models))


def _ended(simulator: Machine, case: Case, models: Sequence[Model]) -> Report:
    """What a user has added may never end, or be driven in a wrong way."""
    try:
        return simulator.run(simulator.cycle + case.limit)
    except CompileError as error:
        if not models:
            raise
        raise DeviceFailure(case, error, _registers(simulator, models)) from None


def _registers(simulator: Machine, models: Sequence[Model]) -> dict[str, list[int]]:
    """QEMU's devices have none that can be read."""
    if isinstance(simulator, Qemu):
        return {}
    return {model.name: simulator.registers(model.name, REGISTERS) for model in models}


def _check_guards(case: Case, layout: CasePlaces, before: bytes, after: bytes) -> None:
    """Nothing but results and working memory may change."""
    changed = np.frombuffer(before, np.uint8) != np.frombuffer(after, np.uint8)
    kinds = case.types
    operands = case.op.bind(list(case.arrays))
    sizes = {name: kind.bytes for name, kind in kinds.items() if name not in operands}
    sizes |= {"scratch": case.kernel.scratch_bytes(case.op, kinds), "params": PARAMS}
    for name, size in sizes.items():
        first = layout.places[name] - layout.start
        changed[first : first + size] = False
    if changed.any():
        where = int(np.flatnonzero(changed)[0]) + layout.start
        near = max((place, name) for name, place in layout.places.items() if place <= where + 1)
        raise InternalError(str(case.op), f"{case.kernel.source} wrote to {where:#x}, near {near[1]} at {near[0]:#x}")


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
