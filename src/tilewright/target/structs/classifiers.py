"""Parameter structs of classifiers."""

from __future__ import annotations

from tilewright.ir.op import Params
from tilewright.ops.decisiontrees import COMBINING, DecisionTrees
from tilewright.ops.pairedprobabilities import PairedProbabilities
from tilewright.target.params import Types, params_for


@params_for(DecisionTrees)
def decision_trees_params(op: DecisionTrees, types: Types) -> Params:
    samples, features = types["X"].shape
    return {
        "samples": samples, "features": features, "targets": op.targets, "trees": types["roots"].elements,
        "combining": COMBINING.index(op.combining),
    }  # fmt: skip


@params_for(PairedProbabilities)
def paired_probabilities_params(op: PairedProbabilities, types: Types) -> Params:
    return {"samples": types["X"].shape[0], "classes": op.classes}
