"""Names as tables and pictures show them. Converters join the names of everything that an operator was fused from, and
exporters the names of all modules around it; in full they stand in `--json`, tooltips and comments in C."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

LONGEST = 32
"""Letters of a name that stays as it is."""
JOINED = ";"
"""Between the names of operators that became one."""
BORDER = re.compile(r"(?<=[/.])(?=.)")
"""Where the tail of a name may begin."""


def short_names(names: Iterable[str]) -> dict[str, str]:
    """For each name itself, or if it is long the shortest tail of one of its parts that no other name has."""
    found = {name: tuple(dict.fromkeys(_tails(name))) for name in dict.fromkeys(names)}
    owners = Counter(tail for tails in found.values() for tail in tails)
    return {name: name if len(name) <= LONGEST else _shortest(name, tails, owners) for name, tails in found.items()}


def _shortest(name: str, tails: Iterable[str], owners: Counter[str]) -> str:
    unique = (tail for tail in tails if owners[tail] == 1 and any(letter.isalpha() for letter in tail))
    return min(unique, key=len, default=name)


def _tails(name: str) -> Iterator[str]:
    """Of a name and of the parts that it is joined from, itself included."""
    yield name
    for part in name.split(JOINED):
        yield part
        yield from (part[border.start() :] for border in BORDER.finditer(part))
