"""The kernels of a unit: drivers that submit jobs, with what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from tilewright.accelerator.accepting import unsupported_reason
from tilewright.accelerator.chains import kind_of
from tilewright.accelerator.declaration import texts
from tilewright.accelerator.jobs import Declared, DeviceJob
from tilewright.accelerator.numbers import Types, operand_shapes
from tilewright.accelerator.packing import meaning, packed_kind
from tilewright.accelerator.unit import Unit, way_of
from tilewright.errors import CompileError, present
from tilewright.ir.op import Op, Params
from tilewright.ir.requant import Requant
from tilewright.ir.types import BYTES, TensorType
from tilewright.records import dataclass
from tilewright.target.kernel import CycleEstimate, Kernel
from tilewright.target.structs.common import requant_fields
from tilewright.tiling.windows import window

UNUSED = "unused"
"""The one field of parameters that have none: C has no empty structs."""
LARGE = 2**30
STACK = 160
"""Bytes that a driver needs at the most."""


@dataclass(frozen=True, eq=False)
class Driver:
    """A pattern of a unit as a kernel."""

    unit: Unit
    form: Declared
    waits: bool
    """Whether the cores' part waits for the device too: where no runtime does it."""

    @property
    def stem(self) -> str:
        totals = "_totals" * self.form.gives_totals
        return f"{self.unit.name}_{self.form.pattern.name}{totals}"

    @property
    def op(self) -> type[Op]:
        found = present(kind_of(self.form.pattern), self.unit.name, f"there is no {self.form.pattern.op}")
        return packed_kind(found) if self.form.pattern.packings else found

    @property
    def is_cut(self) -> bool:
        """Whether a call may be several jobs: their registers are a table then."""
        return bool(self.form.pattern.cuts or self.form.pattern.limits)

    @property
    def operands(self) -> list[str]:
        """Of the C function, without results."""
        return [name.rstrip("?") for name in self.op.operands]

    @property
    def addresses(self) -> list[tuple[str, str]]:
        """Registers that get addresses, and of what."""
        known = (*self.operands, *self.op.results)
        return [(register, value) for register, value in self.form.pattern.writes.items() if value in known]

    @property
    def values(self) -> list[tuple[str, str]]:
        """Registers that get numbers, and their expressions."""
        addresses = dict(self.addresses)
        return [(name, value) for name, value in self.form.pattern.writes.items() if name not in addresses]

    @property
    def int32s(self) -> frozenset[str]:
        """Operands that are int32 wherever they are there: those that may be absent, if nothing else is declared."""
        optional = (name.rstrip("?") for name in self.op.operands if name.endswith("?"))
        return frozenset(n for n in optional if texts(self.form.pattern.types.get(n, "int32")) == ("int32",))

    def kernel(self) -> Kernel:
        words = [f"{name}:int32" if name in self.int32s else name for name in self.operands]
        types = {name: frozenset(texts(kinds)) for name, kinds in self.form.pattern.types.items()}
        if self.form.gives_totals:
            types.pop("Y", None)
        return Kernel(
            self.op, f"{self.stem}.c", f"{' '.join(words)} -> {' '.join(self.op.results)}", types, self.params,
            self.scratch if self.form.gives_totals else None, self.unsupported_reason, stack=STACK,
            header=f"{self.stem}.h", offloaded=True, can_preprogram=True,
            has_epilogue=self.waits or self.form.gives_totals, waits=self.waits, cycles=self.cycles,
            picojoules=self.picojoules if self.counts_energy else None, multiples=self.form.pattern.multiples,
        )  # fmt: skip

    def unsupported_reason(self, op: Op, types: Types) -> str | None:
        return unsupported_reason(self.form, op, types)

    # ---- parameters -------------------------------------------------------------------------------------------------

    def params(self, op: Op, types: Types) -> Params:
        jobs = self.form.jobs(op, types)
        if not self.is_cut:
            found: Params = dict(zip([name for name, _ in self.values], self._numbers(jobs[0]), strict=True))
        else:
            rows = ([*(job.starts[value] for _, value in self.addresses), *self._numbers(job)] for job in jobs)
            found = {"jobs": len(jobs), "words": [word for row in rows for word in row]}
        if self.form.gives_totals:
            found["totals"] = _totals(op, types)
        return found or {UNUSED: 0}

    def _numbers(self, job: DeviceJob) -> list[int]:
        return [_word(self.form, register, text, job) for register, text in self.values]

    def scratch(self, op: Op, types: Types) -> int:
        """Totals that cores requantise."""
        return 4 * types["Y"].elements

    # ---- cycles -----------------------------------------------------------------------------------------------------

    def cycles(self, op: Op, types: Types, extents: Mapping[str, int], cores: int) -> CycleEstimate:
        local, kinds = local_job(op, types, extents)
        jobs = self.form.job_count(local, kinds)
        costs = self.unit.costs
        engine = costs.scale * self.form.cycles(local, kinds)
        finish = self._finish(requantisation(local, kinds, cores)) if self.form.gives_totals else 0.0
        # All jobs but the last are waited for before the one behind them is submitted.
        waited = engine * (jobs - 1) / jobs
        return CycleEstimate(finish, jobs * costs.submit + waited, engine - waited, jobs > 1)

    @property
    def counts_energy(self) -> bool:
        return bool(self.form.accelerator.picojoules_of(self.form.pattern))

    def picojoules(self, op: Op, types: Types, extents: Mapping[str, int]) -> float:
        return self.form.picojoules(*local_job(op, types, extents))

    def _finish(self, work: Requantisation) -> float:
        return self.unit.costs.finished(work.way) * work.results + self.unit.costs.channel * work.channels


@dataclass(frozen=True)
class Requantisation:
    """What the core that has most to do does with totals."""

    way: str
    results: int
    channels: int
    """Runs of results with the same factors."""


def requantisation(op: Op, types: Types, cores: int) -> Requantisation:
    """Channels that lie side by side are shared by rows, others by planes."""
    outer, channels, inner = _planes(op, types)
    if inner == 1:
        results, runs = -(-outer // cores) * channels, channels
    else:
        runs = -(-outer * channels // cores)
        results = runs * inner
    return Requantisation(way_of(_requant(op), types), results, runs)


def local_job(op: Op, types: Types, extents: Mapping[str, int]) -> tuple[Op, dict[str, TensorType]]:
    """A tile of a layer with these extents, as if it were the first."""
    shapes = operand_shapes(op, types)
    if extents == op.extents(shapes):
        return op, dict(types)
    box = {loop: (0, extent) for loop, extent in extents.items()}
    found = {}
    for name, spans in op.footprint(shapes, box).items():
        shape = tuple(part.stop - part.start for part in window(spans, types[name].shape))
        found[name] = TensorType(types[name].dtype, shape)
    return op.at(shapes, box), {name: found[name] for name in types}


def _word(form: Declared, register: str, text: str, job: DeviceJob) -> int:
    value = form.value(f"register '{register}'", text, job.numbers)
    if value != int(value) or not -(2**31) <= value < 2**32:
        what = f"pattern '{form.pattern.name}': register '{register}' would get {value}, by '{text}'"
        raise CompileError(form.source, what, "a whole number that fits 32 bits is expected")
    return int(value) - (2**32 if value >= 2**31 else 0)


def _products(op: Op, types: Types) -> int:
    """How far a sum of products of bytes may be from its bias."""
    shapes = operand_shapes(op, types)
    extents, factors = op.extents(shapes), [types[name] for name in list(shapes)[:2]]
    count = prod(extents[loop] for loop in op.reductions(shapes))
    return min(count * 255 * 255, LARGE) if all(BYTES[kind.dtype] == 1 for kind in factors) else LARGE


def _planes(op: Op, types: Types) -> tuple[int, int, int]:
    """Y as outer x channels x inner."""
    shape, plain = types["Y"].shape, meaning(op)
    axis = 1 if hasattr(plain, "channels_last") and not plain.channels_last else len(shape) - 1
    return prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])


def _requant(op: Op) -> Requant:
    return present(getattr(meaning(op), "requant", None), str(op), "has no requantisation")


def _totals(op: Op, types: Types) -> Params:
    """The fields of tw_totals, with a factor for each channel."""
    outer, channels, inner = _planes(op, types)
    return {
        "outer": outer, "channels": channels, "inner": inner,
        "products": _products(op, types), "mul_step": int(types["mul"].elements > 1),
        "add_step": int("add" in types and types["add"].elements > 1),
        "requant": requant_fields(_requant(op), types["mul"].elements),
    }  # fmt: skip
