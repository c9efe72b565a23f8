"""A transformer that learns with LoRA on the virtual Siracusa: python cct_lora.py [FOLDER]

A compact convolutional transformer tells four directions of stripes apart. This machine trains all of its weights on
the pictures of one camera (`generic`). The device has another camera, which is mounted askew and is darker: there, all
weights stay frozen, and matrices of rank 4 beside them learn, one step after the other, on the virtual SoC. It takes
about a minute. FOLDER, if given, gets the pretrained network as ONNX and the C of the device.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import tilewright as tw
from tilewright.ir.types import Array
from tilewright.training.loop import reference
from tilewright.training.session import Session
from tilewright.training.train import NetworkTraining

SIZE, WIDTH, HEADS, LAYERS, CLASSES = 16, 32, 2, 2, 4
TOKENS = (SIZE // 4) ** 2
HERTZ = 360e6
OTHER = {"askew": 30.0, "light": 0.6}
"""The camera of the device."""
Data = tuple[Array, Array]


class Transformer:
    """Two convolutions make tokens, encoder layers mix them, and a weighted mean of them is classified."""

    def __init__(self, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def model(self) -> onnx.ModelProto:
        x = self.encoder(self.tokens("picture"))
        scores = self.linear("head", self.pooled(x), WIDTH, CLASSES)
        graph = helper.make_graph(
            self.nodes, "cct",
            [helper.make_tensor_value_info("picture", TensorProto.FLOAT, [1, 3, SIZE, SIZE])],
            [helper.make_tensor_value_info(scores, TensorProto.FLOAT, [1, CLASSES])],
            self.constants,
        )  # fmt: skip
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)

    def tokens(self, x: str) -> str:
        for number, (channels, filters) in enumerate([(3, WIDTH // 2), (WIDTH // 2, WIDTH)]):
            weight = self.weight(f"conv{number}.weight", (filters, channels, 3, 3), 9 * channels)
            x = self.add("Conv", f"conv{number}", [x, weight], kernel_shape=[3, 3], pads=[1] * 4)
            x = self.add("Relu", f"relu{number}", [x])
            x = self.add("MaxPool", f"pool{number}", [x], kernel_shape=[2, 2], strides=[2, 2])
        x = self.add("Reshape", "flat", [x, self.shape("flat.shape", 1, WIDTH, TOKENS)])
        x = self.add("Transpose", "tokens", [x], perm=[0, 2, 1])
        return self.add("Add", "placed", [x, self.weight("places", (1, TOKENS, WIDTH), 100)])

    def encoder(self, x: str) -> str:
        for number in range(LAYERS):
            name = f"layer{number}"
            x = self.add(
                "Add", f"{name}.mixed", [x, self.attention(f"{name}.attention", self.norm(f"{name}.norm1", x))]
            )
            wide = self.linear(f"{name}.up", self.norm(f"{name}.norm2", x), WIDTH, 2 * WIDTH)
            narrow = self.linear(f"{name}.down", self.add("Gelu", f"{name}.gelu", [wide]), 2 * WIDTH, WIDTH)
            x = self.add("Add", f"{name}.added", [x, narrow])
        return self.norm("norm", x)

    def attention(self, name: str, x: str) -> str:
        split = self.shape(f"{name}.split", 1, TOKENS, HEADS, WIDTH // HEADS)
        orders = {"query": [0, 2, 1, 3], "key": [0, 2, 3, 1], "value": [0, 2, 1, 3]}
        parts = {}
        for part, order in orders.items():
            heads = self.add("Reshape", f"{name}.{part}.split", [self.linear(f"{name}.{part}", x, WIDTH, WIDTH), split])
            parts[part] = self.add("Transpose", f"{name}.{part}.heads", [heads], perm=order)
        scores = self.add("MatMul", f"{name}.scores", [parts["query"], parts["key"]])
        scale = self.constant(f"{name}.scale", np.float32((WIDTH // HEADS) ** -0.5))
        shares = self.add("Softmax", f"{name}.softmax", [self.add("Mul", f"{name}.scaled", [scores, scale])], axis=-1)
        mixed = self.add("MatMul", f"{name}.values", [shares, parts["value"]])
        mixed = self.add("Transpose", f"{name}.rows", [mixed], perm=[0, 2, 1, 3])
        mixed = self.add("Reshape", f"{name}.merged", [mixed, self.shape(f"{name}.merge", 1, TOKENS, WIDTH)])
        return self.linear(f"{name}.out", mixed, WIDTH, WIDTH)

    def pooled(self, x: str) -> str:
        shares = self.add("Softmax", "pool.softmax", [self.linear("pool.scores", x, WIDTH, 1)], axis=1)
        rows = self.add("Transpose", "pool.rows", [shares], perm=[0, 2, 1])
        mean = self.add("MatMul", "pool.mean", [rows, x])
        return self.add("Reshape", "pool.flat", [mean, self.shape("pool.shape", 1, WIDTH)])

    def norm(self, name: str, x: str) -> str:
        scale = self.constant(f"{name}.weight", np.ones(WIDTH, np.float32))
        return self.add(
            "LayerNormalization", name, [x, scale, self.constant(f"{name}.bias", np.zeros(WIDTH, np.float32))]
        )

    def linear(self, name: str, x: str, inputs: int, outputs: int) -> str:
        product = self.add("MatMul", f"{name}.product", [x, self.weight(f"{name}.weight", (inputs, outputs), inputs)])
        return self.add("Add", name, [product, self.constant(f"{name}.bias", np.zeros(outputs, np.float32))])

    def weight(self, name: str, shape: tuple[int, ...], inputs: int) -> str:
        return self.constant(name, (self.random.normal(0, 1, shape) / np.sqrt(inputs)).astype(np.float32))

    def shape(self, name: str, *sizes: int) -> str:
        return self.constant(name, np.array(sizes, np.int64))

    def constant(self, name: str, value: np.ndarray | np.generic) -> str:
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, kind: str, name: str, inputs: list[str], **attributes: object) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [f"{name}.out"], name, **attributes))
        return f"{name}.out"


def pictures(count: int, seed: int, askew: float = 0.0, light: float = 1.0) -> Data:
    """Stripes in four directions, of any colour, width and phase, with noise; a camera that is `askew` turns them."""
    random, labels = np.random.default_rng(seed), np.arange(count) % CLASSES
    rows, columns = np.mgrid[:SIZE, :SIZE]
    found = []
    for label in labels:
        angle = np.pi * label / CLASSES + np.radians(askew + random.uniform(-8, 8))
        along = rows * np.sin(angle) + columns * np.cos(angle)
        wave = np.sin(2 * np.pi * along / random.uniform(4, 7) + random.uniform(0, 2 * np.pi))
        colour = random.uniform(0.3, 1, (3, 1, 1)) * random.choice([-1, 1], (3, 1, 1))
        found.append(light * colour * wave + random.normal(0, 0.3, (3, SIZE, SIZE)))
    return np.stack(found).astype(np.float32), labels.astype(np.int32)


def pretrained(folder: Path) -> Path:
    """The network as ONNX, with weights that know the first camera."""
    program = tw.train(Transformer().model(), optimizer=tw.Adam(0.002), accumulate=8, target="generic")
    fitted = program.fit(*pictures(400, seed=1), epochs=6, held_out=pictures(100, seed=2))
    best = fitted.epochs[fitted.best]
    print(f"pretrained on generic: {len(fitted.losses):,} steps, held-out accuracy {best.accuracy or 0:.1%}")
    program.export(folder / "cct.onnx", fitted.weights)
    return folder / "cct.onnx"


@dataclass(frozen=True)
class Learned:
    """What the device did: losses, cycles, and the share of held-out pictures whose direction it finds."""

    losses: list[float]
    expected: tuple[float, ...]
    """The first losses, as numpy computes them."""
    before: float
    after: float
    step: float
    """Cycles, each of these."""
    update: float
    inference: float


def learn(program: NetworkTraining, samples: Data, held_out: Data) -> Learned:
    """A pass over the samples on the device, which is asked before and after it."""
    session, every = program.session(), program.recipe.accumulate
    others, inputs = list(program.batches(*held_out)), list(program.batches(*samples))
    before, _ = asked(session, others)
    losses, steps, updates = list[float](), list[int](), list[int]()
    for number, one in enumerate(inputs, 1):
        call = session.train(one)
        losses.append(float(next(iter(call.outputs.values())).item()))
        steps.append(call.cycles or 0)
        if number % every == 0:
            updates.append(session.update().cycles or 0)
    after, inference = asked(session, others)
    expected = reference(program.learner, inputs[: 2 * every], every).losses
    return Learned(losses, expected, before, after, float(np.mean(steps)), float(np.mean(updates)), inference)


def asked(session: Session, inputs: list[dict[str, Array]]) -> tuple[float, float]:
    """The share of pictures whose direction the device finds, and the cycles of a picture."""
    right, cycles = [], []
    for one in inputs:
        picture, label = one.values()
        call = session.infer({session.learner.training.graphs["infer"].inputs[0]: picture})
        right.append(next(iter(call.outputs.values())).argmax() == label.item())
        cycles.append(call.cycles or 0)
    return float(np.mean(right)), float(np.mean(cycles))


def told(program: NetworkTraining, found: Learned) -> Iterator[str]:
    each, every = len(found.losses) // 5, program.recipe.accumulate
    for start in range(0, len(found.losses), each):
        part = found.losses[start : start + each]
        yield f"steps {start + 1:3} to {start + len(part):3}: mean loss {np.mean(part):.3f}"
    worst = max(abs(a - b) / abs(b) for a, b in zip(found.losses, found.expected, strict=False))
    yield f"the first {len(found.expected)} losses differ from numpy's by {worst:.1e} at most"
    yield f"accuracy on held-out pictures: {found.before:.1%} before, {found.after:.1%} after"
    yield f"{found.step:,.0f} cycles per step, {found.update:,.0f} per update, {found.inference:,.0f} per inference"
    learning, alone = HERTZ / (found.step + found.update / every), HERTZ / found.inference
    yield f"at 360 MHz: {learning:,.0f} images/s of learning (an update every {every} steps), {alone:,.0f} of inference"


def main(folder: Path) -> None:
    print("pretraining on this machine")
    model = pretrained(folder)
    program = tw.train(model, optimizer=tw.Adam(0.01), trainable="lora:4", accumulate=4, target="siracusa")
    program.save(folder / "c")
    print(f"the other camera, on siracusa: {len(program.learner.training.learned)} matrices of LoRA learn")
    for line in program.plan().lines():
        print(f" {line}")
    found = learn(program, pictures(80, seed=3, **OTHER), pictures(40, seed=4, **OTHER))
    for line in told(program, found):
        print(f" {line}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as name:
            main(Path(name))
