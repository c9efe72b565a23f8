"""Messages that no test asks for: models and operators of the tests are damaged in small ways, and what refuses them
is noted. `scripts/record` calls it after the tests.

    python -m tests.support.provoke FOLDER [--minutes 10]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, ModelProto, TensorProto, numpy_helper

from tests.support.recorder import DAMAGED, Message, watch_messages
from tilewright.ir.op import Op
from tilewright.ir.types import TensorType

DTYPES = ("float32", "int8", "uint8", "int32", "int16", "bool", "int64", "uint16", "float16")
NUMBERS = (-1, 0, 1, 2, 3, 7, 99, 2**31, -(2**40))
EACH = 6
"""Sound operators of a kind that are damaged."""
SECONDS = 4
"""For one damaged model."""

Seed = tuple[str, Callable[[], Iterable[Callable[[], object]]]]
"""What is damaged, and what to call for each damage."""


class Late(Exception):
    """A damaged model takes too long."""


# ---- operators ---------------------------------------------------------------------------------------------------


def damaged_operators(op: Op, types: Sequence[TensorType | None]) -> Iterator[Callable[[], object]]:
    for wrong in _wrong_types(types):
        yield lambda wrong=wrong: op.infer(op.bind(list(wrong)))
    for field in dataclasses.fields(op):
        for value in wrong_values(getattr(op, field.name)):
            yield lambda name=field.name, value=value: _inferred(op, {name: value}, types)


def _inferred(op: Op, changes: dict[str, Any], types: Sequence[TensorType | None]) -> object:
    changed = dataclasses.replace(op, **changes)
    return changed.infer(changed.bind(list(types)))


def _wrong_types(types: Sequence[TensorType | None]) -> Iterator[list[TensorType | None]]:
    for at, kind in enumerate(types):
        for other in (None, *(_other_kinds(kind) if kind is not None else ())):
            yield [*types[:at], other, *types[at + 1 :]]
    if types:
        yield list(types[:-1])
        yield [*types, types[-1]]
    for dtype in DTYPES:
        yield [None if kind is None else TensorType(dtype, kind.shape) for kind in types]
    yield [None if kind is None else TensorType(kind.dtype, kind.shape[1:]) for kind in types]
    yield [None if kind is None else TensorType(kind.dtype, (1, *kind.shape)) for kind in types]
    yield [None if kind is None else TensorType(kind.dtype, (0, *kind.shape[1:])) for kind in types]


def _other_kinds(kind: TensorType) -> Iterator[TensorType]:
    yield from (TensorType(dtype, kind.shape) for dtype in DTYPES if dtype != kind.dtype)
    shape = kind.shape
    yield from (TensorType(kind.dtype, other) for other in ((), shape[1:], (*shape, 1), (*shape, 3), (1, *shape)))
    for axis, size in enumerate(shape):
        for wrong in (0, 1, size + 1, 2 * size, 5000, 70_000):
            yield TensorType(kind.dtype, (*shape[:axis], wrong, *shape[axis + 1 :]))


def wrong_values(value: Any) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | np.integer):
        yield from (*NUMBERS, int(value) + 1, int(value) - 1)
    elif isinstance(value, float):
        yield from (-1.0, 0.0, 1e30, float("nan"), 2.5)
    elif isinstance(value, str):
        yield from ("bogus", "", *DTYPES)
    elif isinstance(value, tuple):
        yield from ((), value[:-1], (*value, *(value[-1:] or (1,))), (*value[1:], *value[:1]))
        for at, one in enumerate(value):
            yield from ((*value[:at], other, *value[at + 1 :]) for other in wrong_values(one))
    elif isinstance(value, np.ndarray):
        yield from (value.reshape(-1)[:-1], value[None], value.astype(np.float32), value.astype(np.int8), -value)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            for other in wrong_values(getattr(value, field.name)):
                try:
                    yield dataclasses.replace(value, **{field.name: other})  # type: ignore[type-var]
                except Exception:
                    continue
    elif value is None:
        yield from (1, (1,), "bogus")


def said_by(damage: Callable[[], object], seen: set[Any]) -> list[Message]:
    """The messages that a damaged thing provokes; `seen` is where they are put when they are made."""
    seen.clear()
    try:
        with limited():
            damage()
    except (Exception, RecursionError):
        pass
    found = [one for one in seen if isinstance(one, Message)]
    seen.clear()
    return found


# ---- ONNX models -------------------------------------------------------------------------------------------------


def damaged_models(model: ModelProto) -> Iterator[Callable[[], object]]:
    from tilewright import pipeline

    for damage in _damages(model):
        changed = ModelProto()
        changed.CopyFrom(model)
        try:
            damage(changed)
        except Exception:
            continue
        yield lambda changed=changed: pipeline.import_model(changed)


def _damages(model: ModelProto) -> Iterator[Callable[[ModelProto], object]]:
    for at, node in enumerate(model.graph.node):
        for number, item in enumerate(node.attribute):
            yield lambda m, at=at, number=number: m.graph.node[at].attribute.pop(number)
            yield from (
                lambda m, at=at, number=number, change=change: change(m.graph.node[at].attribute[number])
                for change in _attribute_changes(item)
            )
        for name in _absent_attributes(node, model):
            for value in (0, -1, 1, 2, [1, 1, 1], "bogus", 0.5):
                made = onnx.helper.make_attribute(name, value)
                yield lambda m, at=at, made=made: m.graph.node[at].attribute.append(made)
        for number in range(len(node.input)):
            yield lambda m, at=at, number=number: m.graph.node[at].input.__setitem__(number, "")
            yield lambda m, at=at, number=number: m.graph.node[at].input.pop(number)
            for other in node.input:
                yield lambda m, at=at, number=number, other=other: m.graph.node[at].input.__setitem__(number, other)
        yield lambda m, at=at: m.graph.node[at].output.append("another")
        yield lambda m, at=at: setattr(m.graph.node[at], "op_type", "Bogus")
        yield lambda m, at=at: setattr(m.graph.node[at], "domain", "com.microsoft")
    for number, value in enumerate(model.graph.input):
        for dtype in (TensorProto.FLOAT, TensorProto.INT8, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL,
                      TensorProto.DOUBLE, TensorProto.STRING, TensorProto.COMPLEX64):  # fmt: skip
            yield lambda m, number=number, dtype=dtype: setattr(
                m.graph.input[number].type.tensor_type, "elem_type", dtype
            )
        rank = len(value.type.tensor_type.shape.dim)
        yield lambda m, number=number: m.graph.input[number].type.tensor_type.shape.dim.add(dim_value=1)
        yield lambda m, number=number: m.graph.input[number].type.tensor_type.ClearField("shape")
        for axis in range(rank):
            for size in (0, 1, 2, 3, 5, -1):
                yield lambda m, number=number, axis=axis, size=size: setattr(
                    m.graph.input[number].type.tensor_type.shape.dim[axis], "dim_value", size
                )
            yield lambda m, number=number, axis=axis: setattr(
                m.graph.input[number].type.tensor_type.shape.dim[axis], "dim_param", "n"
            )
            yield lambda m, number=number, axis=axis: m.graph.input[number].type.tensor_type.shape.dim.pop(axis)
        for array in _constants(value):
            yield lambda m, number=number, array=array: _bind(m, number, array)
    for version in (1, 5, 8, 11, 99):
        yield lambda m, version=version: setattr(m.opset_import[0], "version", version)
    yield lambda m: m.graph.ClearField("output")
    yield lambda m: m.graph.ClearField("input")
    yield lambda m: setattr(m.graph.output[0], "name", "nothing")


def _attribute_changes(item: AttributeProto) -> Iterator[Callable[[AttributeProto], object]]:
    if item.type == AttributeProto.INT:
        yield from (lambda a, n=n: setattr(a, "i", n) for n in (*NUMBERS, item.i + 1))
    elif item.type == AttributeProto.INTS:
        yield lambda a: a.ints.append(1)
        yield lambda a: a.ints.pop() if a.ints else None
        yield from (
            lambda a, at=at, n=n: a.ints.__setitem__(at, n) for at in range(len(item.ints)) for n in NUMBERS[:7]
        )
    elif item.type == AttributeProto.FLOAT:
        yield from (lambda a, n=n: setattr(a, "f", n) for n in (-1.0, 0.0, float("nan"), 1e30))
    elif item.type == AttributeProto.FLOATS:
        yield lambda a: a.floats.append(1)
        yield lambda a: a.floats.pop() if a.floats else None
        yield lambda a: a.ClearField("floats")
    elif item.type == AttributeProto.STRING:
        yield lambda a: setattr(a, "s", b"bogus")
        yield lambda a: setattr(a, "s", b"")
    elif item.type == AttributeProto.STRINGS:
        yield lambda a: a.strings.append(b"bogus")
        yield lambda a: a.strings.pop() if a.strings else None
        yield lambda a: a.strings.__setitem__(0, b"bogus")
    elif item.type == AttributeProto.TENSOR:
        yield lambda a: a.t.dims.append(3)
        yield lambda a: setattr(a.t, "data_type", TensorProto.STRING)
        yield lambda a: a.t.CopyFrom(numpy_helper.from_array(np.zeros((0,), np.float32)))


def _absent_attributes(node: Any, model: ModelProto) -> Iterator[str]:
    try:
        schema = onnx.defs.get_schema(node.op_type, model.opset_import[0].version, node.domain)
    except onnx.defs.SchemaError:
        return
    there = {item.name for item in node.attribute}
    yield from (name for name in schema.attributes if name not in there)


def _constants(value: Any) -> Iterator[np.ndarray]:
    """In place of an input: some numbers of its shape, and some of others."""
    kind = value.type.tensor_type
    shape = [one.dim_value for one in kind.shape.dim]
    if kind.elem_type not in NUMERIC:
        return
    dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
    for number in (0, 1, 2, -1, 5, 100):
        if number >= 0 or dtype.kind != "u":
            yield np.full(shape, number, dtype)
    yield np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)
    yield np.ones([*shape, 2], dtype)
    yield np.ones((3,), dtype)
    yield np.zeros((0,), dtype)


def _bind(model: ModelProto, number: int, array: np.ndarray) -> None:
    value = model.graph.input[number]
    model.graph.initializer.append(numpy_helper.from_array(array, value.name))
    del model.graph.input[number]


# ---- what there is to damage -------------------------------------------------------------------------------------


def _node_models() -> list[tuple[str, ModelProto]]:
    """Some of each operator's tests in the onnx package, and the models of the fuzzers."""
    from benchmarks import fuzz_seeds

    from tests.e2e.onnx_nodes import node_tests

    seen, found = Counter[str](), []
    for case in node_tests():
        kind = case.model.graph.node[0].op_type
        seen[kind] += 1
        if seen[kind] <= 2 and case.model.ByteSize() < 20_000:
            found += [*_with_constants(case), (case.name, case.model)]
    for name, data in fuzz_seeds.seeds(with_networks=False):
        model = ModelProto()
        model.ParseFromString(data)
        found.append((name, model))
    return found


def _with_constants(case: Any) -> Iterator[tuple[str, ModelProto]]:
    """The same with its other inputs as constants, which many operators ask for."""
    arrays = case.data_sets[0][0] if case.data_sets else ()
    inputs = case.model.graph.input
    if len(arrays) != len(inputs) or not all(isinstance(array, np.ndarray) for array in arrays) or len(inputs) < 2:
        return
    model = ModelProto()
    model.CopyFrom(case.model)
    constants = [numpy_helper.from_array(array, one.name) for array, one in zip(arrays, inputs, strict=True)]
    model.graph.initializer.extend(constants[1:])
    del model.graph.input[1:]
    if model.ByteSize() < 20_000:
        yield f"{case.name} with constants", model


NUMERIC = (TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.INT8, TensorProto.UINT8)
TARGETS = ("generic", "cpu", "cortex-m4", "siracusa", "snitch", "itapool", "gpu", "quad")


def _graphs() -> Iterator[tuple[str, Any]]:
    """As imported, and as targets have them."""
    from benchmarks import fuzz_seeds, fuzz_tflite

    from tilewright import pipeline

    for name, model in _node_models():
        yield from _attempt(name, lambda model=model: pipeline.import_model(model))
    models = [*fuzz_tflite.seeds(with_networks=False), *fuzz_seeds.seeds(with_networks=False)]
    for at, (name, data) in enumerate(models):
        yield from _attempt(name, lambda data=data: pipeline.import_model(data))
        for target in {"generic", TARGETS[at % len(TARGETS)]}:
            yield from _attempt(f"{name} on {target}", lambda data=data, target=target: _planned(data, target))


def _planned(data: bytes, target: str) -> Any:
    from tilewright import pipeline

    return pipeline.compile_graph(pipeline.import_model(data), target).schedule.graph


def _attempt(name: str, make: Callable[[], Any]) -> Iterator[tuple[str, Any]]:
    try:
        with limited():
            graph = make()
    except Exception:
        return
    yield name, graph


def operators() -> Iterator[tuple[str, Iterator[Callable[[], object]]]]:
    seen = Counter[type[Op]]()
    for name, graph in _graphs():
        for node in graph.nodes:
            seen[type(node.op)] += 1
            if seen[type(node.op)] <= EACH:
                types = [graph.types[one] if one else None for one in node.inputs]
                yield f"{type(node.op).__name__} of {name}", damaged_operators(node.op, types)


def models(lacking: Container[str] = ()) -> Iterator[tuple[str, Iterator[Callable[[], object]]]]:
    """Those of operators whose messages lack examples first."""
    found = [(name, model) for name, model in _node_models() if model.graph.node]
    order = sorted(found, key=lambda one: one[1].graph.node[0].op_type.lower() not in lacking)
    for name, model in order:
        yield name, damaged_models(model)


def lacking() -> frozenset[str]:
    """Modules of operators with messages that nobody has seen yet."""
    from scripts.site.errors import has_example, refusals

    names = (one.module.partition(".") for one in refusals() if not has_example(one))
    return frozenset(name for folder, _, name in names if folder == "ops")


def files(cases: int, seed: int) -> Iterator[tuple[str, Iterator[Callable[[], object]]]]:
    """As the fuzzers damage them."""
    from benchmarks import fuzz_gguf, fuzz_mutations, fuzz_seeds, fuzz_tflite

    from tilewright import pipeline

    kinds = (
        ("TFLite", fuzz_tflite.seeds(with_networks=False), fuzz_tflite.mutate, pipeline.import_model, 3 * cases),
        ("ONNX", fuzz_seeds.seeds(with_networks=False), fuzz_mutations.mutate, pipeline.import_model, cases),
        ("GGUF", fuzz_gguf.seeds(), fuzz_gguf.mutate, lambda data: fuzz_gguf.run_case(data, False), cases // 10),
    )
    for kind, sound, mutate, run, count in kinds:
        for number in range(count):
            rng = Random(f"{seed}:{kind}:{number}")
            name, data = rng.choice(sound)
            damaged = mutate(data, rng)
            yield f"{kind} {name}", iter([lambda run=run, damaged=damaged: run(damaged)])


def tflite_files() -> Iterator[tuple[str, Iterator[Callable[[], object]]]]:
    from tests.support.provoke_tflite import damaged_files
    from tilewright import pipeline

    return damaged_files(pipeline.import_model)


def engines() -> Iterator[tuple[str, Iterator[Callable[[], object]]]]:
    from tests.support.provoke_engines import damaged_networks

    return damaged_networks()


# ---- the run -----------------------------------------------------------------------------------------------------


class limited:  # noqa: N801
    """Ends what takes too long."""

    def __enter__(self) -> None:
        signal.signal(signal.SIGALRM, self._late)
        signal.setitimer(signal.ITIMER_REAL, SECONDS)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)

    @staticmethod
    def _late(*_: object) -> None:
        raise Late


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    reader.add_argument("folder", type=Path)
    reader.add_argument("--minutes", type=float, default=10)
    reader.add_argument("--cases", type=int, default=4000)
    reader.add_argument("--only", default="operators,models,tflite,files,engines")
    given = reader.parse_args()
    kept: dict[Message, str] = {}
    seen: set[Message] = set()
    lines: set[tuple[str, int]] = set()
    watch_messages(seen.add)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    end = time.monotonic() + 60 * given.minutes
    chosen = given.only.split(",")
    sources = {
        "operators": operators(),
        "models": models(lacking()),
        "tflite": tflite_files(),
        "files": files(given.cases, 1),
        "engines": engines(),
    }
    for name, damages in chain.from_iterable(sources[one] for one in chosen):
        if time.monotonic() > end:
            break
        for damage in damages:
            for one in said_by(damage, seen):
                if one.where or (one.module, one.line) not in lines:
                    lines.add((one.module, one.line))
                    kept.setdefault(one, f"{DAMAGED}{name}")
    given.folder.mkdir(parents=True, exist_ok=True)
    path = given.folder / f"provoked_{'_'.join(chosen)}.json"
    path.write_text(json.dumps([[*one, name] for one, name in kept.items()]), encoding="utf-8")
    print(f"{len(lines)} lines of the code said something", file=sys.stderr)


if __name__ == "__main__":
    main()
