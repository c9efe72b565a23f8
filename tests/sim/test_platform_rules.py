"""A platform is data, and wrong data is an error in words before anything is built from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.sim.assembling import assemble, elf_of
from tilewright.errors import CompileError
from tilewright.sim.platform import Device, Flavour, Group, InstructionCache, Kind, Memory, Platform, Window
from tilewright.sim.platform_rules import check_platform
from tilewright.sim.platforms import PLATFORMS
from tilewright.sim.simulator import Simulator

RAM = Memory("ram", 0x8000_0000, 0x1_0000, banks=16)
CORE = Group("core", 1, boots=True, local_memory="ram")
GOOD = Platform("mine", "", (CORE,), (RAM,))


def device(kind: Kind, *parameters: int | str, base: int = 0x1000_0000) -> dict[str, Any]:
    return {"devices": (Device("it", kind, base, 0x400, {}, parameters),)}


@pytest.mark.parametrize("platform", PLATFORMS.values(), ids=PLATFORMS)
def test_ours_are_right(platform: Platform) -> None:
    check_platform(platform)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"groups": (replace(CORE, cores=1025),)}, "it has 1025 cores, and there may be 1 to 1024"),
        ({"groups": ()}, "it has 0 groups, and there may be 1 to 4"),
        ({"groups": (replace(CORE, boots=False),)}, "no group boots"),
        ({"groups": (CORE, CORE)}, "there are two of group core"),
        ({"groups": (replace(CORE, local_memory="rom"),)}, "group core: rom is not a memory"),
        ({"groups": (CORE, Group("none", 0))}, "group none has no cores"),
        ({"groups": (CORE, Group("other", 1, flavour=Flavour.SNITCH))}, "are not simulated together"),
        ({"groups": (replace(CORE, flavour=Flavour.SNITCH),)}, "group core: Snitch cores share an instruction cache"),
        ({"groups": (replace(CORE, loads_in_flight=17),)}, "group core: 17 loads in flight, and there may be 0 to 16"),
        ({"memories": (replace(RAM, bank_bytes=6),)}, "ram: 6 bytes of a bank are no power of two"),
        ({"groups": (replace(CORE, cache=InstructionCache(8, 8)),)}, "a cache has 0 to 4 ways"),
        ({"groups": (replace(CORE, cache=InstructionCache(3, 4)),)}, "3 sets of a private cache are not a power"),
        ({"groups": (replace(CORE, cache=InstructionCache(8, 4, 17, 8, 4)),)}, "a shared cache has 0 to 16 banks"),
        ({"groups": (replace(CORE, cache=InstructionCache(8, 4, 2)),)}, "its shared cache has banks without lines"),
        ({"memories": (replace(RAM, banks=3),)}, "must have no latency and a power of two of banks"),
        ({"memories": (replace(RAM, latency={"core": 1}),)}, "must have no latency and a power of two of banks"),
        ({"memories": (RAM, Memory("rom", 0, 0x1000, banks=0))}, "rom has 0 banks"),
        ({"memories": (RAM, replace(RAM, name="rom", base=0x8000_F000))}, "ram and rom lie over each other"),
        ({"memories": (replace(RAM, refill_port_bytes=3),)}, "ram: 3 bytes of its port are no part of a line of 16"),
        ({"memories": (replace(RAM, base=0x8000_0800),)}, "does not begin and end at multiples of 0x1000"),
        ({"memories": (replace(RAM, base=0xFFFF_F000),)}, "ram cannot be at 0xfffff000..0x10000f000"),
        ({"memories": (RAM, replace(RAM, name="rom", base=0, latency={"x": 1}))}, "rom: x is not a group"),
        ({"windows": (Window(0, 0x1000, 0x8000_0000, ("x",)),)}, "window 0x0: x is not a group"),
        (device(Kind.TIMER, 1, 2, 3, 4, 5, 6, 7), "it has 7 parameters, at most 6 fit"),
        (device(Kind.TIMER, 31), "its line and the next one lie below 32"),
        (device(Kind.TIMER, base=0x8000_0000), "ram and it lie over each other"),
        (device(Kind.MCHAN, "ram", 0), "the ports, is from the number of cores to 40"),
        (device(Kind.MCHAN, 0, 2), "its first 1 parameters name memories"),
        (device(Kind.MCHAN_OUTER), "it is a view of MCHAN, which is not there"),
        (device(Kind.EVENT_UNIT_OUTER), "it is a view of EVENT_UNIT, which is not there"),
        (device(Kind.NEUREKA, "ram", "wmem"), "wmem is no memory or group"),
        (device(Kind.NEUREKA, "ram"), "its first 2 parameters name memories"),
        (device(Kind.HYPER_UDMA), "its first 4 parameters name memories"),
        (device(Kind.ICACHE_CONTROL, "ram"), "its parameter names a group"),
        (device(Kind.ITA, "ram", 12, 0, 4), "ram has fewer banks than the 128 bytes that it reads at once take"),
        (device(Kind.ITA, "ram", 32, 8, 5), "the line of its events, lies below 32"),
        (device(Kind.ITA, "ram", 1, 8, 5), "its third parameter, bits of a step of its softmax, is 0 to 7"),
        (device(Kind.ITA, "ram", 1, 0, 5), "its fourth parameter, the bytes of a bank, is 4, 8 or 16"),
        (device(Kind.ITA_VIEW), "it is a view of ITA, which is not there"),
    ],
)
def test_wrong_descriptions(change: dict[str, Any], what: str) -> None:
    with pytest.raises(CompileError) as caught:
        Simulator(replace(GOOD, **change))
    assert caught.value.where == "platform mine"
    assert what in caught.value.what


def test_all_objections_at_once() -> None:
    with pytest.raises(CompileError) as caught:
        check_platform(replace(GOOD, memories=(replace(RAM, banks=3),), **device(Kind.MCHAN_OUTER)))
    assert caught.value.what.count(";") == 1


def test_a_device_across_a_page() -> None:
    """It is there on both sides."""
    platform = replace(GOOD, devices=(Device("it", Kind.REGISTERS, 0x1000_0C00, 0x800),))
    source = "li a0, 0x10000ffc\n sw a0, 0(a0)\n sw a0, 4(a0)\n lw a1, 4(a0)\n 1: j 1b"
    with Simulator(platform) as simulator:
        simulator.load(elf_of(assemble(source)))
        simulator.run_until(cycle=100)
        assert simulator.register(0, "a1") == 0x1000_0FFC
