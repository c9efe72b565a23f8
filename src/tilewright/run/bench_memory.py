"""The memory that kernels are measured in: a cluster's L1 or a board's RAM, without stacks and variables."""

from __future__ import annotations

from tilewright.errors import CompileError
from tilewright.sim.platform import Memory
from tilewright.target.memory import Memory as PlannedMemory
from tilewright.target.runner import CYCLES
from tilewright.target.target import Target

STACK = 2064
"""Bytes for each core of a cluster: 2 KiB, and 16 more, so that equal depths lie in different banks."""
VARIABLES = 1024
"""Bytes below the stacks for the runtime's variables."""
OF_A_BOARD = 17_536
"""The same of a board, with the bench's own variables."""
CODE = 1 << 20
"""Bytes of the weight memory before the constants that accelerators read there."""


def check_simulated(target: Target) -> None:
    if target.runner.unit != CYCLES:
        raise CompileError(
            f"target '{target.name}'", "runs on this machine, where nothing counts cycles",
            "measure one that has a virtual SoC: `tilewright targets`",
        )  # fmt: skip


def working_memory(target: Target) -> tuple[int, int]:
    """The first address of the memory that kernels work in and the one behind its last."""
    check_simulated(target)
    planned = target.work_memory
    memory = _memory(target, planned)
    return memory.base + planned.base_offset, memory.base + memory.size


def resident_start(target: Target) -> int:
    """Where constants lie that an accelerator reads in the weight memory; 0 without one."""
    wmem = target.paths.weights
    return _memory(target, wmem).base + CODE if wmem else 0


def free_bytes(target: Target) -> int:
    """Bytes for what a kernel works on."""
    start, end = working_memory(target)
    return end - start - stack_bytes(target)


def stack_bytes(target: Target) -> int:
    """What stacks and variables take of L1: nothing where each core has its own memory for them."""
    if not target.agents.state:
        return OF_A_BOARD
    return 0 if target.agents.local_stack else target.agents.cores * STACK + VARIABLES


def _memory(target: Target, planned: PlannedMemory) -> Memory:
    return next(memory for memory in target.platform.memories if memory.name.lower() == planned.symbol)
