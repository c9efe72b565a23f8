"""Inputs and outputs in the memory of a GPU, by both protocols."""

from __future__ import annotations

import ctypes
import gc
from typing import Any

import numpy as np
import pytest

from tests.targets.gpu.fake import Fake
from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import Array, TensorType
from tilewright.ops.add import Add
from tilewright.ops.cumsum import CumSum
from tilewright.ops.relu import Relu
from tilewright.program import Program
from tilewright.run import device_arrays
from tilewright.run.library import LoadedNetwork

SHAPE = (3, 4)
X = np.arange(-6, 6, dtype=np.float32).reshape(SHAPE)


def network(reads: bool) -> Graph:
    """y = relu(x), z = relu(x) + x; the processor may read x and write z."""
    builder = Builder("two")
    x = builder.input("x", TensorType("float32", SHAPE))
    (y,) = builder(Relu(), [x])
    (z,) = builder(CumSum(0), [x]) if reads else builder(Add(), [y, x])
    builder.output(y, "y")
    builder.output(z, "z")
    return builder.build()


class There:
    """Somebody's array on the GPU."""

    def __init__(self, made: Any, **changed: Any) -> None:
        self.made, self.changed = made, changed

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.made.__cuda_array_interface__ | self.changed


def there(f: LoadedNetwork, values: Array) -> Any:
    """A copy on the GPU."""
    made = f._allocated(TensorType(values.dtype.name, values.shape))
    ctypes.memmove(made.address, values.ctypes.data, values.nbytes)  # memory of the fake driver is this machine's
    return made


@pytest.mark.parametrize("reads", [False, True])
def test_arrays_on_the_gpu(fake: Fake, reads: bool) -> None:
    """A network takes its own outputs, what others have, and arrays of the computer; also in one call."""
    f = fake.load(network(reads))
    expected = [np.maximum(X, 0), np.cumsum(X, 0) if reads else np.maximum(X, 0) + X]
    for x in (there(f, X), There(there(f, X), strides=(16, 4), stream=1), There(there(f, X), stream=7), X):
        for one, exact in zip(f.on_device(x), expected, strict=True):
            np.testing.assert_array_equal(one.numpy(), exact)
        for one, exact in zip(f(x), expected, strict=True):
            np.testing.assert_array_equal(one, exact)
    y, z = there(f, X), np.empty(SHAPE, np.float32)
    assert f(there(f, X), out=[y, z])[0] is y
    np.testing.assert_array_equal(np.asarray(y), expected[0])
    np.testing.assert_array_equal(z, expected[1])


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"typestr": "<f8"}, "input x is float64 3x4 on a GPU, not f32[3x4]"),
        ({"shape": (4, 3)}, "input x is float32 4x3 on a GPU, not f32[3x4]"),
        ({"strides": (4, 12)}, "input x is on a GPU and not contiguous"),
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit(fake: Fake, changed: dict[str, Any], told: str) -> None:
    f = fake.load(network(False))
    with pytest.raises(CompileError) as error:
        f(There(there(f, X), **changed))
    assert told in str(error.value)


@pytest.mark.in_turns(3)
def test_another_device_and_overlaps(fake: Fake) -> None:
    f = fake.load(network(False))
    x, y, z = there(f, X), there(f, X), there(f, X)
    for out in ([x, y], [y, y]):
        with pytest.raises(CompileError, match="shares memory with another array"):
            f(x, out=out)
    fake.fails("other device")
    for given, out in ((x, None), (X, [y, z])):
        with pytest.raises(CompileError, match="an array is in the memory of GPU 1, the network runs on GPU 0"):
            f(given, out=out)
    fake.fails("")
    np.testing.assert_array_equal(f(x)[0], np.maximum(X, 0))
    assert fake.contexts == 0


def test_the_processor_waits_for_arrays_within_reach(fake: Fake) -> None:
    f = fake.load(network(True))
    y, z = np.full(SHAPE, 7, np.float32), np.full(SHAPE, 7, np.float32)
    x = there(f, X)
    fake.fails("other device")
    with pytest.raises(CompileError, match="in the memory of GPU 1"):
        f(x, out=[y, z])
    assert (z == 7).all()
    assert fake.contexts == 0


@pytest.mark.in_turns(6)
def test_memory_is_given_back(fake: Fake) -> None:
    """Also where somebody takes a capsule, or leaves it."""
    f = fake.load(network(False))
    for _ in range(3):  # the first loads kernels, the second records launches and keeps what they were given
        f(X)
    gc.collect()
    before = fake.allocated
    made = f.on_device(X)
    capsule = made[0].__dlpack__()
    assert fake.allocated == before + 2 * X.nbytes
    assert len(device_arrays.LENT) == 1
    del made
    gc.collect()
    assert fake.allocated == before + X.nbytes
    del capsule
    gc.collect()
    assert fake.allocated == before
    assert not device_arrays.LENT
    fake.fails("no memory")
    with pytest.raises(CompileError, match="not enough memory: an array needs 48 bytes, 1000 of 2000 bytes are free"):
        f.on_device(X)


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("target", ["gpu", "generic"])
def test_without_a_gpu(target: str, request: pytest.FixtureRequest) -> None:
    f = Program(pipeline.compile_graph(network(False), target), "", None, 0.0).load()
    told = "which has no memory of a GPU" if target == "gpu" else "runs on this machine, without a GPU"
    interface = {"shape": SHAPE, "typestr": "<f4", "data": (64, False), "version": 3}
    for call in (lambda: f.on_device(X), lambda: f(type("Foreign", (), {"__cuda_array_interface__": interface})())):
        with pytest.raises(CompileError, match=told):
            call()
