"""Whole language models on a GPU, as `tilewright generate` has them: part of gpu_peers.py.

A library and a file of weights, which is mapped; weights follow the rule of gpu_networks.py. Tokens of a greedy program
are compared with those that PyTorch chooses in fp32, where it is."""

from __future__ import annotations

import ctypes
import json
import lzma
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

CONTEXT, PROMPT, SAID, LAUNCHES = 512, 128, 40, 100
ROOM = 1 << 16
"""Bytes that hold the structs of a model and of a context."""
EPSILON, THETA = 1e-5, 10000.0


def weights(shape: Any) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names and sizes, as Hugging Face has them."""
    inner, keys = shape.heads * shape.head, shape.kv_heads * shape.head
    yield "model.embed_tokens.weight", (shape.words, shape.width)
    yield "model.norm.weight", (shape.width,)
    for layer in range(shape.layers):
        at = f"model.layers.{layer}."
        yield f"{at}self_attn.q_proj.weight", (inner, shape.width)
        for name in "kv":
            yield f"{at}self_attn.{name}_proj.weight", (keys, shape.width)
        yield f"{at}self_attn.o_proj.weight", (shape.width, inner)
        for name in ("gate", "up"):
            yield f"{at}mlp.{name}_proj.weight", (shape.hidden, shape.width)
        yield f"{at}mlp.down_proj.weight", (shape.width, shape.hidden)
        for name in ("input", "post_attention"):
            yield f"{at}{name}_layernorm.weight", (shape.width,)


# ---- here ---------------------------------------------------------------------------------------------------------


def build(folder: Path, case: str, shape: Any, library: Callable[[Path], Path]) -> dict[str, Any]:
    from tilewright.language.model import LanguageModel

    name = case.replace("-", "_")
    with tempfile.TemporaryDirectory() as place:
        _write_model(Path(place) / "model", shape)
        start = time.perf_counter()
        lm = LanguageModel.load(Path(place) / "model").compile("gpu", context=CONTEXT, greedy=True, name=name)
        lm.save(Path(place) / "c")
        seconds = time.perf_counter() - start
        (folder / f"{case}.so.xz").write_bytes(lzma.compress(library(Path(place)).read_bytes(), preset=1))
        with (
            (Path(place) / "c" / f"{name}.weights").open("rb") as file,
            lzma.open(folder / f"{case}.weights.xz", "wb", preset=1) as packed,
        ):
            shutil.copyfileobj(file, packed, 1 << 24)
        header = (Path(place) / "c" / f"{name}.h").read_text()
    layers = lm.compiled.modes.decoding.schedule.layers
    sizes = {kind: int(re.findall(rf"_{kind}_BYTES (\d+)", header)[0]) for kind in ("MEMORY", "WEIGHTS")}
    return {
        "prefix": name, "arena": sizes["MEMORY"], "weights": sizes["WEIGHTS"], "layers": len(layers), "is_language": 1,
        "cpu": [layer.node.op.kind for layer in layers if layer.engine == "cpu"], "compile_s": round(seconds, 1),
    }  # fmt: skip


def _write_model(folder: Path, shape: Any) -> None:
    """A folder as Hugging Face has it, whose tokenizer knows bytes alone: texts are not what is measured."""
    import torch
    from safetensors.torch import save_file

    from gpu_networks import values

    folder.mkdir()
    made = {name: torch.from_numpy(values(name, size)).to(torch.bfloat16) for name, size in weights(shape)}
    save_file(made, str(folder / "model.safetensors"))
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": shape.width,
        "intermediate_size": shape.hidden, "num_hidden_layers": shape.layers, "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads, "head_dim": shape.head, "vocab_size": shape.words,
        "max_position_embeddings": 2048, "rms_norm_eps": EPSILON, "rope_theta": THETA, "hidden_act": "silu",
        "tie_word_embeddings": True, "bos_token_id": 256, "eos_token_id": 257,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = (chr(256 + number) for number in range(256 - len(printable)))
    bytes_ = {chr(one) if one in printable else next(others): one for one in range(256)}
    pieces = {"type": "BPE", "vocab": bytes_, "merges": [], "byte_fallback": False}
    added = [
        {"id": number, "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
         "special": True}
        for number, text in ((256, "<s>"), (257, "</s>"))
    ]  # fmt: skip
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    tokenizer = {
        "version": "1.0", "normalizer": None, "added_tokens": added, "pre_tokenizer": level, "decoder": level,
        "post_processor": None, "model": pieces,
    }  # fmt: skip
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))


# ---- there --------------------------------------------------------------------------------------------------------


class Language:
    """A library and its weights, opened."""

    def __init__(self, folder: Path, case: str, about: dict[str, Any], place: Path) -> None:
        self.about, self.prefix = about, about["prefix"]
        for ending in ("so", "weights"):
            with lzma.open(folder / f"{case}.{ending}.xz") as packed, (place / f"{case}.{ending}").open("wb") as file:
                shutil.copyfileobj(packed, file, 1 << 24)
        self.library = ctypes.CDLL(str(place / f"{case}.so"))
        self.model, self.context = ctypes.create_string_buffer(ROOM), ctypes.create_string_buffer(ROOM)
        self.memory = np.zeros(about["arena"] + 64, np.uint8)
        self._call("open", self.model, str(place / f"{case}.weights").encode())
        at = ctypes.c_void_p(self.memory.ctypes.data + -self.memory.ctypes.data % 64)
        self._call("begin", self.context, self.model, at, ctypes.c_size_t(about["arena"]))
        self._call("reset", self.context)

    def _call(self, name: str, *given: Any) -> int:
        found = int(getattr(self.library, f"{self.prefix}_{name}")(*given))
        if found < 0 and name != "reset":
            error = getattr(self.library, f"{self.prefix}_gpu_error")
            error.restype = ctypes.c_char_p
            raise RuntimeError(f"{name} gives {found}: {error().decode()}")
        return found

    def _read(self, tokens: Sequence[int]) -> None:
        given = np.array(tokens, np.int32)
        self._call("prompt", self.context, given.ctypes.data_as(ctypes.c_void_p), len(given))

    def first(self) -> float:
        """Seconds to the first token behind a prompt."""
        start = time.perf_counter()
        self._read([token % 1000 for token in range(PROMPT)])
        self._call("next", self.context)
        return time.perf_counter() - start

    def measured(self, shape: Any, free_bytes: Callable[[], int]) -> dict[str, float]:
        before = free_bytes()
        prompt = [int(one) for one in np.random.default_rng(5).integers(0, shape.words, PROMPT)]
        self._read(prompt)
        said = [self._call("next", self.context)]
        used = before - free_bytes()
        start = time.perf_counter()
        said += [self._call("next", self.context) for _ in range(SAID)]
        whole = (time.perf_counter() - start) / SAID
        self._call("keep", self.context, PROMPT)
        self._read(said[:1])
        self._call("next", self.context)
        measure = getattr(self.library, f"{self.prefix}_gpu_measured")
        measure.restype = ctypes.c_double
        network = ctypes.c_char.in_dll(self.library, f"{self.prefix}_decode_on_gpu")
        found = {"us": float(measure(ctypes.byref(network), LAUNCHES)), "call_us": whole * 1e6}
        self.library[f"{self.prefix}_end"](self.context)
        extra = {"extra_mb": (used - self.about["arena"] - self.about["weights"]) / 1e6}
        return found | extra | _unlike(shape, prompt, said)


def _unlike(shape: Any, prompt: list[int], said: list[int]) -> dict[str, float]:
    """The part of the tokens that PyTorch would not choose behind the same ones; nothing where there is no PyTorch."""
    try:
        import torch
    except ImportError:
        return {}
    torch.backends.cuda.matmul.allow_tf32 = False
    scores = _scores(torch, shape, torch.tensor(prompt + said, device="cuda"))
    wanted = scores.argmax(-1)[len(prompt) - 1 : -1].tolist()
    return {"distance": sum(one != other for one, other in zip(wanted, said, strict=True)) / len(said)}


def _scores(torch: Any, shape: Any, tokens: Any) -> Any:
    """Of the word behind each token, in fp32."""
    from gpu_networks import values

    def stored(name: str, *size: int) -> Any:
        return torch.from_numpy(values(name, size)).to("cuda", torch.bfloat16).float()

    def normalised(x: Any) -> Any:
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPSILON)

    def turned(x: Any) -> Any:
        one, other = x.chunk(2, -1)
        return torch.cat([one * cosines - other * sines, other * cosines + one * sines], -1)

    count, head, sizes = len(tokens), shape.head, dict(weights(shape))
    steps = torch.arange(0, head, 2, device="cuda") / head
    angles = (torch.arange(count, device="cuda")[:, None] * THETA**-steps)[:, None]
    cosines, sines = angles.cos(), angles.sin()
    words = stored("model.embed_tokens.weight", shape.words, shape.width)
    x = words[tokens]
    for layer in range(shape.layers):
        at = f"model.layers.{layer}."
        w = {name.split(".")[-2]: stored(name, *sizes[name]) for name in sizes if name.startswith(at)}
        y = normalised(x)
        q, k, v = ((y @ w[f"{one}_proj"].T).reshape(count, -1, head) for one in "qkv")
        heads = [one.transpose(0, 1)[None] for one in (turned(q), turned(k), v)]
        found = torch.nn.functional.scaled_dot_product_attention(*heads, is_causal=True, enable_gqa=True)
        x = x + found[0].transpose(0, 1).reshape(count, -1) @ w["o_proj"].T
        y = normalised(x)
        x = x + (torch.nn.functional.silu(y @ w["gate_proj"].T) * (y @ w["up_proj"].T)) @ w["down_proj"].T
    return normalised(x) @ words.T
