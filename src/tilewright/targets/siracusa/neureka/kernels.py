"""The kernels of N-EUREKA: weights in the weight memory or in L1, results by it alone or finished by the cores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from tilewright.op import Op, Params
from tilewright.target import Kernel, Types
from tilewright.targets.siracusa.neureka.conv import NeurekaConv
from tilewright.targets.siracusa.neureka.cycles import job_cycles
from tilewright.targets.siracusa.neureka.finishing import finish_cycles
from tilewright.targets.siracusa.neureka.jobs import REGISTERS, registers
from tilewright.targets.siracusa.neureka.linear import NeurekaLinear
from tilewright.targets.siracusa.neureka.op import BY_NPU, Neureka

MOST_JOBS = 2
"""Of an image."""
PROGRAMMING = 140
"""Cycles of the core that writes the registers of a job."""
NARROW = frozenset({"int8", "uint8"})
RESULTS = frozenset({"int8", "uint8", "int32"})
SCALES = frozenset({"uint8", "uint16", "int32"})


# ---- parameters -----------------------------------------------------------------------------------------------------


def start_params(op: Neureka, types: Types, resident: bool) -> Params:
    """The jobs, as tw_neureka_params has them."""
    jobs = op.jobs(types, resident)
    batch = op.batch(types)
    words = [word for job in jobs for word in registers(job)]
    words += [0] * (REGISTERS * MOST_JOBS - len(words))
    return {
        "batch": batch, "jobs": len(jobs), "x_step": types["X"].bytes // batch,
        "y_step": jobs[0].height * jobs[0].out_row, "registers": tuple(words),
    }  # fmt: skip


def resident_params(op: Op, types: Types) -> Params:
    return start_params(cast(Neureka, op), types, True)


def streamed_params(op: Op, types: Types) -> Params:
    return start_params(cast(Neureka, op), types, False)


def finished_params(op: Neureka, types: Types, resident: bool) -> Params:
    """The jobs, and what the cores have to know of their results: tw_neureka_finished_params."""
    return {"start": start_params(op, types, resident), **op.finish_params(types)}


def resident_finished_params(op: Op, types: Types) -> Params:
    return finished_params(cast(Neureka, op), types, True)


def streamed_finished_params(op: Op, types: Types) -> Params:
    return finished_params(cast(Neureka, op), types, False)


def finished_scratch(op: Op, types: Types) -> int:
    """What N-EUREKA makes of all images."""
    neureka = cast(Neureka, op)
    job = neureka.jobs(types, True)[-1]
    return neureka.batch(types) * (job.y_at + job.height * job.out_row)


# ---- cycles ---------------------------------------------------------------------------------------------------------


def npu_cycles(op: Neureka, types: Types, extents: Mapping[str, int], resident: bool) -> float:
    """From the first register to the end of the last job. Registers are written while the job before runs."""
    local = op.tile_types(types, extents)
    jobs = [job_cycles(job) for job in op.jobs(local, resident)] * op.batch(local)
    return float(PROGRAMMING + sum(max(job, PROGRAMMING) for job in jobs[:-1]) + jobs[-1])


def resident_cycles(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, float]:
    return npu_cycles(cast(Neureka, op), types, extents, True), 0.0


def streamed_cycles(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, float]:
    return npu_cycles(cast(Neureka, op), types, extents, False), 0.0


def resident_finished_cycles(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, float]:
    return npu_cycles(cast(Neureka, op), types, extents, True), finish_cycles(cast(Neureka, op), types, extents, cores)


def streamed_finished_cycles(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, float]:
    return npu_cycles(cast(Neureka, op), types, extents, False), finish_cycles(cast(Neureka, op), types, extents, cores)


# ---- kernels --------------------------------------------------------------------------------------------------------


def needs_cores(op: Op, types: Types) -> str | None:
    made = cast(Neureka, op).made
    return None if made == BY_NPU else "the cores have to finish its results"


def by_npu(op: type[Neureka]) -> tuple[Kernel, Kernel]:
    signature, dtypes = "X W:uint8 scale bias:int32 -> Y", {"X": NARROW, "scale": SCALES, "Y": RESULTS}
    return (
        Kernel(
            op, "neureka_resident.c", signature, dtypes, resident_params, objection=needs_cores, offloaded=True,
            resident=frozenset({"W"}), cycles=resident_cycles, multiples=MULTIPLES[op], header="neureka.h",
        ),
        Kernel(
            op, "neureka_streamed.c", signature, dtypes, streamed_params, objection=needs_cores, offloaded=True,
            cycles=streamed_cycles, multiples=MULTIPLES[op], header="neureka.h",
        ),
    )  # fmt: skip


def needs_no_cores(op: Op, types: Types) -> str | None:
    return "N-EUREKA makes its results alone" if cast(Neureka, op).made == BY_NPU else None


def finished(op: type[Neureka]) -> tuple[Kernel, Kernel]:
    signature, dtypes = "X W:uint8 scale bias:int32 add:int32 -> Y", {"X": NARROW, "scale": SCALES, "Y": RESULTS}
    return (
        Kernel(
            op, "neureka_resident_finished.c", signature, dtypes, resident_finished_params, finished_scratch,
            needs_no_cores, offloaded=True, finishes=True, resident=frozenset({"W"}), cycles=resident_finished_cycles,
            multiples=MULTIPLES[op], header="neureka_finished.h",
        ),
        Kernel(
            op, "neureka_streamed_finished.c", signature, dtypes, streamed_finished_params, finished_scratch,
            needs_no_cores, offloaded=True, finishes=True, cycles=streamed_finished_cycles, multiples=MULTIPLES[op],
            header="neureka_finished.h",
        ),
    )  # fmt: skip


MULTIPLES: Mapping[type[Neureka], Mapping[str, int]] = {
    NeurekaLinear: {"f": 32},
    NeurekaConv: {"y": 6, "x": 6, "f": 32},
}
"""Tiles of the array."""

KERNELS = tuple(kernel for op in (NeurekaLinear, NeurekaConv) for kernel in (*by_npu(op), *finished(op)))
