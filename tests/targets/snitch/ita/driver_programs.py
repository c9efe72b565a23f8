"""Programs that use the driver of ITA, on ita_bench: results are compared, cycles are measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.sim.ita_layers import HEAD, Array, Image, attention_case, built_for_bench, random_bytes
from tilewright.sim.ita_bench import ITA_BENCH, SNITCH_TCDM
from tilewright.sim.simulator import Simulator
from tilewright.targets import snitch
from tilewright.targets.snitch.ita.arithmetic import Activation, Head, Scale, linear
from tilewright.targets.snitch.ita.jobs import LINEAR, Layer, layer_registers
from tilewright.targets.snitch.ita.layout import TILE_BYTES, packed_bias, tiled

PROGRAMS = Path(__file__).parent / "programs"
KERNELS = Path(snitch.__file__).parent / "kernels"
TCDM, OUTSIDE = 0x1000_0000, 0x8010_0000
COMPUTE = 256
"""Cycles of a job that does nothing but compute."""


def loaded(simulator: Simulator, program: str, layer: Layer) -> None:
    simulator.check(misuse=True)
    simulator.load(built_for_bench(PROGRAMS / program, f"-I{KERNELS}", script=PROGRAMS / "tcdm.ld"))
    simulator.write("layer", words(layer_registers(layer)))


def words(values: list[int]) -> bytes:
    return np.array(values, "<u4").tobytes()


def word(simulator: Simulator, name: str) -> int:
    return int.from_bytes(simulator.read(name, 4), "little")


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


def run_head(s: int, e: int, p: int) -> Measured:
    """An attention head that lies in the TCDM."""
    rng = np.random.default_rng(s + e + p)
    scales = [Scale(71, 16), Scale(83, 16, 1), Scale(99, 16, -2), Scale(101, 17), Scale(120, 14, 3), Scale(77, 15)]
    weights = [random_bytes(rng, *shape) for shape in ((e, p), (e, p), (e, p), (p, e))]
    head = Head(*weights, *(rng.integers(-20_000, 20_000, size) for size in (p, p, p, e)), scales)
    case = attention_case(random_bytes(rng, s, e), random_bytes(rng, s, e), head, Image(rng))
    with Simulator(ITA_BENCH) as simulator:
        loaded(simulator, "ita_head.c", case.layer)
        at, places = 0, []
        operands = [tiled(case.operands[name]) for name in ("x", "y")]
        operands += [tiled(case.operands[name].T) for name in HEAD[:4]]
        operands += [packed_bias(case.operands[name]) for name in HEAD[4:]]
        for data in [*operands, *(np.zeros(size, np.int8) for size in (s * p, s * p, s * p, s * s, s * p))]:
            places.append(at)
            simulator.write(TCDM + at, data.tobytes())
            at = -(-(at + data.nbytes) // 128) * 128
        assert at <= SNITCH_TCDM
        simulator.write("places", words(places))
        for name, size in (("s", s), ("e", e), ("p", p)):
            simulator.write(name, words([size // 64]))
        report = simulator.run(1_000_000)
        assert simulator.read(TCDM + places[0], s * e) == tiled(case.results["out"]).tobytes()
        return Measured(len(case.jobs), report.busy["ita"], word(simulator, "cycles"))


def run_gemm(rows: int, inner: int, columns: int) -> Measured:
    """A product that is brought there tile by tile; sizes count tiles."""
    rng = np.random.default_rng(rows)
    x, w = random_bytes(rng, 64 * rows, 64 * inner), random_bytes(rng, 64 * inner, 64 * columns)
    bias, scale = rng.integers(-9999, 9999, 64 * columns), Scale(93, 17, 2)
    layer = Layer(LINEAR, rows, inner, columns, scales=[scale], activation=Activation())
    wanted: Array = tiled(linear(x, w, bias, scale))
    with Simulator(ITA_BENCH) as simulator:
        loaded(simulator, "ita_gemm.c", layer)
        at = OUTSIDE
        for name, data in (("a_from", tiled(x)), ("b_from", tiled(w.T)), ("bias_from", packed_bias(bias))):
            simulator.write(at, data.tobytes())
            simulator.write(name, words([at]))
            at += -(-data.nbytes // 128) * 128
        simulator.write("c_to", words([at]))
        for name, size in (("rows", rows), ("inner", inner), ("columns", columns)):
            simulator.write(name, words([size]))
        report = simulator.run(10_000_000)
        assert simulator.read(at, rows * columns * TILE_BYTES) == wanted.tobytes()
        return Measured(rows * inner * columns, report.busy["ita"], word(simulator, "cycles"))
