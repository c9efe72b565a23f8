"""An imported graph held to what its framework computes: exporters drop arguments and say nothing.

Outputs are compared first. Where one differs by more than rounding, every tensor that both know is computed from the
framework's own tensors before it, so that rounding does not add up and the first operation that differs is found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tilewright.errors import CompileError
from tilewright.frontends.exported import Exported, Step
from tilewright.ir.evaluate import evaluate_node, evaluate_outputs, initial_states
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array, as_computed

TOLERANCE = 1e-3
"""Of a tensor's largest element: rounding of float32 stays far below, a dropped argument far above."""
SHORT_TOLERANCE = 0.05
"""Of a tensor's largest element, where floats have 16 bits or the rounding of a whole network adds up."""
SHARE = 0.001
"""Of an integer tensor, the elements that may differ: rounding moves what lies next to a tie."""
MOST_MACS = 2 * 10**10
"""Multiplications of a network that is evaluated: a minute."""
HINT = "compute it by other operations; with check_export=False (--no-check-export) it is compiled as exported"

CAPTURE_HINT = (
    "the model takes another way where it is traced (masks, caches): give it as inputs what it makes then; with "
    "check_export=False (--no-check-export) it is compiled as captured"
)


def compare_with_framework(graph: Graph, exported: Exported) -> None:
    """Raises `CompileError` where the graph computes something else than the framework does."""
    if exported.own is None or sum(graph.macs(node) for node in graph.nodes) > MOST_MACS:
        return
    own = exported.own()
    if not set(graph.inputs) <= set(own.inputs) or len(own.outputs) != len(graph.outputs):
        return  # inputs that are bound to a value: the example is not what is compiled
    feeds = {name: _typed(own.inputs[name], graph, name) for name in graph.inputs}
    found = evaluate_outputs(graph, feeds)
    apart = [
        (name, difference)
        for name, wanted in zip(graph.outputs, own.outputs, strict=True)
        if (difference := _difference(found[name], wanted))
    ]
    if not apart:
        return
    steps = {step.tensor: step for step in own.steps()}
    first = next(_differing_steps(graph, feeds, steps), None)
    if first is not None:
        raise CompileError(f"{exported.title}, {first[0].place}", f"is exported wrongly: {first[1]}", HINT)
    _compare_captured(graph, exported, own.outputs, steps)
    shapes = zip((found[name].shape for name in graph.outputs), map(_as_pairs, own.outputs), strict=True)
    has_shapes = all(shape == wanted.shape for shape, wanted in shapes)
    if has_shapes and steps and all(graph.producers.get(name) is None or name in steps for name in graph.outputs):
        return  # each step is right by itself: rounding has added up
    name, difference = apart[0]
    raise CompileError(f"{exported.title}, output '{name}'", f"is exported wrongly: {difference}", HINT)


def _compare_captured(graph: Graph, exported: Exported, outputs: Sequence[Array], steps: Mapping[str, Step]) -> None:
    """What the framework captured may itself be another computation: models ask whether they are being traced."""
    for name, wanted in zip(graph.outputs, outputs, strict=True):
        step = steps.get(name)
        if step is None or step.value.shape != wanted.shape:
            continue
        if difference := _difference(step.value, wanted, SHORT_TOLERANCE):
            what = f"is captured as another computation than the model's own: {difference}"
            raise CompileError(f"{exported.title}, output '{name}'", what, CAPTURE_HINT)


def _typed(value: Array, graph: Graph, name: str) -> Array:
    return np.asarray(value).astype(graph.types[name].element, copy=False)


def _differing_steps(graph: Graph, feeds: Mapping[str, Array], steps: Mapping[str, Step]) -> Iterator[tuple[Step, str]]:
    """In the order of the graph."""
    kept = initial_states(graph)
    values = {**graph.constants, **feeds, **{state.before: kept[state.name] for state in graph.states}}
    for node in graph.nodes:
        made = zip(node.outputs, evaluate_node(graph, node, values), strict=False)
        for name, value in made:
            values[name], step = value, steps.get(name)
            if step is None or step.value.shape != value.shape:  # axes may stand in another order, or be left out
                continue
            if difference := _difference(value, step.value):
                yield step, difference
            values[name] = step.value.astype(value.dtype)


def _difference(found: Array, wanted: Array, floats: float = TOLERANCE) -> str:
    """How two tensors differ, if by more than rounding; `floats` of 32 bits may be this much of the largest apart."""
    wanted = _as_pairs(wanted)
    if found.shape != wanted.shape:
        return f"the graph computes shape {found.shape}, the framework {wanted.shape}"
    tolerance = SHORT_TOLERANCE if found.dtype.itemsize == 2 and found.dtype.kind != "i" else floats
    one, other = as_computed(found), as_computed(wanted)
    if one.dtype.kind == "f":
        return _float_difference(one.astype(np.float64), other.astype(np.float64), tolerance)
    differing = int(np.count_nonzero(one != other))
    return f"{differing} of {one.size} elements differ" if differing > SHARE * one.size else ""


def _float_difference(found: Array, wanted: Array, tolerance: float) -> str:
    numbers = np.isfinite(wanted)
    if not np.array_equal(np.where(numbers, 0.0, wanted), np.where(np.isfinite(found), 0.0, found), equal_nan=True):
        return "numbers that are not finite stand elsewhere than in the framework's result"
    apart = np.abs(np.subtract(found, wanted, where=numbers, out=np.zeros_like(wanted)))
    scale = float(np.abs(wanted[numbers]).max(initial=0.0))
    worst = float(apart.max(initial=0.0))
    if worst <= tolerance * scale or worst < np.finfo(np.float32).tiny:
        return ""
    at = tuple(map(int, np.unravel_index(int(apart.argmax()), apart.shape)))
    return f"element {list(at)} is {found[at]:g}, the framework computes {wanted[at]:g}"


def _as_pairs(value: Array) -> Array:
    """Complex numbers as the exporters give them: real and imaginary part along one more axis."""
    return np.stack([value.real, value.imag], -1) if np.iscomplexobj(value) else value
