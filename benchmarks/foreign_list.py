"""Models that others wrote: torchvision, timm and transformers by name, small images, random weights."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

LIST = Path(__file__).with_name("foreign_models.txt")
VIDEO = ("mc3_18", "r3d_18", "r2plus1d_18", "s3d", "swin3d_t", "mvit_v1_b", "mvit_v2_s")
SIZES = {"maxvit_t": 224, "vit_b_32": 224, "inception_v3": 128, "alexnet": 96, "mvit_v1_b": 224, "mvit_v2_s": 224}


SMALL = {
    "vocab_size": 200, "hidden_size": 64, "d_model": 64, "n_embd": 64, "dim": 64, "embedding_size": 64, "emb_dim": 64,
    "num_hidden_layers": 2, "num_layers": 2, "n_layer": 2, "n_layers": 2, "encoder_layers": 2, "decoder_layers": 2,
    "num_decoder_layers": 2, "num_attention_heads": 4, "num_heads": 4, "n_head": 4, "n_heads": 4,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128,
    "ffn_dim": 128, "d_ff": 128, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "d_kv": 16, "head_dim": 16,
    "max_position_embeddings": 64, "n_positions": 64, "n_ctx": 64, "num_experts": 4, "num_local_experts": 4,
    "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32,
    "rotary_dim": 8, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "image_size": 64, "use_cache": False,
    "decoder_start_token_id": 1, "max_source_positions": 64, "max_target_positions": 64, "hidden_dropout_prob": 0.0,
}  # fmt: skip
"""Settings of a small model, by all the names that configurations have for them."""

Case = tuple[Any, tuple[Any, ...]]


def listed() -> dict[str, list[str]]:
    """Names by section; one that ends in * is not made small."""
    sections: dict[str, list[str]] = {}
    for line in LIST.read_text().splitlines():
        if line.startswith("["):
            names = sections.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            names += line.split()
    return sections


class First(nn.Module):
    """A model with positional tensors in and tensors out, whatever its own signature and outputs are."""

    def __init__(self, inner: nn.Module, names: tuple[str, ...]) -> None:
        super().__init__()
        self.inner, self.names = inner, names

    def forward(self, *tensors: Tensor) -> Any:
        found = self.inner(**dict(zip(self.names, tensors, strict=True)))
        return tuple(tensors_of(found))


def tensors_of(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from tensors_of(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from tensors_of(one)


def timm_model(name: str) -> Case:
    import timm

    for size in (96, 128, 224, 256):
        for options in ({"img_size": size}, {}):
            try:
                model = timm.create_model(name, pretrained=False, num_classes=10, **options).eval()
                x = torch.randn(1, 3, size, size)
                with torch.no_grad():
                    model(x)
            except Exception:  # Not this size: the next one.
                continue
            return model, (x,)
    raise ValueError(f"timm has no {name} of such a size")


def vision_model(name: str) -> Case:
    from torchvision import models

    options: dict[str, Any] = {"weights": None}
    if any(word in name for word in ("deeplab", "fcn", "lraspp", "ssd", "retina", "fcos")):
        options["weights_backbone"] = None
    model = models.get_model(name, **options).eval()
    size = SIZES.get(name, 96)
    if name in VIDEO:
        return model, (torch.randn(1, 3, 16 if name.startswith(("mvit", "s3d")) else 4, size, size),)
    if name.startswith("raft"):
        return model, (torch.randn(1, 3, 128, 128), torch.randn(1, 3, 128, 128))
    if any(word in name for word in ("ssd", "retina", "fcos")):
        return _Features(model), (torch.randn(1, 3, 128, 128),)
    return model, (torch.randn(1, 3, size, size),)


class _Features(nn.Module):
    """A detector up to its boxes' scores: what comes after has as many results as it finds."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.backbone, self.head = model.backbone, model.head

    def forward(self, x: Tensor) -> Any:
        return self.head(list(self.backbone(x).values()))


def hugging_model(kind: str, listed_name: str) -> Case:
    from transformers import AutoConfig, AutoModel

    name = listed_name.rstrip("*")
    config = AutoConfig.for_model(name)
    if name == listed_name:
        taken = {key: value for key, value in SMALL.items() if _is_set(config, key)}
        config = AutoConfig.for_model(name, **taken)
    config.use_cache = False
    model = AutoModel.from_config(config).eval()
    ids = torch.randint(3, 190, (1, 16))
    if kind == "encoder-decoder":
        return _both(name, model, config, ids)
    if kind == "text":
        return First(model, ("input_ids",)), (ids,)
    if kind == "audio":
        return _audio(name, model, config)
    size = getattr(config, "image_size", None) or 64
    size = size if isinstance(size, int) else size[0]
    return First(model, ("pixel_values",)), (torch.randn(1, getattr(config, "num_channels", 3), size, size),)


def _is_set(config: Any, key: str) -> bool:
    return hasattr(config, key) and not isinstance(getattr(type(config), key, None), property)


def _both(name: str, model: Any, config: Any, ids: Tensor) -> Case:
    if name in ("whisper", "speech_to_text"):
        frames = 2 * config.max_source_positions
        shape = (1, config.num_mel_bins, frames) if name == "whisper" else (1, frames, config.input_feat_per_channel)
        return First(model, ("input_features", "decoder_input_ids")), (torch.randn(*shape), ids[:, :4])
    return First(model, ("input_ids", "decoder_input_ids")), (ids, ids[:, :4])


def _audio(name: str, model: Any, config: Any) -> Case:
    if name == "audio-spectrogram-transformer":
        return First(model, ("input_values",)), (torch.randn(1, config.max_length, config.num_mel_bins),)
    if name == "wav2vec2-bert":
        return First(model, ("input_features",)), (torch.randn(1, 20, config.feature_projection_input_dim),)
    if name in ("encodec", "dac", "mimi"):
        return First(model, ("input_values",)), (torch.randn(1, 1, 4800),)
    return First(model, ("input_values",)), (torch.randn(1, 4000),)


def cases() -> dict[str, Callable[[], Case]]:
    """By name, what makes the model and its inputs."""
    own: dict[str, Callable[[str], Case]] = {"timm": timm_model, "torchvision": vision_model}
    return {
        f"{kind}/{name.rstrip('*')}": partial(own[kind], name) if kind in own else partial(hugging_model, kind, name)
        for kind, names in listed().items()
        for name in names
    }


def case(name: str) -> Case:
    """The model and its inputs, the same every time."""
    warnings.simplefilter("ignore")
    torch.manual_seed(sum(map(ord, name)))
    model, inputs = cases()[name]()
    for part in model.modules():
        if isinstance(part, nn.BatchNorm1d | nn.BatchNorm2d | nn.BatchNorm3d) and part.running_var is not None:
            nn.init.normal_(part.running_mean, std=0.1)
            nn.init.uniform_(part.running_var, 0.5, 1.5)
            nn.init.uniform_(part.weight, 0.5, 1.5)
    return model.eval(), inputs
