"""Products of two computed tensors on the NPU: the core writes one as weights, in the NPU's own coding."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from tests.support.checks import Case
from tests.targets.rv32.machine import kernels, run_on_board
from tilewright.ir.evaluate import evaluate_outputs
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, Shape, TensorType, limits
from tilewright.ops._ethosuweights import EthosUWeights, coded
from tilewright.ops.matmul import MatMul
from tilewright.ops.transpose import Transpose
from tilewright.sim.ethos_u.configurations import CONFIGURATIONS
from tilewright.sim.ethos_u.npu import decode_weights
from tilewright.target.settings import Settings
from tilewright.targets import find
from tilewright.targets.ethos_u import product_stream
from tilewright.targets.ethos_u.parts import with_parts
from tilewright.targets.ethos_u.products import with_products

REASON = "pip install 'tilewright[ethos-u]'"
TARGET, NPU = "cortex-m33+u55-128", "ethos-u55-128"
BATCHES: tuple[Shape, ...] = ((), (3,), (1, 2), (2, 3))
SWAPPED = {3: (1, 0, 2), 4: (0, 2, 1, 3)}


def any_type(random: Generator) -> str:
    return str(random.choice(["int8", "uint8"]))


def zero_of(random: Generator, dtype: str) -> int:
    """Near the middle: totals have both signs."""
    return sum(limits(dtype), 1) // 2 + int(random.integers(-20, 20))


def operand(random: Generator, builder: Builder, name: str, shape: Shape, dtype: str) -> str:
    """Sometimes transposed on its way."""
    if len(shape) < 3 or random.integers(2):
        return builder.input(name, TensorType(dtype, shape))
    perm = SWAPPED[len(shape)]
    builder.input(name, TensorType(dtype, tuple(shape[axis] for axis in perm)))
    return builder.add(Transpose(perm), [name])[0]


def drawn(random: Generator) -> Graph:
    """Of any sizes, some wider than a block of the NPU, and second operands that several matrices share."""
    builder, batch = Builder("product"), BATCHES[random.integers(len(BATCHES))]
    rows, inputs, results = (int(random.integers(1, most)) for most in (40, random.choice([70, 400]), 150))
    dtypes, transposed = (any_type(random), any_type(random)), bool(random.integers(2))
    shared = tuple(size if random.integers(4) else 1 for size in batch)
    a = operand(random, builder, "A", (*batch, rows, inputs), dtypes[0])
    b = operand(random, builder, "B", (*shared, *((results, inputs) if transposed else (inputs, results))), dtypes[1])
    made = str(random.choice(["int8", "uint8", "int16"]))
    zero = 0 if made == "int16" else zero_of(random, made)
    shift = 30 + int(np.log2(128 * inputs)) - 8 * (made == "int16") + int(random.integers(-4, 1))
    mul = builder.constant(random.integers(1 << 29, 1 << 30, random.choice([1, results])).astype(np.int32))
    op = MatMul(
        trans_b=transposed, a_zero=zero_of(random, dtypes[0]), b_zero=zero_of(random, dtypes[1]),
        requant=Requant(shift, made, *limits(made), zero),
    )  # fmt: skip
    (y,) = builder.add(op, [a, b, "", mul])
    if len(batch) > 1 and random.integers(2):
        (y,) = builder.add(Transpose((0, 2, 1, 3)), [y])
    builder.output(y)
    return builder.build()


@pytest.mark.in_turns(5)
@pytest.mark.parametrize(("seed", "npu"), [*zip(range(12), cycle(CONFIGURATIONS), strict=False)])
def test_any_product(seed: int, npu: str) -> None:
    pytest.importorskip("ethosu.vela", reason=REASON)
    random = default_rng(seed)
    graph = drawn(random)
    made, left = with_products(npu, None, graph)
    assert not left
    kinds = [node.op.kind for node in made.nodes]
    assert kinds.count("EthosU") == kinds.count("EthosUWeights") == 1
    assert "Transpose" not in kinds
    assert sum(map(made.macs, made.nodes)) == sum(map(graph.macs, graph.nodes))
    types = [(name, graph.types[name]) for name in graph.inputs]
    given = {name: random.integers(*limits(kind.dtype), kind.shape, kind.element, True) for name, kind in types}
    (name,) = graph.outputs
    found, wanted = (evaluate_outputs(one, given)[name] for one in (made, graph))
    assert np.array_equal(found, wanted)
    assert len(np.unique(wanted)) > min(2, wanted.size - 1)


@pytest.mark.parametrize("count", [1, 8, 700, 40000])
def test_coding_is_that_of_the_codec(count: int) -> None:
    codec: Any = pytest.importorskip("ethosu.mlw_codec", reason=REASON)
    weights = default_rng(count).integers(-255, 256, count)
    stream = coded(weights).tobytes()
    assert len(stream) % 16 == 0
    assert decode_weights(stream, count).tolist() == weights.tolist()
    assert list(codec.decode(bytearray(stream)))[:count] == weights.tolist()


def weights_case(random: Generator) -> Case:
    """Of any order in memory, with a rest in inputs and results, for one core of an NPU and two."""
    rank = int(random.integers(2, 5))
    axes = tuple(int(axis) for axis in random.permutation(rank))
    shape = tuple(int(random.integers(2, most)) for most in ((4, 4, 50, 50)[4 - rank :]))
    dtype = any_type(random)
    x = random.integers(*limits(dtype), shape, dtype, True)
    unit, cores = (4, 1) if random.integers(3) == 0 else (8, int(random.integers(1, 3)))
    return EthosUWeights(axes, zero_of(random, dtype), unit, int(random.choice([16, 32])), cores, any_type(random)), [x]


@pytest.mark.in_turns(5)
def test_weights_in_c() -> None:
    """As numpy writes them; one has more than fit a slice."""
    random = default_rng(5)
    large = random.integers(-128, 127, (300, 130), np.int8, True)
    cases: Sequence[Case] = [*(weights_case(random) for _ in range(12)), (EthosUWeights((0, 1), -3), [large])]
    compiled, _ = run_on_board(cases, Settings(), target=TARGET)
    assert set(kernels(compiled)) == {"ethos_u_weights"}


def one_product(**changed: Any) -> Graph:
    builder = Builder("one")
    shape, dtype = changed.pop("shape", (2, 24, 24)), changed.pop("dtype", "int8")
    a, b = (builder.input(name, TensorType(dtype, shape)) for name in "AB")
    given: dict[str, Array] = {"mul": np.full(1, 1 << 29, np.int32), **changed.pop("constants", {})}
    requant = Requant(**{
        "shift": 40, "dtype": "int8", "low": -128, "high": 127, "rounding": Rounding.HALF_UP, **changed
    })  # fmt: skip
    names = [builder.constant(given[name]) if name in given else "" for name in ("C", "mul", "add")]
    builder.output(builder.add(MatMul(requant=requant), [a, b, *names])[0])
    return builder.build()


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"dtype": "int16"}, "the NPU takes bytes"),
        ({"rounding": Rounding.HALF_EVEN}, "which the NPU does not give"),
        ({"low": 0}, "which the NPU does not give"),
        ({"constants": {"add": np.full(1, 7, np.int32)}}, "adds something"),
        ({"constants": {"C": np.full(24, 7, np.int32)}}, "adds something"),
        ({"constants": {"mul": np.full((24, 1), 1 << 29, np.int32)}}, "a factor for each row"),
        ({"shape": (24,), "constants": {"mul": np.array(1 << 29, np.int32)}}, "multiplies a vector"),
        ({"shape": (1, 2, 1, 24, 24)}, "too large for the NPU"),
    ],
)
def test_what_stays_on_the_core(changed: dict[str, Any], why: str) -> None:
    pytest.importorskip("ethosu.vela", reason=REASON)
    graph = one_product(**changed)
    made, left = with_products(NPU, None, graph)
    assert made is graph
    assert why in next(iter(left.values()))


def test_other_results_stay_on_the_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every stream runs once beside its node."""
    pytest.importorskip("ethosu.vela", reason=REASON)
    real = product_stream.records
    monkeypatch.setattr(product_stream, "records", lambda mul, shift, cores: real(mul, shift - 9, cores))
    assert "gives other results" in next(iter(with_products(NPU, None, one_product())[1].values()))


def test_one_column_for_two_cores_stays_on_the_core() -> None:
    pytest.importorskip("ethosu.vela", reason=REASON)
    graph = one_product(shape=(2, 1, 1))
    assert "has 2 cores" in next(iter(with_products("ethos-u65-512", None, graph)[1].values()))
    assert not with_products(NPU, None, graph)[1]


def test_small_products_stay_on_the_core() -> None:
    """Whose weights take longer to write than all of them to be multiplied; a note says so."""
    pytest.importorskip("ethosu.vela", reason=REASON)
    core = find("cortex-m33")
    small, large = (one_product(shape=(1, size, size)) for size in (3, 48))
    _, left = with_products(NPU, core, small)
    assert "the NPU would take" in next(iter(left.values()))
    made = with_parts(NPU, core, large)
    assert [node.op.kind for node in made.nodes] == ["EthosUWeights", "EthosU"]
    assert not made.notes
