"""Addresses in the headers of a target are those of its platform's description: neither moves alone."""

from __future__ import annotations

import re

import pytest

from tilewright import targets
from tilewright.sim.platform import Kind
from tilewright.target.target import Target

pytestmark = pytest.mark.fast

DEVICES = {
    "TW_EVENT_UNIT": (Kind.EVENT_UNIT,), "TW_DMA": (Kind.MCHAN, Kind.MEMPOOL_DMA),
    "TW_CLUSTER_CONTROL": (Kind.CLUSTER_CONTROL,), "TW_INSTRUCTION_CACHE": (Kind.ICACHE_CONTROL,),
    "TW_NPU": (Kind.NEUREKA,), "TW_UDMA": (Kind.HYPER_UDMA,), "TW_EXIT": (Kind.SOC_CONTROL,),
    "TW_STDOUT": (Kind.CONSOLE,), "TW_CONTROL": (Kind.SNITCH_CONTROL, Kind.MEMPOOL_CONTROL),
}  # fmt: skip
"""Names of addresses in `kernels/platform.h`, and what may be there."""
EXIT_REGISTER = 0xA0
WEIGHTS = "TW_WEIGHT_MEMORY"
CLUSTERS = [name for name in targets.names() if targets.find(name).links]


@pytest.mark.parametrize("name", CLUSTERS)
def test_devices_are_where_the_platform_has_them(name: str) -> None:
    target = targets.find(name)
    said = _addresses(target)
    said.pop(WEIGHTS, None)
    found = {one: address - EXIT_REGISTER * (one == "TW_EXIT") for one, address in said.items()}
    first = {device.kind: device.base for device in reversed(target.platform.devices)}
    assert found == {one: next(first[kind] for kind in DEVICES[one] if kind in first) for one in found}
    has_control = Kind.SNITCH_CONTROL in first or Kind.MEMPOOL_CONTROL in first
    by_instructions = {"TW_DMA", "TW_STDOUT"} if Kind.XDMA in first else set()
    assert {"TW_DMA", "TW_STDOUT", "TW_CONTROL" if has_control else "TW_EXIT"} - by_instructions <= set(found)


def test_the_weight_memory_is_where_the_platform_has_it() -> None:
    target = targets.find("siracusa")
    assert _addresses(target)[WEIGHTS] == target.platform.memory("wmem").base


def _addresses(target: Target) -> dict[str, int]:
    text = target.kernel_file("platform.h").read_text()
    lines = re.findall(r"^#define (TW_\w+) (0x[0-9a-f]{8})u?\b", text, flags=re.MULTILINE)
    return {name: int(value, 16) for name, value in lines}
