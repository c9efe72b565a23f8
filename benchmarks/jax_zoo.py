"""Functions of JAX and modules of flax and equinox as people write them, small, with random weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox
import jax
import jax.numpy as jnp
import numpy as np
from flax import linen, nnx


def randn(*shape: int) -> Any:
    seed = sum((i + 1) * size for i, size in enumerate(shape))
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


class Mlp(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.first, self.norm = nnx.Linear(16, 32, rngs=rngs), nnx.BatchNorm(32, rngs=rngs)
        self.drop, self.last = nnx.Dropout(0.5, rngs=rngs), nnx.Linear(32, 5, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        return self.last(self.drop(jax.nn.gelu(self.norm(self.first(x)))))


def mlp() -> Any:
    return Mlp(nnx.Rngs(0)), randn(2, 16)


class Attention(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.norm1, self.norm2 = nnx.LayerNorm(32, rngs=rngs), nnx.RMSNorm(32, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(4, 32, decode=False, rngs=rngs)
        self.wide, self.narrow = nnx.Linear(32, 64, rngs=rngs), nnx.Linear(64, 32, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        x = x + self.attention(self.norm1(x))
        return x + self.narrow(jax.nn.silu(self.wide(self.norm2(x))))


def attention() -> Any:
    return Attention(nnx.Rngs(1)), randn(1, 9, 32)


def causal_attention() -> Any:
    def attend(q: Any, k: Any, v: Any) -> Any:
        return jax.nn.dot_product_attention(q, k, v, is_causal=True)

    return attend, *(randn(1, 8, 2, size) for size in (16, 16, 16))


def embedding() -> Any:
    table, head = randn(50, 12), randn(12, 3)

    def classify(ids: Any) -> Any:
        return jnp.take(jnp.asarray(table), ids, axis=0).mean(1) @ head

    return classify, np.asarray([[3, 1, 49, 0, 7]], np.int32)


class Causal(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        make = [nnx.Conv(8, 8, (3,), kernel_dilation=2**i, padding="CAUSAL", rngs=rngs) for i in range(3)]
        self.layers = nnx.List(make)

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = x + jax.nn.relu(layer(x))
        return x


def causal_conv() -> Any:
    return Causal(nnx.Rngs(2)), randn(1, 30, 8)


def rope() -> Any:
    def rotate(x: Any, places: Any) -> Any:
        half = x.shape[-1] // 2
        angles = places[:, None] / 10000 ** (jnp.arange(half) / half)
        cos, sin = jnp.cos(angles), jnp.sin(angles)
        a, b = jnp.split(x, 2, -1)
        return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], -1)

    return rotate, randn(2, 7, 8), np.arange(7, dtype=np.float32)


def cache() -> Any:
    def step(cache: Any, new: Any, place: Any) -> dict[str, Any]:
        cache = jax.lax.dynamic_update_slice(cache, new, (0, place, 0))
        seen = jnp.arange(cache.shape[1]) <= place
        return {"cache": cache, "mean": (cache * seen[None, :, None]).sum(1) / (place + 1)}

    return step, randn(1, 8, 4), randn(1, 1, 4), np.asarray(3, np.int32)


def where_argmax() -> Any:
    def pick(x: Any) -> Any:
        best = jnp.argmax(x, -1)
        return jnp.where(best > 3, best, -1), jnp.where(x > 0, x, 0.1 * x)

    return pick, randn(4, 9)


def scan_rnn() -> Any:
    w, u = randn(6, 10) * 0.3, randn(10, 10) * 0.3

    def run(x: Any) -> Any:
        def step(h: Any, inputs: Any) -> Any:
            h = jnp.tanh(inputs @ w + h @ u)
            return h, h

        return jax.lax.scan(step, jnp.zeros((1, 10)), x)

    return run, randn(12, 1, 6)


def top_k() -> Any:
    return (lambda x: jax.lax.top_k(jax.nn.softmax(x), 3)), randn(2, 11)


class Cnn(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.conv1, self.conv2 = nnx.Conv(1, 8, (3, 3), rngs=rngs), nnx.Conv(8, 16, (3, 3), strides=2, rngs=rngs)
        self.norm, self.head = nnx.BatchNorm(16, rngs=rngs), nnx.Linear(16 * 9, 10, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        x = nnx.max_pool(jax.nn.relu(self.conv1(x)), (2, 2), (2, 2))
        x = jax.nn.relu(self.norm(self.conv2(x)))
        return self.head(x.reshape(x.shape[0], -1))


def cnn() -> Any:
    return Cnn(nnx.Rngs(3)), randn(1, 12, 12, 1)


class Pooled(linen.Module):
    @linen.compact
    def __call__(self, x: Any) -> Any:
        x = linen.relu(linen.Conv(8, (5, 5), padding="VALID")(x))
        x = linen.avg_pool(x, (2, 2), (2, 2), "SAME")
        x = linen.ConvTranspose(4, (3, 3), (2, 2))(x)
        return linen.Dense(3)(linen.LayerNorm()(x.mean((1, 2))))


def avg_pool() -> Any:
    module, x = Pooled(), randn(1, 13, 13, 3)
    return module.bind(module.init(jax.random.key(0), x)), x


def cumsum() -> Any:
    return (lambda x: jnp.cumsum(x, -1) / jnp.arange(1, 8)), randn(3, 7)


def gru() -> Any:
    return nnx.RNN(nnx.GRUCell(6, 10, rngs=nnx.Rngs(4)), rngs=nnx.Rngs(5)), randn(1, 20, 6)


def resize() -> Any:
    return (lambda x: jax.image.resize(x, (1, 10, 14, 3), "bilinear")), randn(1, 5, 7, 3)


def equinox_net() -> Any:
    keys = jax.random.split(jax.random.key(0), 3)
    layers = [
        equinox.nn.Conv2d(3, 8, 3, key=keys[0]), equinox.nn.Lambda(jax.nn.relu), equinox.nn.MaxPool2d(2, 2),
        equinox.nn.Lambda(jnp.ravel), equinox.nn.LayerNorm(200), equinox.nn.Dropout(0.5),
        equinox.nn.MLP(200, 4, 16, 1, key=keys[1]),
    ]  # fmt: skip
    return equinox.nn.inference_mode(equinox.nn.Sequential(layers)), randn(3, 12, 12)


ZOO: dict[str, Callable[[], Any]] = {
    "mlp, batch norm, gelu (nnx)": mlp, "attention block (nnx)": attention, "causal attention": causal_attention,
    "embedding": embedding, "causal dilated conv1d (nnx)": causal_conv, "rope": rope,
    "dynamic_update_slice cache": cache, "where + argmax": where_argmax, "scan rnn": scan_rnn, "top_k": top_k,
    "cnn, max_pool (nnx)": cnn, "avg_pool, ConvTranspose (linen)": avg_pool, "cumsum": cumsum,
    "RNN(GRUCell) (nnx)": gru, "image.resize bilinear": resize, "cnn (equinox)": equinox_net,
}  # fmt: skip


def case(name: str) -> tuple[Any, tuple[Any, ...]]:
    """The function or module and its example inputs, the same every time."""
    model, *inputs = ZOO[name]()
    if isinstance(model, nnx.Module):
        model.eval()
    return model, tuple(inputs)


def outputs(model: Any, inputs: tuple[Any, ...]) -> Any:
    return model(*inputs)
