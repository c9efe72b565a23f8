"""Where the time of a token goes, by operator: measured on the virtual SoC."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.codegen import folder
from tilewright.codegen.network import Writer
from tilewright.language.caching import POSITION
from tilewright.language.folder import ModelC
from tilewright.profiling.measuring import profile_program
from tilewright.profiling.profile import LayerProfile
from tilewright.records import dataclass
from tilewright.run.soc import SocProgram

NAME = "token"


@dataclass(frozen=True)
class Share:
    """Of the layers of one operator on one engine."""

    operator: str
    engine: str
    layers: int
    cycles: int
    share: float
    """Of all cycles of the step."""
    microjoules: float | None

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def shares(model: ModelC, position: int, cc: str | None = None) -> tuple[Share, ...]:
    """One token that is read behind so many others, watched; the longest first."""
    schedule = model.modes.decode.schedule
    program = SocProgram(Writer(schedule, NAME), folder.files(schedule, NAME), cc)
    inputs = {"ids": np.zeros((1, 1), np.int32), POSITION: np.array([position], np.int32)}
    found = profile_program(program, inputs, NAME).profile
    groups: dict[tuple[str, str], list[LayerProfile]] = defaultdict(list)
    for layer in found.layers:
        groups[layer.operator, layer.engine].append(layer)
    made = [_share(*kind, layers, found.cycles) for kind, layers in groups.items()]
    return tuple(sorted(made, key=lambda one: -one.cycles))


def _share(operator: str, engine: str, layers: Sequence[LayerProfile], total: int) -> Share:
    cycles = sum(layer.cycles for layer in layers)
    energies = [layer.energy.microjoules for layer in layers if layer.energy]
    return Share(operator, engine, len(layers), cycles, cycles / total, sum(energies) if energies else None)
