"""Targets with settings by chance, and how often each has its turn."""

from __future__ import annotations

import importlib.util
import random
import shutil
from dataclasses import dataclass
from pathlib import Path

from tilewright.target.settings import Settings

ROOT = Path(__file__).parents[2]
INSTRUCTIONS = tuple(str(ROOT / "examples" / f"instruction_{name}") for name in ("dot4", "requant"))

USUAL_ROOM, SIMULATED_ROOM = 20_000, 4_000
TIME_LIMIT = 1.0
"""Of a plan, in seconds."""


EXPORTED = "onnx"
"""No target: the network as it is exported, run by ONNX Runtime."""


@dataclass(frozen=True)
class Machine:
    target: str
    share: int
    """Of all runs: targets that are quick have more."""
    room: int = SIMULATED_ROOM
    """Elements of a tensor."""
    together: int = 24
    """Networks in a program."""
    l1: tuple[int, ...] = ()
    """Bytes of it for tiles that settings may ask for, on a cluster."""
    cores: int = 1
    homes: tuple[str, ...] = ("",)
    engines: tuple[tuple[str, ...], ...] = ((),)

    def settings(self, batch: int) -> Settings:
        """Each batch has others."""
        chance = random.Random(f"{self.target} {batch}")
        if self.target == "cpu":
            return Settings(threads=chance.choice((1, 2)), cpu=chance.choice(("", "", "x86-64-v3", "x86-64-v2")))
        if self.target == "rv32":
            own = chance.choice(((), (), INSTRUCTIONS[:1], INSTRUCTIONS))
            return Settings(isa=chance.choice(("", "rv32imc_zve32x")), instructions=own)
        if self.target == "gpu":
            return Settings(engines=chance.choice(self.engines))
        if not self.l1 or chance.random() < 0.3:
            return Settings(time_limit=TIME_LIMIT) if self.l1 else Settings()
        return Settings(
            chance.randint(1, self.cores), chance.choice((None, *self.l1)), None, chance.choice(self.homes),
            chance.choice(("auto", "single", "double")), chance.choice(self.engines), TIME_LIMIT,
            numerics=chance.choice(("", "", "exact")),
        )  # fmt: skip


MACHINES = (
    Machine("generic", 30, USUAL_ROOM, 64),
    Machine("cpu", 30, USUAL_ROOM, 64),
    Machine("gpu", 12, USUAL_ROOM, 64, engines=((), (), ("cpu", "gpu"))),
    Machine("cortex-m0plus", 4),
    Machine("cortex-m4", 5),
    Machine("cortex-m7", 4),
    Machine("cortex-m33", 2),
    Machine("cortex-m55", 3),
    Machine("cortex-m55+u55-128", 3),
    Machine("cortex-m33+u65-256", 2),
    Machine("rv32", 4),
    Machine("siracusa", 6, l1=(16_000, 60_000), cores=8, homes=("", "L2", "L3"), engines=((), ("cluster",))),
    Machine("quad", 4, l1=(16_000, 40_000), cores=4),
    Machine("snitch", 4, l1=(30_000, 60_000), cores=8, engines=((), ("cluster",))),
    Machine("minpool", 3, l1=(20_000,), cores=16),
    Machine("mempool", 2, l1=(200_000,), cores=256),
    Machine("itapool", 2, l1=(200_000,), cores=192),
    Machine(EXPORTED, 4, together=16),
)


def machines() -> list[Machine]:
    """Those that programs can run on here."""
    has_qemu = shutil.which("qemu-system-arm") is not None
    has_vela = importlib.util.find_spec("ethosu") is not None
    present = {"cortex-m55": has_qemu, "cortex-m55+u55-128": has_qemu and has_vela, "cortex-m33+u65-256": has_vela}
    return [machine for machine in MACHINES if present.get(machine.target, True)]
