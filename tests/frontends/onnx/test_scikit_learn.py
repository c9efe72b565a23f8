"""Models of scikit-learn, where it is installed: what skl2onnx writes gives what ONNX Runtime gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.checks import check_graph, imported, same
from tests.support.quantiser import run_onnxruntime
from tilewright.frontends.onnx import importer as frontend

skl2onnx = pytest.importorskip("skl2onnx")

from sklearn import ensemble, linear_model, neighbors, neural_network, pipeline, preprocessing, svm  # noqa: E402
from sklearn.datasets import make_classification  # noqa: E402

MODELS: dict[str, Any] = {
    "linear": linear_model.LogisticRegression(),
    "forest": ensemble.RandomForestClassifier(8, max_depth=5, random_state=0),
    "boosted": ensemble.GradientBoostingClassifier(n_estimators=6, random_state=0),
    "histograms": ensemble.HistGradientBoostingClassifier(max_iter=6, random_state=0),
    "vectors": svm.SVC(),
    "neighbours": neighbors.KNeighborsClassifier(3),
    "network": neural_network.MLPClassifier((16,), max_iter=50, random_state=0),
    "scaled": pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression()),
}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_classifiers(name: str, classes: int) -> None:
    x, y = make_classification(120, 8, n_informative=6, n_classes=classes, random_state=classes)
    x = x.astype(np.float32)
    fitted = MODELS[name].fit(x, y)
    model = skl2onnx.to_onnx(fitted, x[:7], options={"zipmap": False}, target_opset={"": 18, "ai.onnx.ml": 3})
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 7
    feeds = {model.graph.input[0].name: x[:7]}
    known = run_onnxruntime(model, feeds)
    for found, output in zip(imported(model, feeds), model.graph.output, strict=True):
        same(found, np.asarray(known[output.name]), 1e-4)
    check_graph(frontend.load(model), feeds, 1e-4)
