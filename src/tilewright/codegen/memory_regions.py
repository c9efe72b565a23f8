"""runtime/memories.ld: where the memories of a target are, for the linker, from the description of its platform."""

from __future__ import annotations

from tilewright.errors import InternalError
from tilewright.sim.platform import Memory as Simulated
from tilewright.target.memory import Memory
from tilewright.target.target import Target

FILE = "runtime/memories.ld"


def memory_regions(target: Target) -> str:
    """A region for every memory that an address names, called like the memory."""
    lines = "\n".join(_region(memory, _simulated(target, memory)) for memory in target.memories if memory.section)
    return f"""\
/* Where the memories of {target.name} are; made from the description of its platform. */
MEMORY {{
{lines}
}}
"""


def _region(memory: Memory, found: Simulated) -> str:
    if memory.bytes is None or memory.bytes > found.size:
        raise InternalError(f"memory {memory.name}", f"has {memory.bytes} bytes, on the platform {found.size}")
    return f"  {memory.name} (rwx) : ORIGIN = {found.base:#x}, LENGTH = {memory.bytes:#x}"


def _simulated(target: Target, memory: Memory) -> Simulated:
    found = target.platform.memories
    for one in found:
        if one.name.lower() == memory.symbol:
            return one
    raise InternalError(f"memory {memory.name}", f"is not among {', '.join(one.name for one in found)}")
