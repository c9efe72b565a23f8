"""Which operator of a file each operation of Vela's streams belongs to: its debug database tells."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence

TABLE = re.compile(r'<table name="(\w+)">\s*<!\[CDATA\[\s*(.*?)\]\]>', re.DOTALL)
WORD = 4
"""Bytes."""

Operators = Mapping[int, int]
"""Positions of operators in the file, by the word at which the operation is in its stream."""


def operators_of_streams(database: str) -> Sequence[Operators]:
    """For each stream, in the order of the file that Vela makes."""
    tables = {name: list(csv.DictReader(text.splitlines())) for name, text in TABLE.findall(database)}
    positions = {row["id"]: int(row["ext_key"]) for row in tables["source"]}
    sources = {row["id"]: row["source_id"] for row in tables["optimised"]}
    found: dict[str, dict[int, int]] = {row["id"]: {} for row in tables["cmdstream"]}
    for row in tables["queue"]:
        source = sources[row["optimised_id"]]
        if source in positions:
            found[row["cmdstream_id"]][int(row["offset"]) // WORD] = positions[source]
    return tuple(found.values())
