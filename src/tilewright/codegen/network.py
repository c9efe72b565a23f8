"""network.h and network.c: what a schedule does, as C99 that is meant to be read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tilewright.codegen import threads
from tilewright.codegen.initialiser import initialiser
from tilewright.codegen.kernels import Instance, instance_of, instances, prefixed
from tilewright.codegen.literals import C_TYPES
from tilewright.codegen.names import LATER_WORDS, NOTHING, Reserved, comment, identifier, unique
from tilewright.codegen.states import listed, reset_body
from tilewright.ir.graph import Graph, State
from tilewright.planner.arena.board_regions import MOST_ARENAS
from tilewright.planner.home import ARENA
from tilewright.planner.schedule.schedule import Call, Schedule

OTHER_ARENAS = frozenset(f"arena_{part}{more}" for part in range(1, MOST_ARENAS) for more in ("", "_memory"))
OWN_NAMES = frozenset({"arena", "arena_memory", "params", "pointers", "scratch"}) | OTHER_ARENAS
RESERVED = Reserved(OWN_NAMES, (r"layer_\d+(_pointers)?",))
"""Names in network.c and network.h."""

SUBMITTED = Reserved(families=(r"layer_\d+_.*",))
"""Parameters of what accelerators are given, and tables of them, which stand beside all tensors."""

EXAMPLE = Reserved(frozenset({"arena", "i", "main", "memory", "printf"}))
"""Names in main.c (`example.py`), whose buffers are called like the tensors."""

PREFIXES = Reserved(frozenset({"tw", "io", "program", "harness"}), (r"layer_\d+",))
"""What a network cannot be called: with `_run` or a kernel behind it, that would be a name of ours."""


COPIED = ".data.weights"
"""The section of constants that a board's start-up code copies to RAM."""


@dataclass(frozen=True)
class Shared:
    """What a network has in common with others of the same program."""

    kernels: str = ""
    """The prefix of kernels, if not the network's own name."""
    constants: Mapping[str, str] = field(default_factory=dict)
    """Constants -> the arrays of another network that hold the same."""
    arena: str = ""
    """The array of activations and states, on a cluster: somebody else defines it."""


ALONE = Shared()


@dataclass(frozen=True)
class Writer:
    """Turns one schedule into C text; `name` is the prefix of every public symbol."""

    schedule: Schedule
    name: str
    shared: Shared = ALONE

    @cached_property
    def kernels(self) -> list[Instance]:
        return instances(self.schedule.graph, self.schedule.calls)

    @cached_property
    def used_constants(self) -> list[str]:
        """Those that layers read, in the order in which they are first used."""
        graph, places = self.schedule.graph, self.schedule.places
        used = [places[name].owner for call in self.schedule.calls for name in call.node.inputs if name]
        return [name for name in dict.fromkeys(used) if name in graph.constants]

    @cached_property
    def constants(self) -> list[str]:
        """Of these, the ones that go into network_data.c."""
        return [name for name in self.used_constants if name not in self.shared.constants]

    @property
    def kernel_prefix(self) -> str:
        return self.shared.kernels or self.name

    @property
    def kernel_functions(self) -> list[str]:
        """As the linker knows them."""
        used = (function for kernel in self.kernels for function in kernel.functions.values())
        return [prefixed(function, self.kernel_prefix) for function in (*used, *threads.functions(self.schedule))]

    @cached_property
    def identifiers(self) -> dict[str, str]:
        """Tensor -> C name, all in one name space. Public arguments keep theirs best, so they come first."""
        graph = self.schedule.graph
        wanted = {name: name for name in graph.inputs}
        wanted |= dict(zip(graph.outputs, graph.output_names, strict=True))
        wanted |= {name: f"{self.name}_{name}" for name in self.constants if name not in wanted}
        wanted |= {name: name for name in graph.types if name not in wanted}
        public = [f"{self.name}_{what}" for what in ("run", "reset", "start_threads", "stop_threads")]
        taken = [*public, *self.kernel_functions, *self._tables, *self.shared.constants.values()]
        return unique(wanted, taken, self.reserved) | dict(self.shared.constants)

    @property
    def reserved(self) -> Reserved:
        """Names that tensors cannot have, as the files of a network have them for themselves."""
        submits = any(call.kernel.offloaded for call in self.schedule.calls)
        return RESERVED | EXAMPLE | LATER_WORDS | (SUBMITTED if submits else NOTHING)

    @property
    def _tables(self) -> set[str]:
        """Arrays that parameters point to stand beside the tensors that a layer reads."""
        params = (call.params.items() for call in self.schedule.calls)
        return {name for items in params for name, value in items if isinstance(value, list)}

    @cached_property
    def macro(self) -> str:
        return self.name.upper()

    # ---- network.h ----------------------------------------------------------------------------------------------

    def header(self) -> str:
        schedule = self.schedule
        inputs = "\n".join(f" *   {self._described(name)}" for name in schedule.graph.inputs)
        outputs = "\n".join(f" *   {self._described(name)}" for name in schedule.graph.outputs)
        return f"""\
/* {comment(schedule.graph.name)}: {len(schedule.calls)} layers, {schedule.flash_bytes} bytes of constants.
 * Generated by Tilewright: change the model and compile again instead. */
#ifndef {self.macro}_NETWORK_H
#define {self.macro}_NETWORK_H

#include <stdint.h>

/* Size of the arena, the working memory, in bytes; nothing else is allocated. */
{self._arena_sizes()}
#define {self.macro}_ARENA_ALIGNMENT {schedule.target.memories[0].alignment}
{self._state_size()}
{self._sizes()}
{self._input_offsets()}
#ifdef __cplusplus
extern "C" {{
#endif

/* Runs the network once. Returns 0, or 1 if the arena is not aligned.
 *
 * Inputs, only read; the last axis varies fastest:
{inputs}
 * Outputs, written whole; they must not overlap the inputs, each other or the arena:
{outputs}
 * The arena is the caller's: {self._arena_owner()}, aligned to {self.macro}_ARENA_ALIGNMENT. {self._kept()}
 */
{self._prototype()};
{self._reset_declaration()}{threads.declarations(self.name, self.schedule.target.threads)}
#ifdef __cplusplus
}}
#endif

#endif
"""

    def _state_size(self) -> str:
        if not self.schedule.graph.states:
            return ""
        return f"""\
/* Bytes at the start of the arena that the network keeps between calls. */
#define {self.macro}_STATE_BYTES {self.schedule.state_bytes}
"""

    def _kept(self) -> str:
        """What becomes of the arena between calls."""
        if not self.schedule.graph.states:
            return """It needs no
 * initialisation, and nothing in it is of use after the call.
 *
 * Nothing is kept between calls, so that calls with different outputs and arenas may run at the same time."""
        return f"""Its first
 * {self.macro}_STATE_BYTES hold the state: {self.name}_reset() sets it before the first call, every call changes it,
 * and between calls nobody else may. The rest of the arena needs no initialisation, and nothing in it is of use after
 * the call. Calls with different outputs and arenas, each with a state of its own, may run at the same time."""

    def _reset_declaration(self) -> str:
        if not self.schedule.graph.states:
            return ""
        return f"""
/* Sets the state to its first value. Call it once before the first run, and again to begin anew. Returns 0, or 1 if the
 * arena is not aligned. The state:
{listed(self.schedule.graph)}
 */
int {self.name}_reset(void *arena_memory);
"""

    def _sizes(self) -> str:
        graph = self.schedule.graph
        return "\n".join(
            f"#define {self.macro}_{self.identifiers[name].upper()}_ELEMENTS {graph.types[name].elements}"
            for name in dict.fromkeys([*graph.inputs, *graph.outputs])
        )

    def _input_offsets(self) -> str:
        """Where inputs may lie in the arena."""
        if not self.schedule.inputs:
            return ""
        lines = [
            f"#define {self.macro}_{self.identifiers[name].upper()}_ARENA_OFFSET {offset}\n"
            for name, offset in self.schedule.inputs.items()
        ]
        said = "An input may lie in the arena, at this offset: nothing is written there before it has been read."
        return "".join(["\n/* ", said, " */\n", *lines])

    def _described(self, name: str) -> str:
        kind = self.schedule.graph.types[name]
        shape = f"[{' x '.join(map(str, kind.shape))}]" if kind.shape else "scalar"
        return f"{self.identifiers[name]}: {kind.dtype} {shape}, '{comment(name)}'"

    def _run_arguments(self) -> list[str]:
        graph = self.schedule.graph
        arguments = [f"const {self.c_type_of(name)} *{self.identifiers[name]}" for name in graph.inputs]
        arguments += [f"{self.c_type_of(name)} *{self.identifiers[name]}" for name in dict.fromkeys(graph.outputs)]
        return [*arguments, *(f"void *{arena}_memory" for arena in self.arenas)]

    @cached_property
    def arenas(self) -> dict[str, int]:
        """What the parts of the arena are called, and the bytes of each."""
        parts = [part.bytes for part in self.schedule.parts] or [self.schedule.arena_bytes]
        return {f"arena_{number}" if number else "arena": max(size, 1) for number, size in enumerate(parts)}

    def _arena_sizes(self) -> str:
        """A macro for each part; parts of a board's arena lie in memories that do not adjoin."""
        lines = [f"#define {self.macro}_{arena.upper()}_BYTES {size}" for arena, size in self.arenas.items()]
        return "\n".join(lines)

    def _arena_owner(self) -> str:
        named = [f"{self.macro}_{arena.upper()}_BYTES" for arena in self.arenas]
        where = [f" in {part.memory}" for part in self.schedule.parts] if len(named) > 1 else [""]
        return ",\n * ".join(f"{name}{place}" for name, place in zip(named, where, strict=True))

    def _in_arena(self, offset: int) -> str:
        """The address of a byte of the arena."""
        for name, part in zip(self.arenas, self.schedule.parts, strict=False):
            if offset < part.end or part is self.schedule.parts[-1]:
                return f"{name} + {offset - part.start}"
        return f"arena + {offset}"

    def _check_arenas(self) -> str:
        """The arguments as bytes, once they are known to be aligned."""
        lines = [
            f"  unsigned char *const {arena} = {arena}_memory;\n"
            f"  if ((uintptr_t){arena} % {self.macro}_ARENA_ALIGNMENT != 0) return 1;"
            for arena in self.arenas
        ]
        return "\n".join(lines)

    def _prototype(self) -> str:
        arguments = self._run_arguments()
        line = f"int {self.name}_run({', '.join(arguments)})"
        if len(line) <= 110:
            return line
        return f"int {self.name}_run(\n    " + ",\n    ".join(arguments) + ")"

    def c_type_of(self, name: str) -> str:
        return C_TYPES[self.schedule.graph.types[name].dtype]

    # ---- constants, which c_data.py and binary_data.py write ----------------------------------------------------

    def placement(self, name: str) -> str:
        """The macro that says where a constant goes; vectors of constants are read in whole lines of a cache."""
        macro = "TILEWRIGHT_COPIED_WEIGHTS" if name in self.schedule.copied else "TILEWRIGHT_WEIGHTS"
        return f"{macro} __attribute__((aligned({self._line})))" if self._line else macro

    @property
    def _line(self) -> int:
        """Bytes of a line where there is a cache: those that the arena begins at a multiple of."""
        target = self.schedule.target
        return target.memories[0].alignment if target.caches else 0

    def more_placements(self) -> str:
        if not self.schedule.copied:
            return ""
        return f"""
/* Those that are read most: start-up code copies this section from flash to RAM, as it does variables. */
#ifndef TILEWRIGHT_COPIED_WEIGHTS
#define TILEWRIGHT_COPIED_WEIGHTS __attribute__((section("{COPIED}")))
#endif
"""

    def has_special_values(self) -> bool:
        """Whether some constant holds what only <math.h> has a name for."""
        arrays = (self.schedule.graph.constants[name] for name in self.constants)
        return any(array.dtype.kind == "f" and not np.isfinite(array).all() for array in arrays)

    def section_of(self, name: str) -> tuple[str, int]:
        """Where a constant goes that is bytes rather than C, and its alignment: as compilers do it with C."""
        section = COPIED if name in self.schedule.copied else "TILEWRIGHT_WEIGHTS_SECTION"
        return section, self._line or self.schedule.graph.constants[name].dtype.itemsize

    def data_declaration(self, name: str) -> str:
        return f"{self.c_type_of(name)} {self.identifiers[name]}[{max(self.schedule.graph.types[name].elements, 1)}]"

    # ---- network.c ----------------------------------------------------------------------------------------------

    def source(self) -> str:
        body = "\n".join(self._layer(number, call) for number, call in enumerate(self.schedule.calls))
        body += self._finished_before(len(self.schedule.calls))
        unused = "\n".join(f"  (void){self.identifiers[name]};" for name in self._unread_inputs())
        unused = f"\n{unused}\n" if unused else ""
        reset, shared = self._reset(), self._shared_layers()
        pool = '#include "kernels/threads.h"\n' if self.schedule.target.threads > 1 else ""
        return f"""\
/* {comment(self.schedule.graph.name)}, layer by layer. Generated by Tilewright. */
#include "network.h"

#include <stddef.h>
{math_header(body + reset + shared)}
#include "kernels/kernels.h"
{pool}#include "network_data.h"

/* Called after every layer when TILEWRIGHT_PROBE names a function; costs nothing otherwise. */
#ifdef TILEWRIGHT_PROBE
void TILEWRIGHT_PROBE(int layer, int result, const void *data, unsigned long bytes);
#define LAYER_DONE(layer, result, data, bytes) TILEWRIGHT_PROBE(layer, result, data, bytes)
#else
#define LAYER_DONE(layer, result, data, bytes) ((void)0)
#endif
{shared}
{self._prototype()} {{
{self._check_arenas()}
{unused}{self._state_pointers()}{body}
  return 0;
}}
{reset}{threads.definitions(self.name, self.schedule.target.threads)}"""

    def _shared_layers(self) -> str:
        """The functions of layers that several threads compute."""
        graph, calls = self.schedule.graph, enumerate(self.schedule.calls)
        return "".join(threads.function(index, call, instance_of(graph, call)) for index, call in calls if call.parts)

    def _state_pointers(self) -> str:
        """The values that states have when a call begins."""
        read = {self._viewed.get(name, name) for call in self.schedule.calls for name in call.node.inputs if name}
        lines = [self._state_pointer(state) for state in self.schedule.graph.states if state.before in read]
        return "".join(f"\n  {line}" for line in lines) + ("\n" if lines else "")

    def _state_pointer(self, state: State) -> str:
        c_type, place = self.c_type_of(state.before), self.schedule.places[state.before]
        pointer = f"{c_type} *const {self.identifiers[state.before]} = ({c_type} *)(arena + {place.offset});"
        return f"{pointer} /* state {comment(state.name)} */"

    def _reset(self) -> str:
        graph, places = self.schedule.graph, self.schedule.places
        if not graph.states:
            return ""
        body = reset_body(graph, lambda name: f"arena + {places[name].offset}")
        return f"""
int {self.name}_reset(void *arena_memory) {{
  unsigned char *const arena = arena_memory;
  if ((uintptr_t)arena % {self.macro}_ARENA_ALIGNMENT != 0) return 1;
{body}
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
        made = "".join(f"\n  {line}" for name in results if (line := self._declaration(call, name)))
        flow = f"{types_text(graph, node.inputs)} -> {types_text(graph, results)}"
        what = f"/* {index}: {comment(node.name)} ({comment(node.op.kind)}) {flow} */"
        title = f"{self._finished_before(index)}\n  {what}{made}"
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
        place, c_type = self.schedule.places[tensor], self.c_type_of(tensor)
        if tensor in self.schedule.graph.outputs:
            return ""
        shared = [name for name in call.node.inputs if name and self._same_bytes(name, tensor)]
        note = f" /* in place: overwrites {self._pointer(shared[0])} */" if shared else ""
        start = self._in_arena(place.offset) if place.kind == ARENA else self.identifiers[place.owner]
        cast = "" if place.kind != ARENA and self.c_type_of(place.owner) == c_type else f"({c_type} *)"
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
            arguments.append(self._in_arena(call.scratch))
        elif instance.takes_scratch:
            arguments.append("NULL")
        return arguments

    def _pointer_array(self, names: Sequence[str], is_result: bool) -> str:
        c_type = self.c_type_of(names[0])
        qualifier = "" if is_result else "const "
        return f"({qualifier}{c_type} *const[]){{{', '.join(map(self._pointer, names))}}}"

    def _pointer(self, tensor: str) -> str:
        """A C expression for a tensor's first element: a view is called like what it is a view of."""
        source = self._viewed.get(tensor, tensor)
        if source in self._pieces:
            return f"({self.c_type_of(tensor)} *)({self._in_arena(self.schedule.places[source].offset)})"
        if self.c_type_of(source) == self.c_type_of(tensor):
            return self.identifiers[source]
        return f"(const {self.c_type_of(tensor)} *){self.identifiers[source]}"

    @cached_property
    def _pieces(self) -> set[str]:
        """Tensors that no call makes: they lie inside others, or others inside them."""
        made = {name for call in self.schedule.calls for name in call.node.outputs}
        nodes = [node for node in self.schedule.graph.nodes if not node.op.view]
        return {name for node in nodes for name in node.outputs} - made if self.schedule.tiles is None else set()

    @cached_property
    def _viewed(self) -> dict[str, str]:
        """View -> the tensor behind it."""
        viewed: dict[str, str] = {}
        for node in self.schedule.graph.nodes:
            if node.op.view:
                viewed[node.outputs[0]] = viewed.get(node.inputs[0], node.inputs[0])
        return viewed


def types_text(graph: Graph, names: Iterable[str]) -> str:
    return ", ".join(str(graph.types[name]) for name in names if name and name not in graph.constants)


def math_header(body: str) -> str:
    """Only where it is needed: not every toolchain without an operating system has it."""
    return "#include <math.h>\n" if "NAN" in body or "INFINITY" in body else ""


def _grouped(start: str, cast: str) -> str:
    return f"({start})" if cast and "+" in start else start


def symbol_prefix(name: str) -> str:
    word = identifier(name, "network")
    return f"network_{word}" if PREFIXES.has(word) else word


def _joined(arguments: Sequence[str]) -> str:
    line = ", ".join(arguments)
    return line if len(line) <= 90 else ",\n        ".join(arguments)
