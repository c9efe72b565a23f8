"""What is said of a compiled model, by those who do not have its networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tilewright.language.generation import Weights
from tilewright.records import dataclass


@dataclass(frozen=True)
class Summary:
    name: str
    """The prefix of its functions."""
    target: str
    description: str
    """The model in one line."""
    context: int
    ends: tuple[int, ...]
    """Tokens that end a text."""
    greedy: bool
    """Whether it gives the most likely token alone."""
    threads: int
    pins_threads: bool
    bytes: Mapping[str, int]
    """By memory; none of a program for a chip, which has to be linked first."""
    weights: Weights

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(found: Mapping[str, Any]) -> Summary:
        return Summary(**{**found, "ends": tuple(found["ends"]), "weights": Weights(**found["weights"])})
