"""Files of llama2.c: the same weights as in Hugging Face's format give the same logits."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.frontends.checkpoint.small import GROUPS, HEADS, HIDDEN, LAYERS, LLAMA, WORDS, save, tensors
from tests.frontends.checkpoint.test_families import logits
from tilewright.errors import CompileError
from tilewright.frontends.checkpoint.reading import read_checkpoint
from tilewright.ir.types import Array

pytestmark = pytest.mark.fast

WIDTH, CONTEXT = 16, 64
CONFIG = LLAMA | {"rope_theta": 10000.0}
ATTENTION = ("q", "k", "v", "o")


def neighbours(weight: Array) -> Array:
    """Rows such that neighbours are turned together, as llama2.c has them."""
    head = WIDTH // HEADS
    order = np.arange(head).reshape(2, head // 2).T.reshape(-1)
    return weight.reshape(-1, head, WIDTH)[:, order].reshape(weight.shape)


def of_layers(arrays: dict[str, Array], name: str) -> list[Array]:
    return [arrays[f"model.layers.{number}.{name}.weight"] for number in range(LAYERS)]


def attention(arrays: dict[str, Array]) -> list[Array]:
    found = {part: of_layers(arrays, f"self_attn.{part}_proj") for part in ATTENTION}
    found |= {part: [neighbours(one) for one in found[part]] for part in "qk"}
    return [one for part in ATTENTION for one in found[part]]


def feed_forward(arrays: dict[str, Array]) -> list[Array]:
    return [one for part in ("gate", "down", "up") for one in of_layers(arrays, f"mlp.{part}_proj")]


def legacy(tied: bool) -> bytes:
    arrays = tensors(CONFIG | {"tie_word_embeddings": tied})
    header = struct.pack("<7i", WIDTH, HIDDEN, LAYERS, HEADS, GROUPS, WORDS if tied else -WORDS, CONTEXT)
    angles = np.full(CONTEXT * WIDTH // HEADS, np.float32(7))
    parts = [
        arrays["model.embed_tokens.weight"], *of_layers(arrays, "input_layernorm"), *attention(arrays),
        *of_layers(arrays, "post_attention_layernorm"), *feed_forward(arrays), arrays["model.norm.weight"], angles,
        *([] if tied else [arrays["lm_head.weight"]]),
    ]  # fmt: skip
    return header + b"".join(part.tobytes() for part in parts)


def versioned(tied: bool, version: int = 1) -> bytes:
    arrays = tensors(CONFIG | {"tie_word_embeddings": tied})
    sizes = (WIDTH, HIDDEN, LAYERS, HEADS, GROUPS, WORDS, CONTEXT)
    header = b"24ka" + struct.pack("<8iB", version, *sizes, tied)
    parts = [
        *of_layers(arrays, "input_layernorm"), *of_layers(arrays, "post_attention_layernorm"),
        arrays["model.norm.weight"], arrays["model.embed_tokens.weight"], *attention(arrays), *feed_forward(arrays),
        *([] if tied else [arrays["lm_head.weight"]]),
    ]  # fmt: skip
    return header.ljust(256, b"\0") + b"".join(part.tobytes() for part in parts)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("written", [legacy, versioned])
def test_the_same_weights_give_the_same_logits(written: Callable[[bool], bytes], tied: bool, tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(written(tied))
    folder = save(tmp_path / "folder", CONFIG | {"tie_word_embeddings": tied})
    np.testing.assert_array_equal(logits(tmp_path / "model.bin"), logits(folder))
    assert read_checkpoint(tmp_path / "model.bin").config == read_checkpoint(folder).config


NO_SIZES = struct.pack("<7i", WIDTH, HIDDEN, LAYERS, 0, GROUPS, WORDS, CONTEXT)
ENORMOUS = struct.pack("<7i", 2**30, 2**31 - 1, 2**31 - 1, 2**20, 2**20, 2**31 - 1, 2**31 - 1)


DAMAGED = {
    "truncated": (legacy(True)[:-4], "it is truncated"),
    "longer": (legacy(True) + bytes(4), "layers of width 16 and 19 words need"),
    "cut early": (versioned(False)[:300], "has 300 bytes"),
    "tiny": (b"abc", "has 3 bytes, less than the header"),
    "integers": (versioned(True, version=2), "is version 2 of llama2.c's format"),
    "no heads": (NO_SIZES, "which are no sizes of a network"),
    "enormous": (ENORMOUS, "has 28 bytes; 2147483647 layers"),
    "PyTorch's": (b"PK\x03\x04" * 20, "is a file of PyTorch"),
}


@pytest.mark.parametrize(("data", "said"), DAMAGED.values(), ids=DAMAGED)
def test_damaged_files(data: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(data)
    with pytest.raises(CompileError) as found:
        read_checkpoint(tmp_path / "model.bin")
    assert said in str(found.value)
