"""What all files of a network have in common: names, types, kernels and constants. `arena.py` and `cluster.py` write
network.h and network.c."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tilewright.codegen import threads
from tilewright.codegen.kernels import Instance, instances, prefixed
from tilewright.codegen.literals import C_TYPES
from tilewright.codegen.names import LATER_WORDS, NOTHING, Reserved, comment, identifier, unique
from tilewright.planner.arena.board_regions import MOST_ARENAS
from tilewright.planner.schedule.planned_flow import calling_layers
from tilewright.planner.schedule.schedule import Schedule

OTHER_ARENAS = frozenset(f"arena_{part}{more}" for part in range(1, MOST_ARENAS) for more in ("", "_memory"))
OWN_NAMES = frozenset({"arena", "arena_memory", "params", "pointers", "scratch"}) | OTHER_ARENAS
RESERVED = Reserved(OWN_NAMES, (r"layer_\d+(_pointers)?", r"flow_\d+.*"))
"""Names in network.c and network.h."""

SUBMITTED = Reserved(families=(r"layer_\d+_.*",))
"""Parameters of what accelerators are given, and tables of them, which stand beside all tensors."""

EXAMPLE = Reserved(frozenset({"arena", "i", "main", "memory", "printf"}))
"""Names in main.c (`example.py`), whose buffers are called like the tensors."""

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


ALONE = Shared()


@dataclass(frozen=True)
class Writer(ABC):
    """Turns one schedule into C text; `name` is the prefix of every public symbol."""

    schedule: Schedule
    name: str
    shared: Shared = ALONE

    @abstractmethod
    def header(self) -> str:
        """network.h."""

    @abstractmethod
    def source(self) -> str:
        """network.c."""

    @abstractmethod
    def placement(self, name: str) -> str:
        """The macro that says where a constant goes."""

    @abstractmethod
    def more_placements(self) -> str:
        """Definitions of such macros, besides that of all weights."""

    def section_of(self, name: str) -> tuple[str, int]:
        """Where a constant goes that is bytes rather than C, and its alignment: as compilers do it with C."""
        return "TILEWRIGHT_WEIGHTS_SECTION", self.schedule.graph.constants[name].dtype.itemsize

    @cached_property
    def kernels(self) -> list[Instance]:
        """Those of bodies too."""
        return instances(calling_layers(self.schedule))

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
        submits = any(layer.kernel.offloaded for layer in self.schedule.layers)
        return RESERVED | EXAMPLE | LATER_WORDS | (SUBMITTED if submits else NOTHING)

    @property
    def _tables(self) -> set[str]:
        """Arrays that parameters point to, where they stand beside the tensors that a layer reads."""
        return set()

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

    # ---- parts of network.h -------------------------------------------------------------------------------------

    def _sizes(self) -> str:
        graph = self.schedule.graph
        return "\n".join(
            f"#define {self.macro}_{self.identifiers[name].upper()}_ELEMENTS {graph.types[name].elements}"
            for name in dict.fromkeys([*graph.inputs, *graph.outputs])
        )

    def _described(self, name: str) -> str:
        kind = self.schedule.graph.types[name]
        shape = f"[{' x '.join(map(str, kind.shape))}]" if kind.shape else "scalar"
        return f"{self.identifiers[name]}: {kind.dtype} {shape}, '{comment(name)}'"

    def _prototype(self) -> str:
        arguments = self._run_arguments()
        line = f"int {self.name}_run({', '.join(arguments)})"
        if len(line) <= 110:
            return line
        return f"int {self.name}_run(\n    " + ",\n    ".join(arguments) + ")"

    def _run_arguments(self) -> list[str]:
        graph = self.schedule.graph
        inputs = [f"const {self.c_type_of(name)} *{self.identifiers[name]}" for name in graph.inputs]
        return inputs + [f"{self.c_type_of(name)} *{self.identifiers[name]}" for name in dict.fromkeys(graph.outputs)]


def math_header(body: str) -> str:
    """Only where it is needed: not every toolchain without an operating system has it."""
    return "#include <math.h>\n" if "NAN" in body or "INFINITY" in body else ""


def symbol_prefix(name: str) -> str:
    word = identifier(name, "network")
    return f"network_{word}" if PREFIXES.has(word) else word
