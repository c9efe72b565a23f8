"""runtime/limits.h: what the runtime of a cluster knows of its platform, from the data that the planner reads."""

from __future__ import annotations

from tilewright.target.target import Target

FILE = "runtime/limits.h"


def limits_header(target: Target) -> str:
    agents, memories = target.agents, target.paths
    dma = memories.tile_link
    rows = [
        ("TW_MOST_CORES", agents.cores, "The largest number of cores that compute."),
        ("TW_DMA_CORE", agents.dma_core, "The core that moves data and drives accelerators."),
        ("TW_PREFETCH_SLOTS", agents.prefetch_slots, "The most layers with prefetches in flight at once."),
        ("TW_OFFLOAD_SLOTS", agents.offload_slots, "The most layers with accelerator jobs in flight at once."),
        ("TW_LONGEST_TRANSFER", f"{dma.longest:#x}u", f"The most bytes in one transfer of {dma.name}."),
        ("TW_DMA_GROUPS", dma.groups, "The most groups of transfers open at once."),
        ("TW_DMA_STRIDED", int(dma.strided), "1 if one transfer can move rows that are not adjacent."),
    ]
    for path in memories.staged:
        name, link = path.memory.name.upper(), path.links[0]
        rows += [
            (f"TW_{name}_LONGEST_TRANSFER", f"{link.longest:#x}u", f"The most bytes in one transfer of {link.name}."),
            (f"TW_{name}_QUEUE", f"{link.queue}u", f"The most pending transfers of {link.name}."),
        ]
    section = f"{memories.tiles.section}.state"
    state = f'__attribute__((section("{section}")))'
    rows.append(("TW_STATE", state, f"Places variables of the runtime in {memories.tiles.name}."))
    lines = "\n".join(f"/* {text} */\n#define {name} {value}" for name, value, text in rows)
    return f"""\
/* Limits that the planner and the runtime share; generated from the description of {target.name}. */
#ifndef TW_LIMITS_H
#define TW_LIMITS_H

{lines}

#endif
"""
