"""What can be relied on in a decoder's graph, whatever the tokens at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tests.frontends.checkpoint.small import CASES, GPT2, LLAMA, QWEN3, Json, save
from tests.frontends.checkpoint.test_families import logits
from tilewright.errors import CompileError
from tilewright.frontends.checkpoint.decoder import decoder_model
from tilewright.frontends.checkpoint.reading import read_checkpoint

pytestmark = pytest.mark.fast


def nodes(made: onnx.ModelProto) -> list[onnx.NodeProto]:
    return list(made.graph.node)


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("name", CASES)
def test_the_same_nodes_for_any_number_of_tokens(name: str, tmp_path: Path) -> None:
    checkpoint = read_checkpoint(save(tmp_path, CASES[name]))
    one, many = (decoder_model(checkpoint, tokens) for tokens in (1, 7))
    assert nodes(one) == nodes(many)
    constants = [{c.name: numpy_helper.to_array(c) for c in made.graph.initializer} for made in (one, many)]
    assert list(constants[0]) == list(constants[1])
    different = {name for name, value in constants[0].items() if not np.array_equal(value, constants[1][name])}
    assert {name for name in different if not name.startswith(("shape.", "mask.local"))} == {"offsets", "mask"}


def test_inputs_and_outputs(tmp_path: Path) -> None:
    made = decoder_model(read_checkpoint(save(tmp_path, LLAMA)), 5, context=40)
    found = {
        value.name: (value.type.tensor_type.elem_type, [size.dim_value for size in value.type.tensor_type.shape.dim])
        for value in (*made.graph.input, *made.graph.output)
    }
    int32, float32 = onnx.TensorProto.INT32, onnx.TensorProto.FLOAT
    assert found == {"ids": (int32, [1, 5]), "position": (int32, [1]), "logits": (float32, [1, 5, 19])}
    tables = {c.name: list(c.dims) for c in made.graph.initializer if c.name in ("cosine", "sine")}
    assert tables == {"cosine": [40, 4], "sine": [40, 4]}


def test_positions_are_read_once(tmp_path: Path) -> None:
    made = decoder_model(read_checkpoint(save(tmp_path, QWEN3)), 5)
    assert [node.output[0] for node in nodes(made) if node.op_type == "Gather"] == [
        "cosine.rows",
        "sine.rows",
        "embedded",
    ]


def test_rotations_happen_before_heads_come_first(tmp_path: Path) -> None:
    made = onnx.shape_inference.infer_shapes(decoder_model(read_checkpoint(save(tmp_path, LLAMA)), 5))
    sizes = {v.name: [size.dim_value for size in v.type.tensor_type.shape.dim] for v in made.graph.value_info}
    wanted = {
        "query.heads": [1, 5, 4, 4], "query.rotated": [1, 5, 4, 4], "key.rotated": [1, 5, 2, 4],
        "query.heads_first": [1, 4, 5, 4], "keys.repeated": [1, 2, 2, 5, 4], "scores": [1, 4, 5, 5],
        "mixed": [1, 4, 5, 4], "tokens_first": [1, 5, 4, 4], "joined": [1, 5, 16],
    }  # fmt: skip
    assert {name: sizes[f"layer1.attention.{name}"] for name in wanted} == wanted
    assert sizes["cosine.of_heads"] == [5, 1, 4]


def test_what_turns_by_positions_sees_distances_alone(tmp_path: Path) -> None:
    folder = save(tmp_path, LLAMA)
    np.testing.assert_allclose(logits(folder, position=0), logits(folder, position=30), atol=1e-3)
    assert np.abs(logits(folder, (3, 7, 7, 5)) - logits(folder, (7, 3, 7, 5)))[-1].max() > 0.01


def test_what_learns_positions_differs_at_others(tmp_path: Path) -> None:
    folder = save(tmp_path, GPT2)
    assert np.abs(logits(folder, position=0) - logits(folder, position=9)).max() > 0.1


@pytest.mark.parametrize(
    ("config", "tokens", "context", "said"),
    [
        (LLAMA, 4, 65, "context 65: is not within the 64 tokens"), (GPT2, 4, 33, "context 33: is not within the 32"),
        (LLAMA, 9, 8, "9 tokens at once: do not fit a context of 8"), (LLAMA, 0, 8, "0 tokens at once: do not fit"),
        (LLAMA, 1, 0, "context 0: is not within"),
        (LLAMA | {"max_position_embeddings": 2**30}, 1, 2**30, "needs 34359.* bytes for rotary tables"),
    ],
)  # fmt: skip
def test_tokens_and_context_that_do_not_fit(config: Json, tokens: int, context: int, said: str, tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=said):
        decoder_model(read_checkpoint(save(tmp_path, config)), tokens, context)
