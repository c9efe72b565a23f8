"""What projects of all ecosystems are made of: the network's files, one call of it, and figures for their pages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from tilewright.codegen import folder, scales
from tilewright.codegen.network import Writer, symbol_prefix
from tilewright.codegen.program_call import placed_in
from tilewright.errors import InternalError
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.planner.schedule.schedule import Schedule
from tilewright.records import dataclass
from tilewright.target.target import ExternalKernels, Target

Content = str | bytes
TEMPLATES = Path(__file__).parent / "templates"
VERSION = "1.0.0"
"""Of what a project is given as."""
APP = "app"
"""How names of an application begin that is of one network."""
SHOWN = 10
"""Elements of the first output that applications print."""
THOUSANDTHS = 1000
"""Floats are printed as these: not every C library prints floats."""
NOT_OURS = ("runtime/", "CMakeLists.txt", "main.c")
"""Of a compiled folder: what an ecosystem has of its own."""


@dataclass(frozen=True)
class Project:
    schedule: Schedule
    reference: Graph
    """What the network means."""
    label: str = ""
    """The name that a user wants; the graph's without it."""

    @cached_property
    def writer(self) -> Writer:
        return Writer(self.schedule, symbol_prefix(self.label or self.schedule.graph.name))

    @property
    def name(self) -> str:
        """A word of C."""
        return self.writer.name

    @property
    def target(self) -> Target:
        return self.schedule.target

    @cached_property
    def compiled(self) -> Mapping[str, str]:
        """The files of the compiled folder."""
        return folder.files(self.schedule, self.label)

    def sources(self, place: str) -> dict[str, Content]:
        """The network alone, in a folder of a project."""
        own = (name for name in self.compiled if not name.startswith(NOT_OURS))
        return {f"{place}/{name}": self.compiled[name] for name in own}

    def c_files(self, place: str) -> list[str]:
        return [name for name in self.sources(place) if name.endswith(".c")]

    @property
    def used_external_kernels(self) -> list[ExternalKernels]:
        used = {instance.kernel.source for instance in self.writer.kernels}
        return [one for one in self.target.external_kernels if used & one.files.keys()]

    def includes(self, place: str) -> list[str]:
        """Folders of headers that sources need besides their own."""
        return [f"{place}/kernels/{one.name}/{name}" for one in self.used_external_kernels for name in one.includes]

    @property
    def flags(self) -> list[str]:
        """Of the compiler: what the target defines, and what kernels from outside the package want."""
        return [*self.target.definitions, *(flag for one in self.used_external_kernels for flag in one.flags)]

    # ---- one call ---------------------------------------------------------------------------------------------------

    def call_header(self, placed: bool = False, app: str = APP) -> str:
        """network_call.h, whose names begin with `app`; `placed`: with the arena where the target's linker script has
        it."""
        graph, writer = self.schedule.graph, self.writer
        outputs = list(dict.fromkeys(graph.outputs))
        names = [f"{app}_input_{i}" for i in range(len(graph.inputs))]
        names += [f"{app}_output_{i}" for i in range(len(outputs))]
        tensors = [*graph.inputs, *outputs]
        buffers = [self._buffer(name, tensor, app.upper()) for name, tensor in zip(names, tensors, strict=True)]
        section = placed_in(self.target.memories[0]) if placed else f"{app.upper()}_ALIGNED"
        reset = f"{writer.name}_reset({app}_arena)" if graph.states else "0"
        return rendered(
            "network_call.h", app=app, prefix=app.upper(), network=self.name, macro=writer.macro,
            buffers="\n".join(buffers), section=section,
            arguments=", ".join([*names, f"{app}_arena"]), reset=reset, clock=f"{self.clock_mhz:g}",
            shown=str(len(self.expected)), scale=str(self._scale),
            expected=", ".join(f"{value}L" for value in self.expected) or "0", element=self._element(app),
            scales=self._scales(outputs, app),
        )  # fmt: skip

    def _scales(self, outputs: Sequence[str], app: str) -> str:
        """Names of the application for the functions between real numbers and integers."""
        writer, found = self.writer, scales.scaled(self.writer)
        inputs = list(enumerate(self.schedule.graph.inputs))
        lines = [
            f"#define {app}_quantise_{i} {scales.quantise_name(writer, name)}" for i, name in inputs if name in found
        ]
        made = [(i, name) for i, name in enumerate(outputs) if name in found]
        lines += [f"#define {app}_dequantise_{i} {scales.dequantise_name(writer, name)}" for i, name in made]
        said = "/* From a real number to an element of an input, and from an element of an output to a real number. */"
        return "\n".join([said, *lines, ""]) if lines else ""

    def _buffer(self, name: str, tensor: str, prefix: str) -> str:
        kind = self.schedule.graph.types[tensor]
        what = f"{self.writer.identifiers[tensor]}, {kind}"
        return f"static {self.writer.c_type_of(tensor)} {name}[{max(kind.elements, 1)}] {prefix}_ALIGNED; /* {what} */"

    @property
    def clock_mhz(self) -> float:
        return self.target.runner.clock_mhz or 0.0

    @property
    def _scale(self) -> int:
        return THOUSANDTHS if self._is_float else 1

    @property
    def _is_float(self) -> bool:
        return self.reference.types[self.reference.outputs[0]].dtype.startswith("float")

    def _element(self, app: str) -> str:
        """An element of the first output as a whole number."""
        if not self._is_float:
            return f"(long){app}_output_0[i]"
        return f"(long)({app}_output_0[i] * 1000.0f + ({app}_output_0[i] < 0.0f ? -0.5f : 0.5f))"

    @cached_property
    def expected(self) -> tuple[int, ...]:
        """The first elements of the first output where inputs are zero, as applications print them."""
        kinds = {name: self.reference.types[name] for name in self.reference.inputs}
        zeros: dict[str, Array] = {name: np.zeros(kind.shape, kind.element) for name, kind in kinds.items()}
        first = evaluate(self.reference, zeros)[self.reference.outputs[0]].reshape(-1)[:SHOWN]
        wide = first.astype(np.float64) * self._scale
        return tuple(int(value) for value in np.trunc(wide + np.copysign(0.5, wide) * self._is_float))

    # ---- words ------------------------------------------------------------------------------------------------------

    @property
    def summary(self) -> str:
        graph = self.schedule.graph
        macs = sum(graph.macs(node) for node in graph.nodes)
        return f"{len(self.schedule.layers)} layers, {macs:,} multiplications, compiled for {self.target.name}"

    def readme(self, template: str, **values: str) -> str:
        """README.md, which begins with what it is."""
        schedule = self.schedule
        return rendered(
            template, name=self.name, summary=self.summary, arena=f"{schedule.arena_bytes:,}",
            constants=f"{schedule.constant_bytes:,}", result=" ".join(map(str, self.expected)), **values,
        )  # fmt: skip


def rendered(template: str, **values: str) -> str:
    """A template with every @word@ replaced."""
    text = (TEMPLATES / template).read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    if left := re.search(r"@[a-z_]+@", text):
        raise InternalError(f"template {template}", f"nothing stands for {left[0]}")
    return text


def listed(names: Sequence[str], indent: str = "  ") -> str:
    return "\n".join(f"{indent}{name}" for name in names)
