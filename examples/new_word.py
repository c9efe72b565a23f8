"""A keyword spotter that learns a new word: python new_word.py FOLDER writes the network, recordings and labels.

The network is like that of keyword_spotting.py: its body stays as it is, in int8, and a float layer behind it tells
three words apart: two that it has heard before, and a new one. Each word is a path of two formants; a recording is
spoken faster or slower, higher or lower, louder or quieter, with noise. Twenty recordings of each word are made, the
last five of each to be held out. docs/training.md has the command that learns them in the emulator of a Cortex-M4.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto

from keyword_spotting import CHANNELS, Network, helper

WORDS = {"yes": ((300, 2200), (500, 1900)), "stop": ((500, 1700), (600, 900)), "mira": ((280, 2300), (700, 1200))}
"""First and second formant in Hz, at the beginning and at the end; the last word is the new one."""
RATE, FRAMES, COEFFICIENTS, RECORDINGS, HELD_OUT = 16000, 49, 10, 20, 5


def network() -> onnx.ModelProto:
    """The body in int8, and a float layer of three words that knows none of them yet."""
    body = Network("audio")
    body.conv("stem", CHANNELS, 1, (10, 4), stride=2)
    for block in range(1, 3):
        body.conv(f"block{block}.depthwise", CHANNELS, 1, (3, 3), group=CHANNELS)
        body.conv(f"block{block}.pointwise", CHANNELS, CHANNELS, (1, 1))
    body.tensor = body.add("AveragePool", "pool.mean", [body.tensor], kernel_shape=[5, 5], strides=[5, 5])
    body.quantise("pool", 0.025, -128)
    features = body.add("Flatten", "flatten", [body.tensor])
    weight = body.constant("head.weight", np.zeros((len(WORDS), 5 * CHANNELS), np.float32))
    bias = body.constant("head.bias", np.zeros(len(WORDS), np.float32))
    body.add("Gemm", "scores", [features, weight, bias], transB=1)
    graph = helper.make_graph(
        body.nodes, "new_word",
        [helper.make_tensor_value_info("audio", TensorProto.FLOAT, [1, 1, FRAMES, COEFFICIENTS])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, len(WORDS)])],
        body.constants,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def recording(word: str, random: np.random.Generator) -> np.ndarray:
    """A second of sound."""
    begin, end = (np.array(formants) * random.uniform(0.92, 1.08) for formants in WORDS[word])
    length = int(RATE * random.uniform(0.6, 0.9))
    path = np.linspace(0, 1, length)[:, None] ** random.uniform(0.7, 1.4)
    phase = 2 * np.pi * np.cumsum(begin + (end - begin) * path, axis=0) / RATE
    voice = (np.sin(phase) * [1.0, 0.6]).sum(axis=1) * np.hanning(length) * random.uniform(0.5, 1.0)
    sound = random.normal(0, 0.01, RATE)
    start = random.integers(0, RATE - length)
    sound[start : start + length] += voice
    return sound


def coefficients(sound: np.ndarray) -> np.ndarray:
    """Of the cepstrum, 40 ms at a time: what such networks are given."""
    hop = (len(sound) - 640) // (FRAMES - 1)
    frames = np.stack([sound[at * hop : at * hop + 640] * np.hanning(640) for at in range(FRAMES)])
    power = np.abs(np.fft.rfft(frames, 1024)) ** 2
    mel = 2595 * np.log10(1 + np.fft.rfftfreq(1024, 1 / RATE) / 700)
    centres = np.linspace(mel[1], 2840, 42)
    triangles = np.maximum(0, 1 - np.abs(mel[:, None] - centres[1:-1]) / (centres[1] - centres[0]))
    logs = np.log(power @ triangles + 1e-6)
    cosines = np.cos(np.pi * np.outer(np.arange(40) + 0.5, np.arange(COEFFICIENTS)) / 40)
    return logs @ cosines / 40


def recordings() -> tuple[np.ndarray, np.ndarray]:
    """Words in turn, so that those at the end, which are held out, are of all words."""
    random = np.random.default_rng(11)
    labels = np.tile(np.arange(len(WORDS)), RECORDINGS)
    sounds = [coefficients(recording(list(WORDS)[label], random)) for label in labels]
    features = np.stack(sounds)
    mean, spread = features.mean(axis=(0, 1)), features.std(axis=(0, 1))
    return ((features - mean) / spread).astype(np.float32)[:, None], labels


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/new_word")
    folder.mkdir(parents=True, exist_ok=True)
    audio, labels = recordings()
    onnx.save(network(), folder / "kws.onnx")
    np.savez(folder / "recordings.npz", audio=audio)
    np.savez(folder / "labels.npz", label=labels)
    print(f"wrote kws.onnx, {len(audio)} recordings and their labels to {folder}")
