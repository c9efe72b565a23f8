"""The device beside a core, without a core: addresses that an NPU cannot read."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.targets.ethos_u.test_target import program
from tilewright.errors import Refusal
from tilewright.sim.ethos_u.configurations import find_configuration
from tilewright.targets.ethos_u.device import BASE_POINTERS, CMD, QBASE, QSIZE, RUN, EthosUDevice, Place

NPU = "ethos-u55-128"


@pytest.mark.parametrize(
    ("register", "address", "said"),
    [
        (QBASE, 0x1004, "has 0x1004 in QBASE, which is no multiple of 16"),
        (BASE_POINTERS + 8, 0x1008, "has 0x1008 in base pointer 1, which is no multiple of 16"),
        (BASE_POINTERS, 0x9000, "has 0x9000 in base pointer 0, where there is no memory"),
    ],
)
def test_addresses_that_an_npu_cannot_read(register: int, address: int, said: str) -> None:
    device = EthosUDevice(find_configuration(NPU), [Place(0x1000, 0x1000, False, 0x1000)])
    device.host = SimpleNamespace(read=lambda at, size: bytes(size))  # type: ignore[assignment]
    for place, value in {QBASE: 0x1000, QSIZE: 16, register: address}.items():
        device.write(place, value, 0)
    with pytest.raises(Refusal, match=said):
        device.write(CMD, RUN, 0)


def test_programs_align_what_the_npu_reads() -> None:
    """Streams and their constants; what the core alone reads is as compilers align it."""
    data = program("cortex-m33+u55-128").compiled.files["network_data.c"]
    lines = [line for line in data.splitlines() if " const " in line]
    aligned = [line for line in lines if "aligned(16)" in line]
    assert len(aligned) == 2
    assert all("stream" in line or "none" in line for line in aligned)
