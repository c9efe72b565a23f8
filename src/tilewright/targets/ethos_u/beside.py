"""The target of a core with an Ethos-U beside it: an engine that runs command streams, its driver and its device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from pathlib import Path

import numpy as np

from tilewright.errors import CompileError, instance
from tilewright.ir.op import Op, Params
from tilewright.ir.types import Array
from tilewright.ops._ethosu import ARENA, EthosU
from tilewright.ops._ethosuweights import BYTES, OUTER, EthosUWeights
from tilewright.passes.numerics.hardware import OWN
from tilewright.passes.signed_bytes import SIGNED_BYTES
from tilewright.sim.ethos_u.configurations import CONFIGURATIONS, Configuration, find_configuration
from tilewright.sim.ethos_u.timing import stream_cycles
from tilewright.sim.platform import Memory, Platform
from tilewright.target.board_file import CORSTONE
from tilewright.target.kernel import ConstantPiece, CycleEstimate, DividedOp, Kernel, Types
from tilewright.target.params import params_for
from tilewright.target.runner import Model
from tilewright.target.target import Engine, Target
from tilewright.targets.ethos_u.costs import CoreCosts, costs_of
from tilewright.targets.ethos_u.device import EthosUDevice, Place
from tilewright.targets.ethos_u.dividing import divided, payload_of, pieces
from tilewright.targets.ethos_u.numerics import ETHOS_U_NUMERICS
from tilewright.targets.ethos_u.parts import ethos_u_parts, why_on_core
from tilewright.targets.ethos_u.vela import for_npu

FOLDER = Path(__file__).parent
DEVICE = "ethos-u"
ALIGNMENT, LINE = 16, 32
"""Of arenas: what memory gives, and lines of a cache, which they share with nothing that the core writes meanwhile."""
INTEGERS = frozenset({"int8", "uint8", "int16", "int32"})


@params_for(EthosU)
def job_params(op: EthosU, types: Types) -> Params:
    inputs = op.inputs(types)
    banks: Params = {"banks": op.banks, "bank_bytes": _bank_bytes(op, types)} if op.banks else {}
    return banks | {
        "words": types["stream"].elements, "first": op.first, "constants": types["weights"].bytes,
        "arena": op.arena, "fast": op.fast, "inputs": len(inputs),
        "input_at": list(op.inputs_at), "input_bytes": [kind.bytes for kind in inputs], "results": len(op.results_at),
        "result_at": list(op.results_at), "result_bytes": list(op.results_bytes),
    }  # fmt: skip


def _bank_bytes(op: EthosU, types: Types) -> list[int]:
    kinds = [kind for name, kind in types.items() if name not in ("stream", "weights", "Y")]
    return [kind.bytes for kind in kinds[len(kinds) - op.banks :]]


def arenas(op: Op, types: Types) -> int:
    """Bytes of both, in lines of their own."""
    part = instance(op, EthosU)
    return sum(-(-size // LINE) * LINE for size in (part.arena, part.fast)) + LINE - ALIGNMENT


def job_cycles(costs: CoreCosts, op: Op, types: Types, extents: Mapping[str, int], cores: int) -> CycleEstimate:
    """The core copies inputs before a job and results after it, and meanwhile does something else or waits."""
    part = instance(op, EthosU)
    size = sum(kind.bytes for kind in part.inputs(types))
    return CycleEstimate(costs.copied(types["Y"].bytes), costs.job + costs.copied(size), part.cycles)


def in_ram(op: Op, constants: Mapping[str, Array]) -> Op:
    """A part whose constants the NPU reads in the arena's memory."""
    part = instance(op, EthosU)
    words = constants["stream"].view(np.uint32)[part.first :]
    return replace(part, cycles=stream_cycles(words, find_configuration(part.npu), ARENA))


def constant_pieces(op: Op, constants: Mapping[str, Array]) -> tuple[ConstantPiece, ...]:
    part = instance(op, EthosU)
    return pieces(constants["stream"].view(np.uint32)[part.first :], find_configuration(part.npu))


def divided_op(op: Op, constants: Mapping[str, Array], banks: Sequence[Sequence[ConstantPiece]]) -> DividedOp:
    """Further constants have elements like the inputs."""
    part, words = instance(op, EthosU), constants["stream"].view(np.uint32)
    found = divided(words[part.first :], constants["weights"], banks)
    stream = payload_of(words[: part.first], found.words).view(np.int32)
    cycles = stream_cycles(found.words, find_configuration(part.npu))
    first, *further = found.banks
    return DividedOp(
        replace(part, banks=len(further), cycles=cycles), {"stream": stream, "weights": first}, tuple(further)
    )


@params_for(EthosUWeights)
def weights_params(op: EthosUWeights, types: Types) -> Params:
    """Matrices along two axes at the most; strides in elements."""
    shape = types["X"].shape
    outer, inputs, results = op.matrices(shape)
    strides = [prod(shape[axis + 1 :]) for axis in op.axes]
    missing = OUTER - len(outer)
    return {
        "sizes": [1] * missing + list(outer), "strides": [0] * missing + strides, "inputs": inputs, "results": results,
        "zero": op.zero, "unit": op.unit, "block": op.block, "cores": op.cores,
    }  # fmt: skip


def weights_cycles(costs: CoreCosts, op: Op, types: Types, extents: Mapping[str, int], cores: int) -> CycleEstimate:
    return CycleEstimate(costs.written(types["Y"].bytes))


def _other(npu: str, op: Op, types: Types) -> str | None:
    part = instance(op, EthosU)
    return None if part.npu == npu else f"its stream was compiled for {part.npu}, this NPU is {npu}"


def _kernel(npu: str, costs: CoreCosts) -> Kernel:
    return Kernel(
        EthosU, "ethos_u_job.c", "stream:int32 weights:uint8 X* -> Y", {"X": INTEGERS, "Y": INTEGERS},
        scratch=arenas, unsupported_reason=partial(_other, npu), stack=256, cycles=partial(job_cycles, costs),
        offloaded=True, has_epilogue=True, waits=True, copies_operands=True,
        copied_operand="weights", where_copied=in_ram, constant_pieces=constant_pieces, divided=divided_op,
    )  # fmt: skip


def _writing(costs: CoreCosts) -> Kernel:
    """The core's, of weights."""
    return Kernel(
        EthosUWeights, "ethos_u_weights.c", "X -> Y", {"X": BYTES, "Y": BYTES}, stack=128,
        cycles=partial(weights_cycles, costs),
    )  # fmt: skip


def with_npu(core: Target, name: str, words: str, base: int = CORSTONE) -> Target:
    """A core's target, under another name, with the NPU that is named without `ethos-`."""
    npu = _npu(words)
    if not core.runner.emulator:
        raise CompileError(
            f"target {name}", f"{core.name} has no NPU beside it", "use a Cortex-M: cortex-m55, cortex-m33"
        )
    costs = costs_of(core)
    engine = Engine(
        "npu",
        (_kernel(npu.name, costs),),
        base_alignment=ALIGNMENT,
        early_passes=partial(ethos_u_parts, npu.name, core),
        explain_skipped=why_on_core,
    )
    first, *others = core.engines
    made = core.on_platform(core.platform.with_device(DEVICE, base), 0)
    return replace(
        made, name=name, summary=f"{core.summary}; with {npu.name}",
        engines=(engine, replace(first, kernels=(*first.kernels, _writing(costs))), *others),
        bases=(FOLDER, *core.bases),
        flags=(*core.flags, f"-DTW_ETHOS_U_BASE={base:#x}u", *_aliases(core.platform)),
        prepare=partial(for_npu, npu.name), model_passes=(SIGNED_BYTES,), numerics=OWN,
        hardware=(ETHOS_U_NUMERICS,),
        models=(*core.models, Model(DEVICE, partial(_device, npu), knows_chip=True)),
    )  # fmt: skip


def _device(npu: Configuration, chip: Platform) -> EthosUDevice:
    return EthosUDevice(npu, [Place(one.base, one.size, one.is_flash, _found_at(one)) for one in chip.memories])


def _found_at(memory: Memory) -> int:
    return memory.base if memory.npu_address is None else memory.npu_address


def _aliases(chip: Platform) -> tuple[str, ...]:
    """What the driver is told of memory that the NPU finds elsewhere."""
    found = (one for one in chip.memories if one.npu_address is not None)
    names = ("FROM", "BYTES", "TO")
    return tuple(
        f"-DTW_ETHOS_U_ALIAS_{name}={value:#x}u"
        for one in found
        for name, value in zip(names, (one.base, one.size, one.npu_address), strict=True)
    )


def _npu(words: str) -> Configuration:
    name = f"ethos-{words}"
    if name not in CONFIGURATIONS and not words.startswith("u85"):
        known = ", ".join(one.removeprefix("ethos-") for one in CONFIGURATIONS)
        raise CompileError(f"NPU '{words}'", "is unknown", f"known NPUs: {known}")
    return find_configuration(name)
