"""Trains the story teller: python train.py --out model

Needs PyTorch, tokenizers and safetensors (pip install "tilewright[torch,lm]"). The stories come from `make_text.py`,
the tokenizer is trained on them first. For the last quarter of the steps, weights (per row) and activations (per
tensor) are rounded to int8 in the forward pass: the int8 weights that are stored are the model that was trained.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import store
import torch
from make_text import stories
from network import Config, Llama
from tokenizers import Tokenizer
from tokens import train_tokenizer
from torch import Tensor
from torch.nn import functional

END = 2
TOKENIZER_SEED, HELD_OUT_SEED, FIRST_SEED = 500, 900, 1000
"""Calibration and evaluation texts have seeds below 100: none of them is trained on."""
SHARD = 5000
"""Stories of one seed."""


@dataclass(frozen=True)
class Recipe:
    steps: int = 9000
    batch: int = 256
    rate: float = 4e-3
    warm_up: int = 300
    rounded: float = 0.25
    """The part of the steps, the last ones, that are done on int8."""
    decay: float = 0.1
    clip: float = 1.0
    running: float = 0.2
    """The part of the rows that start anywhere in running text and not where a story begins."""
    shards: int = 48


@dataclass
class Data:
    """All stories, one after the other, twice: as they are told alone, and as running text with empty lines between."""

    told: Tensor
    starts: Tensor
    running: Tensor

    def to(self, device: str) -> Data:
        return Data(self.told.to(device), self.starts.to(device), self.running.to(device))


def encode(work: tuple[int, int, str]) -> tuple[np.ndarray, np.ndarray]:
    """Tokens of the stories of a seed: alone, each from its begin to its end, and as running text."""
    seed, count, words = work
    tokenizer = Tokenizer.from_str(words)
    told = list(islice(stories(seed), count))
    alone = [[*tokenizer.encode(story).ids, END] for story in told]
    running = tokenizer.encode("\n\n".join(told), add_special_tokens=False).ids
    return np.concatenate([np.array(ids, np.uint16) for ids in alone]), np.array(running, np.uint16)


def prepare(tokenizer: Tokenizer, seeds: range, count: int, workers: int = 1) -> Data:
    work = [(seed, count, tokenizer.to_str()) for seed in seeds]
    if workers > 1:
        with get_context("spawn").Pool(workers) as pool:
            parts = pool.map(encode, work)
    else:
        parts = [encode(item) for item in work]
    told, running = (torch.from_numpy(np.concatenate(part).astype(np.int32)) for part in zip(*parts, strict=True))
    begins = torch.nonzero(told == 1).flatten()
    return Data(told, begins, running)


def draw_rows(data: Data, count: int, length: int, running: float, source: torch.Generator) -> Tensor:
    """Rows of length + 1 tokens: most start with a story, some with a piece of running text."""
    device = data.told.device
    steps = torch.arange(length + 1, device=device)
    usable = int(torch.searchsorted(data.starts, len(data.told) - length - 1))
    chosen = torch.randint(usable, (count,), generator=source, device=device)
    rows = data.told[data.starts[chosen, None] + steps]
    some = int(count * running)
    begin = torch.randint(len(data.running) - length, (some, 1), generator=source, device=device)
    rows[:some, 1:] = data.running[begin + steps[:-1]]
    return rows.long()


def loss_of(network: Callable[[Tensor], Tensor], rows: Tensor) -> Tensor:
    logits = network(rows[:, :-1])
    return functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())


@torch.no_grad()
def held_out_loss(network: Llama, rows: Tensor, weights: bool, activations: bool) -> float:
    before = network.rounding.weights, network.rounding.activations
    network.rounding.weights, network.rounding.activations = weights, activations
    losses = [float(loss_of(network, part)) for part in rows.split(64)]
    network.rounding.weights, network.rounding.activations = before
    return sum(losses) / len(losses)


def rate_at(step: int, recipe: Recipe) -> float:
    """A rise, then half a cosine down to nothing."""
    if step < recipe.warm_up:
        return recipe.rate * (step + 1) / recipe.warm_up
    done = (step - recipe.warm_up) / max(recipe.steps - recipe.warm_up, 1)
    return recipe.rate * 0.5 * (1 + math.cos(math.pi * done))


def make_optimiser(network: Llama, recipe: Recipe) -> torch.optim.Optimizer:
    matrices = [weight for weight in network.parameters() if weight.ndim == 2]
    norms = [weight for weight in network.parameters() if weight.ndim != 2]
    groups = [{"params": matrices, "weight_decay": recipe.decay}, {"params": norms, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=recipe.rate, betas=(0.9, 0.95), fused=next(network.parameters()).is_cuda)


def train(network: Llama, data: Data, held_out: Tensor, recipe: Recipe, context: int, compiled: bool = False) -> None:
    """Trains in place and says how it goes."""
    source = torch.Generator(data.told.device).manual_seed(1)
    optimiser, start = make_optimiser(network, recipe), time.time()
    forward = torch.compile(network) if compiled else network
    switch = int(recipe.steps * (1 - recipe.rounded))
    for step in range(recipe.steps):
        network.rounding.weights = network.rounding.activations = step >= switch
        for group in optimiser.param_groups:
            group["lr"] = rate_at(step, recipe)
        loss = loss_of(forward, draw_rows(data, recipe.batch, context, recipe.running, source))
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), recipe.clip)
        optimiser.step()
        if step % 500 == 0 or step in (switch - 1, recipe.steps - 1):
            found = held_out_loss(network, held_out, network.rounding.weights, network.rounding.activations)
            print(f"step {step}: loss {loss.item():.4f}, held out {found:.4f}, {time.time() - start:.0f} s", flush=True)


def describe(config: Config) -> dict:
    """config.json as Hugging Face's transformers writes it."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "attention_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": 1,
        "eos_token_id": END,
        "head_dim": config.head,
        "hidden_act": "silu",
        "hidden_size": config.width,
        "initializer_range": 0.02,
        "intermediate_size": config.hidden,
        "max_position_embeddings": config.context,
        "mlp_bias": False,
        "model_type": "llama",
        "num_attention_heads": config.heads,
        "num_hidden_layers": config.layers,
        "num_key_value_heads": config.groups,
        "pretraining_tp": 1,
        "rms_norm_eps": config.epsilon,
        "rope_scaling": None,
        "rope_theta": config.theta,
        "tie_word_embeddings": True,
        "torch_dtype": "float32",
        "use_cache": True,
        "vocab_size": config.words,
    }


def weights_of(network: Llama) -> dict[str, np.ndarray]:
    return {name: weight.detach().float().cpu().numpy() for name, weight in network.state_dict().items()}


def report(network: Llama, held_out: Tensor) -> None:
    for name, weights, activations in [("float", 0, 0), ("int8 weights", 1, 0), ("int8 weights, activations", 1, 1)]:
        loss = held_out_loss(network, held_out, bool(weights), bool(activations))
        print(f"held-out loss, {name}: {loss:.4f}, perplexity {math.exp(loss):.3f}")


def run(out: Path, config: Config, recipe: Recipe, device: str, workers: int = 1, shard: int = SHARD) -> Llama:
    torch.manual_seed(1)
    torch.set_float32_matmul_precision("high")
    tokenizer = train_tokenizer(islice(stories(TOKENIZER_SEED), shard), config.words)
    data = prepare(tokenizer, range(FIRST_SEED, FIRST_SEED + recipe.shards), shard, workers).to(device)
    unseen = prepare(tokenizer, range(HELD_OUT_SEED, HELD_OUT_SEED + 1), min(shard, 2000)).to(device)
    held_out = draw_rows(unseen, 512, config.context, 0.0, torch.Generator(device).manual_seed(2))
    network = Llama(config).to(device)
    size = sum(weight.numel() for weight in network.parameters())
    print(f"{size:,} parameters, {len(data.starts):,} stories, {len(data.told):,} tokens", flush=True)
    train(network, data, held_out, recipe, config.context, compiled=device == "cuda")
    report(network, held_out)
    store.save(out, describe(config), weights_of(network))
    tokenizer.save(str(out / "tokenizer.json"), pretty=False)
    return network


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains the story teller and writes its folder.")
    parser.add_argument("--out", type=Path, default=Path("model"))
    parser.add_argument("--steps", type=int, default=Recipe.steps)
    parser.add_argument("--batch", type=int, default=Recipe.batch)
    parser.add_argument("--shards", type=int, default=Recipe.shards, help="of 5,000 stories each")
    parser.add_argument("--workers", type=int, default=1, help="processes that write and encode stories")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    given = parser.parse_args()
    recipe = Recipe(steps=given.steps, batch=given.batch, shards=given.shards)
    run(given.out, Config(), recipe, given.device, given.workers)


if __name__ == "__main__":
    main()
