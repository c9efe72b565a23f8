"""network.h, network.c and network_data.c: what a schedule does, as C99 that is meant to be read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tilewright.codegen.kernels import Instance, instance_of
from tilewright.codegen.literals import C_TYPES, array_items, number
from tilewright.codegen.names import comment, identifier, unique
from tilewright.ir import Graph
from tilewright.op import Param, Params
from tilewright.schedule import Call, Schedule

ALIGNMENT = 16


@dataclass(frozen=True)
class Writer:
    """Turns one schedule into C text; `name` is the prefix of every public symbol."""

    schedule: Schedule
    name: str

    @cached_property
    def constants(self) -> list[str]:
        """Tensors that go into network_data.c, in the order in which they are first used."""
        graph, places = self.schedule.graph, self.schedule.places
        used = [places[name].owner for call in self.schedule.calls for name in call.node.inputs if name]
        return [name for name in dict.fromkeys(used) if name in graph.constants]

    @cached_property
    def identifiers(self) -> dict[str, str]:
        """Tensor -> C name, all in one name space. Public arguments keep theirs best, so they come first."""
        graph = self.schedule.graph
        wanted = {name: name for name in graph.inputs}
        wanted |= dict(zip(graph.outputs, graph.output_names, strict=True))
        wanted |= {name: f"{self.name}_{name}" for name in self.constants if name not in wanted}
        wanted |= {name: name for name in graph.types if name not in wanted}
        return unique(wanted, taken=[f"{self.name}_run"])

    @cached_property
    def macro(self) -> str:
        return self.name.upper()

    # ---- network.h ----------------------------------------------------------------------------------------------

    def header(self) -> str:
        schedule = self.schedule
        sizes = "\n".join(
            f"#define {self.macro}_{self.identifiers[name].upper()}_ELEMENTS {schedule.graph.types[name].elements}"
            for name in dict.fromkeys([*schedule.graph.inputs, *schedule.graph.outputs])
        )
        inputs = "\n".join(f" *   {self._described(name)}" for name in schedule.graph.inputs)
        outputs = "\n".join(f" *   {self._described(name)}" for name in schedule.graph.outputs)
        return f"""\
/* {comment(schedule.graph.name)}: {len(schedule.calls)} layers, {schedule.flash_bytes} bytes of constants. */
#ifndef {self.macro}_NETWORK_H
#define {self.macro}_NETWORK_H

#include <stdint.h>

/* Working memory that the caller provides; nothing else is allocated. */
#define {self.macro}_ARENA_BYTES {max(schedule.arena_bytes, 1)}
#define {self.macro}_ARENA_ALIGNMENT {ALIGNMENT}

{sizes}

#ifdef __cplusplus
extern "C" {{
#endif

/* Runs the network once. Returns 0, or 1 if the arena is not aligned.
 * inputs
{inputs}
 * outputs
{outputs}
 * Inputs are only read; outputs must not overlap inputs or the arena.
 */
{self._prototype()};

#ifdef __cplusplus
}}
#endif

#endif
"""

    def _described(self, name: str) -> str:
        kind = self.schedule.graph.types[name]
        return f"{self.identifiers[name]}: {kind.dtype} [{' x '.join(map(str, kind.shape))}], '{comment(name)}'"

    def _prototype(self) -> str:
        graph = self.schedule.graph
        arguments = [f"const {self._c_type(name)} *{self.identifiers[name]}" for name in graph.inputs]
        arguments += [f"{self._c_type(name)} *{self.identifiers[name]}" for name in dict.fromkeys(graph.outputs)]
        arguments.append("void *arena_memory")
        line = f"int {self.name}_run({', '.join(arguments)})"
        if len(line) <= 110:
            return line
        return f"int {self.name}_run(\n    " + ",\n    ".join(arguments) + ")"

    def _c_type(self, name: str) -> str:
        return C_TYPES[self.schedule.graph.types[name].dtype]

    # ---- network_data.h, network_data.c -------------------------------------------------------------------------

    def data_header(self) -> str:
        lines = "\n".join(f"extern const {self._data_declaration(name)};" for name in self.constants)
        return f"""\
/* Constants of {comment(self.schedule.graph.name)}. */
#ifndef {self.macro}_NETWORK_DATA_H
#define {self.macro}_NETWORK_DATA_H

#include <stdint.h>

{lines}

#endif
"""

    def data(self) -> str:
        parts = [
            '#include "network_data.h"\n\n#include <math.h>\n\n'
            '/* Where the linker puts the weights, for example __attribute__((section(".weights"))). */\n'
            "#ifndef TILEWRIGHT_WEIGHTS\n#define TILEWRIGHT_WEIGHTS\n#endif\n"
        ]
        for name in self.constants:
            array = self.schedule.graph.constants[name]
            shape = " x ".join(map(str, array.shape)) or "scalar"
            items = array_items(array) or "0"
            declaration = self._data_declaration(name)
            parts.append(
                f"\n/* {comment(name)}: {array.dtype.name} [{shape}] */\n"
                f"TILEWRIGHT_WEIGHTS const {declaration} = {{\n    {items}}};\n"
            )
        return "".join(parts)

    def _data_declaration(self, name: str) -> str:
        return f"{self._c_type(name)} {self.identifiers[name]}[{max(self.schedule.graph.types[name].elements, 1)}]"

    # ---- network.c ----------------------------------------------------------------------------------------------

    def source(self) -> str:
        body = "\n".join(self._layer(number, call) for number, call in enumerate(self.schedule.calls))
        unused = "\n".join(f"  (void){self.identifiers[name]};" for name in self._unread_inputs())
        unused = f"\n{unused}\n" if unused else ""
        math = "#include <math.h>\n" if "NAN" in body or "INFINITY" in body else ""
        return f"""\
/* {comment(self.schedule.graph.name)}, layer by layer. Generated: change the model and compile again instead. */
#include "network.h"

#include <stddef.h>
{math}
#include "kernels/kernels.h"
#include "network_data.h"

/* Called after every layer when TILEWRIGHT_PROBE names a function; costs nothing otherwise. */
#ifdef TILEWRIGHT_PROBE
void TILEWRIGHT_PROBE(int layer, int result, const void *data, unsigned long bytes);
#define LAYER_DONE(layer, result, data, bytes) TILEWRIGHT_PROBE(layer, result, data, bytes)
#else
#define LAYER_DONE(layer, result, data, bytes) ((void)0)
#endif

{self._prototype()} {{
  unsigned char *const arena = arena_memory;
  if ((uintptr_t)arena % {self.macro}_ARENA_ALIGNMENT != 0) return 1;
{unused}{body}
  return 0;
}}
"""

    def _unread_inputs(self) -> list[str]:
        places = self.schedule.places
        read = {places[name].owner for call in self.schedule.calls for name in call.node.inputs if name}
        return [name for name in self.schedule.graph.inputs if name not in read]

    def _layer(self, index: int, call: Call) -> str:
        graph, node, instance = self.schedule.graph, call.node, instance_of(self.schedule.graph, call)
        results = [name for name in node.outputs if name]
        tables, params = _initialiser(call.params)
        made = "".join(f"\n  {line}" for name in results if (line := self._declaration(call, name)))
        flow = f"{_types(graph, node.inputs)} -> {_types(graph, results)}"
        probes = "".join(
            f"\n    LAYER_DONE({index}, {position}, {self._pointer(name)}, {graph.types[name].bytes}ul);"
            for position, name in enumerate(node.outputs)
            if name
        )
        return f"""
  /* {index}: {comment(node.name)} ({comment(node.op.kind)}) {flow} */{made}
  {{{tables}
    static const {call.kernel.params_type} params = {{{params}}};
    {instance.function}({_joined(["&params", *self._arguments(call, instance)])});{probes}
  }}"""

    def _declaration(self, call: Call, tensor: str) -> str:
        """The pointer to a tensor that a layer makes; outputs are arguments already."""
        place, c_type = self.schedule.places[tensor], self._c_type(tensor)
        if tensor in self.schedule.graph.outputs:
            return ""
        shared = [name for name in call.node.inputs if name and self._same_bytes(name, tensor)]
        note = f" /* in the place of {self._pointer(shared[0])} */" if shared else ""
        start = f"arena + {place.offset}" if place.memory == "arena" else self.identifiers[place.owner]
        cast = "" if place.memory != "arena" and self._c_type(place.owner) == c_type else f"({c_type} *)"
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
            arguments.append(f"arena + {call.scratch}")
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
        if self._c_type(source) == self._c_type(tensor):
            return self.identifiers[source]
        return f"(const {self._c_type(tensor)} *){self.identifiers[source]}"

    @cached_property
    def _viewed(self) -> dict[str, str]:
        """View -> the tensor behind it."""
        viewed: dict[str, str] = {}
        for node in self.schedule.graph.nodes:
            if node.op.view:
                viewed[node.outputs[0]] = viewed.get(node.inputs[0], node.inputs[0])
        return viewed


def _types(graph: Graph, names: Iterable[str]) -> str:
    return ", ".join(str(graph.types[name]) for name in names if name and name not in graph.constants)


def _grouped(start: str, cast: str) -> str:
    return f"({start})" if cast and "+" in start else start


def symbol_prefix(name: str) -> str:
    return identifier(name, "network")


def _joined(arguments: Sequence[str]) -> str:
    line = ", ".join(arguments)
    return line if len(line) <= 90 else ",\n        ".join(arguments)


def _initialiser(params: Params) -> tuple[str, str]:
    """Tables that parameters point to, and the fields of the parameter struct by name."""
    tables = "".join(
        f"\n    static const int32_t {name}[] = {{{', '.join(map(number, value)) or '0'}}};"
        for name, value in params.items()
        if isinstance(value, list)
    )
    fields = [f".{name} = {_value(name, value)}" for name, value in params.items()]
    text = ", ".join(fields)
    return tables, text if len(text) <= 80 else "\n        " + _wrapped(fields)


def _value(name: str, value: Param) -> str:
    if isinstance(value, list):
        return name
    if isinstance(value, tuple):
        return f"{{{', '.join(map(number, value)) or '0'}}}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f".{inner} = {_value(inner, part)}" for inner, part in value.items()) + "}"
    return number(value)


def _wrapped(fields: Sequence[str]) -> str:
    lines: list[str] = [""]
    for field in fields:
        if lines[-1] and len(lines[-1]) + len(field) > 96:
            lines.append("")
        lines[-1] += f"{field}, "
    return "\n        ".join(line.rstrip() for line in lines).rstrip(",")
