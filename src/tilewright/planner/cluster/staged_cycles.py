"""How long layers wait for constants that come from memories behind the home of tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.records import dataclass
from tilewright.target.memory import Link


@dataclass(frozen=True)
class Staging:
    """Of the constants of one layer."""

    commands: float = 0.0
    """Cycles in which the DMA core gives commands, or waits for links that are not the last ones on the way."""
    link: float = 0.0
    """Cycles in which the last link is at work."""


def staging_of(sizes: Mapping[str, int], ways: Mapping[str, Sequence[Link]]) -> Staging:
    """Of constants with their bytes, and the links by which each comes."""
    commands = arriving = 0.0
    for name, size in sizes.items():
        *before, last = (_transfer(size, link) for link in ways[name])
        commands += sum(map(sum, before)) + last[0]
        arriving += last[1]
    return Staging(commands, arriving)


def _transfer(size: int, link: Link) -> tuple[float, float]:
    """Cycles of the core that starts it, and of the link."""
    transfers = -(-size // link.longest)
    return transfers * link.command, transfers * link.latency + size * link.read


def with_staging(layers: Sequence[int], staging: Sequence[Staging], ahead: int) -> list[int]:
    """What passes from layer to layer, given what each takes once its constants are there. They are sent for when the
    layer before begins, one layer `ahead`, or when their own does: nobody goes on before they have been."""
    now, arrival, found = 0.0, 0.0, []
    following = [*staging[1:], Staging()][: len(staging)]
    for number, (alone, own, later) in enumerate(zip(layers, staging, following, strict=True)):
        begun = now
        if number == 0 or not ahead:
            arrival = now + own.commands + own.link
        now = max(now, arrival)
        if ahead:
            now += later.commands
            arrival = now + later.link
        now += alone
        found.append(round(now) - round(begun))
    return found
