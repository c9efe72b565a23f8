"""Cycles and stacks of some kernels of a target, put among what is known of the others."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tilewright.calibration.measuring import KernelFit, cases, fits, samples, timings
from tilewright.calibration.stacks import FILE, kernel_stacks
from tilewright.errors import CompileError
from tilewright.records import dataclass
from tilewright.target.kernel import Kernel
from tilewright.target.runner import NANOSECONDS
from tilewright.target.target import Target


@dataclass(frozen=True)
class SomeKernels:
    """What was measured of them."""

    stems: tuple[str, ...]
    fits: tuple[KernelFit, ...]
    stacks: Mapping[str, int]
    """Bytes; empty where the target has one core, whose stack is the caller's."""

    def among_costs(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """What costs.json says, with these."""
        found: dict[str, Mapping[str, Any]] = {
            "kernels": {fit.key: list(fit.coefficients) for fit in self.fits},
            "cold": {fit.key: fit.cold for fit in self.fits if "." not in fit.key},
        }
        return {**known, **{part: self._merged(known.get(part, {}), new) for part, new in found.items()}}

    def among_stacks(self, known: Mapping[str, int]) -> dict[str, int]:
        return self._merged(known, self.stacks)

    def _merged(self, known: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
        """Keys are stems, or stems and widths of elements."""
        others = {key: value for key, value in known.items() if key.split(".")[0] not in self.stems}
        return dict(sorted({**others, **new}.items()))


def some_kernels(target: Target, stems: Sequence[str], progress: Callable[[str], None]) -> SomeKernels:
    kernels = _found(target, stems)
    progress("choosing samples")
    kinds = {kernel.op for kernel in kernels}
    taken = [sample for sample in samples(target) if type(sample[0]) in kinds]
    measured = [case for case in cases(target, taken) if case.kernel.stem in stems]
    _check_samples(kernels, {case.kernel.stem for case in measured})
    progress(f"measuring {len(measured)} samples")
    made = tuple(fits(timings(target, measured)))
    progress("measuring stacks")
    return SomeKernels(tuple(stems), made, kernel_stacks(target, kernels) if target.agents.has_runtime else {})


def _found(target: Target, stems: Sequence[str]) -> list[Kernel]:
    if target.runner.unit == NANOSECONDS:
        raise CompileError(f"--kernel {stems[0]}", f"target {target.name} is measured as a whole", "leave it out")
    kernels = [kernel for engine in target.engines for kernel in engine.kernels]
    for stem in stems:
        if stem not in (known := {kernel.stem for kernel in kernels}):
            near = get_close_matches(stem, sorted(known))
            hint = f"did you mean {near[0]}?" if near else "give the name of its file without .c"
            raise CompileError(f"--kernel {stem}", f"is no kernel of {target.name}", hint)
    return [kernel for kernel in kernels if kernel.stem in stems]


def _check_samples(kernels: Sequence[Kernel], measured: Collection[str]) -> None:
    for kernel in kernels:
        if kernel.cycles is None and kernel.stem not in measured:
            raise CompileError(
                f"kernel {kernel.stem}", f"no sample of {kernel.op.__name__} is computed by it",
                "add some to the file of their kind in calibration/, or to the kernel's line (Kernel.samples)",
            )  # fmt: skip


def stacks_file(target: Target, costs: Path | None) -> Path:
    """Beside the costs, where these do not go into the target's folder."""
    return target.folder / FILE if costs is None else costs.parent / FILE


def as_stacks(found: Mapping[str, int]) -> str:
    return json.dumps(dict(sorted(found.items())), indent=1) + "\n"


def known_in(path: Path) -> dict[str, Any]:
    """What a file of measurements says; nothing where there is none yet."""
    found: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
    return found
