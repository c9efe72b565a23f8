"""GGUF files: the same decoders as folders have, every format of blocks, and what is wrong with files."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.frontends.checkpoint import gguf_small
from tests.frontends.checkpoint.small import CASES, LLAMA, LLAMA3, Json, save, tensors
from tests.support.gguf_made import BF16, F16, gguf
from tilewright.errors import CompileError
from tilewright.frontends.checkpoint.gguf_blocks import FORMATS
from tilewright.frontends.checkpoint.reading import read_checkpoint
from tilewright.frontends.checkpoint.rotation import frequencies
from tilewright.ir.types import Array

pytestmark = pytest.mark.fast
SAID_BY_BOTH = [
    name
    for name in CASES
    if CASES[name]["model_type"] in gguf_small.ARCHITECTURES and not re.search("gelu|relu|scaling|window", name)
]
"""Cases whose options GGUF has words for."""


def written(folder: Path, config: Json = LLAMA, **changes: object) -> Path:
    """The file of a decoder, of which some keys say something else; None takes one out."""
    keys = gguf_small.keys(config)
    for name, value in changes.items():
        key = name.replace("__", ".")
        if value is None:
            del keys[key]
        else:
            keys[key] = value  # type: ignore[assignment]
    path = folder / "model.gguf"
    path.write_bytes(gguf(keys, gguf_small.tensors(config, tensors(config))))
    return path


@pytest.mark.parametrize("name", SAID_BY_BOTH)
def test_weights_are_those_of_the_folder(name: str, tmp_path: Path) -> None:
    wanted = read_checkpoint(save(tmp_path / "folder", CASES[name]))
    found = read_checkpoint(written(tmp_path, CASES[name]))
    family = found.config.family
    assert replace(wanted.config, family=family, epsilon=0.0) == replace(found.config, epsilon=0.0)
    assert found.config.epsilon == np.float32(wanted.config.epsilon)
    assert wanted.weights.keys() == found.weights.keys()
    for weight, value in wanted.weights.items():
        np.testing.assert_array_equal(found.weights[weight], value, err_msg=weight)


def test_angles_that_are_divided_one_by_one(tmp_path: Path) -> None:
    """Converters write what a scaling does to each pair instead of its name."""
    wanted = read_checkpoint(save(tmp_path / "folder", LLAMA | LLAMA3)).config
    assert wanted.rotary is not None
    turned = frequencies(wanted.rotary, wanted.head)
    plain = frequencies(replace(wanted.rotary, scaling=""), wanted.head)
    extra = {"rope_freqs.weight": (plain / turned).astype(np.float32)}
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf(gguf_small.keys(LLAMA), gguf_small.tensors(LLAMA, tensors(LLAMA)) | extra))
    rotary = read_checkpoint(path).config.rotary
    assert rotary is not None
    np.testing.assert_allclose(frequencies(rotary, wanted.head), turned, rtol=1e-6)
    assert not np.allclose(turned, plain)


# ---- blocks -------------------------------------------------------------------------------------------------------


def blocks_of(kind: int, count: int = 9) -> Array:
    """Bytes at random, with halves that are numbers."""
    draws, block = np.random.default_rng(kind), FORMATS[kind]
    raw = draws.integers(0, 256, (count, block.bytes), dtype=np.uint8)
    halves = draws.uniform(-2, 2, (count, 2)).astype(np.float16).view(np.uint8)
    if block.name == "Q6_K":
        raw[:, 208:] = halves[:, :2]
    elif block.elements > 1:
        raw[:, : 2 if block.name in ("Q8_0", "Q4_0", "Q5_0") else 4] = halves[
            :, : 2 if block.name.endswith("_0") else 4
        ]
    else:
        raw[:, 1::2] &= 0xBF
    return raw


def half(raw: Array, at: int) -> float:
    return float(raw[at : at + 2].view(np.float16)[0])


def one_by_one(name: str, raw: Array) -> list[float]:
    """What a block stands for, element by element, as the format is described."""
    d, nibbles = half(raw, 0), lambda first: [*(raw[first : first + 16] & 15), *(raw[first : first + 16] >> 4)]
    fifth = lambda first: [int(raw[first + i // 8]) >> i % 8 & 1 for i in range(32)]  # noqa: E731
    if name == "Q8_0":
        return [d * int(one) for one in raw[2:].view(np.int8)]
    if name == "Q4_0":
        return [d * (int(q) - 8) for q in nibbles(2)]
    if name == "Q4_1":
        return [d * int(q) + half(raw, 2) for q in nibbles(4)]
    if name == "Q5_0":
        return [d * (int(q) + 16 * bit - 16) for q, bit in zip(nibbles(6), fifth(2), strict=True)]
    if name == "Q5_1":
        return [d * (int(q) + 16 * bit) + half(raw, 2) for q, bit in zip(nibbles(8), fifth(4), strict=True)]
    if name == "Q6_K":
        return [_q6_k(raw, i) for i in range(256)]
    return [_by_scales(name, raw, i) for i in range(256)]


def _by_scales(name: str, raw: Array, i: int) -> float:
    part, scales = i // 32, raw[4:16].astype(int)
    if part < 4:
        scale, minimum = scales[part] & 63, scales[part + 4] & 63
    else:
        scale = (scales[part + 4] & 15) | (scales[part - 4] >> 6 << 4)
        minimum = (scales[part + 4] >> 4) | (scales[part] >> 6 << 4)
    byte = int(raw[(16 if name == "Q4_K" else 48) + 32 * (i // 64) + i % 32])
    level = byte >> 4 if part % 2 else byte & 15
    level += 16 * (int(raw[16 + i % 32]) >> part & 1) if name == "Q5_K" else 0
    return half(raw, 0) * scale * level - half(raw, 2) * minimum


def _q6_k(raw: Array, i: int) -> float:
    upper, within = i // 128, i % 128
    quarter, place = within // 32, within % 32
    byte = int(raw[64 * upper + 32 * (quarter % 2) + place])
    low = byte >> 4 if quarter >= 2 else byte & 15
    high = int(raw[128 + 32 * upper + place]) >> 2 * quarter & 3
    return half(raw, 208) * int(raw[192 + i // 16].astype(np.int8)) * ((low | high << 4) - 32)


@pytest.mark.parametrize("kind", [kind for kind, block in FORMATS.items() if block.elements > 1])
def test_blocks_element_by_element(kind: int) -> None:
    raw = blocks_of(kind)
    wanted = [one_by_one(FORMATS[kind].name, block) for block in raw]
    np.testing.assert_allclose(FORMATS[kind].values(raw), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", FORMATS)
def test_blocks_are_those_of_the_package(kind: int) -> None:
    package = pytest.importorskip("gguf")
    raw = blocks_of(kind, 40)
    wanted = package.quants.dequantize(raw.reshape(-1), package.GGMLQuantizationType(kind))
    np.testing.assert_array_equal(FORMATS[kind].values(raw).reshape(-1), np.asarray(wanted).reshape(-1))


def test_short_floats(tmp_path: Path) -> None:
    made = gguf_small.tensors(LLAMA, tensors(LLAMA))
    name = "blk.1.ffn_up.weight"
    exact = (made[name] * 64).round() / 64
    top_halves = (exact.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    for kind, raw in ((F16, exact.astype(np.float16).tobytes()), (BF16, top_halves.tobytes())):
        path = tmp_path / f"{kind}.gguf"
        path.write_bytes(gguf(gguf_small.keys(LLAMA), {**made, name: (kind, exact.shape, raw)}))
        np.testing.assert_array_equal(read_checkpoint(path).floats()["layer1.ffn.up.weight"], exact)


# ---- what is wrong ------------------------------------------------------------------------------------------------


def refusal(path: Path) -> str:
    with pytest.raises(CompileError) as found:
        read_checkpoint(path)
    return str(found.value).replace(str(path), "FILE")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"general__architecture": "mamba"}, "general.architecture 'mamba' is not supported"),
        ({"llama__expert_count": 8}, "has unknown options: expert_count 8"),
        ({"llama__block_count": None}, "has no block_count"),
        ({"llama__block_count": 3}, "tensor 'blk.2.attn_norm.weight': is not there"),
        ({"llama__block_count": 1}, "tensors have no place in the network: blk.1.attn_k.weight"),
        ({"llama__feed_forward_length": 21}, "tensor 'blk.0.ffn_gate.weight': has shape 20x16, where 21x16 is needed"),
        ({"llama__rope__scaling__type": "mrope"}, "rope.scaling.type 'mrope' is not supported"),
        ({"tokenizer__ggml__tokens": ["a"] * 20}, "the vocabulary has 20 tokens, but token_embd.weight 19 rows"),
        ({"tokenizer__ggml__bos_token_id": 19}, "token 19 is a BOS or EOS token, but the vocabulary has 19 tokens"),
        ({"llama__embedding_length": "wide"}, "embedding_length is 'wide', not a whole number"),
    ],
)
def test_contradictions_are_named(changes: dict[str, object], said: str, tmp_path: Path) -> None:
    assert said in refusal(written(tmp_path, LLAMA, **changes))


def test_files_that_are_no_gguf(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    for data, said in (
        (b"", "cannot be read: it is empty"),
        (b"PK\3\4" + bytes(60), "is no GGUF file"),
        (b"GGUF\1\0\0\0" + bytes(60), "is version 1 of GGUF"),
        (b"GGUF\3\0\0\0" + b"\xff" * 16, "claims 18446744073709551615 tensors"),
    ):
        path.write_bytes(data)
        assert said in refusal(path)
    unknown = gguf({}, {"x": (10, (256,), bytes(84))})
    path.write_bytes(unknown)
    assert "tensor 'x' has the format Q2_K, which is not supported" in refusal(path)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    """Cut anywhere, or with other bytes in front: one error or, where nothing that matters was hit, none."""
    whole, draws, path = written(tmp_path).read_bytes(), random.Random(3), tmp_path / "damaged.gguf"
    header = len(whole) - sum(value.nbytes for value in tensors(LLAMA).values())
    for _ in range(150):
        data = bytearray(whole[: draws.randrange(len(whole))] if draws.random() < 0.3 else whole)
        for _ in range(draws.randrange(4)):
            if data:
                data[draws.randrange(min(len(data), header))] = draws.choice([0, 1, 255, draws.randrange(256)])
        path.write_bytes(data)
        try:
            read_checkpoint(path)
        except CompileError:
            continue
