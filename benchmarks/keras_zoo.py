"""Functional models of Keras as people write them, small, with random weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import layers


def cnn() -> Any:
    x = image = keras.Input((16, 16, 3), name="image")
    x = layers.ReLU(6.0)(layers.BatchNormalization(name="norm")(layers.Conv2D(8, 3, padding="same", name="stem")(x)))
    x = layers.Activation("relu")(layers.DepthwiseConv2D(3, strides=2, padding="same")(x))
    return keras.Model(image, layers.Dense(5, "softmax")(layers.GlobalAveragePooling2D()(x)))


def residual() -> Any:
    image = keras.Input((16, 16, 3))
    x = layers.Conv2D(8, 3, padding="same", activation="relu")(image)
    y = layers.Conv2D(8, 3, padding="same", use_bias=False)(x)
    x = layers.Activation("relu")(layers.add([x, layers.BatchNormalization()(y)]))
    return keras.Model(image, layers.Dense(10)(layers.Flatten()(layers.MaxPooling2D(4)(x))))


def unet() -> Any:
    image = keras.Input((16, 16, 3))
    top = layers.Conv2D(8, 3, padding="same", activation="relu")(image)
    low = layers.Conv2D(16, 3, strides=2, padding="same", activation="swish")(top)
    up = layers.Conv2DTranspose(8, 3, strides=2, padding="same")(low)
    other = layers.UpSampling2D(2, interpolation="bilinear")(low)
    return keras.Model(image, layers.Conv2D(2, 1)(layers.concatenate([top, up, other])))


def tcn() -> Any:
    x = sequence = keras.Input((40, 6))
    for i in range(3):
        y = layers.Conv1D(12, 3, dilation_rate=2**i, padding="causal", activation="relu")(x)
        x = layers.SeparableConv1D(12, 3, padding="same")(y)
    return keras.Model(sequence, layers.Dense(4)(layers.GlobalMaxPooling1D()(x)))


def embedding() -> Any:
    ids = keras.Input((12,), dtype="int32", name="ids")
    x = layers.GlobalAveragePooling1D()(layers.Embedding(50, 16)(ids))
    return keras.Model(ids, layers.Dense(3, "sigmoid")(layers.Dense(8, "tanh")(x)))


def squeeze_excite() -> Any:
    image = keras.Input((16, 16, 3))
    x = layers.Conv2D(16, 3, strides=2, padding="same", activation="hard_swish")(image)
    gate = layers.Dense(4, "relu")(layers.GlobalAveragePooling2D()(x))
    gate = layers.Reshape((1, 1, 16))(layers.Dense(16, "hard_sigmoid")(gate))
    return keras.Model(image, layers.Dense(4)(layers.Flatten()(layers.AveragePooling2D(4)(layers.multiply([x, gate])))))


def lstm() -> Any:
    sequence = keras.Input((20, 6), name="sequence")
    x = layers.LSTM(10, return_sequences=True, name="first")(sequence)
    return keras.Model(sequence, layers.Dense(3)(layers.LSTM(8, name="second")(x)))


def gru() -> Any:
    sequence = keras.Input((20, 6), name="sequence")
    x = layers.GRU(10, return_sequences=True)(sequence)
    return keras.Model(sequence, layers.Dense(3)(layers.GRU(8, reset_after=False, go_backwards=True)(x)))


def bidirectional() -> Any:
    sequence = keras.Input((20, 6), name="sequence")
    x = layers.Bidirectional(layers.LSTM(8, return_sequences=True), name="both")(sequence)
    return keras.Model(sequence, layers.Dense(4)(layers.Bidirectional(layers.LSTM(5), merge_mode="sum")(x)))


def attention() -> Any:
    sequence = keras.Input((10, 16), name="sequence")
    y = layers.LayerNormalization()(sequence)
    x = layers.add([sequence, layers.MultiHeadAttention(4, 4)(y, y)])
    y = layers.Dense(16)(layers.Dense(32, "gelu")(layers.LayerNormalization()(x)))
    return keras.Model(sequence, layers.Dense(4)(layers.GlobalAveragePooling1D()(layers.add([x, y]))))


ZOO: dict[str, Callable[[], Any]] = {
    "cnn, batch norm, ReLU6": cnn, "residual": residual, "unet, Conv2DTranspose, bilinear": unet,
    "tcn, causal, separable": tcn, "embedding": embedding, "squeeze-excite": squeeze_excite, "LSTM": lstm, "GRU": gru,
    "bidirectional LSTM": bidirectional, "MultiHeadAttention, gelu": attention,
}  # fmt: skip


def case(name: str) -> tuple[Any, tuple[Any, ...]]:
    """The model and its example inputs, the same every time."""
    keras.utils.set_random_seed(sum(map(ord, name)))
    model, rng = ZOO[name](), np.random.default_rng(0)
    for layer in model.layers:
        if isinstance(layer, layers.BatchNormalization):
            layer.set_weights([rng.uniform(0.5, 1.5, part.shape) for part in layer.get_weights()])
    (wanted,) = model.inputs
    shape = (1, *wanted.shape[1:])
    if wanted.dtype.startswith("int"):
        return model, (rng.integers(0, 50, shape).astype(np.int32),)
    return model, (rng.standard_normal(shape).astype(np.float32),)


def outputs(model: Any, inputs: tuple[Any, ...]) -> Any:
    return model(*inputs, training=False)
