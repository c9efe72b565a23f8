"""GGUF files with random weights in the shapes of models that people have: their speed is that of the real ones."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

Array = np.ndarray
ALIGNMENT = 32
SPECIAL = ("<unk>", "<s>", "</s>")
UNKNOWN, CONTROL, BYTE, WORD = 2, 3, 6, 1
"""Kinds of tokens."""


@dataclass(frozen=True)
class Shape:
    """Of a decoder."""

    words: int
    width: int
    layers: int
    heads: int
    groups: int
    hidden: int
    head: int = 64
    family: str = "llama"


SHAPES = {
    "smollm2-135m": Shape(49152, 576, 30, 9, 3, 1536),
    "qwen2.5-0.5b": Shape(151936, 896, 24, 14, 2, 4864, family="qwen2"),
    "llama-3.2-1b": Shape(128256, 2048, 16, 32, 8, 8192),
    "tinyllama-1.1b": Shape(32000, 2048, 22, 32, 4, 5632),
}


@dataclass(frozen=True)
class Format:
    """Of blocks of weights: `scales` are how many 16-bit floats a block begins or ends with, and the value that makes
    random bits numbers of about size 1."""

    number: int
    elements: int
    bytes: int
    scales: Sequence[float]
    at_end: bool = False


FORMATS = {
    "f32": Format(0, 1, 4, ()), "f16": Format(1, 1, 2, ()), "q4_0": Format(2, 32, 18, (0.22,)),
    "q5_0": Format(6, 32, 22, (0.11,)), "q8_0": Format(8, 32, 34, (0.0135,)),
    "q4_k": Format(12, 256, 144, (0.0055, 0.041)), "q6_k": Format(14, 256, 210, (0.00073,), at_end=True),
}  # fmt: skip


def used_format(wanted: str, columns: int, is_head: bool) -> str:
    """As llama.cpp's own quantiser chooses: more bits for the head, and other blocks for rows that are no multiple."""
    if is_head and wanted in ("q4_0", "q4_k"):
        wanted = "q6_k"
    if columns % FORMATS[wanted].elements == 0:
        return wanted
    return {"q4_k": "q5_0", "q6_k": "q8_0"}[wanted]


def write_random(path: Path, shape: Shape, wanted: str, context: int, seed: int = 0) -> None:
    """A file of its own for every seed; it appears whole."""
    unfinished = path.with_suffix(".part")
    tensors = list(_tensors(shape, wanted))
    with unfinished.open("wb") as file:
        file.write(_header(shape, context, tensors))
        random = np.random.default_rng(seed)
        for _, kind, rows, columns in tensors:
            _align(file)
            _write_tensor(file, random, kind, rows, columns)
    unfinished.rename(path)


Tensor = tuple[str, str, int, int]
"""Name, format, rows (0 for a vector), columns."""


def _tensors(shape: Shape, wanted: str) -> Iterator[Tensor]:
    width, queries, keys = shape.width, shape.heads * shape.head, shape.groups * shape.head
    yield "token_embd.weight", used_format(wanted, width, True), shape.words, width
    yield "output_norm.weight", "f32", 0, width
    for layer in range(shape.layers):
        matrices = (
            ("attn_q", queries, width), ("attn_k", keys, width), ("attn_v", keys, width),
            ("attn_output", width, queries), ("ffn_gate", shape.hidden, width), ("ffn_up", shape.hidden, width),
            ("ffn_down", width, shape.hidden),
        )  # fmt: skip
        for name in ("attn_norm", "ffn_norm"):
            yield f"blk.{layer}.{name}.weight", "f32", 0, width
        for name, rows, columns in matrices:
            yield f"blk.{layer}.{name}.weight", used_format(wanted, columns, False), rows, columns
            if shape.family == "qwen2" and name in ("attn_q", "attn_k", "attn_v"):
                yield f"blk.{layer}.{name}.bias", "f32", 0, rows


def _write_tensor(file: object, random: np.random.Generator, kind: str, rows: int, columns: int) -> None:
    """A part of it at a time: a head of a large vocabulary is large."""
    if not rows:
        file.write(np.ones(columns, np.float32).tobytes())  # type: ignore[attr-defined]
        return
    for start in range(0, rows, 4096):
        count = min(4096, rows - start)
        file.write(_random_rows(random, FORMATS[kind], count, columns))  # type: ignore[attr-defined]


def _random_rows(random: np.random.Generator, form: Format, rows: int, columns: int) -> bytes:
    if form.elements == 1:
        made: Array = random.standard_normal((rows, columns), np.float32) * columns**-0.5
        return made.astype(np.float16 if form.bytes == 2 else np.float32).tobytes()
    blocks = rows * columns // form.elements
    raw = np.frombuffer(random.bytes(blocks * form.bytes), np.uint8).reshape(blocks, form.bytes).copy()
    scales = (np.array(form.scales) * columns**-0.5).astype(np.float16).view(np.uint8)
    place = slice(-len(scales), None) if form.at_end else slice(0, len(scales))
    raw[:, place] = scales
    return raw.tobytes()


# ---- the header -----------------------------------------------------------------------------------------------------


def _header(shape: Shape, context: int, tensors: Sequence[Tensor]) -> bytes:
    keys = _keys(shape, context)
    parts = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(keys))]
    parts += [_text(name) + _value(value) for name, value in keys.items()]
    at = 0
    for name, kind, rows, columns in tensors:
        sizes = [columns, rows] if rows else [columns]
        form = FORMATS[kind]
        parts.append(_text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, form.number, at))
        elements = columns * max(rows, 1)
        at += -(-elements // form.elements * form.bytes // ALIGNMENT) * ALIGNMENT
    return b"".join(parts)


def _keys(shape: Shape, context: int) -> dict[str, object]:
    of = shape.family
    bytes_ = [f"<0x{number:02X}>" for number in range(256)]
    known = [*SPECIAL, *bytes_]
    words = known + [f"w{number}" for number in range(shape.words - len(known))]
    kinds = [UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256 + [WORD] * (shape.words - len(known))
    return {
        "general.architecture": of, f"{of}.embedding_length": shape.width, f"{of}.block_count": shape.layers,
        f"{of}.attention.head_count": shape.heads, f"{of}.attention.head_count_kv": shape.groups,
        f"{of}.context_length": context, f"{of}.feed_forward_length": shape.hidden,
        f"{of}.attention.layer_norm_rms_epsilon": 1e-5, f"{of}.rope.freq_base": 10000.0,
        "tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": words, "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.scores": [-1e9] * shape.words, "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
    }  # fmt: skip


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(value: object) -> bytes:
    if isinstance(value, str):
        return struct.pack("<I", 8) + _text(value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    assert isinstance(value, list)
    first = value[0]
    if isinstance(first, str):
        return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_text, value))
    kind, letter = (6, "<f4") if isinstance(first, float) else (5, "<i4")
    return struct.pack("<IIQ", 9, kind, len(value)) + np.array(value, letter).tobytes()


def _align(file: object) -> None:
    file.write(b"\0" * (-file.tell() % ALIGNMENT))  # type: ignore[attr-defined]
