"""What layers and tiles cost beside their kernels and transfers, from profiles of a made-up network."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, replace
from statistics import median

from tilewright import pipeline
from tilewright.calibration.values import TO_BYTES, factors, values
from tilewright.codegen.network import Writer, symbol_prefix
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.op import Op
from tilewright.ir.types import TensorType
from tilewright.ops._scaling import Scaling
from tilewright.ops.ceil import Ceil
from tilewright.ops.floor import Floor
from tilewright.ops.irmsnorm import iRMSNorm
from tilewright.ops.isoftmax import iSoftmax
from tilewright.ops.lookup import ENTRIES, Lookup
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.ops.reshape import Reshape
from tilewright.profiling.measuring import Profiled, profile_program
from tilewright.profiling.profile import LayerProfile
from tilewright.profiling.timeline import PREFETCH
from tilewright.records import dataclass
from tilewright.run.soc import SocProgram
from tilewright.target.fitting import fit
from tilewright.target.settings import Settings
from tilewright.target.target import Target

ROWS, LENGTH, LAYERS = 512, 64, 6
ROUNDS = 4
SETTINGS = (
    Settings(), Settings(l1=40_000, buffering="single"), Settings(l1=40_000, buffering="double"),
    Settings(l1=20_000, buffering="single"), Settings(l1=20_000, buffering="double"),
)  # fmt: skip
"""All in one tile; in several and in many, without and with transfers during the kernel."""


@dataclass(frozen=True)
class Overheads:
    layer: float
    tile: float
    latency: float
    own_layer: float = 0.0
    own_transfer: float = 0.0

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


def network() -> Graph:
    """Layers that nothing joins: norms of rows, which can be cut anywhere."""
    builder = Builder("overheads")
    tensor = builder.input("x", TensorType("int8", (ROWS, LENGTH)))
    for number in range(LAYERS):
        scale = factors(LENGTH) * (number + 10)
        (tensor,) = builder.add(iRMSNorm(16), [tensor, builder.constant(scale)], name=f"norm {number}")
    builder.output(tensor)
    return builder.build()


def mixed_network(kept: bool) -> Graph:
    """Layers of one row by turns of several kinds, whose code does not fit the caches. `kept`: every result is an
    output, which is stored in L2."""
    builder = Builder("overheads")
    tensor = builder.input("x", TensorType("int8", (1, LENGTH)))
    scale, table = builder.constant(factors(LENGTH) * 20), builder.constant(values("int8", ENTRIES))
    half = Scaling(32768, 0, TO_BYTES)

    def then(op: Op, *operands: str) -> str:
        (made,) = builder.add(op, operands)
        if kept:
            # A view, and so made where the caller has it: the output itself, which others read too, would be copied.
            builder.output(builder.add(Reshape((LENGTH,)), [made])[0])
        return made

    for _ in range(ROUNDS):
        tensor = then(iRMSNorm(16), tensor, scale)
        tensor = then(RequantizedAdd(half, half, half), tensor, tensor)
        tensor = then(Lookup(), tensor, table)
        tensor = then(QLinearMul(mul=773, requant=TO_BYTES), tensor, tensor)
        tensor = then(iSoftmax(ln2=14, b=19, c=192, out=half), tensor)
    if not kept:
        builder.output(tensor)
    return builder.build()


def overheads(target: Target, code_in_l1: bool = False) -> Overheads:
    cases = (replace(settings, code_in_l1=code_in_l1) for settings in SETTINGS)
    found = [row for settings in cases for row in _rows(target, settings)]
    coefficients = fit([features for features, _ in found], [max(cycles, 1.0) for _, cycles in found])
    own = own_tiles(target, code_in_l1, coefficients[1])
    return Overheads(*(round(value, 1) for value in (*coefficients, latency(target, code_in_l1), *own)))


def latency(target: Target, code_in_l1: bool) -> float:
    """What a transfer takes beside its bytes and its command: layers that load and store, against those in L1."""
    settings = Settings(code_in_l1=code_in_l1)
    streamed, kept_inside = (
        _profiled(target, mixed_network(kept), settings).profile.layers[1:-1] for kept in (True, False)
    )
    longer = median(one.cycles - other.cycles for one, other in zip(streamed, kept_inside, strict=True))
    return max(0.0, longer / 2 - LENGTH * target.paths.tile_link.read - target.paths.tile_link.command)


def own_tiles(target: Target, code_in_l1: bool, tile: float) -> tuple[float, float]:
    """What a layer takes whose cores have tiles of their own, and each of their transfers: from layers that have a tile
    for each core, and from layers that have many. Nothing of it where a target has no such layers."""
    cases = (
        (LENGTH, Settings(code_in_l1=code_in_l1)),
        (ROWS * LENGTH // 4, Settings(l1=20_000, buffering="double", code_in_l1=code_in_l1)),
    )
    found = [
        row for size, settings in cases for row in _own_rows(target, own_network(size), settings, tile)
    ]  # fmt: skip
    if len({features for features, _ in found}) < 2:
        return 0.0, 0.0
    layer, transfer = fit([features for features, _ in found], [max(cycles, 1.0) for _, cycles in found])
    return layer, transfer


def _own_rows(
    target: Target, graph: Graph, settings: Settings, tile: float
) -> Iterator[tuple[tuple[float, ...], float]]:
    """Of every such layer but the first and the last: transfers one after the other, and cycles beside kernels, tiles
    and what the first and the last tiles move."""
    found = _profiled(target, graph, settings).profile
    for layer in found.layers[1:-1]:
        if layer.mode == "per_core":
            rounds, kernels = _one_after_the_other(layer)
            directions = bool(layer.bytes_in) + bool(layer.bytes_out)
            ends = (layer.bytes_in + layer.bytes_out) / rounds * target.paths.tile_link.read
            yield (1.0, float(rounds * directions)), layer.cycles - kernels - rounds * tile - ends


def own_network(size: int) -> Graph:
    """Layers that clusters leave to portable kernels."""
    builder = Builder("overheads")
    tensor = builder.input("x", TensorType("float32", (size,)))
    for number in range(LAYERS):
        (tensor,) = builder.add((Floor, Ceil)[number % 2](), [tensor])
    builder.output(tensor)
    return builder.build()


def _profiled(target: Target, graph: Graph, settings: Settings) -> Profiled:
    compiled = pipeline.Compiled(*pipeline.stages(graph, target.name, "", settings))
    writer = Writer(compiled.schedule, symbol_prefix("overheads"))
    inputs = {"x": values(graph.types["x"].dtype, *graph.types["x"].shape)}
    return profile_program(SocProgram(writer, compiled.files, None), inputs, "overheads")


def _rows(target: Target, settings: Settings) -> Iterator[tuple[tuple[float, ...], float]]:
    """Of every layer but the first and the last: tiles one after the other, and cycles without kernels, waits and
    commands."""
    found = _profiled(target, network(), settings)
    commands = [0] * LAYERS
    for call, _ in found.timeline.transfers:
        commands[call.layer] += call.kind != PREFETCH
    for layer in found.profile.layers[1:-1]:
        rounds, kernels = _one_after_the_other(layer)
        givers = min(found.profile.cores, len(layer.tiles)) if layer.mode == "per_core" else 1
        # With two buffers the DMA core gives commands while the others compute.
        given = 0.0 if layer.double else commands[layer.number] / givers
        known = kernels + layer.waiting / found.profile.cores + given * target.paths.tile_link.command
        yield (1.0, float(rounds)), layer.cycles - known


def _one_after_the_other(layer: LayerProfile) -> tuple[int, int]:
    """Tiles, and cycles of the kernel: where each core has its own tiles, those of the core that has most."""
    if layer.mode != "per_core":
        return len(layer.tiles), sum(max(call.cycles for call in tile.calls.values()) for tile in layer.tiles)
    calls: dict[int, list[int]] = defaultdict(list)
    for tile in layer.tiles:
        for core, call in tile.calls.items():
            calls[core].append(call.cycles)
    return max(map(len, calls.values())), max(map(sum, calls.values()))
