"""runtime/memories.ld: where the memories of a target are, for the linker, from the description of its platform."""

from __future__ import annotations

from itertools import pairwise

from tilewright.errors import InternalError
from tilewright.sim.platform import Memory as Simulated
from tilewright.target.memory import ARENA, CODE, CONSTANTS, STACK, Memory, holding
from tilewright.target.target import Target

FILE = "runtime/memories.ld"

ROLES = {"RAM": STACK, "flash": CODE, "constants": CONSTANTS}
"""What linker scripts of boards call the memory with each of these."""
COPIES = "> copies "
"""Of linker scripts that have a section of copies in a memory of its own."""


def memory_regions(target: Target) -> str:
    """A region for every memory that an address names, called like the memory; where memories say what they hold, also
    the names that linker scripts have for that, and a section for arrays in each memory besides the first; and the
    bytes that the planner leaves for a runtime's variables, which its script holds them to."""
    lines = "\n".join(_region(memory, *_extent(target, memory)) for memory in target.memories if memory.section)
    state = target.agents.state
    variables = (f"tw_state_bytes = {state};",) if state else ()
    more = "".join(f"{line}\n" for line in (*_aliases(target), *_sections(target), *variables))
    return f"""\
/* Memories of {target.name}; generated from the description of its platform. */
MEMORY {{
{lines}
}}
{more}"""


def _region(memory: Memory, base: int, size: int) -> str:
    if memory.bytes is None or memory.bytes > size:
        raise InternalError(f"memory {memory.name}", f"has {memory.bytes} bytes, on the platform {size}")
    return f"  {memory.name} (rwx) : ORIGIN = {base:#x}, LENGTH = {memory.bytes:#x}"


def _extent(target: Target, memory: Memory) -> tuple[int, int]:
    """Address and bytes of what it is made of."""
    found = [_simulated(target, bank) for bank in memory.banks or (memory.symbol,)]
    for one, following in pairwise(found):
        if one.base + one.size != following.base:
            raise InternalError(f"memory {memory.name}", f"{one.name} and {following.name} do not adjoin")
    return found[0].base + memory.base_offset, sum(one.size for one in found) - memory.base_offset


def _simulated(target: Target, name: str) -> Simulated:
    found = target.platform.memories
    for one in found:
        if one.name.lower() == name:
            return one
    raise InternalError(f"memory {name}", f"is not among {', '.join(one.name for one in found)}")


def _aliases(target: Target) -> list[str]:
    used = {role: found[0].name for role, use in ROLES.items() if (found := holding(target.memories, use))}
    if COPIES in target.runtime_texts.get("link.ld", ""):
        used["copies"] = next((memory.name for memory in target.memories if memory.copies), used["RAM"])
    return [f'REGION_ALIAS("{role}", {name})' for role, name in used.items() if role != name]


def _sections(target: Target) -> list[str]:
    return [
        f"SECTIONS {{ {memory.section} (NOLOAD) : {{ *({memory.section} {memory.section}.*) }} > {memory.name} }}"
        for memory in holding(target.memories, ARENA)[1:]
    ]
