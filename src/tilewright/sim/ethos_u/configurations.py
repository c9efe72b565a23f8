"""The NPUs that are simulated: how many products they compute in a cycle, and what orders their weights."""

from __future__ import annotations

from tilewright.errors import CompileError
from tilewright.records import dataclass

BANK = 1024
"""Bytes of a bank of the shared buffer."""
TABLES = 2 * BANK
"""Bytes of tables of functions, in the last banks that operations use."""
KEPT_FREE = 2
"""Banks behind the tables, where the buffer has more than 16."""


@dataclass(frozen=True)
class Configuration:
    name: str
    macs: int
    """Products of bytes in a cycle, of all cores."""
    banks: int
    """Of the shared buffer of a core, 1 KiB each."""
    cores: int = 1
    unit: tuple[int, int, int] = (2, 2, 8)
    """Height, width and channels of the result that a core computes at once."""
    is_u65: bool = False

    @property
    def ifm_unit_depth(self) -> int:
        return 8

    @property
    def buffer_bytes(self) -> int:
        return self.banks * BANK

    @property
    def table_address(self) -> int:
        used = self.banks - KEPT_FREE if self.banks > 16 else self.banks
        return used * BANK if self.banks > 16 else used * BANK - TABLES


CONFIGURATIONS = {
    one.name: one
    for one in (
        Configuration("ethos-u55-32", 32, 16, unit=(1, 1, 4)),
        Configuration("ethos-u55-64", 64, 16, unit=(1, 1, 8)),
        Configuration("ethos-u55-128", 128, 24, unit=(1, 2, 8)),
        Configuration("ethos-u55-256", 256, 48),
        Configuration("ethos-u65-256", 256, 48, is_u65=True),
        Configuration("ethos-u65-512", 512, 48, cores=2, is_u65=True),
    )
}


def find_configuration(name: str) -> Configuration:
    if name in CONFIGURATIONS:
        return CONFIGURATIONS[name]
    known = ", ".join(CONFIGURATIONS)
    if name.startswith("ethos-u85"):
        raise CompileError(name, "is not simulated: its registers and streams differ from those of U55 and U65", known)
    raise CompileError(name, "there is no such NPU", f"NPUs: {known}")
