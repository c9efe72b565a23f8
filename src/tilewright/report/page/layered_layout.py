"""Places for the nodes of a graph without circles: in rows from the top, with room for the lines that pass by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from tilewright.records import dataclass

ORDERING, PLACING = 6, 40
"""Times that all rows are put into the order of their neighbours, and that places are moved towards them."""
PASSING = 0.25
"""Width of a line that passes a row, where a node's is 1."""

Point = tuple[str, int]
"""A node or, in a row that it does not stand in, the line from it."""


@dataclass(frozen=True)
class NodePositions:
    rows: Mapping[str, int]
    """Of every node."""
    places: Mapping[Point, float]
    """Along its row: of nodes, and of the lines from them in rows that these pass."""
    ends: Mapping[str, int]
    """The last row that the line from a node goes to."""


def layered(inputs: Mapping[str, Sequence[str]]) -> NodePositions:
    """`inputs`: of every node those whose results it reads, all of them before it."""
    rows = _rows(inputs)
    ends = dict(rows)
    for node, read in inputs.items():
        for other in read:
            ends[other] = max(ends[other], rows[node])
    lines = {(node, row): (node, row - 1) for node in inputs for row in range(rows[node] + 1, ends[node])}
    above: dict[Point, list[Point]] = {point: [before] for point, before in lines.items()}
    for node, read in inputs.items():
        above[node, rows[node]] = [(other, max(rows[node] - 1, rows[other])) for other in read]
    ordered = _ordered(above)
    return NodePositions(rows, _placed(ordered, above, {(node, row) for node, row in rows.items()}), ends)


def _rows(inputs: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """The longest way from the top."""
    rows: dict[str, int] = {}
    for node, read in inputs.items():
        rows[node] = max((rows[other] + 1 for other in read), default=0)
    # What nothing is read by stands just above what reads it, not at the top of everything.
    for node, read in inputs.items():
        readers = [rows[other] for other, names in inputs.items() if node in names] if not read else []
        rows[node] = max(min(readers) - 1, 0) if readers else rows[node]
    return rows


def _below(above: Mapping[Point, Sequence[Point]]) -> dict[Point, list[Point]]:
    found: dict[Point, list[Point]] = defaultdict(list)
    for point, others in above.items():
        for other in others:
            found[other].append(point)
    return found


def _ordered(above: Mapping[Point, Sequence[Point]]) -> dict[int, list[Point]]:
    """Rows in which few lines cross: each in the order of the middles of its neighbours, down and up again."""
    rows: dict[int, list[Point]] = defaultdict(list)
    for point in above:
        rows[point[1]].append(point)
    below = _below(above)
    for sweep in range(ORDERING):
        down = sweep % 2 == 0
        neighbours = above if down else below
        at = {point: place for row in rows.values() for place, point in enumerate(row)}
        for number in sorted(rows, reverse=not down):
            rows[number].sort(key=lambda point: _middle([at[other] for other in neighbours.get(point, ())], at[point]))
            at.update({point: place for place, point in enumerate(rows[number])})
    return rows


def _middle(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _placed(
    rows: Mapping[int, Sequence[Point]], above: Mapping[Point, Sequence[Point]], nodes: set[Point]
) -> dict[Point, float]:
    """Rows around the middle at first, then everything as near to its neighbours as the order leaves room."""
    half = {point: 0.5 if point in nodes else PASSING / 2 for point in above}
    below, places = _below(above), dict[Point, float]()
    for row in rows.values():
        at = -sum(half[point] for point in row)
        for point in row:
            places[point] = at + half[point]
            at += 2 * half[point]
    for sweep in range(PLACING):
        for number in sorted(rows, reverse=sweep % 2 == 1):
            row = rows[number]
            near = [[places[other] for other in (*above[point], *below.get(point, ()))] for point in row]
            wanted = [_middle(values, places[point]) for values, point in zip(near, row, strict=True)]
            places.update(zip(row, _apart(wanted, [half[point] for point in row]), strict=True))
    return places


def _apart(wanted: Sequence[float], half: Sequence[float]) -> list[float]:
    """Places as near to those wanted as can be, in the same order and none over another: those that would overlap
    stand side by side around the middle of what they want."""
    groups: list[tuple[float, int, float]] = []  # the sum of what its members want of the first, members, width
    for want, own in zip(wanted, half, strict=True):
        group = (want - own, 1, 2 * own)
        while groups and groups[-1][0] / groups[-1][1] + groups[-1][2] > group[0] / group[1]:
            total, members, width = groups.pop()
            group = (total + group[0] - width * group[1], members + group[1], width + group[2])
        groups.append(group)
    found: list[float] = []
    for total, members, _ in groups:
        at = total / members
        for own in half[len(found) : len(found) + members]:
            found.append(at + own)
            at += 2 * own
    return found
