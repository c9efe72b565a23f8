"""Every quantised tensor of the QDQ networks against ONNX Runtime with optimisations off.

Three comparisons: the whole network in our integers; each layer alone, fed with ONNX Runtime's own tensors; and, to
show what float arithmetic itself leaves open, the float graph computed with numpy in another order of summation.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.e2e.test_qdq import MODELS, load, one_layer_at_a_time, quantised_names
from tests.support.quantiser import run_onnxruntime

from tilewright import pipeline
from tilewright.ir.evaluate import evaluate
from tilewright.ir.types import Array
from tilewright.passes import apply


def summary(names: Sequence[str], found: Mapping[str, Array], wanted: Mapping[str, Array]) -> list[str]:
    """The largest difference in steps, the worst tensor's and the overall share of equal elements."""
    differences = [np.abs(found[name].astype(int) - wanted[name].astype(int)) for name in names]
    equal = [float(np.mean(difference == 0)) for difference in differences]
    overall = sum(int(np.sum(d == 0)) for d in differences) / sum(d.size for d in differences)
    return [str(max(int(d.max()) for d in differences)), f"{min(equal):.4%}", f"{overall:.4%}"]


def main() -> None:
    table = Table(title="quantised tensors against ONNX Runtime: largest difference in steps, equal elements")
    table.add_column("network")
    table.add_column("tensors", justify="right")
    for what in ("whole network", "each layer alone", "numpy float32"):
        for column in ("steps", "worst tensor", "overall"):
            table.add_column(f"{what}\n{column}", justify="right")
    for path in MODELS:
        model, feeds = load(path)
        imported = pipeline.import_model(model)
        graph = apply(imported, pipeline.QUANTISING)
        names, wanted = quantised_names(model), run_onnxruntime(model, feeds)
        found = evaluate(graph, feeds)
        rows = [found, one_layer_at_a_time(graph, found, wanted), evaluate(imported, feeds)]
        cells = [cell for values in rows for cell in summary(names, values, wanted)]
        table.add_row(path.parent.name, str(len(names)), *cells)
    Console(width=170).print(table)


if __name__ == "__main__":
    main()
