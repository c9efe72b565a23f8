"""Attention as exporters write it and as operators: numbers of heads, heads that share keys, masks, one token."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from benchmarks.differential.case import Case
from benchmarks.differential.choices import Choices, Dull
from benchmarks.differential.net import Net


@dataclass(frozen=True)
class Sizes:
    batch: int
    tokens: int
    known: int
    """Tokens that are attended to."""
    heads: int
    shared: int
    """Heads that have the same keys and values."""
    width: int
    """Of a head."""

    @property
    def keyed(self) -> int:
        """Heads with keys of their own."""
        return self.heads // self.shared


def draw(choices: Choices, room: int) -> Case:
    net = Net(choices, room, 23)
    keyed, shared = choices.pick_one([1, 1, 2, 3]), choices.pick_one([1, 1, 2, 4])
    tokens = choices.pick_one([1, choices.number(2, 17)])
    known = tokens if choices.chance(0.6) else choices.number(1, 20)
    width = choices.pick_one([1, 2, 4, 7, 8, 16])
    sizes = Sizes(choices.pick_one([1, 1, 2]), tokens, known, keyed * shared, shared, width)
    choices.pick_one([operator, pattern, pattern, multi_head])(net, sizes)
    return net.case()


def one(net: Net, kind: str, inputs: list[str], **given: object) -> str:
    made = net.add(kind, inputs, **given)  # type: ignore[arg-type]
    if not made:
        raise Dull(f"no runtime takes {kind}")
    return made[0]


def operator(net: Net, s: Sizes) -> None:
    """ONNX's Attention, with heads as an axis or side by side."""
    apart = net.chance(0.5)
    shapes = [(s.heads, s.tokens), (s.keyed, s.known), (s.keyed, s.known)]
    inputs = [_heads(net, s.batch, heads, tokens, s.width, apart) for heads, tokens in shapes]
    given: dict[str, object] = {} if apart else {"q_num_heads": s.heads, "kv_num_heads": s.keyed}
    given["is_causal"] = net.number(0, 1)
    given["scale"] = net.choice([None, 0.5])
    given["softcap"] = net.choice([None, None, 2.0])
    if net.chance(0.4) and not given["is_causal"]:
        inputs.append(_mask(net, s, net.chance(0.5)))
    one(net, "Attention", inputs, **given)


def _heads(net: Net, batch: int, heads: int, tokens: int, width: int, apart: bool) -> str:
    return net.new((batch, heads, tokens, width) if apart else (batch, tokens, heads * width), constant=False)


def _mask(net: Net, s: Sizes, as_floats: bool) -> str:
    """Of each row at least one token is seen."""
    seen = net.array((s.tokens, s.known), "bool")
    seen[:, 0] = True
    values = np.where(seen, 0, net.choice([-100.0, -1e4])).astype(np.float32) if as_floats else seen
    return net.give(values)


def multi_head(net: Net, s: Sizes) -> None:
    """ONNX Runtime's operator."""
    inputs = [_heads(net, s.batch, s.heads, tokens, s.width, False) for tokens in (s.tokens, s.known, s.known)]
    if net.chance(0.5):
        inputs.append(net.new((3 * s.heads * s.width,), constant=True))
    one(net, "MultiHeadAttention", inputs, domain="com.microsoft", num_heads=s.heads)


def pattern(net: Net, s: Sizes) -> None:
    """Projections, products, softmax and products as nodes."""
    inputs = net.choice([s.heads * s.width, 5])
    x = net.new((s.batch, s.tokens, inputs), constant=False)
    y = x if s.tokens == s.known else net.new((s.batch, s.known, inputs), constant=False)
    query = _projected(net, x, s.heads, s.width)
    key, value = (_shared(net, _projected(net, y, s.keyed, s.width), s) for _ in range(2))
    scores = one(net, "MatMul", [query, one(net, "Transpose", [key], perm=[0, 1, 3, 2])])
    if net.chance(0.8):
        kind = net.choice(["Mul", "Div"])
        scores = one(net, kind, [scores, net.constant(s.width ** (-0.5 if kind == "Mul" else 0.5), "float32")])
    if net.chance(0.4):
        scores = one(net, "Add", [scores, _mask(net, s, True)])
    elif net.chance(0.4):
        scores = one(net, "Where", [_mask(net, s, False), scores, net.constant(-1e4, "float32")])
    made = one(net, "MatMul", [one(net, "Softmax", [scores], axis=-1), value])
    made = one(net, "Transpose", [made], perm=[0, 2, 1, 3])
    made = one(net, "Reshape", [made, net.ints(s.batch, s.tokens, s.heads * s.width)])
    if net.chance(0.5):
        weights = net.give(_weights(net, s.heads * s.width, 6), True)
        one(net, "MatMul", [made, weights])


def _weights(net: Net, inside: int, outside: int) -> np.ndarray:
    return (net.choices.numpy().standard_normal((inside, outside)) / inside**0.5).astype(np.float32)


def _projected(net: Net, x: str, heads: int, width: int) -> str:
    batch, tokens, inside = net.values[x].shape
    made = one(net, "MatMul", [x, net.give(_weights(net, inside, heads * width), True)])
    if net.chance(0.5):
        made = one(net, "Add", [made, net.new((heads * width,), constant=True)])
    made = one(net, "Reshape", [made, net.ints(batch, tokens, heads, width)])
    return one(net, "Transpose", [made], perm=[0, 2, 1, 3])


def _shared(net: Net, x: str, s: Sizes) -> str:
    """Keys or values of fewer heads, repeated."""
    if s.shared == 1:
        return x
    wide = one(net, "Unsqueeze", [x, net.ints(2)])
    wide = one(net, "Expand", [wide, net.ints(s.batch, s.keyed, s.shared, s.known, s.width)])
    return one(net, "Reshape", [wide, net.ints(s.batch, s.heads, s.known, s.width)])
