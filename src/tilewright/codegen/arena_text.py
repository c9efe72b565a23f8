"""network.h and network.c of a network in one arena: what a schedule does, as C99 that is meant to be read."""

from __future__ import annotations

from tilewright.codegen import control_flow, threads
from tilewright.codegen.arena_calls import ArenaCalls
from tilewright.codegen.flow_names import HEADER
from tilewright.codegen.names import comment
from tilewright.codegen.network import WEIGHTS_ALIGNMENT, Shared, Writer, math_header
from tilewright.codegen.network_text import NetworkText
from tilewright.codegen.states import listed, reset_body
from tilewright.planner.schedule.planned_flow import may_stop, planned_layers
from tilewright.planner.schedule.schedule import Schedule

WRONG_SIZE = 4
"""What a network returns where a size is out of its range."""


class ArenaText(NetworkText):
    """For a core, or the threads of a computer, that work in memory of the caller's."""

    together = "may run at the same time"
    """What calls of several threads may do."""
    reset_stops = ""
    """What else the function that sets states returns."""

    # ---- network.h ----------------------------------------------------------------------------------------------

    def _memory_sizes(self) -> str:
        """A macro for each part of the arena."""
        sizes = self.writer.given_arenas.items()
        arenas = "\n".join(f"#define {self.macro}_{arena.upper()}_BYTES {size}" for arena, size in sizes)
        return f"""\
/* Bytes of working memory (the arena) that the caller provides. The network allocates nothing else. */
{arenas}
#define {self.macro}_ARENA_ALIGNMENT {self.schedule.target.memories[0].alignment}
{self._state_size()}"""

    def _about(self) -> str:
        graph = self.schedule.graph
        return f"""\
/* Runs the network once. Returns 0, or 1 if the arena{self._or_weights()} is not aligned{self._stops()}.
 *
 * Inputs (never written; row-major, the last axis varies fastest):
{self._listed(graph.inputs)}
 * Outputs (every element is written; they must not overlap the inputs, each other or the arena):
{self._listed(graph.outputs)}
{self._size_lines()}\
 * The caller provides the arena: {self._arena_owner()}, aligned to {self.macro}_ARENA_ALIGNMENT. {self._kept()}"""

    def _size_lines(self) -> str:
        """What a caller says of dimensions."""
        named = [(self.writer.size_names[size.name], size) for size in self.writer.sizes]
        lines = [f" *   {name}: {size.range}, '{comment(size.name)}'\n" for name, size in named]
        first = " * Sizes (the ELEMENTS macros above are for the largest; arrays of smaller sizes are shorter):\n"
        return "".join([first, *lines]) if lines else ""

    def _check_sizes(self) -> str:
        ranges = [(self.writer.size_names[size.name], self._size_macro(size)) for size in self.writer.sizes]
        lines = [f"  if ({name} < {macro}_MIN || {name} > {macro}_MAX) return {WRONG_SIZE};" for name, macro in ranges]
        return "".join(f"\n{line}" for line in lines)

    def _or_weights(self) -> str:
        return "" if self.writer.shared.weights is None else ", or the block of weights,"

    def _stops(self) -> str:
        stops = may_stop(self.schedule)
        turns = ", or 2, without outputs, if a loop has more turns than\n * --max-trips allows" if stops else ""
        sizes = f", or {WRONG_SIZE}, without outputs, if a size is\n * out of its range" if self.writer.sizes else ""
        return turns + sizes

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
            return f"""It needs no
 * initialisation, and its contents mean nothing after the call.
 *
 * The network keeps no state: calls with different outputs and arenas {self.together}."""
        return f"""Its first
 * {self.macro}_STATE_BYTES hold the state. {self.name}_reset() sets it before the first call, and every call updates
 * it: do not write to it in between. The rest of the arena needs no initialisation, and its contents mean nothing
 * after the call. Each arena has its own state: calls with different outputs and arenas {self.together}."""

    def _reset_declaration(self) -> str:
        if not self.schedule.graph.states or not self.writer.shared.resets:
            return ""
        return f"""
/* Sets the state to its first value. Call it once before the first run, and again to begin anew. Returns 0, or 1 if the
 * arena is not aligned{self.reset_stops}. The state:
{listed(self.schedule.graph)}
 */
int {self.name}_reset(void *arena_memory);
"""

    def _arena_owner(self) -> str:
        named = [f"{self.macro}_{arena.upper()}_BYTES" for arena in self.writer.given_arenas]
        where = [f" in {memory}" for memory in self.schedule.arenas] if len(named) > 1 else [""]
        return ",\n * ".join(f"{name}{place}" for name, place in zip(named, where, strict=True))

    # ---- network.c ----------------------------------------------------------------------------------------------

    def source(self) -> str:
        calls = ArenaCalls(self.writer)
        body = calls.text()
        unused = "\n".join(f"  (void){self.identifiers[name]};" for name in self._unread_inputs())
        unused = f"\n{unused}\n" if unused else ""
        reset, shared = self._reset(), calls.shared_layers() + self._shared()
        return f"""\
/* {comment(self.schedule.graph.name)}, layer by layer. Generated by Tilewright. */
#include "network.h"

#include <stddef.h>
{math_header(body + reset + shared)}
#include "kernels/kernels.h"
{self._includes()}#include "network_data.h"
{self._probe()}{shared}
{self._function(f"{unused}{calls.state_pointers()}{body}")}{reset}\
{threads.definitions(self.name, self.schedule.target.agents.threads)}"""

    def _includes(self) -> str:
        """Headers besides that of the kernels."""
        pool = '#include "kernels/threads.h"\n' if self.schedule.target.agents.threads > 1 else ""
        return pool + (f'#include "kernels/{HEADER}"\n' if planned_layers(self.schedule) else "")

    def _probe(self) -> str:
        return """
/* Called after every layer when TILEWRIGHT_PROBE names a function; costs nothing otherwise. */
#ifdef TILEWRIGHT_PROBE
void TILEWRIGHT_PROBE(int layer, int result, const void *data, unsigned long bytes);
#define LAYER_DONE(layer, result, data, bytes) TILEWRIGHT_PROBE(layer, result, data, bytes)
#else
#define LAYER_DONE(layer, result, data, bytes) ((void)0)
#endif
"""

    def _shared(self) -> str:
        """What stands before the function that runs the network."""
        return self._control_flow()

    def _function(self, body: str) -> str:
        """The one that runs the network."""
        return f"""\
{self._prototype()} {{
{self._check_arenas()}{self._check_sizes()}
{body}
  return 0;
}}
"""

    def _check_arenas(self) -> str:
        """The arguments as bytes, once they are known to be aligned."""
        lines = [
            f"  unsigned char *const {arena} = {arena}_memory;\n"
            f"  if ((uintptr_t){arena} % {self.macro}_ARENA_ALIGNMENT != 0) return 1;"
            for arena in self.writer.given_arenas
        ]
        if self.writer.shared.weights is not None:
            lines.append(
                f"  const unsigned char *const weights = weights_memory;\n"
                f"  if ((uintptr_t)weights % {WEIGHTS_ALIGNMENT} != 0) return 1;"
            )
        return "\n".join(lines)

    def _control_flow(self) -> str:
        """The functions of loops, branches and their bodies."""
        return "".join(f"\n{text}" for text in control_flow.functions(self.schedule, self._body_calls))

    def _body_calls(self, body: Schedule, inside: str) -> ArenaCalls:
        return ArenaCalls(Writer(body, self.name, Shared(self.writer.kernel_prefix)), inside)

    def _reset(self) -> str:
        graph, homes = self.schedule.graph, self.schedule.homes
        if not graph.states or not self.writer.shared.resets:
            return ""
        body = reset_body(graph, lambda name: f"arena + {homes[name].offset}")
        return f"""
int {self.name}_reset(void *arena_memory) {{
  unsigned char *const arena = arena_memory;
  if ((uintptr_t)arena % {self.macro}_ARENA_ALIGNMENT != 0) return 1;
{body}
{self._reset_done()}
}}
"""

    def _reset_done(self) -> str:
        """How the function ends that sets states."""
        return "  return 0;"

    def _unread_inputs(self) -> list[str]:
        homes = self.schedule.homes
        read = {homes[name].owner for layer in self.schedule.layers for name in layer.node.inputs if name}
        return [name for name in self.schedule.graph.inputs if name not in read]
