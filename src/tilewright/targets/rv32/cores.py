"""RISC-V cores of microcontrollers: instructions, and what these take. Numbers are cycles beyond the first one.

* rv32: nobody's; the CV32E40P's timing (`sim/cv32e40p/timing.h`).
* esp-rv32imc: loads of 2 cycles, taken branches of 2 to 3 (3 is taken) and `mul` of 1, as others have measured on the
  ESP32-C3; jumps as branches; `mulh` and divisions are assumed, as of similar cores.
* esp-rv32imafc: all assumed: Espressif publishes no cycles of the ESP32-P4's core, which has five stages and predicts
  branches. Its vectors and hardware loops are not used: the compiler does not know them.
* hazard3: Hazard3's documentation, "Instruction Cycle Counts" and "Branch Predictor" (github.com/Wren6991/Hazard3).
* qingke-v4f: loads and stores of 2 cycles and taken branches of 3 were measured by others on its small sibling, the
  CH32V003 (github.com/jnk0le/random, "pipeline cycle test"); the rest is assumed.
* nuclei-n205: all assumed, for two stages (Nuclei, Bumblebee Processor Core Concise Data Sheet).
"""

from __future__ import annotations

from tilewright.records import dataclass
from tilewright.sim.core_timing import CoreTiming, Predictor


@dataclass(frozen=True)
class Core:
    name: str
    isa: str
    summary: str
    timing: CoreTiming | None = None
    """Where it is not the CV32E40P's."""


CORES = (
    Core("rv32", "rv32imc", "a RISC-V microcontroller: one RV32IMC core"),
    Core(
        "esp-rv32imc", "rv32imc", "Espressif's small core (ESP32-C3, C6): RV32IMC, 2 cycles for a load",
        CoreTiming(load=1, taken_branch=2, jump=2, split_target=1, mulh=4, divide=32),
    ),
    Core(
        "esp-rv32imafc", "rv32imafc", "Espressif's large core (ESP32-P4): RV32IMAFC, without its vectors",
        CoreTiming(load_use=1, taken_branch=3, jump=1, mulh=1, divide=16, fpu_divide=11, predictor=Predictor.BACKWARD),
    ),
    Core(
        "hazard3", "rv32imac_zba_zbb_zbs_zbkb_zcb", "Hazard3 (RP2350): RV32IMAC with Zba, Zbb, Zbs, Zbkb, Zcb",
        CoreTiming(
            load_use=1, taken_branch=1, jump=1, split_target=1, divide=18, predictor=Predictor.LAST_BACKWARD
        ),
    ),
    Core(
        "qingke-v4f", "rv32imafc", "WCH QingKe V4F (CH32V307): RV32IMAFC",
        CoreTiming(load=1, store=1, taken_branch=2, jump=2, split_target=1, mulh=1, divide=16, fpu_divide=14),
    ),
    Core(
        "nuclei-n205", "rv32imac", "Nuclei Bumblebee N205 (GD32VF103): RV32IMAC",
        CoreTiming(load=1, taken_branch=2, jump=2, split_target=1, mulh=1, divide=32),
    ),
)  # fmt: skip
