"""Places in a network's program whose passing tells what a core is doing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tilewright.codegen.agent_functions import LOOP
from tilewright.records import dataclass
from tilewright.sim.program.elf import Elf
from tilewright.sim.watching.calls import return_addresses

LAYER_FUNCTION = re.compile(r"layer_(\d+)_(load|renew|gather|run|finish|store|stage)")
AGENT_FUNCTION = re.compile(r"layer_(\d+)_(dma_core|workers)")
"""What an agent does in a layer."""
START = "start"
"""A core begins a layer."""
FETCH = "tw_prefetch_begin"
"""What a layer's constants are fetched with; the functions that call it may be parts of others."""
TRANSFER_WAIT = "tw_dma_wait"
"""Where a core waits for transfers, whatever links do them."""
ENGINE_WAIT = "tw_accelerator_wait"
"""Where a core waits for an accelerator."""
COMMIT = "tw_accelerator_commit"
"""Where it submits a job."""
CALLERS = (
    "tw_fork", "tw_serve", "tw_wait_prefetch", "tw_wait_layer", "tw_submit_meanwhile",
    "tw_serve_requests", "begin", "meanwhile", "all_layers", "dma_core", "workers", "behind_layers_dma_core",
    "behind_layers_workers",
)  # fmt: skip
"""Functions of the runtime and the network that call what is of interest, besides those of layers."""
RETURN = "return"


@dataclass(frozen=True)
class Place:
    kind: str
    """load, gather, run, finish, store, stage: of a layer; that a core begins one; a function of the runtime; or that a
    call has returned."""
    layer: int = -1


def places(elf: Elf, network: str, staged: Sequence[str]) -> dict[int, Place]:
    """By address. `network` is the function that runs it; `staged` are symbols of memories behind the home, each with
    waits of its own: for constants, and in a layer's own function for parts of tensors that live there."""
    waits = {TRANSFER_WAIT, *(f"tw_{name}{what}" for name in staged for what in ("_stage_wait", "_wait"))}
    waiting = any(f"tw_{name}_wait" in elf.symbols for name in staged)
    agents = [name for name in elf.symbols if AGENT_FUNCTION.fullmatch(name) or LOOP.fullmatch(name)]
    callers = [*CALLERS, *agents, *(_waiting(elf) if waiting else ())]
    found = {address: Place(RETURN) for name in callers for address in return_addresses(elf, name)}
    for name, address in elf.symbols.items():
        if layer := LAYER_FUNCTION.fullmatch(name):
            found[address] = Place(layer[2], int(layer[1]))
        elif begun := AGENT_FUNCTION.fullmatch(name):
            found[address] = Place(START, int(begun[1]))
        elif name in waits:
            found[address] = Place(TRANSFER_WAIT)
        elif name in (FETCH, ENGINE_WAIT, COMMIT):
            found[address] = Place(name)
    return {**found, elf.symbols[network]: Place(network)}


def _waiting(elf: Elf) -> list[str]:
    """Functions of layers that may wait for what is staged."""
    layers = ((name, LAYER_FUNCTION.fullmatch(name)) for name in elf.symbols)
    return [name for name, layer in layers if layer and layer[2] in ("load", "store")]
