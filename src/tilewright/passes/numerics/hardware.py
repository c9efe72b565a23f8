"""Requantisations of networks that arrive quantised, in the form that hardware has.

    --numerics exact      as the network says, in as many bits as that takes
    --numerics hardware   one product, one sum and one shift in 32 bits, wherever that differs hardly ever

The choice is part of the operator, made before the reference is taken: it does not depend on who computes a layer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from tilewright.errors import CompileError, instance
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.numerics_record import NumericsRecord
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array
from tilewright.ops._linear import NARROW
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.tfliteadd import TfliteAdd
from tilewright.passes import Complaint, Numbers, Pass
from tilewright.passes.numerics.functions import FUNCTIONS_BY_STEPS
from tilewright.passes.numerics.layers import layer_bias, layer_totals
from tilewright.passes.numerics.products import NativeProduct, native_product
from tilewright.passes.numerics.sums import NativeSum, native_sum
from tilewright.passes.rewriting import rewrite
from tilewright.requant.approximate import ApproxRequant, lossless, native, saturated
from tilewright.requant.lines import stays_in_words
from tilewright.requant.spec import RequantSpec

EXACT, HARDWARE = "exact", "hardware"
NUMERICS = (EXACT, HARDWARE)
OWN = "own"
"""Of a target: the numbers of its hardware, without being asked for."""

MOST_EXPECTED = 0.0075
"""Of the results of a layer that may be expected to differ; otherwise it stays exact. That leaves room for results that
lie further from the zero point than expected: one in a hundred may differ."""

NUMBERS = Numbers(
    steps_by_operator=dict.fromkeys(("Conv", "MatMul", "QLinearAdd", "QLinearMul", "TfliteAdd"), 1.0), share=1 / 16
)
"""A result is never more than one from the exact one (`native`), and of all accumulator values around the zero point
at most MOST_EXPECTED give another one. Activations may lie elsewhere, hence more room."""


def numerics_passes(asked: str, usual: str, own: tuple[Pass, ...] = ()) -> tuple[Pass, ...]:
    """What a user asks for; without that, `usual` if the network's format does not define the rounding. `own` is what a
    target's hardware computes, if that is something else: it has to be asked for."""
    if asked not in ("", *NUMERICS):
        raise CompileError(f"--numerics {asked}", "is unknown", f"use {' or '.join(NUMERICS)}")
    if asked == EXACT or (not asked and usual == EXACT):
        return (LOSSLESS,)
    return (
        own
        if own and (asked or usual == OWN)
        else (native_requantisations(tflite=asked == HARDWARE), FUNCTIONS_BY_STEPS)
    )


def native_requantisations(tflite: bool) -> Pass:
    """In 32 bits; those that are rounded as TensorFlow Lite does only where that is said."""
    ensures = partial(all_as_said, tflite=tflite)
    return Pass("native requantisations", partial(run, tflite=tflite), ensures=ensures, numbers=NUMBERS)


def run(graph: Graph, tflite: bool) -> Graph:
    found: list[NumericsRecord] = []
    made = rewrite(graph, partial(_replaced, graph, tflite, found))
    return replace(made, numerics_records=(*graph.numerics_records, *found))


def run_lossless(graph: Graph) -> Graph:
    return rewrite(graph, partial(_replaced_lossless, graph))


def within_words(graph: Graph) -> Iterator[Complaint]:
    """Kernels rely on it that no total of a native requantisation leaves 32 bits."""
    for node in graph.nodes:
        op = node.op
        if not isinstance(op, Conv | MatMul) or op.requant is None or op.requant.rounding != Rounding.NATIVE:
            continue
        spec = layer_totals(graph, node)
        if spec is not None and not np.all(stays_in_words(spec)):
            yield node.where, "has totals that leave 32 bits while they are requantised"


def all_as_said(graph: Graph, tflite: bool) -> Iterator[Complaint]:
    """Of every layer that could have the hardware's requantisation, it is said whether it has."""
    yield from within_words(graph)
    said = {one.tensor: one for one in graph.numerics_records}
    for node in graph.nodes:
        if not isinstance(node.op, Conv | MatMul | QLinearAdd | QLinearMul | TfliteAdd) or node.op.requant is None:
            continue
        one, is_exact = said.get(node.key), _is_open(node.op.requant, tflite)
        if one is not None and one.native == is_exact:
            how = "exactly" if is_exact else "as the hardware does"
            yield node.where, f"requantises {how}, and it is said otherwise"
        if one is None and is_exact and _could_be_native(graph, node):
            yield node.where, "could requantise as the hardware does, and nothing is said of it"


LOSSLESS = Pass("lossless native requantisations", run_lossless, ensures=within_words)
"""What the hardware has without any difference is also exact."""


def _replaced_lossless(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    spec = _spec(graph, node, tflite=False)
    chosen = None if spec is None else lossless(spec)
    return None if chosen is None else _with_native(graph, chosen, node, builder)


def _replaced(
    graph: Graph, tflite: bool, found: list[NumericsRecord], node: Node, builder: Builder
) -> Mapping[str, str] | None:
    if isinstance(node.op, QLinearAdd | QLinearMul | TfliteAdd):
        return _replaced_pair(graph, tflite, found, node, builder)
    spec = _spec(graph, node, tflite)
    if spec is None:
        return None
    chosen = lossless(spec) or _chosen(spec)
    found.append(_record(node, chosen))
    if chosen is None or chosen.expected > MOST_EXPECTED:
        return None
    return _with_native(graph, chosen, node, builder)


def _with_native(graph: Graph, chosen: ApproxRequant, node: Node, builder: Builder) -> Mapping[str, str]:
    op: Conv | MatMul = node.op if isinstance(node.op, Conv) else instance(node.op, MatMul)
    inputs = [*node.inputs, *[""] * (3 - len(node.inputs))][:3]
    if chosen.bias is not None:
        inputs[2] = builder.constant(
            (layer_bias(graph, node, len(chosen.bias)) + chosen.bias).astype(np.int32), f"{node.name}_bias"
        )
    shape = graph.types[node.operands()["mul"]].shape
    arrays = {"mul": chosen.mul} | ({} if chosen.add is None else {"add": chosen.add})
    names = [builder.constant(_as_before(array, shape), f"{node.name}_{name}") for name, array in arrays.items()]
    (result,) = builder.add(replace(op, requant=chosen.requant), [*inputs, *names], node.outputs, node.name)
    return {node.key: result}


def _chosen(spec: RequantSpec) -> ApproxRequant | None:
    """In 32 bits as N-EUREKA does it; where that would differ too often, with totals that are clipped first."""
    found = native(spec)
    if found is not None and found.expected <= MOST_EXPECTED:
        return found
    return saturated(spec) or found


def _replaced_pair(
    graph: Graph, tflite: bool, found: list[NumericsRecord], node: Node, builder: Builder
) -> Mapping[str, str] | None:
    """The sum or the product of two tensors of bytes."""
    op, kinds = node.op, [graph.types[name].dtype for name in node.inputs]
    if not isinstance(op, QLinearAdd | QLinearMul | TfliteAdd) or not set(kinds) <= NARROW:
        return None
    if not _is_open(op.requant, tflite):
        return None
    chosen = native_product(op, *kinds) if isinstance(op, QLinearMul) else native_sum(op, *kinds)
    found.append(_record(node, chosen))
    if chosen is None or chosen.expected > MOST_EXPECTED:
        return None
    (result,) = builder.add(chosen.op, node.inputs, node.outputs, node.name)
    return {node.key: result}


def _is_open(requant: Requant, tflite: bool) -> bool:
    """Whether another rounding may take its place."""
    return requant.rounding == Rounding.HALF_EVEN or (tflite and requant.has_exponents)


def _record(node: Node, chosen: ApproxRequant | NativeSum | NativeProduct | None) -> NumericsRecord:
    if chosen is None:
        return NumericsRecord(node.key, node.name, False, 0.0, 0.0)
    return NumericsRecord(node.key, node.name, chosen.expected <= MOST_EXPECTED, chosen.share, chosen.expected)


def _as_before(values: Array, shape: tuple[int, ...]) -> Array:
    """One for each filter; with axes before, as a matrix product may have had them."""
    return values.astype(np.int32).reshape(*(1,) * (len(shape) - 1), -1)


def _spec(graph: Graph, node: Node, tflite: bool) -> RequantSpec | None:
    """The requantisation of a layer with constant weights, if there is one to replace."""
    requant = node.op.requant if isinstance(node.op, Conv | MatMul) else None
    return None if requant is None or not _is_open(requant, tflite) else layer_totals(graph, node)


def _could_be_native(graph: Graph, node: Node) -> bool:
    if isinstance(node.op, QLinearAdd | QLinearMul | TfliteAdd):
        return {graph.types[name].dtype for name in node.inputs} <= NARROW
    return layer_totals(graph, node) is not None
