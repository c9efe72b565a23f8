"""What every operator and every kernel is held to. Used by the tests of operators, kernels and passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.support.quickly import quickly
from tests.support.tiled import evaluate_tiled
from tilewright import pipeline
from tilewright.codegen.network import Writer, symbol_prefix
from tilewright.frontends.onnx import importer as frontend
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.op import Op
from tilewright.ir.types import STORED, Array, as_computed, type_of
from tilewright.passes import narrow_floats
from tilewright.planner.schedule.interpret import interpret
from tilewright.run.compare import LAST_BIT
from tilewright.run.host import HostProgram
from tilewright.target.settings import DEFAULT, PRECISIONS, Settings

Case = tuple[Op, Sequence[Array | None]]


def same(found: Array, wanted: Array, tolerance: float = 1e-5) -> None:
    """Integers to the bit; floats relative to the scale of the wanted values."""
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    assert found.dtype == wanted.dtype, (found.dtype, wanted.dtype)
    if wanted.dtype.name in STORED:
        found, wanted, tolerance = as_computed(found), as_computed(wanted), LAST_BIT.get(wanted.dtype.name, tolerance)
    if wanted.dtype != np.float32:
        np.testing.assert_array_equal(found, wanted)
        return
    finite = wanted[np.isfinite(wanted)]
    scale = float(np.abs(finite).max()) if finite.size else 1.0
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * max(scale, 1e-30))


def check_tiled(op: Op, arrays: Sequence[Array | None], tile: Mapping[str, int], tolerance: float = 1e-5) -> None:
    """Computed tile by tile equals computed whole, and both have the inferred type."""
    whole = _results(op, arrays)
    kinds = op.infer(op.bind([None if a is None else type_of(a) for a in arrays]))
    assert [type_of(value) for value in whole] == list(kinds)
    for found, wanted in zip(evaluate_tiled(op, arrays, tile), whole, strict=True):
        same(found, wanted, tolerance)


def check_onnx(
    op: Op, arrays: Sequence[Array | None], kind: str, tolerance: float = 1e-5, opset: int = 0, **attributes: Any
) -> None:
    """The operator's meaning equals ONNX's own reference for a node of that kind with these inputs."""
    node_inputs = [f"x{i}" if a is not None else "" for i, a in enumerate(arrays)]
    model = one_node_model(
        kind, dict(zip(node_inputs, arrays, strict=True)), len(_results(op, arrays)), opset, **attributes
    )
    feeds = {name: a for name, a in zip(node_inputs, arrays, strict=True) if a is not None}
    for found, wanted in zip(_results(op, arrays), ReferenceEvaluator(model).run(None, feeds), strict=True):
        same(found, np.asarray(wanted), tolerance)


def one_node_model(
    kind: str,
    inputs: Mapping[str, Array | None],
    results: int = 1,
    opset: int = 0,
    domain: str = "",
    constants: Mapping[str, Array | None] | None = None,
    **attributes: Any,
) -> onnx.ModelProto:
    """An ONNX model of a single node; `constants` are initialisers that come after the inputs (None: absent)."""
    constants = constants or {}
    after_inputs = [name if array is not None else "" for name, array in constants.items()]
    outputs = [f"y{i}" for i in range(results)]
    node = helper.make_node(kind, [*inputs, *after_inputs], outputs, domain=domain, **attributes)
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for name, a in inputs.items()
        if a is not None
    ]
    graph = helper.make_graph(
        [node], "one", infos, [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in outputs],
        [numpy_helper.from_array(a, name) for name, a in constants.items() if a is not None],
    )  # fmt: skip
    version = opset or onnx.defs.onnx_opset_version()
    imports = [helper.make_opsetid("", version)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(graph, opset_imports=imports)


def imported(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    """The outputs of a model's typed graph, by the operators' numpy meaning."""
    graph = frontend.load(model)
    found = evaluate(graph, feeds)
    return [found[name] for name in graph.outputs]


def check_import(
    kind: str, X: Array, constants: Mapping[str, Array | None], results: int = 1, opset: int = 0, **attributes: Any
) -> Graph:
    """A node with constant operands after the first gives what ONNX's reference gives."""
    model = one_node_model(kind, {"x": X}, results, opset, constants=constants, **attributes)
    wanted = ReferenceEvaluator(model).run(None, {"x": X})
    for found, value in zip(imported(model, {"x": X}), wanted, strict=True):
        same(found, np.asarray(value))
    return frontend.load(model)


def check_kernels(
    cases: Sequence[Case], tolerance: float = 1e-5, cc: str | None = None, target: str = "generic",
    settings: Settings = DEFAULT,
) -> None:  # fmt: skip
    """The C kernels of all cases, compiled into one program, equal the operators' numpy meaning. A compiler that is
    named optimises as it does for users. In 16 bits every case is, alone as it stands."""
    builder = Builder("kernels")
    feeds: dict[str, Array] = {}
    for number, (op, arrays) in enumerate(cases):
        names = []
        for position, array in enumerate(arrays):
            name = f"case{number}_x{position}" if array is not None else ""
            names.append(name)
            if array is not None:
                feeds[builder.input(name, type_of(array))] = array
        for tensor in builder.add(op, names, name=f"case{number}"):
            builder.output(tensor)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(narrow_floats, "pays", bool)
        check_graph(builder.build(), feeds, tolerance, cc, cc is None, target, settings)


def check_graph(
    graph: Graph, feeds: Mapping[str, Array], tolerance: float = 1e-5, cc: str | None = None, is_quick: bool = False,
    target: str = "generic", settings: Settings = DEFAULT,
) -> None:  # fmt: skip
    """Reference, schedule interpreter and compiled C agree on every output; in 16 bits within a last bit."""
    compiled = pipeline.Compiled(*pipeline.stages(graph, target, settings=settings))
    short = LAST_BIT.get(PRECISIONS[settings.precision], 0.0)
    meaning, tolerance = (compiled.lowered, short) if short else (compiled.quantised, tolerance)
    wanted = evaluate(meaning, feeds)
    stepped = interpret(compiled.schedule, feeds)
    schedule = quickly(compiled.schedule) if is_quick else compiled.schedule
    program = HostProgram(schedule, compiled.files, Writer(schedule, symbol_prefix(graph.name)), cc)
    ran = program.run(feeds).outputs
    for reference, tensor in zip(meaning.outputs, compiled.schedule.graph.outputs, strict=True):
        same(stepped[tensor], wanted[reference], tolerance)
        same(ran[tensor], wanted[reference], tolerance)


def _results(op: Op, arrays: Sequence[Array | None]) -> tuple[Array, ...]:
    with np.errstate(all="ignore"):
        found = op.numpy(*arrays)
    return found if isinstance(found, tuple) else (found,)
