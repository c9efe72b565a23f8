"""The calls of a network in one arena, as C: pointers to what a layer makes, and the kernel that makes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from tilewright.codegen import flow_names, threads
from tilewright.codegen.arena_parts import arena_address
from tilewright.codegen.event_text import EventText
from tilewright.codegen.index_text import Indices
from tilewright.codegen.initialiser import initialiser, storage
from tilewright.codegen.kernels import Instance, instance_of
from tilewright.codegen.layer_title import layer_title
from tilewright.codegen.literals import byte_count
from tilewright.codegen.names import comment
from tilewright.codegen.network import Writer
from tilewright.ir.graph import State
from tilewright.planner.home import ARENA, Home
from tilewright.planner.program.program import CORES, Barrier, Body, Call, Each, Event, Submit, WaitLayer
from tilewright.planner.schedule.layer_schedule import LayerSchedule, Slots
from tilewright.planner.schedule.planned_flow import Planned
from tilewright.planner.schedule.schedule import Schedule
from tilewright.records import dataclass


@dataclass(frozen=True)
class LayerText(EventText):
    """Events of a layer as straight-line C: what is called stands where it is called."""

    calls: ArenaCalls
    layer: LayerSchedule | None

    def _one(self, event: Event) -> Iterator[str]:
        if isinstance(event, WaitLayer):
            yield self.calls.finished(event.layer)
        elif isinstance(event, Call | Submit | Each) and self.layer is not None:
            if isinstance(event, Submit):
                yield from self.calls.submitted(self.layer)
            else:
                yield self.calls.computed(self.layer)
        elif not isinstance(event, Barrier):  # one that threads meet at is the end of their layer
            yield from super()._one(event)


@dataclass(frozen=True)
class ArenaCalls:
    """The layers of a network, or of a body of its control flow, one after the other."""

    network: Writer
    inside: str = flow_names.PREFIX
    """What names of functions of control flow begin with."""

    def text(self) -> str:
        *layers, end = map(self._body, self.schedule.program.agents[CORES])
        return "\n".join(layers) + end

    def _body(self, body: Body) -> str:
        layer = self.schedule.layers[body.layer] if body.layer < len(self.schedule.layers) else None
        writer = LayerText({}, Indices({}, 1), self, layer)
        before, events = ("".join(f"\n{line}" for line in writer.lines(one)) for one in (body.before, body.events))
        if layer is None:
            return before + events
        declared = (self._declaration(layer, name) for name in layer.node.outputs if name)
        made = "".join(f"\n  {line}" for line in declared if line)
        return f"{before}\n  {layer_title(self.schedule.graph, layer.number, layer.node)}{made}{events}"

    @property
    def schedule(self) -> Schedule:
        return self.network.schedule

    @property
    def identifiers(self) -> dict[str, str]:
        return self.network.identifiers

    def _c_type(self, tensor: str) -> str:
        return self.network.c_type_of(tensor)

    def _address(self, place: Home | Slots) -> str:
        return arena_address(self.schedule, place.memory, place.offset)

    def state_pointers(self) -> str:
        """The values that states have when a call begins."""
        read = {self._viewed.get(name, name) for layer in self.schedule.layers for name in layer.node.inputs if name}
        lines = [self._state_pointer(state) for state in self.schedule.graph.states if state.before in read]
        return "".join(f"\n  {line}" for line in lines) + ("\n" if lines else "")

    def _state_pointer(self, state: State) -> str:
        c_type, home = self._c_type(state.before), self.schedule.homes[state.before]
        pointer = f"{c_type} *const {self.identifiers[state.before]} = ({c_type} *)(arena + {home.offset});"
        return f"{pointer} /* state {comment(state.name)} */"

    # ---- events -----------------------------------------------------------------------------------------------------

    def called(self, layer: LayerSchedule) -> str:
        if isinstance(layer.node.op, Planned):
            return self._flow_called(layer, layer.node.op)
        instance = instance_of(self.schedule.graph, layer)
        given = layer.params_of(0)
        tables, params = initialiser(given, names=self.network.size_names)
        arguments = _joined(["&params", *self._arguments(layer, instance)])
        return f"""{{{tables}
    {storage(given)} {layer.kernel.params_type} params = {{{params}}};
    {self._start(layer)}{instance.function}({arguments});{self._probes(layer)}
  }}"""

    def _start(self, layer: LayerSchedule) -> str:
        """Before cores compute a layer behind one of an engine with a memory of its own, that begins what it has."""
        has_own = {engine.name: engine.transfers is not None for engine in self.schedule.target.engines}
        before = layer.number > 0 and has_own[self.schedule.layers[layer.number - 1].engine]
        return "tw_gpu_start(); /* works meanwhile */\n    " if before and not has_own[layer.engine] else ""

    def _flow_called(self, layer: LayerSchedule, op: Planned) -> str:
        """A loop or a branch."""
        pointers = [self._pointer(name) for name in (*layer.node.inputs, *layer.node.outputs)]
        scratch = self._address(layer.scratch) if layer.scratch is not None else "NULL"
        call = flow_names.checked(flow_names.called(layer, self.inside, pointers, scratch), op.may_stop)
        return f"{{\n    {self._start(layer)}{call}{self._probes(layer)}\n  }}"

    def shared(self, layer: LayerSchedule) -> str:
        """By the threads of a pool."""
        arguments = self._arguments(layer, instance_of(self.schedule.graph, layer))
        call = threads.parallel_call(layer.tiles, arguments, self.part_function(layer))
        return f"{{{call}{self._probes(layer)}\n  }}"

    def part_function(self, layer: LayerSchedule) -> str:
        """What computes a part of a layer that threads share."""
        before = "" if self.inside == flow_names.PREFIX else f"{self.inside}_"
        return f"{before}layer_{layer.number}"

    def computed(self, layer: LayerSchedule) -> str:
        """By this thread, or by all."""
        if threads.is_cooperative(self.schedule, layer):
            return self._together(layer)
        return self.called(layer) if layer.tiles == 1 else self.shared(layer)

    def _together(self, layer: LayerSchedule) -> str:
        """By a kernel that deals its work out to the threads of a pool."""
        given = layer.params_of(0)
        tables, params = initialiser(given, names=self.network.size_names)
        arguments = ["&params", *self._arguments(layer, instance_of(self.schedule.graph, layer))]
        parts = self.schedule.target.agents.threads
        return f"""{{{tables}
    {storage(given)} {layer.kernel.params_type} params = {{{params}}};\
{threads.parallel_call(parts, arguments, self.part_function(layer))}{self._probes(layer)}
  }}"""

    def shared_layers(self) -> str:
        """The functions of layers that several threads compute."""
        found = []
        for layer in self.schedule.layers:
            instance, name = instance_of(self.schedule.graph, layer), self.part_function(layer)
            if threads.is_cooperative(self.schedule, layer):
                found.append(threads.cooperative_function(layer, instance, name, self.schedule.target.agents.threads))
            elif layer.tiles > 1:
                found.append(threads.function(layer, instance, name))
        return "".join(found)

    def submitted(self, layer: LayerSchedule) -> Iterator[str]:
        """An accelerator computes it: its parameters live until it is waited for."""
        instance, prefix = instance_of(self.schedule.graph, layer), f"layer_{layer.number}_"
        tables, params = initialiser(layer.params_of(0), prefix)
        yield from tables.split("\n    ")[1:]
        yield f"static const {layer.kernel.params_type} {prefix}params = {{{params}}};"
        yield f"{instance.function}({_joined([f'&{prefix}params', *self._arguments(layer, instance)])});"

    def finished(self, number: int) -> str:
        """An accelerator has ended what it was given."""
        layer = self.schedule.layers[number]
        instance = instance_of(self.schedule.graph, layer)
        arguments = _joined([f"&layer_{number}_params", *self._arguments(layer, instance)])
        return f"{instance.finish}({arguments}); /* {number} has ended */{self._probes(layer)}"

    def _probes(self, layer: LayerSchedule) -> str:
        if self.inside != flow_names.PREFIX:
            return ""  # a layer of a body: the layer that runs it is watched
        types = self.schedule.graph.types
        return "".join(
            f"\n    LAYER_DONE({layer.number}, {position}, {self._pointer(name)}, "
            f"{byte_count(types[name].bytes, self.network.size_names)});"
            for position, name in enumerate(layer.node.outputs)
            if name
        )

    # ---- pointers ---------------------------------------------------------------------------------------------------

    def _declaration(self, layer: LayerSchedule, tensor: str) -> str:
        """The pointer to a tensor that a layer makes; outputs are arguments already."""
        home, c_type = self.schedule.homes[tensor], self._c_type(tensor)
        if tensor in self.schedule.graph.outputs:
            return ""
        shared = [name for name in layer.node.inputs if name and self._same_bytes(name, tensor)]
        note = f" /* in place: overwrites {self._pointer(shared[0])} */" if shared else ""
        start = self._address(home) if home.kind == ARENA else self.identifiers[home.owner]
        cast = "" if home.kind != ARENA and self._c_type(home.owner) == c_type else f"({c_type} *)"
        return f"{c_type} *const {self.identifiers[tensor]} = {cast}{_grouped(start, cast)};{note}"

    def _same_bytes(self, one: str, other: str) -> bool:
        homes = self.schedule.homes
        return homes[one] == homes[other] and self.schedule.graph.types[one].bytes > 0

    def _arguments(self, layer: LayerSchedule, instance: Instance) -> list[str]:
        tensors = {**layer.node.operands(), **layer.node.results()}
        arguments = []
        for argument in layer.kernel.arguments():
            if argument.variadic:
                names = [tensor for name, tensor in tensors.items() if name.startswith(argument.stem)]
                arguments.append(self._pointer_array(names, argument.is_result))
            else:
                tensor = tensors.get(argument.stem, "")
                arguments.append(self._pointer(tensor) if tensor else "NULL")
        if layer.scratch is not None:
            arguments.append(self._address(layer.scratch))
        elif instance.takes_scratch:
            arguments.append("NULL")
        return arguments

    def _pointer_array(self, names: Sequence[str], is_result: bool) -> str:
        c_type = self._c_type(names[0])
        qualifier = "" if is_result else "const "
        return f"({qualifier}{c_type} *const[]){{{', '.join(map(self._pointer, names))}}}"

    def _pointer(self, tensor: str) -> str:
        """A C expression for a tensor's first element: a view is called like what it is a view of."""
        source = self._viewed.get(tensor, tensor)
        if source in self._pieces:
            return f"({self._c_type(tensor)} *)({self._address(self.schedule.homes[source])})"
        if self._c_type(source) == self._c_type(tensor):
            return self.identifiers[source]
        return f"(const {self._c_type(tensor)} *){self.identifiers[source]}"

    @cached_property
    def _pieces(self) -> set[str]:
        """Tensors that no call makes: they lie inside others, or others inside them."""
        made = {name for layer in self.schedule.layers for name in layer.node.outputs}
        nodes = [node for node in self.schedule.graph.nodes if not node.op.view]
        return {name for node in nodes for name in node.outputs} - made

    @cached_property
    def _viewed(self) -> dict[str, str]:
        """View -> the tensor behind it."""
        viewed: dict[str, str] = {}
        for node in self.schedule.graph.nodes:
            if node.op.view:
                viewed[node.outputs[0]] = viewed.get(node.inputs[0], node.inputs[0])
        return viewed


def _grouped(start: str, cast: str) -> str:
    return f"({start})" if cast and "+" in start else start


def _joined(arguments: Sequence[str]) -> str:
    line = ", ".join(arguments)
    return line if len(line) <= 90 else ",\n        ".join(arguments)
