"""The cheapest cut of a graph into two sides."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping

Vertex = Hashable
Capacities = Mapping[tuple[Vertex, Vertex], int]
"""What it costs to have the first vertex on the source's side and the second one on the other."""

FORBIDDEN = 2**62
"""A capacity that no cut can afford."""


def min_cut(capacities: Capacities, source: Vertex, sink: Vertex) -> set[Vertex]:
    """The source's side of the cheapest cut; of several, the smallest. Flow is pushed along shortest paths."""
    room: dict[Vertex, dict[Vertex, int]] = {source: {}, sink: {}}
    for (start, end), capacity in capacities.items():
        room.setdefault(start, {})[end] = room.get(start, {}).get(end, 0) + capacity
        room.setdefault(end, {}).setdefault(start, 0)
    while True:
        came_from = _reachable(room, source)
        if sink not in came_from:
            return set(came_from)
        path = [sink]
        while path[-1] != source:
            path.append(came_from[path[-1]])
        steps = list(zip(path[1:], path, strict=False))
        flow = min(room[start][end] for start, end in steps)
        for start, end in steps:
            room[start][end] -= flow
            room[end][start] += flow


def _reachable(room: Mapping[Vertex, Mapping[Vertex, int]], source: Vertex) -> dict[Vertex, Vertex]:
    """What can still be reached, and from where."""
    came_from: dict[Vertex, Vertex] = {source: source}
    queue = deque([source])
    while queue:
        start = queue.popleft()
        for end, left in room[start].items():
            if left > 0 and end not in came_from:
                came_from[end] = start
                queue.append(end)
    return came_from
