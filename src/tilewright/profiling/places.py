"""Places in a network's program whose passing tells what a core is doing."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tilewright.sim.program.elf import Elf
from tilewright.sim.watching.calls import return_addresses

LAYER_FUNCTION = re.compile(r"layer_(\d+)_(load|renew|gather|run|finish|store|stage)")
RUNNERS = frozenset({
    "tw_cooperative", "tw_cooperative_once", "tw_per_core", "tw_in_l2", "tw_dma_copy", "tw_offload", "tw_offload_once",
    "tw_offload_early", "tw_offload_gathered", "tw_offload_queued", "tw_offload_starved", "tw_submit",
    "tw_submit_ahead", "tw_submit_gathered",
})  # fmt: skip
"""What layers are run with."""
STARTS = frozenset({"tw_wait_for", "tw_stage_from_l3", "tw_prefetch_now"}) | RUNNERS
"""What layers begin with."""
L3_WAIT = "tw_l3_wait"
"""Where a core waits in a layer's own function, for parts of tensors that live in L3."""
FETCH = "tw_prefetch_begin"
"""What a layer's constants are fetched with; the functions that call it may be parts of others."""
WAITS = frozenset({"tw_dma_wait", "tw_l3_stage_wait", L3_WAIT})
ENGINE_WAIT = "tw_npu_wait"
"""Where a core waits for an accelerator."""
COMMIT = "tw_npu_commit"
"""Where it submits a job."""
CALLERS = (
    *sorted(STARTS), "tw_fork", "tw_serve", "tw_begin", "tw_finish", "tw_take_turn", "fetch", "first", "start",
    "computed", "moved", "describe", "lead", "follow", "gathered", "meet_to_gather", "all_layers",
)  # fmt: skip
"""Functions of the runtime that call what is of interest."""
RETURN = "return"


@dataclass(frozen=True)
class Place:
    kind: str
    """load, gather, run, finish, store, stage: of a layer; a function of the runtime; or that a call has returned."""
    layer: int = -1


def places(elf: Elf, network: str) -> dict[int, Place]:
    """By address. `network` is the function that runs it."""
    callers = [*CALLERS, *(_waiting(elf) if L3_WAIT in elf.symbols else ())]
    found = {address: Place(RETURN) for name in callers for address in return_addresses(elf, name)}
    for name, address in elf.symbols.items():
        layer = LAYER_FUNCTION.fullmatch(name)
        if layer:
            found[address] = Place(layer[2], int(layer[1]))
        elif name in STARTS or name in WAITS or name in (FETCH, ENGINE_WAIT, COMMIT):
            found[address] = Place(name)
    return {**found, elf.symbols[network]: Place(network)}


def _waiting(elf: Elf) -> list[str]:
    """Functions of layers that may wait for L3."""
    layers = ((name, LAYER_FUNCTION.fullmatch(name)) for name in elf.symbols)
    return [name for name, layer in layers if layer and layer[2] in ("load", "store")]
