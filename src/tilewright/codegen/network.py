"""What all files of a network have in common: names, types, kernels, constants and memories. `text_of.py` says which
form network.h and network.c have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from functools import cached_property

import numpy as np

from tilewright.codegen import gpu_files, threads
from tilewright.codegen.arena_parts import arenas_of
from tilewright.codegen.kernels import Instance, instance_of, instances, prefixed
from tilewright.codegen.literals import C_TYPES
from tilewright.codegen.names import LATER_WORDS, NOTHING, Reserved, for_identifiers, identifier, unique
from tilewright.ir.at_sizes import symbols_of
from tilewright.ir.length import Symbol
from tilewright.planner.arena.board_regions import MOST_ARENAS
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.planned_flow import calling_layers
from tilewright.planner.schedule.schedule import Schedule
from tilewright.records import dataclass
from tilewright.target.memory import Memory, Paths

OTHER_ARENAS = frozenset(f"arena_{part}{more}" for part in range(1, MOST_ARENAS) for more in ("", "_memory"))
OWN_NAMES = (
    frozenset({"arena", "arena_memory", "params", "pointers", "scratch", "weights", "weights_memory"}) | OTHER_ARENAS
)
RESERVED = Reserved(OWN_NAMES, (r"layer_\d+(_pointers)?", r"flow_\d+.*"))
"""Names in network.c and network.h."""

SUBMITTED = Reserved(families=(r"layer_\d+_.*",))
"""Parameters of what accelerators are given, and tables of them, which stand beside all tensors."""

EXAMPLE = Reserved(frozenset({"arena", "i", "main", "memory", "printf"}))
"""Names in main.c (`example.py`), whose buffers are called like the tensors."""

LOCALS = (
    "tile turn part inside core tiles period layer load renew gather run finish store next loading storing last "
    "renewing job"
)
"""Names inside of the functions of agents."""
RUNTIME = Reserved(
    frozenset({"all_layers", "dma_core", "workers", *LOCALS.split()}),
    (r"layer_\d+(_.*)?", r"after_layer_\d+", r"behind_layers_.*", r"(dma_core|worker)_loop_\d+", r"io_.*", r"i\d+"),
)
"""Names in network.c where a runtime has agents, besides the arrays of memories."""

PREFIXES = Reserved(frozenset({"tw", "io", "program", "harness"}), (r"layer_\d+",))
"""What a network cannot be called: with `_run` or a kernel behind it, that would be a name of ours."""


@dataclass(frozen=True)
class Shared:
    """What a network has in common with others of the same program."""

    kernels: str = ""
    """The prefix of kernels, if not the network's own name."""
    constants: Mapping[str, str] = field(default_factory=dict)
    """Constants -> the arrays of another network that hold the same."""
    arena: str = ""
    """The array of activations and states, on a cluster: somebody else defines it."""
    weights: Mapping[str, int] | None = None
    """Arrays of constants -> bytes from the start of a block that the caller has, where they are no part of the
    program."""
    resets: bool = True
    """Whether it has a function that gives states their first values; another network with the same states may."""
    gpu_memory: str = ""
    """What others define that has the constants and arenas of all of them in the memory of a GPU."""


ALONE = Shared()
WEIGHTS_ALIGNMENT = 64
"""Of a block of weights and of each constant in it: a line of a cache."""


@dataclass(frozen=True)
class Writer:
    """One schedule as C text; `name` is the prefix of every public symbol."""

    schedule: Schedule
    name: str
    shared: Shared = ALONE

    @property
    def has_runtime(self) -> bool:
        """Whether one wakes the cores and has the memories; else whoever calls a network gives them."""
        return self.schedule.target.agents.has_runtime

    # ---- memories ---------------------------------------------------------------------------------------------------

    @property
    def memories(self) -> Paths:
        return self.schedule.target.paths

    def arena_bytes(self, memory: Memory) -> int:
        return self.schedule.arenas.get(memory.name, 0)

    @property
    def given_arenas(self) -> dict[str, int]:
        """Parts of the arena that are arguments, and their bytes."""
        return {} if self.has_runtime else arenas_of(self.schedule)

    def stored(self, memory: Memory) -> list[str]:
        """Constants that live in a memory."""
        return [name for name in self.used_constants if self.schedule.homes[name].memory == memory.name]

    @property
    def opened(self) -> list[Memory]:
        """Memories behind the home that something of the network lies in."""
        return [memory for memory in self.memories.behind if self.stored(memory) or self.arena_bytes(memory)]

    # ---- kernels and names ------------------------------------------------------------------------------------------

    @cached_property
    def kernels(self) -> list[Instance]:
        """Those of bodies too; copies by links have none."""
        return instances((schedule, layer) for schedule, layer in self._calling)

    @cached_property
    def kernel_calls(self) -> dict[str, int]:
        """How many layers call the kernel of each file."""
        return Counter(instance_of(schedule.graph, layer).file for schedule, layer in self._calling)

    @property
    def _calling(self) -> list[tuple[Schedule, LayerSchedule]]:
        return [one for one in calling_layers(self.schedule) if not one[1].is_copied]

    @cached_property
    def used_constants(self) -> list[str]:
        """Those that layers read, in the order in which they are first used."""
        graph, homes = self.schedule.graph, self.schedule.homes
        used = [homes[name].owner for layer in self.schedule.layers for name in layer.node.inputs if name]
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
        return [prefixed(function, self.kernel_prefix) for function in (*used, *runtime_functions(self.schedule))]

    @cached_property
    def identifiers(self) -> dict[str, str]:
        """Tensor -> C name, all in one name space. Public arguments keep theirs best, so they come first."""
        graph = self.schedule.graph
        shown = for_identifiers(graph.types)
        wanted = {name: name for name in graph.inputs}
        wanted |= dict(zip(graph.outputs, graph.output_names, strict=True))
        wanted |= {name: f"{self.name}_{shown[name]}" for name in self.constants if name not in wanted}
        wanted |= {name: shown[name] for name in graph.types if name not in wanted}
        public = [f"{self.name}_{what}" for what in ("run", "reset", "start_threads", "stop_threads")]
        taken = [*public, *self.kernel_functions, *self._tables, *self.shared.constants.values()]
        return unique(wanted, taken, self.reserved) | dict(self.shared.constants)

    @cached_property
    def sizes(self) -> tuple[Symbol, ...]:
        """Dimensions whose sizes are arguments."""
        return symbols_of(self.schedule.graph)

    @cached_property
    def size_names(self) -> dict[str, str]:
        """What these are called in C."""
        return unique({size.name: size.name for size in self.sizes}, self.identifiers.values(), self.reserved)

    @property
    def reserved(self) -> Reserved:
        """Names that tensors cannot have, as the files of a network have them for themselves."""
        submits = any(layer.kernel.offloaded for layer in self.schedule.layers)
        arrays = Reserved(frozenset(memory.symbol for memory in self.memories.memories))
        own = RUNTIME | arrays if self.has_runtime else NOTHING
        helpers = Reserved(families=(rf"{self.name}_(de)?quantise_.*", f"{self.name}_quantisation"))
        return RESERVED | EXAMPLE | LATER_WORDS | (SUBMITTED if submits else NOTHING) | own | helpers

    @property
    def _tables(self) -> set[str]:
        """Arrays that parameters point to, where they stand beside the tensors that a layer reads."""
        params = (layer.params_of(0) for layer in self.schedule.layers if not self.has_runtime)
        return {name for one in params for name, value in one.items() if isinstance(value, list)}

    @cached_property
    def macro(self) -> str:
        return self.name.upper()

    def c_type_of(self, name: str) -> str:
        return C_TYPES[self.schedule.graph.types[name].dtype]

    def data_declaration(self, name: str) -> str:
        return f"{self.c_type_of(name)} {self.identifiers[name]}[{max(self.schedule.graph.types[name].elements, 1)}]"

    def has_special_values(self) -> bool:
        """Whether some constant holds what only <math.h> has a name for."""
        arrays = (self.schedule.graph.constants[name] for name in self.constants)
        return any(array.dtype.kind == "f" and not np.isfinite(array).all() for array in arrays)


def runtime_functions(schedule: Schedule) -> list[str]:
    """Of what is around kernels, which every network has its own of."""
    return [*threads.functions(schedule), *gpu_files.functions(schedule)]


def math_header(body: str) -> str:
    """Only where it is needed: not every toolchain without an operating system has it."""
    return "#include <math.h>\n" if "NAN" in body or "INFINITY" in body else ""


def symbol_prefix(name: str) -> str:
    word = identifier(name, "network")
    return f"network_{word}" if PREFIXES.has(word) else word
