"""One model in two modes, compiled together: many tokens at once (prefill) and one after another (decode).

Decoding is planned first: most of the time goes there. What both have in common exists once: the weights, each where
decoding has it; the caches, which are states of both; and the arena.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from tilewright import pipeline
from tilewright.codegen.gpu_text import GpuText
from tilewright.codegen.network import Shared, Writer
from tilewright.errors import CompileError, InternalError
from tilewright.ir.digest import Known, digest
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.language.places import place_of
from tilewright.language.weights_file import Layout, layout_of
from tilewright.pipeline import STAGES, Compiled
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.schedule import Schedule
from tilewright.records import dataclass
from tilewright.target.runner import GpuProcess
from tilewright.target.settings import Settings

DECODE, PREFILL = "decode", "prefill"


@dataclass(frozen=True)
class Modes:
    """Both networks, as C: `name` is the prefix of the program's public symbols."""

    name: str
    decode: Compiled
    """Of one token; of any number up to a block, where there is no other."""
    prefill: Compiled | None
    is_mapped: bool = False
    """Whether constants are a file, and no part of the program."""

    @cached_property
    def decoding(self) -> Writer:
        return self._written(self._linked[DECODE])

    @cached_property
    def prefilling(self) -> Writer | None:
        return None if self.prefill is None else self._written(self._linked[PREFILL])

    def _written(self, writer: Writer) -> Writer:
        weights = self.layout.offsets if self.is_mapped else None
        return replace(writer, shared=replace(writer.shared, weights=weights))

    @cached_property
    def layout(self) -> Layout:
        """Of the file of constants."""
        return layout_of(self._linked.values())

    @cached_property
    def _linked(self) -> Mapping[str, Writer]:
        """With the constants as arrays of the program."""
        alone = Shared(self.name, {}, self.arena, gpu_memory=self.gpu_memory)
        decoding = Writer(self.decode.schedule, f"{self.name}_{DECODE}", alone)
        if self.prefill is None:
            return {DECODE: decoding}
        shared = replace(alone, constants=self._shared_constants(decoding, self.prefill))
        return {DECODE: decoding, PREFILL: Writer(self.prefill.schedule, f"{self.name}_{PREFILL}", shared)}

    @property
    def writers(self) -> Mapping[str, Writer]:
        both = {DECODE: self.decoding, PREFILL: self.prefilling}
        return {mode: writer for mode, writer in both.items() if writer is not None}

    @property
    def arena(self) -> str:
        """The array of activations and caches on a cluster."""
        return f"{self.name}_arena"

    @property
    def gpu_memory(self) -> str:
        """What both have in the memory of a GPU, if there is one."""
        return f"{self.name}_gpu_memory" if isinstance(self.decode.schedule.target.runner, GpuProcess) else ""

    @property
    def arena_bytes(self) -> int:
        """For either mode."""
        return max(place_of(writer).arena_bytes(writer) for writer in self.writers.values())

    @property
    def shared_constants(self) -> Mapping[str, str]:
        """Constants of the prefill network that decoding has in the same memory -> what they are called there."""
        return {} if self.prefilling is None else self.prefilling.shared.constants

    def _shared_constants(self, decoding: Writer, prefill: Compiled) -> dict[str, str]:
        names, used = decoding.identifiers, Writer(prefill.schedule, PREFILL).used_constants
        found: dict[str, str] = {}
        for memory in {prefill.schedule.homes[name].memory for name in used}:
            known = Known(_held(self.decode.schedule, decoding.constants, memory))
            same = {name: known.find(array) for name, array in _held(prefill.schedule, used, memory).items()}
            found |= {name: names[one] for name, one in same.items() if one is not None}
        return {name: found[name] for name in used if name in found}

    @property
    def block_from(self) -> int:
        """How many tokens, read one by one, take as long as a block."""
        if self.prefill is None:
            return 1
        block, one = _work(self.prefill), _work(self.decode)
        return max(1, -(-block // max(one, 1)))

    @property
    def second_packings(self) -> int:
        """Bytes of those that are multiplied: weights, which decoding has in another form."""
        if self.prefill is None or self.prefilling is None:
            return 0
        graph = self.prefill.schedule.graph
        multiplied = {name for node in graph.nodes if node.op.multiplies for name in node.inputs}
        return sum(graph.constants[name].nbytes for name in self.prefilling.constants if name in multiplied)


def compile_modes(decode: Graph, prefill: Graph | None, target: str, name: str, settings: Settings) -> Modes:
    """Both graphs with the same caches; constants of a computer's programs are a file."""
    first = _compiled(decode, target, settings)
    if prefill is None:
        return Modes(name, first, None, is_mapped=not first.schedule.target.agents.has_runtime)
    _check_states(decode, prefill)
    pinned = tuple(sorted(_memories(first).items()))
    second = _compiled(prefill, target, replace(settings, pinned=pinned) if pinned else settings)
    _check_offsets(first, second)
    _check_kept(first, second)
    return Modes(name, first, second, is_mapped=not first.schedule.target.agents.has_runtime)


def _compiled(graph: Graph, target: str, settings: Settings) -> Compiled:
    """Up to the schedule: the C of both is written together."""
    stages = pipeline.stages(graph, target, "", settings)
    found = dict(zip(STAGES[:-1], stages, strict=False))
    allocation = found.pop("tiled")
    return Compiled(**found, allocation=allocation, files={})


def _memories(compiled: Compiled) -> dict[str, str]:
    """Digests of constants, and the memories that a plan has put them into."""
    homes, constants = compiled.schedule.homes, compiled.schedule.graph.constants
    known = {name: homes[name].memory for name in constants if name in homes and homes[name].memory}
    return {digest(constants[name]): memory for name, memory in known.items()}


def _held(schedule: Schedule, constants: Sequence[str], memory: str) -> dict[str, Array]:
    """Those that are read in a memory."""
    return {name: schedule.graph.constants[name] for name in constants if schedule.homes[name].memory == memory}


def _work(compiled: Compiled) -> int:
    """Predicted cycles or, where none are predicted, what kernels say that they take; else multiplications."""
    graph = compiled.schedule.graph
    known = round(sum(_taken(compiled.schedule, layer) for layer in compiled.schedule.layers))
    return compiled.allocation.predicted or known or sum(graph.macs(node) for node in graph.nodes)


def _taken(schedule: Schedule, layer: LayerSchedule) -> float:
    cycles, types = layer.kernel.cycles, schedule.graph.all_types(layer.node)
    if cycles is None or schedule.target.agents.has_runtime:
        return 0.0
    return cycles(layer.node.op, types, {}, 1).cores


def _check_states(decode: Graph, prefill: Graph) -> None:
    one, other = ([(s.name, graph.types[s.before]) for s in graph.states] for graph in (decode, prefill))
    if one != other:
        raise InternalError("modes", f"decoding keeps {one}, prefill {other}")


def _check_offsets(decode: Compiled, prefill: Compiled) -> None:
    """Both find the caches at the same place."""
    one, other = (
        [_offset(made.schedule, state.before) for state in made.schedule.graph.states] for made in (decode, prefill)
    )
    if one != other:
        raise InternalError("modes", f"caches lie at {one} and at {other}")


def _check_kept(decode: Compiled, prefill: Compiled) -> None:
    """Both find the caches in the memory of a GPU, or both do not. Prefill has no use for the last attention, only for
    its caches: where the processor computes it, decoding has them in its memory."""
    if not isinstance(decode.schedule.target.runner, GpuProcess):
        return
    texts = [GpuText(Writer(made.schedule, "")) for made in (decode, prefill)]
    one, other = ([state.name for state in text.kept_states] for text in texts)
    if one != other:
        what = "has no kernel for the last attention of this model: its caches would lie in two memories"
        raise CompileError(f"target {decode.schedule.target.name}", what, _for_gpus(decode.schedule.graph))


def _for_gpus(graph: Graph) -> str:
    quantised = any("int" in graph.types[state.before].dtype for state in graph.states)
    return "leave out --quantise, or use --target cpu" if quantised else "use --target cpu"


def _offset(schedule: Schedule, tensor: str) -> tuple[str, int]:
    home = schedule.homes[tensor]
    return home.memory, home.offset
