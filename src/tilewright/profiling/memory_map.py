"""What lies where in each memory, step by step, as rectangles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from tilewright.memory import allocator
from tilewright.planner.l2_buffers import PARAMS, SCRATCH, staging_buffer
from tilewright.planner.plan import Plan
from tilewright.target.target import Cluster

RUNTIME, TENSOR, CONSTANT, STREAM, WORKING = "runtime", "tensor", "constants", "stream", "working memory"
KINDS = (TENSOR, STREAM, CONSTANT, WORKING, RUNTIME)


@dataclass(frozen=True)
class Region:
    """Bytes [offset, offset + bytes) during the steps from `first` to `last`."""

    name: str
    kind: str
    offset: int
    bytes: int
    first: int
    last: int

    @property
    def end(self) -> int:
        return self.offset + self.bytes


@dataclass(frozen=True)
class MemoryMap:
    memory: str
    capacity: int
    """Bytes that may be used."""
    used: int
    steps: tuple[str, ...]
    """Names of the layers."""
    regions: tuple[Region, ...]
    remark: str = ""

    def live(self, step: int) -> int:
        """Bytes in use at a step."""
        return sum(region.bytes for region in self.regions if region.first <= step <= region.last)

    def as_dict(self) -> dict[str, Any]:
        return {
            "memory": self.memory, "capacity": self.capacity, "used": self.used,
            "regions": [asdict(region) for region in self.regions],
        }  # fmt: skip


def memory_maps(plan: Plan) -> tuple[MemoryMap, ...]:
    """The near memory, the far one, and the spare one and the store if something lives there."""
    cluster = plan.mapped.target.cluster
    assert cluster is not None
    steps = tuple(step.option.node.name or step.option.node.key for step in plan.steps)
    maps = [_l1(plan, cluster, steps), _l2(plan, cluster, steps)]
    if plan.wmem_problem.buffers:
        regions = tuple(_regions(plan, plan.wmem_problem, plan.wmem, 0))
        remark = "activations that the other memories have no room for"
        maps.append(MemoryMap(cluster.wmem, plan.wmem.peak, plan.wmem.peak, steps, regions, remark))
    stored = [name for name, home in plan.homes.items() if home.level == "store" and home.owner == name]
    if stored or plan.l3_problem.buffers:
        maps.append(_store(plan, cluster, steps, stored))
    return tuple(maps)


def _l1(plan: Plan, cluster: Cluster, steps: tuple[str, ...]) -> MemoryMap:
    budget, last = plan.budget, max(len(steps) - 1, 0)
    fixed = [Region("state of the runtime", RUNTIME, 0, cluster.state, 0, last)]
    if budget.stacks_in_l1:
        fixed.append(Region(f"stacks of {budget.cores} cores", RUNTIME, cluster.state, budget.stacks, 0, last))
    regions = (*fixed, *_regions(plan, plan.l1_problem, plan.l1, budget.base))
    return MemoryMap(cluster.l1, budget.total, plan.l1_bytes, steps, regions)


def _l2(plan: Plan, cluster: Cluster, steps: tuple[str, ...]) -> MemoryMap:
    graph = plan.mapped.graph
    besides = sum(
        graph.types[name].bytes
        for name, home in plan.homes.items()
        if home.owner == name and home.level in ("constant", "input", "output")
    )
    remark = f"the arena for activations; {besides:,} bytes of constants, inputs and outputs lie beside it"
    capacity = max(plan.l2.peak, 1)
    return MemoryMap(
        cluster.l2, capacity, plan.l2.peak, steps, tuple(_regions(plan, plan.l2_problem, plan.l2, 0)), remark
    )


def _store(plan: Plan, cluster: Cluster, steps: tuple[str, ...], stored: list[str]) -> MemoryMap:
    regions, at = [], 0
    for name in stored:
        size = plan.mapped.graph.types[name].bytes
        regions.append(Region(name, CONSTANT, at, size, 0, max(len(steps) - 1, 0)))
        at += -(-size // 16) * 16
    regions += _regions(plan, plan.l3_problem, plan.l3, at)
    used = at + plan.l3.peak
    remarks = ["constants, staged before they are used"] * bool(stored)
    remarks += ["activations that no other memory has room for"] * bool(plan.l3.peak)
    return MemoryMap(cluster.l3, max(used, 1), used, steps, tuple(regions), "; ".join(remarks))


def _regions(plan: Plan, problem: allocator.Problem, solution: allocator.Solution, base: int) -> Iterator[Region]:
    for buffer in problem.buffers:
        name, kind = _described(plan, buffer.name)
        yield Region(name, kind, base + solution.offsets[buffer.name], buffer.bytes, buffer.first, buffer.last)


def _described(plan: Plan, name: str) -> tuple[str, str]:
    """What a buffer of the plan is called, and what it is for."""
    if name.startswith("tensor "):
        return name.removeprefix("tensor "), TENSOR
    number, _, operand = name.partition(" ")
    step = plan.steps[int(number)]
    layer = step.option.node.name or step.option.node.key
    if operand in (PARAMS, SCRATCH):
        return f"{operand.strip('()')} of {layer}", WORKING if operand == SCRATCH else CONSTANT
    passing = next((o.name for o in step.option.operands if staging_buffer(o.name) == operand), None)
    if passing is not None:
        return f"{passing} of {layer}, from or to the store", STREAM
    streamed = next((o for o in step.option.operands if o.name == operand), None)
    if streamed is None:
        return f"{operand} for {layer}", CONSTANT
    times = f", {streamed.buffers} times" if streamed.buffers > 1 else ""
    return f"{operand} of {layer}{times}", CONSTANT if streamed.is_constant else STREAM
