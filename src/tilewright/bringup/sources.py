"""What is made from a declaration, to be read: C, and what a device in Verilog includes."""

from __future__ import annotations

from tilewright import targets
from tilewright.accelerator.attach import units_of, with_accelerators


def drivers(words: str, target_name: str) -> dict[str, str]:
    """The register map and the drivers, by file name."""
    target = with_accelerators(targets.find(target_name or targets.first_simulated()), [words])
    (unit,) = units_of(target, [words])
    engine = next(engine for engine in target.engines if engine.name == unit.name)
    headers = [f"{unit.accelerator.name}_registers.h", f"{unit.name}_unit.h"]
    names = [*headers, *(name for kernel in engine.kernels for name in (kernel.params_header, kernel.source))]
    included = dict(unit.rtl.included) if unit.rtl else {}
    return included | {name: target.kernel_text(name) for name in names}
