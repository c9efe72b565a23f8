"""How far ONNX Runtime is from the reference on a file that was exported, where it is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.requant import requants_of
from tilewright.ir.types import Array, is_integer
from tilewright.ops._internal import Internal
from tilewright.records import dataclass
from tilewright.run.as_imported import Distance
from tilewright.run.model_inputs import made_up_inputs

CALLS = 4
"""With random inputs."""


@dataclass(frozen=True)
class Beside:
    outputs: tuple[Distance, ...] = ()
    remark: str = ""
    """Why there are none."""

    @property
    def lines(self) -> list[str]:
        """For people; integers are compared in steps."""
        return [self.remark] if self.remark else [_line(one) for one in self.outputs]


def _line(one: Distance) -> str:
    far = f"{one.relative:.2g} of the largest value" if one.steps is None else f"{one.steps:.3g} steps"
    share = f"{one.differing:,} of {one.elements:,} elements differ"
    return f"ONNX Runtime beside the reference: {one.name} at most {far} apart, {share}, in {CALLS} random calls"


def rounds_otherwise(graph: Graph) -> bool:
    """Whether ONNX rounds some result in another way than the graph does."""
    return any(requants_of(node.op) or isinstance(node.op, Internal) for node in graph.nodes)


def beside_onnxruntime(graph: Graph, path: Path) -> Beside:
    """Each output, over some calls."""
    try:
        import onnxruntime
    except ImportError:
        return Beside(remark="how far ONNX Runtime is from the reference is not measured: pip install onnxruntime")
    try:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        pairs = [_call(graph, session, made_up_inputs(graph, seed)) for seed in range(CALLS)]
    except Exception as error:  # whatever another program throws
        return Beside(remark=f"ONNX Runtime {onnxruntime.__version__} does not run it: {str(error).splitlines()[0]}")
    named = enumerate(zip(graph.output_names, graph.outputs, strict=True))
    return Beside(
        tuple(_distance(name, [pair[at] for pair in pairs], graph.types[made].dtype) for at, (name, made) in named)
    )


def _call(graph: Graph, session: Any, feeds: Mapping[str, Array]) -> list[tuple[Array, Array]]:
    """A first one: states have their first values, which are inputs of the file."""
    values = evaluate(graph, feeds)
    found = session.run(list(graph.output_names), {**feeds, **{one.before: one.initial for one in graph.states}})
    return [(one, values[tensor]) for one, tensor in zip(found, graph.outputs, strict=True)]


def _distance(name: str, pairs: Sequence[tuple[Array, Array]], dtype: str) -> Distance:
    far = np.stack([np.abs(found.astype(np.float64) - wanted) for found, wanted in pairs])
    largest = max(float(np.max(np.abs(wanted.astype(np.float64)), initial=0.0)) for _, wanted in pairs)
    step = 1.0 if is_integer(dtype) else 0.0
    return Distance(name, float(far.max(initial=0.0)), step, largest, int(np.count_nonzero(far)), far.size)
