"""Steps that were seen against those that were said, one by one."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.run.order_said import Said
from tests.run.order_seen import ASK, BARRIER, BEGIN, JOB, MOVE, WAIT, Seen
from tilewright.planner.keys import PARAMS
from tilewright.planner.schedule.events import Region

REGISTERS = 8
"""Arguments of a function that lie in registers."""


@dataclass
class Comparison:
    """Of all cores of a program, one after the other."""

    l1: str
    """The name of the memory that tiles are in."""
    bases: dict[str, int] = field(default_factory=dict)
    """Memories, and tensors that have one of their own -> the address of its first byte, where it was first seen."""

    def difference(self, seen: list[Seen], said: list[Said]) -> str:
        """The first one; empty where there is none."""
        jobs: list[tuple[int, int]] = []
        at = 0
        for position, wanted in enumerate(said):
            at = self._behind(seen, at, wanted, said[position - 1] if position else wanted)
            if at == len(seen) or not self._is_same(seen[at], wanted, jobs):
                return f"{position}: {wanted} is said, {seen[at] if at < len(seen) else 'the end'} is seen"
            at += 1
        at = self._behind(seen, at, Said(BARRIER), said[-1]) if said else 0
        return f"{seen[at]} is seen behind the last" if at < len(seen) else ""

    def _behind(self, seen: list[Seen], at: int, wanted: Said, before: Said) -> int:
        """Further pieces of what was moved before."""
        while at < len(seen) and self._goes_on(seen[at], wanted, before):
            at += 1
        return at

    def _is_same(self, seen: Seen, said: Said, jobs: list[tuple[int, int]]) -> bool:
        if seen.what != said.what:
            return False
        if seen.what == JOB:
            jobs.append((seen.group, said.group))
            return all((seen.group > a) == (said.group > b) and (seen.group < a) == (said.group < b) for a, b in jobs)
        if seen.what == MOVE:
            return all(map(self._is_at, seen.addresses, said.regions))
        if seen.what in (BEGIN, WAIT, BARRIER):
            return seen.group == said.group
        if seen.what.startswith(ASK):
            return (seen.layer, seen.tile, seen.group) == (said.layer, said.tile, said.group)
        return seen.layer == said.layer and self._is_given(seen, said)

    def _is_given(self, seen: Seen, said: Said) -> bool:
        """All operands that are in L1, where there are so few that all are in registers; of parameters for several
        kinds of tiles one."""
        if not seen.addresses or len(said.regions) > REGISTERS or self.l1 not in self.bases:
            return True
        given = {address - self.bases[self.l1] for address in seen.addresses}
        inside = [region for region in said.regions if region.memory == self.l1]
        return all(
            any(region.start <= one < region.stop for one in given) if region.role == PARAMS else region.start in given
            for region in inside
        )

    def _is_at(self, address: int, region: Region) -> bool:
        return self.bases.setdefault(region.memory, address - region.start) == address - region.start

    def _goes_on(self, seen: Seen, wanted: Said, before: Said) -> bool:
        """Another piece of a transfer that one command does not move."""
        if seen.what != MOVE or before.what != MOVE:
            return False
        if wanted.what == MOVE and all(map(self._would_be_at, seen.addresses, wanted.regions)):
            return False
        return all(map(self._is_within, seen.addresses, before.regions))

    def _would_be_at(self, address: int, region: Region) -> bool:
        return self.bases.get(region.memory, address - region.start) == address - region.start

    def _is_within(self, address: int, region: Region) -> bool:
        return region.start <= address - self.bases[region.memory] < region.stop


def queued_difference(compared: Comparison, seen: list[Seen], said: list[Said]) -> str:
    """Of a core whose transfers may begin between the jobs of a tile or behind them: transfers and submissions have an
    order of their own."""
    for kept in ((BEGIN, MOVE, WAIT, BARRIER), ("submit", BARRIER)):
        own = [step for step in seen if step.what in kept], [step for step in said if step.what in kept]
        if difference := compared.difference(*own):
            return difference
    return ""
