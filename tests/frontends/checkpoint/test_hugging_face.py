"""Folders of weights: element types, shards, and what is wrong with them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.frontends.checkpoint.small import GPT2, GPT_NEO, LLAMA, QWEN2, Json, save, tensors
from tilewright.errors import CompileError
from tilewright.frontends.checkpoint.hugging_face import INDEX, WHOLE
from tilewright.frontends.checkpoint.reading import read_checkpoint
from tilewright.frontends.checkpoint.safetensors_file import read_safetensors
from tilewright.ir.block_formats import BlockArray
from tilewright.ir.types import Array

pytestmark = pytest.mark.fast


def refusal(path: Path) -> str:
    with pytest.raises(CompileError) as found:
        read_checkpoint(path)
    return str(found.value).replace(str(path), "FOLDER")


def changed(folder: Path, **options: object) -> Path:
    """The folder of a Llama of which the config says something else."""
    return save(folder, LLAMA | options, tensors(LLAMA))


# ---- element types ------------------------------------------------------------------------------------------------


def test_element_types(tmp_path: Path) -> None:
    values = np.float32([[1.0, -2.5], [0.15625, 3.0]])
    top_halves = (values.view(np.uint32) >> 16).astype(np.uint16)
    stored = {"F32": values, "F16": values.astype(np.float16), "BF16": top_halves}
    header, at = dict[str, object](), 0
    for dtype, array in stored.items():
        header[dtype] = {"dtype": dtype, "shape": [2, 2], "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    data = b"".join(array.tobytes() for array in stored.values())
    (tmp_path / "x.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
    found = read_safetensors(tmp_path / "x.safetensors")
    assert found.keys() == stored.keys()
    assert all(np.array_equal(one.floats(), values) and one.are_finite() for one in found.values())
    assert [isinstance(one.weight, BlockArray) for one in found.values()] == [False, True, True]


@pytest.mark.parametrize("scale", [np.float32([0.5, 0.25]), np.float32(0.5), np.float32([0.5])])
def test_bytes_with_scales(scale: Array, tmp_path: Path) -> None:
    levels = np.int8([[1, -2, 3], [-128, 127, 0]])
    save_file({"x": levels, "x.scale": np.asarray(scale), "y": np.float32([1])}, tmp_path / "x.safetensors")
    found = read_safetensors(tmp_path / "x.safetensors")
    assert sorted(found) == ["x", "y"]
    np.testing.assert_array_equal(found["x"].floats(), levels * np.asarray(scale).reshape(-1, 1))


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"x": np.int8([1])}, "tensor 'x': has bytes without a tensor 'x.scale'"),
        ({"x": np.int8([1, 2, 3]), "x.scale": np.float32([1, 2])}, "has 3 rows, but 'x.scale' is F32 of shape [2]"),
        ({"x": np.int8([1]), "x.scale": np.float16([1])}, "has 1 rows, but 'x.scale' is F16 of shape [1]"),
        ({"x": np.int64([1])}, "tensor 'x': has elements of type I64"),
    ],
)  # fmt: skip
def test_element_types_that_are_refused(arrays: dict[str, Array], said: str, tmp_path: Path) -> None:
    save_file(arrays, tmp_path / "x.safetensors")
    with pytest.raises(CompileError, match=re.escape(said)):
        read_safetensors(tmp_path / "x.safetensors")


# ---- files ----------------------------------------------------------------------------------------------------------


def sharded(folder: Path) -> Path:
    arrays = tensors(LLAMA)
    names = [f"model-{part}.safetensors" for part in (1, 2)]
    homes = {name: names[number % 2] for number, name in enumerate(arrays)}
    for shard in names:
        save_file({name: arrays[name] for name in arrays if homes[name] == shard}, folder / shard)
    (folder / "config.json").write_text(json.dumps(LLAMA))
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": homes}))
    return folder


def test_shards_are_one_model(tmp_path: Path) -> None:
    (tmp_path / "shards").mkdir()
    found, whole = (read_checkpoint(path) for path in (sharded(tmp_path / "shards"), save(tmp_path / "whole", LLAMA)))
    assert found.config == whole.config
    assert found.weights.keys() == whole.weights.keys()
    assert all(np.array_equal(found.weights[name], whole.weights[name]) for name in whole.weights)


def without_shard(folder: Path) -> None:
    (folder / "model-2.safetensors").unlink()


def cut_shard(folder: Path) -> None:
    path = folder / "model-1.safetensors"
    path.write_bytes(path.read_bytes()[:-5])


def shard_elsewhere(folder: Path) -> None:
    (folder / INDEX).write_text(json.dumps({"weight_map": {"x": "../x.safetensors"}}))


def shard_without_tensor(folder: Path) -> None:
    index = json.loads((folder / INDEX).read_text())
    (folder / INDEX).write_text(json.dumps({"weight_map": index["weight_map"] | {"x": "model-1.safetensors"}}))


def index_without_map(folder: Path) -> None:
    (folder / INDEX).write_text("{}")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (without_shard, "1 of 2 shards are missing: model-2.safetensors"),
        (cut_shard, "model-1.safetensors: is no whole safetensors file"),
        (shard_elsewhere, "names the file '../x.safetensors'"),
        (shard_without_tensor, "lists 'x' in model-1.safetensors, which does not hold it"),
        (index_without_map, "has no weight_map"),
    ],
)  # fmt: skip
def test_damaged_shards(damage: Callable[[Path], None], said: str, tmp_path: Path) -> None:
    damage(sharded(tmp_path))
    assert said in refusal(tmp_path)


@pytest.mark.parametrize("kept", [0, 7, 60, 2000, -1])
def test_a_truncated_file(kept: int, tmp_path: Path) -> None:
    path = save(tmp_path, LLAMA) / WHOLE
    path.write_bytes(path.read_bytes()[:kept])
    assert "model.safetensors: is no whole safetensors file" in refusal(tmp_path)


def test_files_that_are_missing(tmp_path: Path) -> None:
    assert "does not exist" in refusal(tmp_path / "nowhere")
    assert "config.json: cannot be read: No such file" in refusal(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    assert "has neither model.safetensors nor model.safetensors.index.json" in refusal(tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    assert "pytorch_model.bin: save them with save_pretrained" in refusal(tmp_path)
    (tmp_path / WHOLE).write_bytes(b"")
    assert "is not a known checkpoint" in refusal(tmp_path / WHOLE)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"{", "is no JSON"), (b"\xff\xfe", "is no JSON"), (b"[1]", "holds a list, not an object"),
        (b"[" * 100000, "is no JSON"), (b"{}", "the architecture 'None' is not supported"),
    ],
)  # fmt: skip
def test_a_config_that_is_none(text: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(text)
    assert said in refusal(tmp_path)


# ---- what config.json says ------------------------------------------------------------------------------------------


def test_an_unknown_architecture(tmp_path: Path) -> None:
    found = refusal(changed(tmp_path, architectures=["MambaForCausalLM"]))
    assert "the architecture 'MambaForCausalLM' is not supported" in found
    assert "LlamaForCausalLM, MistralForCausalLM, OPTForCausalLM, Phi3ForCausalLM, PhiForCausalLM" in found


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rope_scaling": {"rope_type": "proportional", "factor": 2.0}}, "rope_type 'proportional' is not supported"),
        ({"rope_scaling": {"type": "mrope", "factor": 2.0}}, "type 'mrope' is not supported"),
        ({"rope_scaling": {"rope_type": "linear"}}, "rope_scaling: has no factor"),
        ({"rope_scaling": {"rope_type": "linear", "factor": 2.0, "mscale": 2}}, "has unknown options: mscale 2"),
        ({"rope_scaling": {"type": "linear", "rope_type": "default"}}, "rope_type is 'default', but type is 'linear'"),
        ({"rope_parameters": {"rope_theta": 7.0}}, "rope_theta is 500.0, and 7.0 elsewhere"),
        (
            {"rope_scaling": {"type": "linear", "factor": 2.0}, "rope_parameters": {"rope_type": "default"}},
            "rope_parameters is {'rope_type': 'default'}, but rope_scaling is {'type': 'linear', 'factor': 2.0}",
        ),
        ({"rope_scaling": 3}, "rope_scaling is 3, not an object"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor 0.5 changes what the network computes"),
        ({"hidden_act": "gelu_10"}, "hidden_act 'gelu_10' is not supported"),
        ({"attention_multiplier": 0.5}, "has unknown options: attention_multiplier 0.5"),
        ({"quantization_config": {"bits": 4}}, "has unknown options: quantization_config {'bits': 4}"),
        ({"hidden_size": None}, "has no hidden_size"),
        ({"hidden_size": 16.0}, "hidden_size is 16.0, not a whole number from 1"),
        ({"num_hidden_layers": -1}, "num_hidden_layers is -1, not a whole number from 1"),
        ({"rms_norm_eps": float("nan")}, "rms_norm_eps is nan, not a positive number"),
        ({"rms_norm_eps": 10**400}, "rms_norm_eps is 1000000"),
        ({"hidden_size": 2**31}, "hidden_size is 2147483648, not a whole number from 1 to 2147483647"),
        ({"tie_word_embeddings": "no"}, "tie_word_embeddings is 'no', not true or false"),
        ({"num_key_value_heads": 3}, "4 query heads cannot be divided evenly among 3 KV heads"),
        ({"num_attention_heads": 3, "num_key_value_heads": 3}, "a width of 16 is no multiple of 3 heads"),
        ({"head_dim": 5}, "heads of 5 elements cannot be rotated in pairs"),
        ({"eos_token_id": [2, 19]}, "token 19 is a BOS or EOS token, but the vocabulary has 19 tokens"),
        ({"eos_token_id": "end"}, "eos_token_id is 'end', not the number of a token"),
    ],
)  # fmt: skip
def test_options_that_are_refused(options: Json, said: str, tmp_path: Path) -> None:
    assert said in refusal(changed(tmp_path, **options))


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (GPT2 | {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx true changes"),
        (GPT2 | {"add_cross_attention": True}, "add_cross_attention true changes"),
        (GPT_NEO | {"attention_layers": ["global", "far"]}, "attention_layers: far is not supported"),
        (QWEN2 | {"layer_types": ["linear_attention"]}, "layer_types: linear_attention is not supported"),
        (GPT_NEO | {"num_heads": 5}, "a width of 12 is no multiple of 5 heads"),
    ],
)  # fmt: skip
def test_options_of_other_families_that_are_refused(config: Json, said: str, tmp_path: Path) -> None:
    assert said in refusal(save(tmp_path, config, tensors(GPT2)))


def test_options_of_training_and_sampling_do_not_matter(tmp_path: Path) -> None:
    more = {
        "use_cache": True,
        "attention_dropout": 0.1,
        "torch_dtype": "bfloat16",
        "pretraining_tp": 1,
        "pruned_heads": {},
    }
    assert read_checkpoint(changed(tmp_path, **more)).config == read_checkpoint(save(tmp_path, LLAMA)).config


def test_a_window_that_is_not_used(tmp_path: Path) -> None:
    config = QWEN2 | {"use_sliding_window": False, "sliding_window": 8, "max_window_layers": 1}
    assert read_checkpoint(save(tmp_path, config)).config.window is None
    assert read_checkpoint(save(tmp_path, config | {"use_sliding_window": True})).config.window == 8


# ---- config and weights ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"intermediate_size": 21},
            "FOLDER, tensor 'model.layers.0.mlp.gate_proj.weight': has shape 20x16, but by config.json it has 21x16",
        ),
        ({"vocab_size": 20}, "tensor 'model.embed_tokens.weight': has shape 19x16, but by config.json it has 20x16"),
        ({"num_hidden_layers": 3}, "has no tensor 'model.layers.2.input_layernorm.weight'"),
        ({"num_hidden_layers": 10**9}, "has no tensor 'model.layers.2.input_layernorm.weight'"),
        ({"attention_bias": True}, "has no tensor 'model.layers.0.self_attn.q_proj.bias'"),
        ({"num_hidden_layers": 1}, "9 tensors have no place in the network of config.json: model.layers.1.input"),
        ({"tie_word_embeddings": True}, "tensor 'lm_head.weight': differs from 'model.embed_tokens.weight'"),
    ],
)  # fmt: skip
def test_weights_that_contradict_the_config(options: Json, said: str, tmp_path: Path) -> None:
    assert said in refusal(changed(tmp_path, **options))


def test_all_that_is_missing_is_said_at_once(tmp_path: Path) -> None:
    arrays = tensors(LLAMA)
    for name in ("model.norm.weight", "lm_head.weight"):
        arrays.pop(name)
    found = refusal(save(tmp_path, LLAMA, arrays))
    assert "has no tensor 'model.norm.weight'" in found
    assert "has no tensor 'lm_head.weight'" in found


def test_a_joined_tensor_is_missed_once(tmp_path: Path) -> None:
    arrays = tensors(GPT2)
    arrays.pop("transformer.h.0.attn.c_attn.weight")
    assert refusal(save(tmp_path, GPT2, arrays)).count("has no tensor") == 1


def test_weights_that_are_no_numbers(tmp_path: Path) -> None:
    arrays = tensors(LLAMA)
    arrays["model.norm.weight"][3] = np.nan
    assert "tensor 'model.norm.weight': has values that are not finite" in refusal(save(tmp_path, LLAMA, arrays))


def test_a_tied_head_may_be_there_as_well(tmp_path: Path) -> None:
    config, arrays = LLAMA | {"tie_word_embeddings": True}, tensors(LLAMA)
    arrays["lm_head.weight"] = arrays["model.embed_tokens.weight"].copy()
    assert "head.weight" not in read_checkpoint(save(tmp_path, config, arrays)).weights
