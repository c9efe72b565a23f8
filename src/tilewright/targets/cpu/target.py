"""The processor of a computer: the portable kernels, compiled for all that it has (`--cpu`)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tilewright.target.processors import NATIVE
from tilewright.targets.generic import target as generic

TARGET = replace(
    generic.TARGET,
    name="cpu",
    summary="x86-64 and AArch64 computers; a library in this process by Program.load()",
    folder=Path(__file__).parent,
    bases=(generic.TARGET.folder,),
    processor=NATIVE,
)
