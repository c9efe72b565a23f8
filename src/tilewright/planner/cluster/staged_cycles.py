"""How long layers wait for constants that come from L3."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tilewright.ir.types import TensorType
from tilewright.target.memory import Link


@dataclass(frozen=True)
class Staging:
    """Of the constants of one layer."""

    commands: float = 0.0
    """Cycles in which the DMA core gives the link its commands."""
    link: float = 0.0
    """Cycles in which the link is at work."""


def staging_of(constants: Iterable[str], types: Mapping[str, TensorType], udma: Link | None) -> Staging:
    sizes = [types[name].bytes for name in constants]
    if udma is None or not sizes:
        return Staging()
    transfers = sum(-(-size // udma.longest) for size in sizes)
    return Staging(transfers * udma.command, transfers * udma.latency + sum(sizes) * udma.read)


def with_staging(layers: Sequence[int], staging: Sequence[Staging], ahead: int) -> list[int]:
    """What passes from layer to layer, given what each takes once its constants are there. They are sent for when the
    layer before begins, one layer `ahead`, or when their own does: nobody goes on before they have been."""
    now, arrival, found = 0.0, 0.0, []
    following = [*staging[1:], Staging()]
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
