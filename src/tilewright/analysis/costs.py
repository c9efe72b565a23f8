"""What a network costs on a target: layer by layer, and in total. Nothing is built for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright import pipeline, targets
from tilewright.ir.arrays import Given
from tilewright.ir.graph import Graph, Node
from tilewright.ir.numerics_record import NumericsRecord
from tilewright.ir.scale import NO_SCALES, Scale, Scales
from tilewright.ir.types import TensorType
from tilewright.ops._control_flow import Loop
from tilewright.planner.board.little_ram import or_with_less_ram
from tilewright.planner.board.memory import board_memory
from tilewright.planner.machine_bound import NO_BOUND, MachineBound
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.planned_flow import Planned, planned_layers
from tilewright.planner.schedule.schedule import Schedule
from tilewright.records import dataclass
from tilewright.target.runner import NANOSECONDS
from tilewright.target.settings import DEFAULT, Settings, with_options

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tilewright.target.asked import Asked


@dataclass(frozen=True)
class LayerRow:
    """One row of the table."""

    name: str
    operator: str
    kernel: str
    """Engine and kernel, or `view` where nothing is computed."""
    dtype: str
    shape: tuple[int, ...]
    macs: int
    parameters: int
    place: str
    """Where the first result lies."""
    number: int | None
    """Of layers that compute, as C, profiles and pages have it; a view has none."""
    short_name: str
    """As tables show it."""


@dataclass(frozen=True)
class Analysis:
    name: str
    target: str
    inputs: Mapping[str, TensorType]
    outputs: Mapping[str, TensorType]
    layers: tuple[LayerRow, ...]
    arena_bytes: int
    lower_bound: int
    """No plan with this order of layers can need less."""
    io_bytes: int
    """Inputs and outputs, which the caller holds."""
    constant_bytes: int
    """Constants; the code comes on top."""
    notes: tuple[str, ...]
    state_bytes: int = 0
    """Of the arena: what is kept between calls."""
    states: Mapping[str, TensorType] = field(default_factory=dict)
    """What is kept, by name."""
    l1_bytes: int = 0
    """On a target with a cluster: all that is used of L1."""
    predicted_cycles: int = 0
    predicted_gap: float = 0.0
    """How far the choice of tiles and homes may be from the best of the candidates, as a fraction of their bound."""
    numerics_records: tuple[NumericsRecord, ...] = ()
    """Requantisations that were asked to be the hardware's (--numerics)."""
    l1_name: str = ""
    """The platform's own name of L1."""
    clock_mhz: float | None = None
    """Of a board."""
    memories: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Of a board: bytes that the whole program needs of each memory, and bytes that there are."""
    copied_bytes: int = 0
    """Of a board: RAM for copies of weights."""
    predicted_seconds: float | None = None
    """Of a computer, as the machine takes it that its costs were measured on."""
    least: MachineBound = NO_BOUND
    """What no run on the target can be below."""
    offloaded: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """With declared accelerators: nodes and MACs that each of them has."""
    scales: Scales = NO_SCALES
    """What integers at the network's ends stand for."""
    bodies: Mapping[str, tuple[LayerRow, ...]] = field(default_factory=dict)
    """Of loops and branches: the layers of each body, by its name; figures are of one run of it."""

    @property
    def macs(self) -> int:
        return sum(layer.macs for layer in self.layers)

    @property
    def parameters(self) -> int:
        return sum(layer.parameters for layer in self.layers)

    @property
    def planned_ram_bytes(self) -> int:
        return self.arena_bytes + self.io_bytes + self.l1_bytes + self.copied_bytes

    @property
    def gap(self) -> float:
        """How far the arena may be above the best possible, as a fraction of the lower bound."""
        return self.arena_bytes / self.lower_bound - 1 if self.lower_bound else 0.0

    def memory(self) -> dict[str, Any]:
        return {
            "planned_ram_bytes": self.planned_ram_bytes, "arena_bytes": self.arena_bytes,
            "arena_lower_bound": self.lower_bound, "io_bytes": self.io_bytes, "constant_bytes": self.constant_bytes,
            **({"state_bytes": self.state_bytes} if self.states else {}), **self.cluster(),
        }  # fmt: skip

    def accelerators(self) -> dict[str, Any]:
        """With declared accelerators: what they have taken, together and each."""
        if not self.offloaded:
            return {}
        total = {what: sum(one[what] for one in self.offloaded.values()) for what in ("nodes", "macs")}
        return {"offloaded": {**total, "units": {name: dict(one) for name, one in self.offloaded.items()}}}

    def _bodies(self) -> dict[str, Any]:
        """With loops or branches: what they run."""
        found = {name: [asdict(layer) for layer in layers] for name, layers in self.bodies.items()}
        return {"bodies": found} if found else {}

    def numerics(self) -> dict[str, Any]:
        """Where requantisations were asked to be the hardware's: what became of each."""
        return {"numerics": [one.as_dict() for one in self.numerics_records]} if self.numerics_records else {}

    def cluster(self) -> dict[str, Any]:
        """What only targets with a cluster have, or a board, or a computer."""
        if self.clock_mhz is not None:
            needed = {
                name: {"reserved_bytes": needed, "size_bytes": size} for name, (needed, size) in self.memories.items()
            }
            cycles = {"predicted_cycles": self.predicted_cycles, **self.least.as_dict()}
            return {**cycles, "clock_mhz": self.clock_mhz, "memories": needed}
        if self.predicted_seconds is not None:
            return {"predicted_seconds": self.predicted_seconds}
        if not self.l1_bytes:
            return {}
        return {
            "l1_bytes": self.l1_bytes, "predicted_cycles": self.predicted_cycles,
            "predicted_gap": self.predicted_gap, **self.least.as_dict(),
        }  # fmt: skip

    def interface(self) -> dict[str, Any]:
        """Inputs and outputs: types, and what integers stand for."""
        return {
            "inputs": _described(self.inputs, self.scales.inputs),
            "outputs": _described(self.outputs, self.scales.outputs),
        }

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name, "target": self.target, **self.interface(),
            **({"states": _described(self.states, {})} if self.states else {}),
            "layers": [asdict(layer) for layer in self.layers], **self._bodies(),
            "macs": self.macs, "parameters": self.parameters, **self.memory(), **self.numerics(), **self.accelerators(),
            "notes": list(self.notes),
        }  # fmt: skip


def analyze(
    model: Any,
    example_inputs: Given | None = None,
    target: str = "",
    *,
    board: str | Path = "",
    dims: Mapping[str, int] | None = None,
    dtypes: Mapping[str, str] | None = None,
    settings: Settings = DEFAULT,
    tflite_rounding: str = "",
    shapes: Mapping[str, Sequence[int]] | None = None,
    bind: Mapping[str, Any] | None = None,
    states: Mapping[str, str] | None = None,
    check_export: bool = True,
    max_trips: int | None = None,
    random_seed: int | None = None,
    **options: Unpack[Asked],
) -> Analysis:
    """Predict what a model costs on a target. A `CompileError` names everything that is not supported. The arguments
    are those of `compile`."""
    settings, target = with_options(settings, options), targets.named_or_board(target, str(board))
    said: dict[str, Any] = {"dims": dims or {}, "dtypes": dtypes or {}, "tflite_rounding": tflite_rounding}
    said |= {"shapes": shapes or {}, "bind": bind or {}, "states": states or {}, "check_export": check_export}
    said |= {"max_trips": max_trips, "random_seed": random_seed}

    def planned(chosen: Settings, noted: Callable[[Graph], Graph]) -> Analysis:
        graph = noted(pipeline.import_model(model, example_inputs, target, chosen.optimise, **said))
        return analysis_of(pipeline.stage(graph, target, "schedule", settings=chosen))

    return or_with_less_ram(target, settings, planned)


def analysis_of(schedule: Schedule) -> Analysis:
    graph, placed = schedule.graph, schedule.placed
    outputs = dict(zip(graph.output_names, (graph.types[name] for name in graph.outputs), strict=True))
    found = Analysis(
        graph.name, schedule.target.name, {name: graph.types[name] for name in graph.inputs}, outputs,
        _rows(schedule),
        schedule.arena_bytes, schedule.lower_bound, schedule.io_bytes, schedule.constant_bytes, _notes(schedule),
        schedule.state_bytes, {state.name: graph.types[state.before] for state in graph.states},
        placed.tile_bytes, placed.predicted, placed.gap,
        graph.numerics_records, placed.tile_memory, *_board(schedule),
    )  # fmt: skip
    if schedule.target.runner.unit == NANOSECONDS and placed.predicted:
        found = replace(found, predicted_cycles=0, predicted_seconds=placed.predicted * 1e-9)
    found = replace(found, scales=graph.scales, least=placed.least, bodies=dict(_bodies(schedule)))
    engines = {engine.name for engine in schedule.target.engines}
    declared = [model.name for model in schedule.target.models if model.name in engines]
    return replace(found, offloaded={name: _taken(schedule, name) for name in declared})


def _rows(schedule: Schedule) -> tuple[LayerRow, ...]:
    kernels = {call.node.key: f"{call.engine}.{call.kernel.stem}{_origin(schedule, call)}" for call in schedule.layers}
    numbers = {call.node.key: number for number, call in enumerate(schedule.layers)}
    return tuple(
        _layer(schedule, node, kernels.get(node.key, "view"), numbers.get(node.key)) for node in schedule.graph.nodes
    )


def _bodies(schedule: Schedule) -> Iterator[tuple[str, tuple[LayerRow, ...]]]:
    """Of all loops and branches, outer ones first."""
    for layer, op in planned_layers(schedule):
        for body, which in zip(op.schedules, op.body_names, strict=True):
            yield f"{layer.node.name}, {which}", _rows(body)
            yield from _bodies(body)


def _flow_notes(schedule: Schedule) -> Iterator[str]:
    """How often loops run: what figures count."""
    for layer, op in planned_layers(schedule):
        if isinstance(op.flow, Loop) and not op.flow.is_static:
            bound = f"has {op.flow.trips} turns at most: all are" if op.flow.is_bounded else "has no bound: one turn is"
            yield f"loop '{schedule.graph.short_name(layer.node)}' {bound} what cycles and MACs count"
        for body in op.schedules:
            yield from _flow_notes(body)


def _taken(schedule: Schedule, engine: str) -> dict[str, int]:
    calls = [call for call in schedule.layers if call.engine == engine]
    return {"nodes": len(calls), "macs": sum(schedule.graph.macs(call.node) for call in calls)}


def _board(schedule: Schedule) -> tuple[Any, ...]:
    memories = {use.memory.name: (use.needed, use.bytes) for use in board_memory(schedule)}
    return schedule.target.runner.clock_mhz, memories, schedule.copied_bytes


CODE_IN_L1 = (
    "code in L1 (--code-in-l1): its figures are unconfirmed, as the chip's public simulator does not take such programs"
)


WITHOUT_WAITS = "cycles are predicted without the waits for the board's memories; `run` estimates those too"


def _notes(schedule: Schedule) -> tuple[str, ...]:
    """What a user should know of the figures."""
    agents = schedule.target.agents
    other = agents.measured_isa not in ("", agents.isa)
    measured = [f"cycles are predicted as of {agents.measured_isa}: {agents.isa} takes others"] if other else []
    added = {one.name for one in schedule.target.external_kernels} & {call.engine for call in schedule.layers}
    measured += [f"cycles of kernels of {name} are a guess: `tilewright run` counts them" for name in sorted(added)]
    return (
        *schedule.graph.notes,
        *_flow_notes(schedule),
        *[CODE_IN_L1] * schedule.placed.code_in_tile_memory,
        *measured,
        *[WITHOUT_WAITS] * _has_waits(schedule),
        *_portable_notes(schedule),
    )


MUCH = 0.1
"""Of the predicted cycles: what a layer in a portable kernel may take without a note."""


def _portable_notes(schedule: Schedule) -> Iterator[str]:
    """Layers that take much of the time in a kernel that was not written for the target."""
    cycles = schedule.placed.layer_cycles
    total = sum(cycles.values())
    for call in schedule.layers:
        share = cycles.get(call.node.key, 0) / total if total else 0.0
        if share > MUCH and _is_portable(schedule, call):
            kernel = f"{call.engine}.{call.kernel.stem}"
            name = schedule.graph.short_name(call.node)
            yield f"'{name}' takes {share:.0%} of the predicted time in a portable kernel ({kernel})"


def _has_waits(schedule: Schedule) -> bool:
    target = schedule.target
    return bool(target.agents.isa) and any(memory.latency for memory in target.platform.memories)


def _origin(schedule: Schedule, call: LayerSchedule) -> str:
    return " (generic)" if _is_portable(schedule, call) else ""


def _is_portable(schedule: Schedule, call: LayerSchedule) -> bool:
    """Whether a layer's kernel was not written for the target, which has others of its own."""
    target = schedule.target
    if isinstance(call.node.op, Planned) or not target.bases:
        return False
    return target.kernel_file(call.kernel.source).parents[1] == target.bases[-1]


def _layer(schedule: Schedule, node: Node, kernel: str, number: int | None) -> LayerRow:
    graph = schedule.graph
    kind = graph.types[node.key]
    return LayerRow(
        node.name, node.op.kind, kernel, kind.dtype, kind.shape, graph.macs(node),
        graph.parameters(node), str(schedule.homes[node.key]), number, graph.short_name(node),
    )  # fmt: skip


def _described(types: Mapping[str, TensorType], scales: Mapping[str, Scale]) -> list[dict[str, Any]]:
    return [
        {
            "name": name, "dtype": kind.dtype, "shape": list(kind.shape),
            **(asdict(scales[name]) if name in scales else {}),
        }
        for name, kind in types.items()
    ]  # fmt: skip
