"""network.h and network.c of a network of which a GPU computes layers, in memory of its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from tilewright.codegen.arena_text import ArenaText
from tilewright.codegen.gpu_files import HEADER, gpu_kernels
from tilewright.codegen.kernels import Instance
from tilewright.codegen.names import comment
from tilewright.errors import instance
from tilewright.ir.graph import State
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.planned_flow import planned_layers
from tilewright.target.runner import GpuProcess
from tilewright.target.target import Transfers


class GpuText(ArenaText):
    """Calls begin and end the work of the GPU; what runs in between is a function of its own, which may stop early."""

    together = "may come\n * from several threads: one waits for the other"
    reset_stops = ", or 3 if the GPU or its driver fails"

    def _includes(self) -> str:
        return f'{super()._includes()}#include "kernels/{HEADER}"\n'

    def _probe(self) -> str:
        return """
/* Called after every layer when TILEWRIGHT_PROBE names a function; costs nothing otherwise. */
#if defined(TW_LAYER_TIMES)
void tw_time_layer_of(int layer, double nanoseconds);
#define LAYER_DONE(layer, result, data, bytes) tw_time_layer_of(layer, tw_gpu_taken())
#define WATCHED 1
#elif defined(TILEWRIGHT_PROBE)
void TILEWRIGHT_PROBE(int layer, int result, const void *data, unsigned long bytes);
#define LAYER_DONE(layer, result, data, bytes) TILEWRIGHT_PROBE(layer, result, tw_gpu_seen(data, bytes), bytes)
#define WATCHED 1
#else
#define LAYER_DONE(layer, result, data, bytes) ((void)0)
#define WATCHED 0
#endif
"""

    def _shared(self) -> str:
        return f"{super()._shared()}{self._network()}"

    def _network(self) -> str:
        """What the runtime is told of it."""
        in_order = "0" if planned_layers(self.schedule) else "!WATCHED"
        table, kept = (f"{self.name}_kept", self._kept_table()) if self.kept_states else ("NULL", "")
        return f"""{self._memory()}
{kept}{"" if self._is_shared else "static "}const tw_gpu_network {self.name}_on_gpu = {{
    &{self._memory_name}, {table}, {len(self.kept_states)}, {in_order}, {self._capability}}};
"""

    @property
    def _is_shared(self) -> bool:
        """Whether constants and arenas are those of other networks too."""
        return bool(self.writer.shared.gpu_memory)

    @property
    def _memory_name(self) -> str:
        return self.writer.shared.gpu_memory or f"{self.name}_in_gpu_memory"

    def _memory(self) -> str:
        """Constants and arenas on the GPU."""
        if self._is_shared:
            return f"""
extern tw_gpu_memory {self._memory_name};
extern const tw_gpu_network {self.name}_on_gpu;
"""
        names = [self.identifiers[name] for name in self.writer.used_constants]
        rows = [f"{{{name}, sizeof {name}, 0}}" for name in names]
        kernels = gpu_kernels(self.schedule, self.writer.kernels)
        return memory_definition(self._memory_name, rows, f"{self.macro}_ARENA_BYTES", kernels, is_static=True)

    def _kept_table(self) -> str:
        rows = "".join(f"    {self._kept_row(state)}\n" for state in self.kept_states)
        return f"static const tw_gpu_kept {self.name}_kept[] = {{\n{rows}}};\n"

    def _kept_row(self, state: State) -> str:
        offset, size = self.schedule.homes[state.before].offset, self.schedule.graph.types[state.before].bytes
        return f"{{{offset}ul, {size}ul}}, /* {comment(state.name)} */"

    @cached_property
    def kept_states(self) -> list[State]:
        """States that no core reads or writes."""
        used = self._of_cores
        return [state for state in self.schedule.graph.states if state.before not in used]

    @cached_property
    def _of_cores(self) -> frozenset[str]:
        """Owners of what is read or written in the memory of the computer, but for what is only copied."""
        homes = self.schedule.homes
        used = {homes[name].owner for layer in self.schedule.layers for name in self._used_by_cores(layer) if name}
        return frozenset(used)

    def _used_by_cores(self, layer: LayerSchedule) -> tuple[str, ...]:
        transfers = self._transfers.get(layer.engine)
        if transfers is None:
            return (*layer.node.inputs, *layer.node.outputs)
        copied_in = layer.node.inputs if layer.kernel == transfers.into else ()
        copied_out = layer.node.outputs if layer.kernel == transfers.out_of else ()
        homes = self.schedule.homes
        return tuple(name for name in (*copied_in, *copied_out) if homes[name].owner not in self._of_caller)

    @cached_property
    def _of_caller(self) -> frozenset[str]:
        """What copies find wherever it is."""
        return frozenset((*self.schedule.graph.inputs, *self.schedule.graph.outputs))

    @cached_property
    def _transfers(self) -> dict[str, Transfers | None]:
        return {engine.name: engine.transfers for engine in self.schedule.target.engines}

    @property
    def _capability(self) -> int:
        return instance(self.schedule.target.runner, GpuProcess).capability

    def _stops(self) -> str:
        return f"{super()._stops()},\n * or 3 if the GPU or its driver fails: {self.name}_gpu_error() says why"

    def _about(self) -> str:
        return f"""{super()._about()}
 *
 * Inputs and outputs may be in the memory of the computer or of the GPU. The call waits for what the default stream
 * does with them, and returns when the outputs are there. Of those on the GPU, these are copied through the memory of
 * the computer, as layers of the processor read or write them: {self._on_processor()}."""

    def _on_processor(self) -> str:
        found = [self.identifiers[name] for name in self._caller_names if name in self._of_cores]
        return ",\n * ".join(found) or "none"

    def _kept(self) -> str:
        if not self.kept_states:
            return super()._kept()
        names = "\n".join(f" *   {comment(state.name)}" for state in self.kept_states)
        return f"""{super()._kept()}
 *
 * The GPU keeps in its memory, for every arena that {self.name}_reset() or {self.name}_run() is called with:
{names}
 * so that bytes of an arena are not all of its state: a copy of them is not a copy of it. {self.name}_gpu_free() gives
 * that memory back."""

    def _reset_done(self) -> str:
        return f"  return tw_gpu_keep(&{self.name}_on_gpu, arena, NULL);" if self.kept_states else super()._reset_done()

    def _reset_declaration(self) -> str:
        return f"""{super()._reset_declaration()}
/* Gives back the memory of the GPU that belongs to an arena, where it keeps states; with NULL all that it has of this
 * network. A later call brings the weights again; states have to be reset. */
void {self.name}_gpu_free(void *arena_memory);

/* What failed last on the GPU, and on a line of its own what to do about it. */
const char *{self.name}_gpu_error(void);

/* Microseconds that the GPU takes for its part of a call, without copies: the mean of `repeats` launches of what the
 * second call has recorded. Negative before the third one, and where kernels do not run on a GPU. */
double {self.name}_gpu_microseconds(int repeats);
"""

    def _function(self, body: str) -> str:
        layers = self._prototype().replace(f"int {self.name}_run(", f"static int {self.name}_layers(", 1)
        names = [self._given(name) for name in self._caller_names]
        given = ", ".join([*names, *(f"{arena}_memory" for arena in self.writer.given_arenas), *self._given_weights])
        return f"""\
{layers} {{
{self._check_arenas()}
{body}
  return 0;
}}

{self._prototype()} {{
  if (tw_gpu_begin(&{self.name}_on_gpu, arena_memory, {self._weights}) != 0) return TW_GPU_FAILED;
{self._copies()}  const int layers = {self.name}_layers({given});
  const int gpu = tw_gpu_end();
  return layers != 0 ? layers : gpu;
}}

void {self.name}_gpu_free(void *arena_memory) {{ tw_gpu_forget(&{self._memory_name}, arena_memory, NULL); }}

const char *{self.name}_gpu_error(void) {{ return tw_gpu_failure(); }}

double {self.name}_gpu_microseconds(int repeats) {{ return tw_gpu_measured(&{self.name}_on_gpu, repeats); }}
"""

    @property
    def _given_weights(self) -> list[str]:
        return [] if self.writer.shared.weights is None else ["weights_memory"]

    @property
    def _weights(self) -> str:
        return "NULL" if self.writer.shared.weights is None else "weights_memory"

    @property
    def _caller_names(self) -> list[str]:
        return list(dict.fromkeys((*self.schedule.graph.inputs, *self.schedule.graph.outputs)))

    def _given(self, name: str) -> str:
        """An input or output as layers are given it."""
        own = self.identifiers[name]
        return f"{own}_here" if name in self._of_cores else own

    def _copies(self) -> str:
        """Where the processor finds what it reads or writes. It does nothing where that is on a GPU out of reach."""
        lines = [self._copy(name) for name in self._caller_names if name in self._of_cores]
        return "".join([*lines, "  if (tw_gpu_has_failed()) return tw_gpu_end();\n"]) if lines else ""

    def _copy(self, name: str) -> str:
        own, size = self.identifiers[name], self.schedule.graph.types[name].bytes
        is_input = name in self.schedule.graph.inputs
        kind, function = ("const void *", "tw_gpu_input") if is_input else ("void *", "tw_gpu_output")
        return f"  {kind}const {own}_here = {function}({own}, {size}ul);\n"


def memory_definition(
    name: str, rows: Sequence[str], arena_bytes: str, kernels: Sequence[Instance], is_static: bool
) -> str:
    """What networks have in the memory of a GPU; every row is a constant. The driver compiles all kernels when one of
    the networks runs for the first time."""
    listed = "\n".join(f"    {row}," for row in rows) or "    {NULL, 0, 0},"
    codes = [f"TW_GPU_CODE_OF({one.function})" for one in kernels]
    declared = "".join(f"extern tw_gpu_code {code};\n" for code in codes)
    loaded = "".join(f"    &{code},\n" for code in codes)
    return f"""
#ifndef TW_GPU_HOST
{declared}#endif
static tw_gpu_code *const {name}_codes[] = {{
#ifndef TW_GPU_HOST
{loaded}#endif
    NULL,
}};
static const tw_gpu_constant {name}_constants[] = {{
{listed}
}};
{"static " if is_static else ""}tw_gpu_memory {name} = {{
    {name}_constants, {len(rows)}, {arena_bytes}, {name}_codes, NULL}};
"""
