"""network.h and network.c of a network of which a GPU computes layers, in memory of its own."""

from __future__ import annotations

from tilewright.codegen.arena_text import ArenaText
from tilewright.codegen.gpu_files import HEADER
from tilewright.errors import instance
from tilewright.planner.schedule.planned_flow import planned_layers
from tilewright.target.runner import GpuProcess


class GpuText(ArenaText):
    """Calls begin and end the work of the GPU; what runs in between is a function of its own, which may stop early."""

    together = "may come\n * from several threads: one waits for the other"

    def _includes(self) -> str:
        return f'{super()._includes()}#include "kernels/{HEADER}"\n'

    def _probe(self) -> str:
        return """
/* Called after every layer when TILEWRIGHT_PROBE names a function; costs nothing otherwise. */
#ifdef TILEWRIGHT_PROBE
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
        names = [self.identifiers[name] for name in self.writer.used_constants]
        rows = "\n".join(f"    {{{name}, sizeof {name}}}," for name in names) or "    {NULL, 0},"
        in_order = "0" if planned_layers(self.schedule) else "!WATCHED"
        return f"""
static const tw_gpu_constant {self.name}_constants[] = {{
{rows}
}};
static tw_gpu_network {self.name}_on_gpu = {{
    {self.name}_constants, {len(names)}, {in_order}, {self._capability}, {self.macro}_ARENA_BYTES, NULL}};
"""

    @property
    def _capability(self) -> int:
        return instance(self.schedule.target.runner, GpuProcess).capability

    def _stops(self) -> str:
        return f"{super()._stops()},\n * or 3 if the GPU or its driver fails: {self.name}_gpu_error() says why"

    def _reset_declaration(self) -> str:
        return f"""{super()._reset_declaration()}
/* What failed last on the GPU, and on a line of its own what to do about it. */
const char *{self.name}_gpu_error(void);

/* Microseconds that the GPU takes for its part of a call, without copies: the mean of so many launches of what the
 * second call has recorded. Negative before the third one, and where kernels do not run on a GPU. */
double {self.name}_gpu_microseconds(int repeats);
"""

    def _function(self, body: str) -> str:
        layers = self._prototype().replace(f"int {self.name}_run(", f"static int {self.name}_layers(", 1)
        graph, named = self.schedule.graph, self.identifiers
        names = [named[name] for name in dict.fromkeys((*graph.inputs, *graph.outputs))]
        given = ", ".join([*names, *(f"{arena}_memory" for arena in self.writer.given_arenas)])
        return f"""\
{layers} {{
{self._check_arenas()}
{body}
  return 0;
}}

{self._prototype()} {{
  if (tw_gpu_begin(&{self.name}_on_gpu, arena_memory) != 0) return TW_GPU_FAILED;
  const int layers = {self.name}_layers({given});
  const int gpu = tw_gpu_end();
  return layers != 0 ? layers : gpu;
}}

const char *{self.name}_gpu_error(void) {{ return tw_gpu_failure(); }}

double {self.name}_gpu_microseconds(int repeats) {{ return tw_gpu_measured(&{self.name}_on_gpu, repeats); }}
"""
