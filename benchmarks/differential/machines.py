"""Targets with settings by chance, and how often each has its turn."""

from __future__ import annotations

import importlib.util
import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tilewright import targets
from tilewright.errors import CompileError
from tilewright.target.processors import check_runs_here
from tilewright.target.settings import Settings
from tilewright.targets import PLUS

ROOT = Path(__file__).parents[2]
INSTRUCTIONS = tuple(str(ROOT / "examples" / f"instruction_{name}") for name in ("dot4", "requant"))

DEVICES = tuple(
    str(ROOT / "examples" / words)
    for words in ("qvanilla", "qvanilla_requant", "ws_array", "residual", "qvanilla_rtl:requant=2")
)
CROSSBARS = str(ROOT / "examples" / "crossbars")
DEVICE = f"{PLUS}device"
"""Behind a target's name: with an accelerator beside the cores."""

USUAL_ROOM, SIMULATED_ROOM = 20_000, 4_000
TIME_LIMIT = 1.0
"""Of a plan, in seconds."""


EXPORTED = "onnx"
"""No target: the network as it is exported, run by ONNX Runtime."""


OF_BYTES = ("integers", "patches", "quantised", "quantised_wide", "tflite", "tflite_networks")
"""Families in which an NPU beside a core finds work; it refuses networks without any."""
LEARNING = "training"
"""The family of networks that learn."""
RISCV_CORES = ("esp-rv32imc", "esp-rv32imafc", "hazard3", "nuclei-n205", "qingke-v4f")
CORES = {board.name: board.cpu + (PLUS + board.npu if board.npu else "") for board in targets.boards()}
"""Of boards, with an NPU beside it if they have one."""


def _runs_here(processor: str) -> bool:
    try:
        check_runs_here(processor)
    except CompileError:
        return False
    return True


@dataclass(frozen=True)
class Machine:
    target: str
    """Or a board."""
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
    processors: tuple[str, ...] = ()
    """Of target cpu; those that are another kind of machine are emulated."""
    devices: tuple[str, ...] = ()
    """Accelerators of which one stands beside the cores."""
    alias: str = ""

    @property
    def name(self) -> str:
        """What it is asked for by."""
        return self.alias or self.target

    def suited(self, families: Sequence[str]) -> Sequence[str]:
        """Those of which it takes some networks, or else all."""
        has_npu = PLUS in CORES.get(self.name, self.name)
        learns = self.target not in ("gpu", EXPORTED) and self.name != "rv64"
        fitting = [one for one in families if (one in OF_BYTES or not has_npu) and (one != LEARNING or learns)]
        return fitting or families

    def settings(self, batch: int) -> Settings:
        """Each batch has others."""
        chance = random.Random(f"{self.target} {batch}")
        if self.devices:
            return Settings(accelerators=(chance.choice(self.devices),), time_limit=TIME_LIMIT)
        if self.target == "cpu":
            return Settings(threads=chance.choice((1, 2)), cpu=chance.choice(self.processors))
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


X86 = ("x86-64-v2", "x86-64-v3", "x86-64-v3+avxvnni", "x86-64-v4", "x86-64-v4+vnni", "x86-64-v4+amx")
RISCV = ("rv64gcv", "rv64gcv", "rv64gc", "spacemit-x60")

MACHINES = (
    Machine("generic", 30, USUAL_ROOM, 64),
    Machine("cpu", 30, USUAL_ROOM, 64, processors=("", "", *filter(_runs_here, X86))),
    Machine("cpu", 6, SIMULATED_ROOM, 24, processors=RISCV, alias="rv64"),
    Machine("gpu", 12, USUAL_ROOM, 64, engines=((), (), ("cpu", "gpu"))),
    Machine("cortex-m0plus", 4),
    Machine("cortex-m4", 5),
    Machine("cortex-m7", 4),
    Machine("cortex-m33", 2),
    Machine("cortex-m55", 3),
    Machine("cortex-m55+u55-128", 3),
    Machine("cortex-m33+u65-256", 2),
    *(Machine(f"cortex-m55+u55-{macs}", 1) for macs in (32, 64, 256)),
    Machine("mps3-an547+u55-128", 1),
    *(Machine(board, 1) for board in targets.board_names()),
    Machine("rv32", 4),
    *(Machine(core, 1) for core in RISCV_CORES),
    Machine("siracusa", 6, l1=(16_000, 60_000), cores=8, homes=("", "L2", "L3"), engines=((), ("cluster",))),
    Machine("quad", 4, l1=(16_000, 40_000), cores=4),
    Machine("snitch", 4, l1=(30_000, 60_000), cores=8, engines=((), ("cluster",))),
    *(Machine(one, 2, devices=DEVICES, alias=f"{one}{DEVICE}") for one in ("siracusa", "snitch")),
    *(Machine(one, 2, devices=(*DEVICES, CROSSBARS), alias=f"{one}{DEVICE}") for one in ("rv32", "quad")),
    Machine("minpool", 3, l1=(20_000,), cores=16),
    Machine("mempool", 2, l1=(200_000,), cores=256),
    Machine("itapool", 2, l1=(200_000,), cores=192),
    Machine(EXPORTED, 4, together=16),
)


def machines() -> list[Machine]:
    """Those that programs can run on here."""
    return [machine for machine in MACHINES if _is_present(machine)]


def _is_present(machine: Machine) -> bool:
    if machine.alias == "rv64":
        return shutil.which("qemu-riscv64") is not None
    core = CORES.get(machine.target, machine.target)
    has_core = "cortex-m55" not in core or shutil.which("qemu-system-arm") is not None
    return has_core and (PLUS not in core or importlib.util.find_spec("ethosu") is not None)
