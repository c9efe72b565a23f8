"""One CV32E40P with a memory that answers in the next cycle, as its user manual assumes for its cycle counts.

The core's own timing is TIMING_CV32E40P in engine/timing.h.
"""

from __future__ import annotations

from tilewright.sim.platform import Device, Flavour, Group, Kind, Memory, Platform

CV32E40P = Platform(
    name="cv32e40p",
    summary="one CV32E40P without FPU, 1 MiB of single-cycle memory",
    groups=(Group("core", 1, flavour=Flavour.COREV, has_float=False, boots=True, local_memory="ram"),),
    memories=(Memory("ram", 0x8000_0000, 0x10_0000, banks=16),),
    devices=(
        Device("soc control", Kind.SOC_CONTROL, 0x1A10_4000, 0x1000),
        Device("stdout", Kind.CONSOLE, 0x1A10_F000, 0x1000),
    ),
)
