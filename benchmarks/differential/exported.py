"""A network as it is exported to ONNX: ONNX Runtime runs each layer alone, given what the reference has before it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx.utils
from benchmarks.differential.case import Case
from benchmarks.differential.runtimes import onnx_runtime
from onnx import ModelProto

from tilewright.export import model_of
from tilewright.export.writer import tensor_names
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array
from tilewright.ops.tflitesigmoid import TfliteSigmoid

STEPS = 1
"""How far integers of a layer may be from the reference."""
INTERPOLATED = 2
"""The same of a tanh of 16 bits: TensorFlow Lite's is straight between 256 points."""
FLOATS = 1e-3
"""The same for floats, of the largest element."""


class NotRun(Exception):
    """ONNX Runtime does not take any layer of it."""


def problems(case: Case, graph: Graph) -> Iterator[str]:
    """What is wrong with the exported file."""
    model, values, names = model_of(graph), evaluate(graph, case.feeds), tensor_names(graph)
    computed = [node for node in graph.nodes if not node.op.view]
    ran = 0
    for node in computed:
        found = _alone(model, graph, node, names, values)
        ran += found is not None
        for name, ours in zip(node.outputs, found or (), strict=False):
            yield from _apart(f"{node.op.kind} {name}", ours, values[name], _steps(node))
    if computed and not ran:
        raise NotRun("ONNX Runtime does not take any layer of what is exported")


def _alone(
    model: ModelProto, graph: Graph, node: Node, names: dict[str, str], values: dict[str, Array]
) -> list[Array] | None:
    given = list(dict.fromkeys(name for name in node.inputs if name and name not in graph.constants))
    wanted = [names[name] for name in node.outputs if name]
    try:
        part = onnx.utils.Extractor(model).extract_model([names[name] for name in given], wanted)
    except (ValueError, KeyError):  # a layer that nothing reads is not written
        return None
    return onnx_runtime(part, {names[name]: values[name] for name in given})


def _steps(node: Node) -> int:
    return INTERPOLATED if isinstance(node.op, TfliteSigmoid) and node.op.is_tanh else STEPS


def _apart(place: str, found: Array, wanted: Array, steps: int) -> Iterator[str]:
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        yield f"{place}: exported as {found.dtype}{found.shape} for {wanted.dtype}{wanted.shape}"
        return
    if not wanted.size:
        return
    left, right = found.astype(np.float64), wanted.astype(np.float64)
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    with np.errstate(invalid="ignore"):
        far = float(np.nan_to_num(np.where(same, 0.0, np.abs(left - right)), nan=np.inf).max())
    scale = float(np.abs(right[np.isfinite(right)]).max(initial=0.01))
    allowed = FLOATS * scale if wanted.dtype.kind == "f" else steps
    if far > allowed:
        yield f"{place}: exported {far:g} from the reference, {allowed:g} allowed"
