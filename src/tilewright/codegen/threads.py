"""Layers that several threads compute, as C: a function for each, which computes one of its parts."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.codegen.initialiser import initialiser
from tilewright.codegen.kernels import Instance
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.schedule import Schedule

FILES = ("threads.c", "threads.h")
"""Of the runtime: the pool."""
FUNCTIONS = ("tw_parallel", "tw_start_pool", "tw_stop_pool")
"""Of the pool, which every network has its own of."""


def functions(schedule: Schedule) -> Sequence[str]:
    return FUNCTIONS if schedule.target.agents.threads > 1 else ()


def files(schedule: Schedule) -> dict[str, str]:
    """The pool, beside the kernels; nothing where one thread computes all."""
    if schedule.target.agents.threads < 2:
        return {}
    return {f"kernels/{name}": schedule.target.runtime_file(name).read_text(encoding="utf-8") for name in FILES}


def declarations(name: str, threads: int) -> str:
    """For network.h."""
    if threads < 2:
        return ""
    return f"""
/* Makes a pool of {threads} threads, of which the caller is one, for all calls of {name}_run(): without it, or while it
 * works for another call, that computes all itself. Pinned, the other threads stay on a processor each, none of them
 * on the first one. Returns 0, or 1 if the system refuses a thread. Nothing is allocated after it. */
int {name}_start_threads(int pinned);
/* Ends the pool; no call may be running. */
void {name}_stop_threads(void);
"""


def definitions(name: str, threads: int) -> str:
    """For network.c."""
    if threads < 2:
        return ""
    return f"""
int {name}_start_threads(int pinned) {{ return tw_start_pool({threads}, pinned); }}

void {name}_stop_threads(void) {{ tw_stop_pool(); }}
"""


def function(layer: LayerSchedule, instance: Instance, name: str) -> str:
    """What computes one part of a layer."""
    fields = "".join(f"\n  {kind} *{name};" for name, kind in _pointers(layer, instance))
    bodies = "".join(_part(number, layer, instance) for number in range(layer.tiles))
    return f"""
typedef struct {{{fields}
}} {name}_pointers;

static void {name}(const void *pointers, int part, int thread) {{
  const {name}_pointers *const at = pointers;
  (void)thread;
  switch (part) {{{bodies}
  }}
}}
"""


def is_cooperative(schedule: Schedule, layer: LayerSchedule) -> bool:
    """Whether all threads call its kernel, which deals its work out itself."""
    return layer.kernel.cooperative and schedule.target.agents.threads > 1


def cooperative_function(layer: LayerSchedule, instance: Instance, name: str, parts: int) -> str:
    """What computes the share of a thread: the parameters say which it is."""
    fields = "".join(f"\n  {kind} *{name};" for name, kind in _pointers(layer, instance))
    arguments = [f"at->{argument.stem.lower()}" for argument in layer.kernel.arguments()]
    if instance.takes_scratch:
        own = layer.scratch.bytes // parts if layer.scratch is not None else 0
        arguments.append(f"at->scratch + {own} * part" if own else "at->scratch")
    return f"""
typedef struct {{
  const {layer.kernel.params_type} *params;{fields}
}} {name}_pointers;

static void {name}(const void *pointers, int part, int thread) {{
  const {name}_pointers *const at = pointers;
  (void)thread;
  {layer.kernel.params_type} params = *at->params;
  params.part = part;
  params.parts = {parts};
  {instance.function}({", ".join(["&params", *arguments])});
}}
"""


def parallel_call(parts: int, arguments: Sequence[str], name: str) -> str:
    """All parts of a layer; `arguments` are the pointers of the whole."""
    separator = ", " if len(", ".join(arguments)) <= 60 else ",\n        "
    return f"""
    const {name}_pointers pointers = {{{separator.join(arguments)}}};
    tw_parallel({name}, &pointers, {parts});"""


def _pointers(layer: LayerSchedule, instance: Instance) -> list[tuple[str, str]]:
    """Names and types of all that a kernel is given."""
    found = [
        (argument.stem.lower(), ("" if argument.is_result else "const ") + instance.c_type(argument))
        for argument in layer.kernel.arguments()
    ]
    return [*found, *([("scratch", "unsigned char")] if instance.takes_scratch else [])]


def _part(number: int, layer: LayerSchedule, instance: Instance) -> str:
    tables, params = initialiser(layer.params_of(number))
    stems = [argument.stem for argument in layer.kernel.arguments()]
    arguments = [_moved(stem.lower(), _start(layer, number, stem)) for stem in stems]
    if instance.takes_scratch:
        arguments.append(
            f"at->scratch + {layer.scratch.bytes} * thread" if layer.scratch is not None else "at->scratch"
        )
    return f"""
  case {number}: {{{tables}
    static const {layer.kernel.params_type} params = {{{params}}};
    {instance.function}({", ".join(["&params", *arguments])});
    break;
  }}"""


def _start(layer: LayerSchedule, number: int, name: str) -> int:
    grid = layer.option.grid
    return grid.elements_before(name, grid.indices(number)) if name in grid.types else 0


def _moved(name: str, by: int) -> str:
    return f"at->{name} + {by}" if by else f"at->{name}"
