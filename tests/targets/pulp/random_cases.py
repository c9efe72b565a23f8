"""Random operands for the kernels of the cluster: odd sizes, every type, zero points, every way to requantise."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from tilewright.codegen.kernels import Instance
from tilewright.ir.requant import Requant
from tilewright.ir.types import Array, limits
from tilewright.run.kernel_bench import Case

CORES = (1, 3, 8)
SAME_CODE = ("resident", "streamed")
"""In names of kernels whose sources differ in nothing but their names."""


def share(cases: Sequence[Case], cores: int) -> list[Case]:
    """Cases of some of the types that a kernel is compiled for: every type of an operand beside every one of another.
    For fewer cores than the cluster has a third of these, each with another one."""
    instances: dict[str, dict[Instance, None]] = {}
    for case in cases:
        instances.setdefault(case.kernel.source.replace(*SAME_CODE), {})[case.instance] = None
    taken = set[Instance]()
    for found in instances.values():
        taken.update(covering(list(found)))
    kept = [case for case in cases if case.instance in taken]
    return kept if cores == CORES[-1] else kept[CORES.index(cores) :: len(CORES)]


def covering(instances: Sequence[Instance]) -> list[Instance]:
    """Few that have every pair of choices that any has, those with the most first."""
    missing, chosen = set[Pair]().union(*map(_pairs, instances)), list[Instance]()
    while missing:
        chosen.append(max(instances, key=lambda one: len(_pairs(one) & missing)))
        missing -= _pairs(chosen[-1])
    return chosen


Pair = tuple[tuple[str, object], ...]


def _pairs(instance: Instance) -> set[Pair]:
    others = ("source", instance.kernel.source), ("exponents", instance.has_exponents), ("curve", instance.curve)
    return set(combinations((*instance.dtypes, *others), 2))


class Draw:
    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def size(self, high: int) -> int:
        return int(self.random.integers(1, high, endpoint=True))

    def flag(self) -> bool:
        return bool(self.random.integers(2))

    def one_of(self, *choices: object) -> object:
        return choices[int(self.random.integers(len(choices)))]

    def byte(self) -> str:
        return "int8" if self.flag() else "uint8"

    def array(self, dtype: str, *shape: int) -> Array:
        if dtype == "float32":
            return self.random.standard_normal(shape).astype(np.float32)
        return self.random.integers(*limits(dtype), shape, dtype, endpoint=True)

    def between(self, low: int, high: int, *shape: int) -> Array:
        return self.random.integers(low, high, shape, endpoint=True).astype(np.int32)

    def zero(self, dtype: str) -> int:
        low, high = limits(dtype)
        return int(self.random.integers(low, high, endpoint=True)) if self.flag() else 0

    def requant(self, dtype: str, products: int, *shapes: tuple[int, ...]) -> tuple[Requant, list[Array | None]]:
        """One that makes use of the result's range; `products` is how many are summed. Sometimes out of the ordinary:
        large factors, negative ones, summands as large as they go."""
        low, high = limits(dtype)
        shape, other = (shapes[int(self.random.integers(len(shapes)))] for _ in range(2))
        kind = self.one_of("narrow", "narrow", "large", "high", "high", "odd")
        if kind == "odd":
            requant = Requant(self.size(40), dtype, low // 2, high // 3, 3, "half_even" if self.flag() else "half_up")
            return requant, [self.array("int32", *shape), self.array("int32", *other) if self.flag() else None]
        scale = 400.0 / (6000.0 * products**0.5)
        if kind == "high":
            shift = 30 + int(np.ceil(-np.log2(scale)))
            mul = self.between(2**29, 2**30, *shape)
            rounding = "half_even" if self.flag() else "half_up"
            return Requant(shift, dtype, low, high, int(self.random.integers(low, high)), rounding), [mul, None]
        shift = 16 if kind == "narrow" else 20
        largest = max(2, int(scale * 2**shift)) * (1 if kind == "narrow" else 300)
        mul, add = self.between(largest // 2 + 1, largest, *shape), self.between(-(2**22), 2**22, *other)
        zero_point = int(self.random.integers(low, high)) if self.flag() else 0
        return Requant(shift, dtype, low, high, zero_point), [mul, add if self.flag() else None]
