"""runtime/limits.h: what the runtime of a cluster knows of its platform, from the data that the planner reads."""

from __future__ import annotations

from tilewright.target.target import Target

FILE = "runtime/limits.h"


def limits_header(target: Target) -> str:
    agents, memories = target.agents, target.paths
    dma = memories.tile_link
    rows = [
        ("TW_MOST_CORES", agents.cores, "Cores that compute, at the most."),
        ("TW_DMA_CORE", agents.dma_core, "The core that moves data and drives accelerators."),
        ("TW_PREFETCH_SLOTS", agents.prefetch_slots, "Layers whose prefetched data may be in flight at once."),
        ("TW_OFFLOAD_SLOTS", agents.offload_slots, "Layers that an accelerator, if any, may be at work for at once."),
        ("TW_LONGEST_TRANSFER", f"{dma.longest:#x}u", f"Bytes of one transfer of {dma.name}."),
        ("TW_DMA_GROUPS", dma.groups, "Groups of transfers that may be kept apart at once."),
        ("TW_DMA_STRIDED", int(dma.strided), "Whether one transfer moves rows that lie apart."),
    ]
    for path in memories.staged:
        name, link = path.memory.name.upper(), path.links[0]
        rows += [
            (f"TW_{name}_LONGEST_TRANSFER", f"{link.longest:#x}u", f"Bytes of one transfer of {link.name}."),
            (f"TW_{name}_QUEUE", f"{link.queue}u", "Its transfers that may be pending at once."),
        ]
    section = f"{memories.tiles.section}.state"
    state = f'__attribute__((section("{section}")))'
    rows.append(("TW_STATE", state, f"Where variables of the runtime lie, in {memories.tiles.name}."))
    lines = "\n".join(f"/* {text} */\n#define {name} {value}" for name, value, text in rows)
    return f"""\
/* What the planner and the runtime both rely on; made from the description of {target.name}. */
#ifndef TW_LIMITS_H
#define TW_LIMITS_H

{lines}

#endif
"""
