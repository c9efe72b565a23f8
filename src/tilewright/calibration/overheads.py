"""What layers and tiles cost beside their kernels and transfers, from profiles of a made-up network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilewright import pipeline
from tilewright.calibration.fitting import fit
from tilewright.calibration.values import factors, values
from tilewright.codegen.cluster import ClusterWriter
from tilewright.codegen.network import symbol_prefix
from tilewright.ir import Builder, Graph
from tilewright.ops.irmsnorm import iRMSNorm
from tilewright.profiling.measuring import profile_program
from tilewright.profiling.places import WAITS
from tilewright.profiling.timeline import EARLY
from tilewright.soc import SocProgram
from tilewright.target import Settings, Target
from tilewright.types import TensorType

ROWS, LENGTH, LAYERS = 512, 64, 6
SETTINGS = (
    Settings(), Settings(l1=40_000, buffering="single"), Settings(l1=40_000, buffering="double"),
    Settings(l1=20_000, buffering="single"), Settings(l1=20_000, buffering="double"),
)  # fmt: skip
"""All in one tile; in several and in many, without and with transfers during the kernel."""


@dataclass(frozen=True)
class Overheads:
    layer: float
    tile: float

    def as_dict(self) -> dict[str, float]:
        return {"layer": self.layer, "tile": self.tile}


def network() -> Graph:
    """Layers that nothing joins: norms of rows, which can be cut anywhere."""
    builder = Builder("overheads")
    tensor = builder.input("x", TensorType("int8", (ROWS, LENGTH)))
    for number in range(LAYERS):
        scale = factors(LENGTH) * (number + 10)
        (tensor,) = builder.add(iRMSNorm(16), [tensor, builder.constant(scale)], name=f"norm {number}")
    builder.output(tensor)
    return builder.build()


def overheads(target: Target) -> Overheads:
    found = [row for settings in SETTINGS for row in _rows(target, settings)]
    coefficients = fit([features for features, _ in found], [max(cycles, 1.0) for _, cycles in found])
    return Overheads(*(round(value, 1) for value in coefficients))


def _rows(target: Target, settings: Settings) -> Iterator[tuple[tuple[float, ...], float]]:
    """Of every layer but the first and the last: tiles, and cycles without kernels, waits and commands."""
    compiled = pipeline.Compiled(*pipeline.stages(network(), target.name, "", settings))
    writer = ClusterWriter(compiled.schedule, symbol_prefix("overheads"))
    inputs = {"x": values("int8", ROWS, LENGTH)}
    found = profile_program(SocProgram(writer, compiled.files, None), inputs, "overheads")
    waits, commands = [0] * LAYERS, [0] * LAYERS
    for call in found.timeline.calls:
        waits[call.layer] += call.time.cycles if call.kind in WAITS and call.core == 0 else 0
    for call, _ in found.timeline.transfers:
        commands[call.layer] += call.kind != EARLY
    for layer in found.profile.layers[1:-1]:
        # The first core gives the commands; the others tell how long the kernel takes.
        kernels = sum(max(call.cycles for core, call in tile.calls.items() if core) for tile in layer.tiles)
        spent = kernels + waits[layer.number] + commands[layer.number] * target.costs.command
        yield (1.0, float(len(layer.tiles))), layer.cycles - spent
