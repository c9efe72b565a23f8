"""What a page calls columns, axes and settings; files, commands and tooltips have their keys."""

from __future__ import annotations

from tilewright.exploring.axes import MEMORY, PARAMETER
from tilewright.exploring.columns import column_of

ALONE = {
    "milliseconds": "time", "macs": "MACs", "macs_per_cycle": "MACs per cycle", "predicted_cycles": "predicted cycles",
    "energy_uj": "energy", "energy_accelerators_uj": "energy of accelerators",
    "energy_not_counted": "accelerators not counted", "planned_ram_bytes": "planned RAM",
    "constant_bytes": "constants", "code_bytes": "code", "stalls.stalled": "cores stalled",
    "stalls.asleep": "cores asleep", "stalls.refills": "code cache refills", "utilisation.cores": "cores busy",
    "max_abs_error": "largest error", "mismatches": "wrong elements", "compile_seconds": "compiling",
    "build_seconds": "building", "run_seconds": "running", "seconds": "whole point",
    "l1": "L1", "l2": "L2", "home": "home of tensors", "isa": "ISA", "clock": "clock (MHz)",
}  # fmt: skip
FAMILIES = {
    "macs": "MACs on {}", "bytes": "bytes in {}", "traffic": "traffic {}", "stalls": "stalled: {}",
    "utilisation": "{} busy", MEMORY[:-1]: "size of {}", PARAMETER[:-1]: "{}",
}  # fmt: skip
"""What stands before the first dot of a key -> how the rest is called."""


def words_of(key: str) -> str:
    """`bytes.L1` is called "bytes in L1", `parameter.cycles_per_mac` "cycles per mac"."""
    family, _, rest = key.partition(".")
    if key in ALONE or not rest:
        return ALONE.get(key, key.replace("_", " "))
    said = rest.replace("_", " ")
    return FAMILIES.get(family, "{}").format(said.upper() if f"{family}." == MEMORY else said)


def with_unit(key: str) -> str:
    column, words = column_of(key), words_of(key)
    unit = column.unit if column is not None else ""
    is_said = not unit or unit in words or unit in ("share", "bytes", "MACs/cycle")
    return words if is_said else f"{words} ({unit})"


def meaning_of(key: str) -> str:
    """For a tooltip, with the key where it is called otherwise."""
    column = column_of(key)
    said = f"{column.unit} {column.meaning}".strip() if column is not None else ""
    return "; ".join(filter(None, (said, f"in the tables: {key}" if words_of(key) != key else "")))
