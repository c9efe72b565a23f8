"""Operators of ai.onnx.ml, as scikit-learn's models have them: their meaning is ONNX Runtime's."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.support.checks import imported, same
from tests.support.classifiers import MODES, listed, samples
from tests.support.quantiser import run_onnxruntime
from tilewright.errors import CompileError
from tilewright.frontends.onnx import importer as frontend
from tilewright.ir.types import Array

RANDOM = np.random.default_rng(11)
TRANSFORMS = ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT")


def floats(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


def listing(*shape: int) -> list[float]:
    return [float(value) for value in floats(*shape).reshape(-1)]


def model_of(kind: str, x: Array, results: int = 1, version: int = 3, **attributes: Any) -> onnx.ModelProto:
    names = [f"y{position}" for position in range(results)]
    node = helper.make_node(kind, ["x"], names, domain="ai.onnx.ml", **attributes)
    x_info = helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
    infos = [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in names]
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(helper.make_graph([node], "one", [x_info], infos), opset_imports=opsets, ir_version=10)


def check(kind: str, x: Array, results: int = 1, tolerance: float = 1e-5, **attributes: Any) -> None:
    model = model_of(kind, x, results, **attributes)
    wanted = run_onnxruntime(model, {"x": x})
    for found, value in zip(imported(model, {"x": x}), wanted.values(), strict=True):
        same(found, np.asarray(value), tolerance)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("labels", [[0, 1], [5, -3], [2, 0, 7]])
def test_linear_classifier(labels: list[int], transform: str) -> None:
    rows = 1 if len(labels) == 2 else 3
    if rows == 1 and transform not in ("NONE", "LOGISTIC"):
        x = floats(2, 4)
        with pytest.raises(CompileError, match="runtimes disagree"):
            frontend.load(
                model_of(
                    "LinearClassifier", x, 2, coefficients=listing(4), classlabels_ints=labels, post_transform=transform
                )
            )
        return
    weights = [value / 30 + 0.05 for value in listing(rows * 4)] if transform == "PROBIT" else listing(rows * 4)
    x = RANDOM.random((6, 4)).astype(np.float32)
    check(
        "LinearClassifier", x, 2, 1e-4, coefficients=weights, intercepts=[0.2] * rows, classlabels_ints=labels,
        post_transform=transform,
    )  # fmt: skip


def test_labels_that_are_texts_are_numbers_that_a_note_tells() -> None:
    x = floats(9, 4)
    labels = ["cat", "dog", "eel"]
    model = model_of(
        "LinearClassifier", x, 2, coefficients=listing(12), intercepts=listing(3), classlabels_strings=labels
    )
    wanted = [str(label) for label in run_onnxruntime(model, {"x": x})["y0"]]
    assert [labels[number] for number in imported(model, {"x": x})[0]] == wanted
    assert "texts are numbers: 0 is 'cat', 1 is 'dog', 2 is 'eel'" in frontend.load(model).notes


@pytest.mark.parametrize("targets", [1, 3])
def test_linear_regressor(targets: int) -> None:
    weights, offsets = listing(5 * targets), listing(targets)
    check("LinearRegressor", floats(4, 5), coefficients=weights, intercepts=offsets, targets=targets)


@pytest.mark.parametrize("norm", ["L1", "L2", "MAX"])
def test_normalizer(norm: str) -> None:
    x = np.abs(floats(4, 5))
    x[2] = 0
    check("Normalizer", x, norm=norm)


def test_scaler_and_binarizer() -> None:
    check("Scaler", floats(4, 5), offset=listing(5), scale=listing(5))
    check("Scaler", floats(4, 5), offset=[0.5], scale=[2.0])
    check("Binarizer", floats(4, 5), threshold=0.3)


def test_imputer() -> None:
    x = floats(5, 3)
    x[1, 1] = x[3, 2] = np.nan
    check("Imputer", x, imputed_value_floats=[1.0, 2.0, 3.0], replaced_value_float=float("nan"))
    numbers = RANDOM.integers(0, 3, (5, 3))
    check("Imputer", numbers, imputed_value_int64s=[7, 8, 9], replaced_value_int64=2)


def test_label_encoder() -> None:
    numbers, x = RANDOM.integers(0, 6, (3, 4)), np.array([1.5, np.nan, 2.5, 7.0], np.float32)
    check("LabelEncoder", numbers, keys_int64s=[4, 1, 3], values_int64s=[40, 10, 30], default_int64=99)
    check("LabelEncoder", numbers, keys_int64s=[4, 1, 3], values_floats=[4.5, 1.5, 3.5], default_float=-2.0)
    check("LabelEncoder", x, version=4, keys_floats=[1.5, float("nan"), 7.0], values_int64s=[1, 2, 3], default_int64=0)


def test_one_hot_encoder() -> None:
    check("OneHotEncoder", RANDOM.integers(0, 6, (3, 4)), cats_int64s=[5, 0, 2], zeros=1)


@pytest.mark.parametrize("shape", [(6,), (3, 6), (2, 3, 6)])
def test_array_feature_extractor(shape: tuple[int, ...]) -> None:
    x, columns = floats(*shape), np.array([4, 0, 0, 5])
    model = model_of("ArrayFeatureExtractor", x)
    model.graph.node[0].input.append("columns")
    model.graph.initializer.append(numpy_helper.from_array(columns, "columns"))
    (found,) = imported(model, {"x": x})
    same(found, run_onnxruntime(model, {"x": x})["y0"])


def test_zip_map_gives_rows_and_names_the_columns() -> None:
    x = floats(2, 3)
    model = model_of("ZipMap", x, classlabels_int64s=[4, 8, 15])
    same(imported(model, {"x": x})[0], x)
    assert "'y0' is a tensor, not a list of maps: its columns are of the labels 4, 8, 15" in frontend.load(model).notes


# ---- trees --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("mode", [*MODES, "all"])
def test_regression_by_trees(mode: str, how: str) -> None:
    x = samples(RANDOM, 40, 5)
    trees = listed(RANDOM, 5, 2, 6, "target", MODES if mode == "all" else (mode,))
    check("TreeEnsembleRegressor", x, n_targets=2, aggregate_function=how, base_values=[0.5, -1.0], **trees)


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
def test_classification_by_trees(transform: str) -> None:
    x = samples(RANDOM, 40, 5)
    trees = listed(RANDOM, 5, 3, 6, "class", ("LEQ",)) | {"base_values": [0.1, 0.2, -0.1]}
    check(
        "TreeEnsembleClassifier", x, 2, classlabels_int64s=[3, 1, 2], post_transform=transform, **trees
    )  # fmt: skip


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC"])
@pytest.mark.parametrize("sign", [0, 1])
def test_trees_of_one_of_two_classes(sign: int, transform: str) -> None:
    """Where no weight is negative their sum is a probability."""
    x, trees = samples(RANDOM, 40, 5), listed(RANDOM, 5, 1, 6, "class", ("LT",))
    if not sign:
        trees["class_weights"] = [abs(weight) / 12 for weight in trees["class_weights"]]
    check("TreeEnsembleClassifier", x, 2, classlabels_int64s=[3, 1], post_transform=transform, **trees)


def of_one_class_each(way: str) -> dict[str, Any]:
    """Trees whose leaves name one of three classes: each leaf another one, or all leaves of a tree the same."""
    trees = listed(RANDOM, 5, 1, 6, "class", ("LEQ",))
    by_leaf = [int(number) for number in RANDOM.integers(0, 3, len(trees["class_ids"]))]
    trees["class_ids"] = by_leaf if way == "leaf" else [tree % 3 for tree in trees["class_treeids"]]
    return trees


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
@pytest.mark.parametrize("way", ["leaf", "tree"])
def test_leaves_that_name_one_class(way: str, transform: str) -> None:
    x, trees = samples(RANDOM, 40, 5), of_one_class_each(way)
    if way == "leaf":
        trees["class_weights"] = [abs(weight) for weight in trees["class_weights"]]
    check("TreeEnsembleClassifier", x, 2, classlabels_int64s=[3, 1, 2], post_transform=transform, **trees)


def test_trees_that_runtimes_read_differently() -> None:
    x, trees = samples(RANDOM, 4, 5), listed(RANDOM, 5, 1, 6, "class", ("LEQ",))
    two = trees | {"class_ids": [1] * len(trees["class_ids"])}
    first = trees | {"base_values": [0.1, 0.2]}
    for labels, these, why in (
        ([3, 1, 2], trees, "leave out class 1: runtimes disagree"),
        ([3, 1], two, "leaves of which only one of two classes has a score: runtimes disagree"),
        ([3, 1], first, "2 base values of which only one of two classes has a score: runtimes disagree"),
    ):
        with pytest.raises(CompileError, match=why):
            frontend.load(model_of("TreeEnsembleClassifier", x, 2, classlabels_int64s=labels, **these))


@pytest.mark.parametrize(("mode", "wanted"), [("LEQ", [1, 1, 2]), ("LT", [1, 2, 2]), ("EQ", [2, 1, 2])])
def test_doubles_that_are_equal_stay_so(mode: str, wanted: list[int]) -> None:
    """They are compared as float32, which 1.2 is none of."""
    x = np.array([[1.0], [1.2], [1.3]])
    tree = {
        "nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0],
        "nodes_modes": [f"BRANCH_{mode}", "LEAF", "LEAF"], "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0], "target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0],
        "nodes_values_as_tensor": numpy_helper.from_array(np.array([1.2, 0, 0])),
        "target_weights_as_tensor": numpy_helper.from_array(np.array([1.0, 2.0])),
    }  # fmt: skip
    model = model_of("TreeEnsembleRegressor", x, n_targets=1, **tree)
    assert imported(model, {"x": x})[0].reshape(-1).tolist() == wanted


def test_trees_that_are_damaged() -> None:
    x, trees = floats(2, 5), listed(np.random.default_rng(4), 5, 1, 1, "target", ("LEQ",))
    trees["nodes_truenodeids"][0] = 0
    with pytest.raises(CompileError, match="node 0 of a tree is reached twice"):
        frontend.load(model_of("TreeEnsembleRegressor", x, n_targets=1, **trees))
    trees["nodes_truenodeids"][0] = 1
    texts = {**trees, "nodes_values": ["high"] * len(trees["nodes_values"])}
    with pytest.raises(CompileError, match="attribute 'nodes_values' has texts, but numbers are expected"):
        frontend.load(model_of("TreeEnsembleRegressor", x, n_targets=1, **texts))
    trees["nodes_featureids"] = [5] * len(trees["nodes_featureids"])
    with pytest.raises(CompileError, match="a node looks at feature 5, but there are 5"):
        frontend.load(model_of("TreeEnsembleRegressor", x, n_targets=1, **trees))


# ---- support vectors ----------------------------------------------------------------------------------------------

KERNELS = {"LINEAR": [0.0, 0.0, 0.0], "POLY": [0.3, 0.7, 3.0], "RBF": [0.2, 0.0, 0.0], "SIGMOID": [0.2, 0.1, 0.0]}


@pytest.mark.parametrize("kind", KERNELS)
def test_regression_by_support_vectors(kind: str) -> None:
    check(
        "SVMRegressor", floats(5, 4), 1, 1e-4, coefficients=listing(6), kernel_params=KERNELS[kind], kernel_type=kind,
        n_supports=6, rho=[0.3], support_vectors=listing(24),
    )  # fmt: skip


@pytest.mark.parametrize("probabilities", [False, True])
@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.parametrize("classes", [2, 3, 4])
def test_classification_by_support_vectors(classes: int, kind: str, probabilities: bool) -> None:
    pairs = classes * (classes - 1) // 2
    with_them = {"prob_a": listing(pairs), "prob_b": listing(pairs)} if probabilities else {}
    check(
        "SVMClassifier", floats(7, 4), 2, 1e-4, coefficients=listing((classes - 1) * 3 * classes), rho=listing(pairs),
        kernel_params=KERNELS[kind], kernel_type=kind, support_vectors=listing(3 * classes * 4),
        vectors_per_class=[3] * classes, classlabels_ints=[9, 4, 6, 1][:classes], **with_them,
    )  # fmt: skip


def test_linear_support_vectors() -> None:
    check(
        "SVMRegressor",
        floats(5, 4),
        coefficients=listing(4),
        rho=[0.3],
        kernel_params=[0.0, 0.0, 0.0],
        kernel_type="LINEAR",
    )
    check(
        "SVMClassifier", floats(7, 4), 2, coefficients=listing(12), rho=[0.2], kernel_type="LINEAR",
        kernel_params=[0.0] * 3, classlabels_ints=[3, 1, 2],
    )  # fmt: skip


def test_support_vectors_of_more_classes_than_labels() -> None:
    damaged = model_of(
        "SVMClassifier", floats(7, 4), 2, coefficients=listing(18), rho=listing(3), kernel_type="LINEAR",
        kernel_params=[0.0] * 3, support_vectors=listing(36), vectors_per_class=[3] * 3, classlabels_ints=[5, 7],
    )  # fmt: skip
    with pytest.raises(CompileError, match="2 labels, but vectors of 3 classes"):
        frontend.load(damaged)
