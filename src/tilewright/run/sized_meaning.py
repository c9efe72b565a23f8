"""Whether a program for many sizes means what the model means at one of them: computed with numpy, without any C.

Passes decide at the bounds of dimensions. What they make is held to the model as it is read with the least sizes,
where it differs most from what it is at others.
"""

from __future__ import annotations

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.run.model_inputs import made_up_inputs

MOST_MACS = 2 * 10**9
"""Of what numpy computes twice in some seconds."""
CLOSE = 2e-3
"""Of an output's largest value, by which floats may differ that are summed in another order."""


def check_meaning(reference: Graph, computed: Graph, said: str) -> None:
    """Raises an error where outputs differ."""
    if sum(computed.macs(node) for node in computed.nodes) > MOST_MACS:
        return
    feeds = made_up_inputs(reference, 0)
    named = dict(zip(computed.inputs, (feeds[name] for name in reference.inputs), strict=True))
    wanted = reference.outputs_by_name(evaluate(reference, feeds))
    found = computed.outputs_by_name(evaluate(computed, named))
    for name, array in wanted.items():
        if not _is_close(array, found[name]):
            what = f"output '{name}' of the program for a range of sizes is not the model's with {said}"
            raise CompileError("dimensions", what, "fix the sizes: --dim NAME=SIZE")


def _is_close(wanted: Array, found: Array) -> bool:
    if wanted.shape != found.shape:
        return False
    one, other = wanted.astype(np.float64), found.astype(np.float64)
    step = 1.0 if wanted.dtype.kind in "iu" else 0.0
    scale = float(np.max(np.abs(one[np.isfinite(one)]), initial=0.0))
    return bool(np.allclose(other, one, rtol=0.0, atol=max(CLOSE * scale, step), equal_nan=True))
