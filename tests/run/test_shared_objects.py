"""Programs share the objects of kernels in the cache, whatever their networks' names and other layers are."""

from __future__ import annotations

import pytest
from onnx import ModelProto

import tilewright as tw
from tests.support.models import model, node
from tilewright.toolchain.object_cache import key_of

pytestmark = pytest.mark.fast


def network(*kinds: str) -> ModelProto:
    """Layers, one behind the other."""
    tensors = [f"t{number}" for number in range(len(kinds) + 1)]
    nodes = [node(kind, tensors[at], tensors[at + 1]) for at, kind in enumerate(kinds)]
    return model(nodes, {"t0": (1, 4, 6)}, tensors[-1:])


@pytest.mark.parametrize("target", ["siracusa", "rv32"])
def test_of_kernels(target: str) -> None:
    keys = []
    for name, made in (("one", network("Relu")), ("two", network("Relu", "Softmax"))):
        program = tw.compile(made, target=target, name=name).build_soc()
        (relu,) = program.folder.glob("kernels/relu*.c")
        keys.append((relu.name, key_of("cc", ["-g0"], relu, program.folder)))
    assert keys[0] == keys[1]
