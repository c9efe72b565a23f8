"""Wait states: what blocks of a core's code wait for, instructions and data, in the memories where these lie."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tilewright.emulator.counting import PARTS, WORD, BlockCost
from tilewright.emulator.decoding import Instruction
from tilewright.emulator.reading import read_waits
from tilewright.sim.platform import Memory, Platform

POINTERS = (*(f"r{number}" for number in range(13)), "sp", "lr")


class Waits:
    """Of one core; `register` and `word_at` say what it has in registers and memory when a block begins."""

    def __init__(
        self, platform: Platform, core: str, register: Callable[[str], int], word_at: Callable[[int], int | None]
    ) -> None:
        self._memories, self._core, self._register, self._word_at = platform.memories, core, register, word_at

    @property
    def are_there(self) -> bool:
        return any(memory.latency or memory.fetch_latency for memory in self._memories)

    def added(self, cost: BlockCost, instructions: Sequence[Instruction]) -> BlockCost:
        """The cost of a block with what it waits."""
        memory = self._memory_at(instructions[0].address)
        if memory is None or not self.are_there:
            return cost
        wait = memory.fetch_latency.get(self._core, memory.latency.get(self._core, 0))
        registers = {name: self._register(name.upper()) for name in POINTERS}
        return replace(cost, wait=wait, read_waits=read_waits(instructions, registers, self._wait_of, self._word_at))

    def _memory_at(self, address: int) -> Memory | None:
        return next((m for m in self._memories if m.base <= address < m.base + m.size), None)

    def _wait_of(self, address: int, size: int) -> int:
        """Parts of cycles: a cache for data gets lines, of which other reads have a part each."""
        memory = self._memory_at(address)
        wait = 0 if memory is None else memory.latency.get(self._core, 0)
        if memory is None or not memory.port.data_cache_bytes:
            return wait * PARTS
        return wait * PARTS * size // (memory.port.line_bytes or WORD)

    def __str__(self) -> str:
        slow: dict[tuple[int, int], list[str]] = {}
        for memory in self._memories:
            alike = memory.latency.get(self._core, 0), memory.port.line_bytes or WORD
            slow.setdefault(alike, []).append(memory.name)
        waits = [
            f"{wait} wait states for each {line} bytes of {', '.join(names)}"
            for (wait, line), names in slow.items()
            if wait
        ]
        return ", ".join(waits) or "no wait states"
