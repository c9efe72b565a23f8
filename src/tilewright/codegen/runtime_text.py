"""network.h and network.c where a runtime wakes cores: transfers and kernel call of one tile of every layer, and the
program of each agent."""

from __future__ import annotations

from functools import cached_property

from tilewright.codegen.agent_functions import agents_text, prefetched_together
from tilewright.codegen.functions import function
from tilewright.codegen.kernels import instance_of
from tilewright.codegen.layer import LayerWriter, io_pointer
from tilewright.codegen.names import comment
from tilewright.codegen.network import math_header
from tilewright.codegen.network_text import NetworkText
from tilewright.codegen.slots import array_name
from tilewright.codegen.states import listed, reset_body
from tilewright.records import dataclass
from tilewright.target.memory import Memory, Paths


@dataclass(frozen=True)
class RuntimeText(NetworkText):
    """For cores that a runtime wakes, in memories that it and the network have."""

    @property
    def memories(self) -> Paths:
        return self.writer.memories

    # ---- network.h ----------------------------------------------------------------------------------------------

    @property
    def _tile_bytes(self) -> int:
        """Of the runtime's variables, stacks that are there, and the arena."""
        schedule, stacks = self.schedule, self.schedule.stacks
        inside = (schedule.cores * stacks.each + stacks.dma_core) * stacks.in_tile_memory
        return schedule.target.agents.state + inside + self.writer.arena_bytes(self.memories.tiles)

    def _memory_sizes(self) -> str:
        macro, stacks, tiles, home = self.macro, self.schedule.stacks, self.memories.tiles, self.memories.home
        where = "" if stacks.in_tile_memory else f" (not in {tiles.name})"
        return f"""\
/* Bytes of {tiles.name}: the runtime's variables{", stacks" if stacks.in_tile_memory else ""} and the arena. */
#define {macro}_{tiles.name}_BYTES {self._tile_bytes}
/* Bytes of {home.name} for activations, without constants, inputs and outputs. */
#define {macro}_{home.name}_BYTES {self.writer.arena_bytes(home)}
{self._state_size()}#define {macro}_CORES {self.schedule.cores}
/* Bytes of stack of each core that computes, and of the core that drives the DMA{where}. */
#define {macro}_STACK_BYTES {stacks.each}
#define {macro}_DMA_CORE_STACK_BYTES {stacks.dma_core}
"""

    def _about(self) -> str:
        graph, home = self.schedule.graph, self.memories.home.name
        return f"""\
/* Runs the network once. Call it from the first core of the cluster, while the other cores wait in tw_serve().
 * Returns 0.
 *
 * Inputs in {home} (never written; row-major, the last axis varies fastest):
{self._listed(graph.inputs)}
 * Outputs in {home} (every element is written; they must not overlap the inputs or each other):
{self._listed(list(dict.fromkeys(graph.outputs)))}"""

    def _state_size(self) -> str:
        if not self.schedule.graph.states:
            return ""
        return f"""\
/* The part of these bytes that the network keeps between calls. */
#define {self.macro}_STATE_BYTES {self.schedule.state_bytes}
"""

    def _reset_declaration(self) -> str:
        if not self.schedule.graph.states or not self.writer.shared.resets:
            return ""
        return f"""
/* Sets what the network keeps between calls to its first value. Call it once before the first run, and again to begin
 * anew, from any core and not during a run. Every network has its own. The state, in {self.memories.home.name}:
{listed(self.schedule.graph)}
 */
void {self.name}_reset(void);
"""

    def _reset(self) -> str:
        graph, symbol = self.schedule.graph, self.memories.home.symbol
        if not graph.states or not self.writer.shared.resets:
            return ""
        body = reset_body(graph, lambda name: f"{symbol} + {self.schedule.homes[name].offset}", self._first_values())
        return f"\nvoid {self.name}_reset(void) {{\n{body}\n}}\n"

    def _first_values(self) -> str:
        memory = self.memories.first_values
        return f' __attribute__((section("{memory.constants}")))' if memory.constants else ""

    # ---- network.c ----------------------------------------------------------------------------------------------

    def _has_array(self, memory: Memory) -> bool:
        """Memories that cores reach; the tiles' and the home always, as the runtime and the caller know of them."""
        always = memory in (self.memories.tiles, self.memories.home)
        return bool(memory.section) and (always or self.writer.arena_bytes(memory) > 0)

    def _arena(self, memory: Memory) -> str:
        size = max(self.writer.arena_bytes(memory), memory.alignment)
        if memory == self.memories.tiles:
            # Networks do not run at the same time: of common arrays, the linker keeps the largest.
            array = array_name(self.memories, memory)
            return f"uint8_t {array}[{size}] __attribute__((common, aligned({memory.placement})));"
        if memory == self.memories.home and self.writer.shared.arena:
            return f"extern uint8_t {self.writer.shared.arena}[];\n#define {memory.symbol} {self.writer.shared.arena}"
        placed = f'__attribute__((section("{memory.section}"), aligned({memory.placement})))'
        return f"static uint8_t {memory.symbol}[{size}] {placed};"

    @cached_property
    def _layers(self) -> list[LayerWriter]:
        graph = self.schedule.graph
        return [
            LayerWriter(layer, self.schedule.target, graph, instance_of(graph, layer), self.identifiers)
            for layer in self.schedule.layers
        ]

    def source(self) -> str:
        graph, memories = self.schedule.graph, self.memories
        layers, reset = "\n".join(writer.text() for writer in self._layers), self._reset()
        fetches = "".join(_together(*one) for one in prefetched_together(self.schedule.program).items())
        agents = agents_text(self.schedule.program, self.schedule.layers)
        pointers = "".join(
            f"static {qualifier}{self.writer.c_type_of(name)} *{io_pointer(self.identifiers[name])};\n"
            for qualifier, names in (("const ", graph.inputs), ("", dict.fromkeys(graph.outputs)))
            for name in names
        )
        kept = "".join(
            f"  {io_pointer(self.identifiers[name])} = {self.identifiers[name]};\n"
            for name in dict.fromkeys((*graph.inputs, *graph.outputs))
        )
        offloads = any(layer.option.kernel.offloaded for layer in self.schedule.layers)
        offload = '#include "runtime/offload.h"\n' if offloads else ""
        offload += '#include "runtime/room.h"\n' if any(layer.is_queued for layer in self.schedule.layers) else ""
        begin = "  tw_offload_init();\n" if offloads else ""
        stages = "".join(f'#include "runtime/{memory.symbol}.h"\n' for memory in memories.behind)
        passed = (memory for memory in memories.behind if self.writer.arena_bytes(memory))
        staged = "".join(f'#include "runtime/{memory.symbol}_tiles.h"\n' for memory in passed)
        arenas = "\n".join(self._arena(memory) for memory in memories.memories if self._has_array(memory))
        return f"""\
/* {comment(graph.name)}, layer by layer. Generated by Tilewright.
 *
 * Each layer has some of these functions:
 *   prefetch  starts the transfers of the layer's constants and parameters
 *   load      starts the transfers of a tile's operands
 *   run       calls the kernel, or submits the tile to an accelerator
 *   gather    prepares the accelerator's operands
 *   finish    computes results from the accelerator's output
 *   store     starts the transfers of a tile's results
 * Two further kinds of functions call these in order: one for the core that moves data, one for cores that compute. */
#include "network.h"

#include <stddef.h>
{math_header(layers + reset)}
#include "kernels/cluster.h"
#include "kernels/kernels.h"
#include "kernels/tw.h"
#include "network_data.h"
{staged}#include "runtime/dma.h"
#include "runtime/each.h"
{offload}#include "runtime/events.h"
#include "runtime/pipeline.h"
#include "runtime/turns.h"
{stages}
{arenas}

{pointers}{layers}

{fetches}{agents}

{self._prototype()} {{
  (void){memories.home.symbol};
  (void){array_name(memories, memories.tiles)};
{kept}{begin}  tw_fork(all_layers, TW_NETWORK_CORES);
  return 0;
}}
{reset}"""


def _together(number: int, layers: tuple[int, ...]) -> str:
    """What is fetched for several later layers while one is at work."""
    lines = [f"  layer_{later}_prefetch();" for later in layers]
    return function(f"after_layer_{number}", "void", lines) + "\n\n"
