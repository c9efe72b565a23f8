"""The kernels of N-EUREKA: weights in the weight memory or in L1, windows as they are or gathered by the cores, results
by it alone or finished by the cores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from tilewright.ir.op import Op, Params
from tilewright.records import dataclass
from tilewright.target.kernel import CycleEstimate, Kernel, Types
from tilewright.targets.hwpe.bracketed import (
    Bracketed,
    BracketedConv,
    BracketedGathered,
    BracketedLinear,
)
from tilewright.targets.hwpe.columns import NeurekaColumns
from tilewright.targets.hwpe.conv import NeurekaConv
from tilewright.targets.hwpe.cycles import job_cycles
from tilewright.targets.hwpe.finishing import bracket_cycles, finish_cycles
from tilewright.targets.hwpe.gathered import NeurekaGathered
from tilewright.targets.hwpe.heads import NeurekaHeads
from tilewright.targets.hwpe.jobs import REGISTERS, registers
from tilewright.targets.hwpe.linear import NeurekaLinear
from tilewright.targets.hwpe.op import BY_CORES, BY_NPU, Neureka
from tilewright.targets.hwpe.row import NeurekaRow

MOST_JOBS = 2
"""Of an image."""
PROGRAMMING = 140
"""Cycles of the core that writes the registers of a job."""
LINES = 2
"""Of a bracketed layer: all its jobs run for each."""
NARROW = frozenset({"int8", "uint8"})
RESULTS = frozenset({"int8", "uint8", "int16", "int32"})
SCALES = frozenset({"uint8", "uint16", "int32"})
MULTIPLES: Mapping[type[Neureka], Mapping[str, int]] = {
    NeurekaLinear: {"f": 32},
    NeurekaRow: {"f": 32},
    NeurekaColumns: {},
    NeurekaConv: {"y": 6, "x": 6, "f": 32},
    NeurekaGathered: {"y": 6, "x": 6, "f": 32},
    NeurekaHeads: {},
    BracketedLinear: {"f": 32},
    BracketedConv: {"y": 6, "x": 6, "f": 32},
    BracketedGathered: {"y": 6, "x": 6, "f": 32},
}
"""Tiles of the array."""


@dataclass(frozen=True)
class Variant:
    """One way to use N-EUREKA for an operator."""

    op: type[Neureka]
    resident: bool
    """Whether weights are in the weight memory."""
    finished: bool
    """Whether the cores finish what N-EUREKA makes."""

    @property
    def is_gathered(self) -> bool:
        return issubclass(self.op, NeurekaGathered)

    @property
    def is_bracketed(self) -> bool:
        return issubclass(self.op, Bracketed)

    @property
    def is_shared(self) -> bool:
        return self.op is NeurekaColumns

    @property
    def suffixes(self) -> str:
        if self.is_shared:
            return "_columns"
        return "_gathered" * self.is_gathered + ("_bracketed" if self.is_bracketed else "_finished" * self.finished)

    @property
    def signature(self) -> str:
        if self.is_bracketed:
            return "X W:uint8 scale:uint16 bias:int32 add:int32 shifts:uint8 plain:int8 -> Y"
        return f"X W:uint8 scale bias:int32 {'add:int32 ' * self.finished}{'rest:int8 ' * self.is_shared}-> Y"

    def kernel(self) -> Kernel:
        place = "resident" if self.resident else "streamed"
        return Kernel(
            self.op, f"neureka_{place}{self.suffixes}.c", self.signature,
            {"X": NARROW, "scale": SCALES, "Y": NARROW if self.is_bracketed else RESULTS}, self.params,
            self.scratch if self.is_gathered or self.finished else None, self.unsupported_reason, offloaded=True,
            can_preprogram=not self.is_gathered, has_prologue=self.is_gathered, has_epilogue=self.finished,
            resident=frozenset({"W"} if self.resident else ()), cycles=self.cycles, planning_key=without_offset,
            epilogue_operands=epilogue_operands, multiples=MULTIPLES[self.op], header=f"neureka{self.suffixes}.h",
        )  # fmt: skip

    def unsupported_reason(self, op: Op, types: Types) -> str | None:
        needs_cores = cast(Neureka, op).made != BY_NPU
        if needs_cores == self.finished:
            return None
        return "the cores have to requantise its results" if needs_cores else "N-EUREKA computes its results alone"

    # ---- parameters -------------------------------------------------------------------------------------------------

    def params(self, op: Op, types: Types) -> Params:
        neureka = cast(Neureka, op)
        fields: Params = self._start(neureka, types)
        if isinstance(op, Bracketed):
            fields = {"start": fields, **op.bracket_params(types)}
        elif self.finished:
            fields = {"start": fields, **neureka.finish_params(types)}
        if isinstance(op, NeurekaColumns):
            fields = {"finished": fields, **op.turn_params(types)}
        if isinstance(op, NeurekaGathered):
            fields = {self._inner: fields, "gather": op.strips(types).params()}
        return fields

    @property
    def _inner(self) -> str:
        """What gathering kernels call the parameters of all else."""
        return "bracketed" if self.is_bracketed else "finished" if self.finished else "start"

    def _start(self, op: Neureka, types: Types) -> Params:
        """The jobs, as tw_neureka_params has them."""
        jobs = op.jobs(types, self.resident)
        words = [word for job in jobs for word in registers(job)]
        words += [0] * (REGISTERS * MOST_JOBS - len(words))
        return {
            "batch": op.batch(types), "jobs": len(jobs), "x_step": op.x_step(types), "y_step": jobs[0].out_bytes,
            "registers": tuple(words),
        }  # fmt: skip

    def scratch(self, op: Op, types: Types) -> int:
        """Gathered windows, then what N-EUREKA makes of all images."""
        neureka = cast(Neureka, op)
        gathered = op.strips(types).bytes if isinstance(op, NeurekaGathered) else 0
        if isinstance(op, Bracketed):
            return gathered + LINES * op.made_bytes(types)
        last = neureka.jobs(types, self.resident)[-1]
        return gathered + self.finished * neureka.batch(types) * (last.y_at + last.out_bytes)

    # ---- cycles -----------------------------------------------------------------------------------------------------

    def cycles(self, op: Op, types: Types, extents: Mapping[str, int], cores: int) -> CycleEstimate:
        """Jobs are written while the one before runs; N-EUREKA takes two."""
        neureka = cast(Neureka, op)
        local = neureka.tile_types(types, extents)
        jobs = [job_cycles(job) for job in neureka.jobs(local, self.resident)] * neureka.batch(local)
        jobs *= LINES if self.is_bracketed else 1
        starts = [max(job, PROGRAMMING) for job in jobs]
        submitting = PROGRAMMING + sum(starts[:-2]) + PROGRAMMING * (len(jobs) > 1)
        npu = PROGRAMMING + sum(starts[:-1]) + jobs[-1]
        gathered = op.strips(local).cycles(cores) if isinstance(op, NeurekaGathered) else 0.0
        finished = self._finishing(neureka, types, extents, cores)
        return CycleEstimate(gathered + finished, submitting, npu - submitting, len(jobs) > 1)

    def _finishing(self, op: Neureka, types: Types, extents: Mapping[str, int], cores: int) -> float:
        if isinstance(op, Bracketed):
            return bracket_cycles(op, types, extents, cores)
        return finish_cycles(op, types, extents, cores) if self.finished else 0.0


def epilogue_operands(op: Op) -> frozenset[str]:
    """What N-EUREKA does not read of constants: factors, and of bare totals the bias."""
    neureka = cast(Neureka, op)
    if isinstance(op, Bracketed):
        return frozenset({"add", "plain"})
    if neureka.made != BY_CORES or neureka.is_multiplied:
        return frozenset()
    return frozenset({"scale", "bias", "add", "rest"} if neureka.bare else {"scale", "add"})


def without_offset(op: Op, types: Types) -> object:
    """What weights are counted from is a register's value, in all jobs the same; so are the bits of codes of one tap,
    which take a byte each."""
    neureka = cast(Neureka, op)
    return replace(neureka, offset=0, bits=8 if neureka.has_whole_codes else neureka.bits)


OPERATORS: Mapping[type[Neureka], tuple[bool, ...]] = {
    NeurekaLinear: (False, True), NeurekaConv: (False, True), NeurekaGathered: (False, True), NeurekaHeads: (True,),
    NeurekaRow: (False, True), NeurekaColumns: (True,), BracketedLinear: (True,), BracketedConv: (True,),
    BracketedGathered: (True,),
}  # fmt: skip
"""With whether there are kernels whose results the cores finish."""

KERNELS = tuple(
    Variant(op, resident, finished).kernel()
    for op, options in OPERATORS.items()
    for finished in options
    for resident in (True, False)
)
