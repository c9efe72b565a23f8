"""What files beside an exported decoder say about it: its family, its context, and the tokens around texts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tilewright.frontends.checkpoint.hugging_face import CONFIG, read_json
from tilewright.frontends.checkpoint.options import Options
from tilewright.records import dataclass

GENERATION, GENAI = "generation_config.json", "genai_config.json"
CONTEXTS = ("max_position_embeddings", "n_positions", "max_seq_len", "context_length")
"""How files call the most tokens that a model was trained to see."""


@dataclass(frozen=True)
class Settings:
    family: str = "ONNX"
    context: int | None = None
    begin: int | None = None
    ends: tuple[int, ...] = ()


def read_settings(folder: Path) -> Settings:
    """What is there; a graph needs none of it."""
    found = [_options(folder / name) for name in (CONFIG, GENAI, GENERATION) if (folder / name).is_file()]
    contexts = [one.size(key) for one in found for key in CONTEXTS if one.has(key)]
    begins = [token for one in found for token in one.tokens("bos_token_id")]
    ends = dict.fromkeys(token for one in found for token in one.tokens("eos_token_id"))
    families = [str(one.found[key]) for one in found for key in ("model_type", "type") if one.has(key)]
    return Settings(
        families[0] if families else Settings.family, min(contexts, default=None), begins[0] if begins else None,
        tuple(ends),
    )  # fmt: skip


def _options(path: Path) -> Options:
    """Of a file; those of onnxruntime-genai lie one level deeper."""
    found: Mapping[str, object] = read_json(path)
    inner = found.get("model")
    return Options(str(path), inner if path.name == GENAI and isinstance(inner, dict) else found)
