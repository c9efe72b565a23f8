"""Programs that use the driver of ITA, on machines that have one: results are compared, cycles are measured."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from tests.sim.assembling import TARGET, _programs
from tests.sim.ita.layers import HEAD, Image, attention_case, built_for_bench, random_bytes
from tilewright.sim.platforms.ita_bench import ITA_BENCH
from tilewright.sim.platforms.snitch import SNITCH
from tilewright.sim.simulator import Simulator
from tilewright.targets import ita
from tilewright.targets.ita.arithmetic import Activation, Head, Scale, linear
from tilewright.targets.ita.jobs import LINEAR, ItaLayer, layer_registers
from tilewright.targets.ita.layout import TILE_BYTES, as_tiles, packed_bias
from tilewright.toolchain.compiler import BARE, find_compiler

PROGRAMS = Path(__file__).parent / "programs"
KERNELS = Path(ita.__file__).parent / "kernels"
TCDM, OUTSIDE = 0x1000_0000, 0x8010_0000
COMPUTE = 256
"""Cycles of a job that does nothing but compute."""
DMA_CORE = 8
MACHINES = {"ita_bench": ITA_BENCH, "snitch": SNITCH}


@cache
def program(source: Path, machine: str, *flags: str, core: int = DMA_CORE) -> Path:
    """Of a Snitch cluster the core of that number runs it."""
    if machine == "ita_bench":
        return built_for_bench(source, *flags, script=PROGRAMS / "tcdm.ld")
    path = Path(_programs().name) / f"{source.stem}.snitch.elf"
    options = ["-mcpu=generic_rv32+m+a", "-O2", "-g", "-static", "-ffreestanding", "-DSNITCH", BARE]
    options += [f"-DDRIVER={core}", *flags]
    sources = [str(PROGRAMS / "snitch_start.S"), str(source)]
    arguments = [*TARGET, *options, "-T", str(PROGRAMS / "snitch.ld"), *sources, "-o", str(path)]
    find_compiler().run(arguments, path.parent)
    return path


def words(values: list[int]) -> bytes:
    return np.array(values, "<u4").tobytes()


@dataclass(frozen=True)
class Measured:
    jobs: int
    busy: int
    """Cycles that ITA was at work."""
    cycles: int

    @property
    def utilisation(self) -> float:
        """Of the products that it could have made in all cycles."""
        return self.jobs * COMPUTE / self.cycles


def _loaded(simulator: Simulator, name: str, machine: str, layer: ItaLayer) -> None:
    simulator.check(misuse=True)
    simulator.load(program(PROGRAMS / name, machine, f"-I{KERNELS}"))
    simulator.write("layer", words(layer_registers(layer)))


def _run(simulator: Simulator, jobs: int) -> Measured:
    report = simulator.run(10_000_000)
    return Measured(jobs, report.busy["ita"], int.from_bytes(simulator.read("cycles", 4), "little"))


def run_head(s: int, e: int, p: int, machine: str = "snitch") -> Measured:
    """An attention head that lies in the TCDM."""
    rng = np.random.default_rng(s + e + p)
    scales = [Scale(71, 16), Scale(83, 16, 1), Scale(99, 16, -2), Scale(101, 17), Scale(120, 14, 3), Scale(77, 15)]
    weights = [random_bytes(rng, *shape) for shape in ((e, p), (e, p), (e, p), (p, e))]
    head = Head(*weights, *(rng.integers(-20_000, 20_000, size) for size in (p, p, p, e)), scales)
    case = attention_case(random_bytes(rng, s, e), random_bytes(rng, s, e), head, Image(rng))
    operands = [as_tiles(case.operands[name]) for name in ("x", "y")]
    operands += [as_tiles(case.operands[name].T) for name in HEAD[:4]]
    operands += [packed_bias(case.operands[name]) for name in HEAD[4:]]
    operands += [np.zeros(size, np.int8) for size in (s * p, s * p, s * p, s * s, s * p)]
    with Simulator(MACHINES[machine]) as simulator:
        _loaded(simulator, "ita_head.c", machine, case.layer)
        places = _placed(simulator, operands)
        simulator.write("places", words(places))
        for name, size in (("s", s), ("e", e), ("p", p)):
            simulator.write(name, words([size // 64]))
        measured = _run(simulator, len(case.jobs))
        assert simulator.read(TCDM + places[0], s * e) == as_tiles(case.results["out"]).tobytes()
        return measured


def _placed(simulator: Simulator, arrays: list[np.ndarray]) -> list[int]:
    """One behind the other in the TCDM."""
    at, places = 0, []
    for data in arrays:
        places.append(at)
        simulator.write(TCDM + at, data.tobytes())
        at = -(-(at + data.nbytes) // 128) * 128
    return places


def run_gemm(rows: int, inner: int, columns: int, machine: str = "snitch") -> Measured:
    """A product that is brought there tile by tile; sizes count tiles."""
    rng = np.random.default_rng(rows)
    x, w = random_bytes(rng, 64 * rows, 64 * inner), random_bytes(rng, 64 * inner, 64 * columns)
    bias, scale = rng.integers(-9999, 9999, 64 * columns), Scale(93, 17, 2)
    layer = ItaLayer(LINEAR, rows, inner, columns, scales=[scale], activation=Activation())
    with Simulator(MACHINES[machine]) as simulator:
        _loaded(simulator, "ita_gemm.c", machine, layer)
        at, places = OUTSIDE, []
        for data in (as_tiles(x), as_tiles(w.T), packed_bias(bias)):
            simulator.write(at, data.tobytes())
            places.append(at)
            at += -(-data.nbytes // 128) * 128
        simulator.write("given", words([rows, columns, inner, *places, at]))
        measured = _run(simulator, rows * inner * columns)
        assert simulator.read(at, rows * columns * TILE_BYTES) == as_tiles(linear(x, w, bias, scale)).tobytes()
        return measured
