"""Colours that stand for the same thing in all pictures of a page. Dark letters are readable on all of them."""

from __future__ import annotations

from collections.abc import Iterable

SERIES = ("#6aaee0", "#f2a65a", "#7fc584", "#c5a3dc", "#e88b94", "#66c4bd", "#e3c65b", "#b9a48f", "#8f9fe8", "#a9c34f",
          "#e59ac8", "#d9896a")  # fmt: skip
"""Told apart by readers who do not see red and green."""
QUIET = "#a9b1bd"
"""What is not computed, and what is in the background."""


def by_name(names: Iterable[str]) -> dict[str, str]:
    """A colour for each, in order; from the first one again where there are more names than colours."""
    return {name: SERIES[at % len(SERIES)] for at, name in enumerate(dict.fromkeys(names))}
