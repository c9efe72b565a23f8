"""What a framework's reader gives: the ONNX model, and what the framework itself computes of the example inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tilewright.ir.types import Array
from tilewright.records import dataclass


@dataclass(frozen=True)
class Step:
    """A tensor that the framework computes on the way to the outputs."""

    tensor: str
    """Of the imported graph."""
    value: Array
    place: str
    """The module, line or operation that makes it, in the framework's words."""


def no_steps() -> Iterable[Step]:
    return ()


@dataclass(frozen=True)
class Own:
    """Numbers that the framework computes."""

    inputs: Mapping[str, Array]
    """By their names in the ONNX model."""
    outputs: Sequence[Array]
    """In the order of the ONNX model, without states."""
    steps: Callable[[], Iterable[Step]] = no_steps


@dataclass(frozen=True)
class Exported:
    proto: Any
    title: str
    own: Callable[[], Own] | None = None
    """Runs the framework; None where there is nothing to run it with."""
    notes: tuple[str, ...] = ()
    """What the user should know of the conversion."""
