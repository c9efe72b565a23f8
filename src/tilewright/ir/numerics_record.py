"""What became of a layer's requantisation where the hardware's own was wanted."""

from __future__ import annotations

from typing import Any

from tilewright.records import dataclass


@dataclass(frozen=True)
class NumericsRecord:
    tensor: str
    """What the layer gives."""
    layer: str
    native: bool
    """Whether it has the hardware's requantisation; otherwise it is exact."""
    share: float
    """Of all totals whose result is not saturated, for how many the hardware's result is another one."""
    expected: float
    """The share of totals whose result differs, where results lie around the zero point, as in trained networks."""

    def as_dict(self) -> dict[str, Any]:
        return {"layer": self.layer, "native": self.native, "share": self.share, "expected": self.expected}
