"""What `compile()` and its kin may be asked of a target, for type checkers: the options of `Settings`, under the names
of its fields and of the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TypedDict


class Asked(TypedDict, total=False):
    """None where nothing is asked."""

    cores: int | None
    l1: int | None
    l2: int | None
    home: str | None
    buffering: str | None
    engines: str | Iterable[str] | None
    time_limit: float | None
    weight_memory: bool | str | None
    memories: Mapping[str, int] | Iterable[tuple[str, int]] | None
    memory: Mapping[str, int] | Iterable[tuple[str, int]] | None
    placed: Mapping[str, str] | Iterable[tuple[str, str]] | None
    place: Mapping[str, str] | Iterable[tuple[str, str]] | None
    code_in_l1: bool | None
    numerics: str | None
    precision: str | None
    packed_weights: bool | None
    pack_weights: bool | None
    accelerators: str | PathLike[str] | Iterable[str | PathLike[str]] | None
    accelerator: str | PathLike[str] | Iterable[str | PathLike[str]] | None
    instructions: str | PathLike[str] | Iterable[str | PathLike[str]] | None
    instruction: str | PathLike[str] | Iterable[str | PathLike[str]] | None
    cpu: str | None
    gpu: str | None
    capability: str | None
    threads: int | None
    pins_threads: bool | None
    pin: bool | None
    kernels: str | PathLike[str] | Iterable[str | PathLike[str]] | None
    isa: str | None
    clock_mhz: float | None
    clock: float | None
    optimise: str | None
    emulator: str | None
    stack: int | None
    copied_weights: int | None
    copy_weights: int | None
