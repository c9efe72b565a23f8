"""What PyTorch exports of the library's own decoders gives ONNX Runtime's tokens; where both are installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest

from tests.support import exported
from tests.support.exported import CONFIG, HEAD, HEADS, LAYERS, WORDS, Runtime
from tilewright.language.model import LanguageModel
from tilewright.language.reference import ReferenceSession
from tilewright.language.talking import Request, Said

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("onnxscript")

GROUPS, PROMPT, GIVEN = 2, "A fox met", 12
COMMON = {"vocab_size": WORDS, "bos_token_id": 256, "eos_token_id": 257}
WIDTH = HEADS * HEAD


def model(name: str, attention: str) -> Any:
    torch.manual_seed(0)
    if name == "gpt2":
        sizes = {"n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "n_positions": 64}
        config = transformers.GPT2Config(**COMMON, **sizes, attn_implementation=attention)
        return transformers.GPT2LMHeadModel(config).eval()
    sizes = {"hidden_size": WIDTH, "intermediate_size": 48, "num_hidden_layers": LAYERS}
    sizes |= {"num_attention_heads": HEADS, "num_key_value_heads": GROUPS, "max_position_embeddings": 64}
    config = transformers.LlamaConfig(**COMMON, **sizes, attn_implementation=attention)
    return transformers.LlamaForCausalLM(config).eval()


class WithPast(torch.nn.Module):  # type: ignore[misc, name-defined]
    """With keys and values one by one, as graphs have them."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Any, attention_mask: Any, position_ids: Any, *past: Any) -> Any:
        cache = transformers.DynamicCache()
        for layer in range(LAYERS):
            cache.update(past[2 * layer], past[2 * layer + 1], layer)
        given = self.model(
            input_ids=input_ids, attention_mask=attention_mask, position_ids=position_ids, past_key_values=cache,
            use_cache=True,
        )  # fmt: skip
        kept = given.past_key_values.layers
        return given.logits, *(part for layer in kept for part in (layer.keys, layer.values))


def export(model: Any, heads: int, path: Path, dynamo: bool) -> onnx.ModelProto:
    names = [f"{layer}.{part}" for layer in range(LAYERS) for part in ("key", "value")]
    inputs = ["input_ids", "attention_mask", "position_ids", *(f"past_key_values.{name}" for name in names)]
    outputs = ["logits", *(f"present.{name}" for name in names)]
    past = [torch.zeros(1, heads, 4, HEAD) for _ in names]
    arguments = (torch.ones(1, 3, dtype=torch.int64), torch.ones(1, 7, dtype=torch.int64), torch.arange(4, 7)[None])
    if dynamo:
        free = torch.export.Dim.DYNAMIC
        shapes = ({1: free}, {1: free}, {1: free}, tuple({2: free} for _ in names))
        more: dict[str, Any] = {"dynamic_shapes": shapes, "dynamo": True, "external_data": False}
    else:
        axes = {name: {1: "tokens" if name != "attention_mask" else "all"} for name in inputs[:3]}
        axes |= {name: {2: "past"} for name in inputs[3:]} | {name: {2: "all"} for name in outputs[1:]}
        more = {"dynamic_axes": axes, "dynamo": False, "opset_version": 17}
    torch.onnx.export(WithPast(model), (*arguments, *past), str(path), input_names=inputs, output_names=outputs, **more)
    return onnx.load(path)


@pytest.mark.parametrize(("attention", "dynamo"), [("eager", False), ("sdpa", True)])
@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_tokens_are_those_of_onnxruntime(name: str, attention: str, dynamo: bool, tmp_path: Path) -> None:
    heads = HEADS if name == "gpt2" else GROUPS
    made = export(model(name, attention), heads, tmp_path / "made.onnx", dynamo)
    lm = LanguageModel.load(exported.save(tmp_path / "fox", {"model.onnx": made}, CONFIG)).compile(context=40, block=4)
    events = ReferenceSession(lm.compiled).talk(Request(PROMPT.encode(), GIVEN, stops=False))
    found = tuple(event.token for event in events if isinstance(event, Said))
    assert found == Runtime(made, made).greedy(lm.tokenizer.encode(PROMPT), GIVEN)
