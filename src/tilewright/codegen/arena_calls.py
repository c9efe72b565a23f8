"""The calls of a network in one arena, as C: pointers to what a layer makes, and the kernel that makes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tilewright.codegen import threads
from tilewright.codegen.arena_parts import arena_address
from tilewright.codegen.initialiser import initialiser
from tilewright.codegen.kernels import Instance, instance_of
from tilewright.codegen.layer_title import layer_title
from tilewright.codegen.names import comment
from tilewright.codegen.network import Writer
from tilewright.ir.graph import State
from tilewright.planner.home import ARENA
from tilewright.planner.schedule.schedule import Call, Schedule


@dataclass(frozen=True)
class ArenaCalls:
    """The layers of a network, one after the other."""

    network: Writer

    def text(self) -> str:
        calls = self.schedule.calls
        body = "\n".join(self._layer(number, call) for number, call in enumerate(calls))
        return body + self._finished_before(len(calls))

    @property
    def schedule(self) -> Schedule:
        return self.network.schedule

    @property
    def identifiers(self) -> dict[str, str]:
        return self.network.identifiers

    def _c_type(self, tensor: str) -> str:
        return self.network.c_type_of(tensor)

    def _address(self, offset: int) -> str:
        return arena_address(self.schedule, offset)

    def state_pointers(self) -> str:
        """The values that states have when a call begins."""
        read = {self._viewed.get(name, name) for call in self.schedule.calls for name in call.node.inputs if name}
        lines = [self._state_pointer(state) for state in self.schedule.graph.states if state.before in read]
        return "".join(f"\n  {line}" for line in lines) + ("\n" if lines else "")

    def _state_pointer(self, state: State) -> str:
        c_type, place = self._c_type(state.before), self.schedule.places[state.before]
        pointer = f"{c_type} *const {self.identifiers[state.before]} = ({c_type} *)(arena + {place.offset});"
        return f"{pointer} /* state {comment(state.name)} */"

    def _layer(self, index: int, call: Call) -> str:
        graph, node, instance = self.schedule.graph, call.node, instance_of(self.schedule.graph, call)
        declared = (self._declaration(call, name) for name in node.outputs if name)
        made = "".join(f"\n  {line}" for line in declared if line)
        title = f"{self._finished_before(index)}\n  {layer_title(graph, index, node)}{made}"
        if call.kernel.offloaded:
            return title + self._submitted(index, call, instance)
        if call.parts:
            shared = threads.parallel_call(index, call, self._arguments(call, instance))
            return f"{title}\n  {{{shared}{self._probes(index, call)}\n  }}"
        tables, params = initialiser(call.params)
        return f"""{title}
  {{{tables}
    static const {call.kernel.params_type} params = {{{params}}};
    {instance.function}({_joined(["&params", *self._arguments(call, instance)])});{self._probes(index, call)}
  }}"""

    def _probes(self, index: int, call: Call) -> str:
        types = self.schedule.graph.types
        return "".join(
            f"\n    LAYER_DONE({index}, {position}, {self._pointer(name)}, {types[name].bytes}ul);"
            for position, name in enumerate(call.node.outputs)
            if name
        )

    def _submitted(self, index: int, call: Call, instance: Instance) -> str:
        """A layer that an accelerator computes: its parameters live until it is waited for."""
        prefix = f"layer_{index}_"
        tables, params = initialiser(call.params, prefix)
        arguments = _joined([f"&{prefix}params", *self._arguments(call, instance)])
        return f"""{tables.replace(chr(10) + "    ", chr(10) + "  ")}
  static const {call.kernel.params_type} {prefix}params = {{{params}}};
  {instance.function}({arguments});"""

    def _finished_before(self, index: int) -> str:
        """What is waited for before a call: accelerators finish what they were given."""
        lines = ""
        for waited in self.schedule.waits[index] if self.schedule.waits else ():
            call = self.schedule.calls[waited]
            instance = instance_of(self.schedule.graph, call)
            arguments = _joined([f"&layer_{waited}_params", *self._arguments(call, instance)])
            lines += f"\n  {instance.finish}({arguments}); /* {waited} has ended */{self._probes(waited, call)}"
        return lines

    def _declaration(self, call: Call, tensor: str) -> str:
        """The pointer to a tensor that a layer makes; outputs are arguments already."""
        place, c_type = self.schedule.places[tensor], self._c_type(tensor)
        if tensor in self.schedule.graph.outputs:
            return ""
        shared = [name for name in call.node.inputs if name and self._same_bytes(name, tensor)]
        note = f" /* in place: overwrites {self._pointer(shared[0])} */" if shared else ""
        start = self._address(place.offset) if place.kind == ARENA else self.identifiers[place.owner]
        cast = "" if place.kind != ARENA and self._c_type(place.owner) == c_type else f"({c_type} *)"
        return f"{c_type} *const {self.identifiers[tensor]} = {cast}{_grouped(start, cast)};{note}"

    def _same_bytes(self, one: str, other: str) -> bool:
        places = self.schedule.places
        return places[one] == places[other] and self.schedule.graph.types[one].bytes > 0

    def _arguments(self, call: Call, instance: Instance) -> list[str]:
        node = call.node
        tensors = {**node.operands(), **node.results()}
        arguments = []
        for argument in call.kernel.arguments():
            if argument.variadic:
                names = [tensor for name, tensor in tensors.items() if name.startswith(argument.stem)]
                arguments.append(self._pointer_array(names, argument.is_result))
            else:
                tensor = tensors.get(argument.stem, "")
                arguments.append(self._pointer(tensor) if tensor else "NULL")
        if call.scratch is not None:
            arguments.append(self._address(call.scratch))
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
            return f"({self._c_type(tensor)} *)({self._address(self.schedule.places[source].offset)})"
        if self._c_type(source) == self._c_type(tensor):
            return self.identifiers[source]
        return f"(const {self._c_type(tensor)} *){self.identifiers[source]}"

    @cached_property
    def _pieces(self) -> set[str]:
        """Tensors that no call makes: they lie inside others, or others inside them."""
        made = {name for call in self.schedule.calls for name in call.node.outputs}
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
