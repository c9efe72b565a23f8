"""What things take on a target, in cycles: measured, and read from its costs.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from tilewright.records import dataclass

Coefficients = tuple[float, ...]
"""Cycles for each unit of a kernel's features."""


@dataclass(frozen=True)
class Costs:
    """What things take on a cluster, in cycles; fitted by measurement."""

    kernels: Mapping[str, Coefficients] = field(default_factory=dict)
    """By the kernel's stem, or its stem and the width of its elements: `copy.8`."""
    cold: Mapping[str, float] = field(default_factory=dict)
    """What a kernel's first call in a layer takes longer, by its stem, where its code is not in L1."""
    cold_part: float = 1.0
    """How much of that is paid."""
    layer: float = 100.0
    """Between the last kernel of a layer and the first of the next, without transfers."""
    tile: float = 60.0
    """Around each kernel call: waiting, barrier, addresses."""
    fetch: float = 250.0
    """Of the DMA core, for the commands that prefetch the constants of a later layer while an accelerator works."""
    latency: float = 20.0
    """Of what a tile loads or stores, beyond the bytes and the commands."""
    own_layer: float = 0.0
    """What a layer takes besides whose cores have tiles of their own."""
    own_transfer: float = 0.0
    """The latency of such a core, which gives commands and waits itself at every tile, also with two buffers; 0 where
    that was not measured."""
    slower: float = 1.0
    """How many times longer code takes than it was measured to."""
    stacks_outside: float = 1.35
    """How many times longer code takes whose stack is not in L1."""
    l1_code: float = 0.35
    """The part of cold code's cycles that is paid with code in L1, in what a plan leaves free: a missed line takes 5,
    not 9, and layers that come again find some of it in the caches; set by hand on those of a language model."""
    l1_code_overheads: Mapping[str, float] = field(default_factory=dict)
    """What layers and tiles take with code in L1, by the names above."""

    def with_inner_code(self) -> Costs:
        overheads: Mapping[str, Any] = self.l1_code_overheads
        return replace(self, cold_part=self.l1_code, **overheads)

    def with_stacks_outside(self) -> Costs:
        slower = self.stacks_outside
        return replace(
            self, kernels={key: tuple(slower * one for one in known) for key, known in self.kernels.items()},
            cold={key: slower * one for key, one in self.cold.items()}, cold_part=1.0, layer=slower * self.layer,
            tile=slower * self.tile, own_layer=slower * self.own_layer, slower=slower,
        )  # fmt: skip

    def with_kernels(self, measured: Mapping[str, Coefficients]) -> Costs:
        """With other costs of these, and those of all others as they are."""
        stems = {key.partition(".")[0] for key in measured}
        others = {key: known for key, known in self.kernels.items() if key.partition(".")[0] not in stems}
        return replace(self, kernels={**others, **measured})

    @staticmethod
    def read(path: Path) -> Costs:
        """As `tilewright calibrate` has written them."""
        found = json.loads(path.read_text())
        kernels = {key: tuple(values) for key, values in found.pop("kernels").items()}
        return Costs(kernels, **found)
