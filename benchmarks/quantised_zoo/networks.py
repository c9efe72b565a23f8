"""The networks by name, and each of them quantised."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from benchmarks.quantised_zoo import (
    convnext,
    densenet,
    efficientnet,
    ghostnet,
    mixer,
    mobilenet,
    mobilenet3,
    mobilevit,
    regnet,
    resnet,
    shufflenet,
    vit,
)
from benchmarks.quantised_zoo.layers import SIDE
from benchmarks.zoo_net import Net

from tilewright import pipeline
from tilewright.export import save
from tilewright.quantiser.quantise import Options, quantise

NETWORKS: dict[str, Callable[[Net], str]] = {
    "MobileNetV1 x 0.25": partial(mobilenet.v1, multiplier=0.25),
    "MobileNetV2 x 0.5": partial(mobilenet.v2, multiplier=0.5),
    "MobileNetV3-small x 0.5": partial(mobilenet3.small, multiplier=0.5),
    "MobileNetV3-small x 0.5, whole ends": partial(mobilenet3.small_with_whole_ends, multiplier=0.5),
    "MobileNetV3-large x 0.5": partial(mobilenet3.large, multiplier=0.5),
    "EfficientNet-Lite0 x 0.5": partial(efficientnet.lite0, multiplier=0.5),
    "EfficientNet-B0 x 0.5": partial(efficientnet.b0, multiplier=0.5),
    "ShuffleNetV2 0.5x": partial(shufflenet.v2, widths=(48, 96, 192, 1024)),
    "ShuffleNetV1 0.5x, 3 groups": partial(shufflenet.v1, widths=(120, 240, 480), groups=3),
    "RegNetX-200MF x 0.5": partial(regnet.x, multiplier=0.5, group_width=8),
    "RegNetY-200MF x 0.5": partial(regnet.y, multiplier=0.5, group_width=8),
    "ResNet-18 x 0.25": partial(resnet.resnet18, multiplier=0.25),
    "ResNet-50 x 0.25": partial(resnet.resnet50, multiplier=0.25),
    "DenseNet, growth 8, 4 blocks": partial(densenet.densenet, growth=8, blocks=(4, 6, 8, 6)),
    "DenseNet, growth 12, 3 blocks": partial(densenet.densenet, growth=12, blocks=(6, 6, 6)),
    "GhostNet x 0.35": partial(ghostnet.ghostnet, multiplier=0.35),
    "GhostNet x 0.5": partial(ghostnet.ghostnet, multiplier=0.5),
    "ConvNeXt-atto x 0.4": partial(convnext.convnext, width=16),
    "ConvNeXt-atto": partial(convnext.convnext, width=40),
    "ViT-tiny x 0.5, 6 layers": partial(vit.vit, width=96, heads=3, depth=6),
    "ViT with a stem, 128 wide": partial(vit.convolutional, width=128, heads=2, depth=6),
    "MobileViT-XXS": partial(mobilevit.mobilevit, sizes=mobilevit.XXS),
    "MobileViT-XS": partial(mobilevit.mobilevit, sizes=mobilevit.XS),
    "MLP-Mixer, 96 wide, 6 layers": partial(mixer.mlp_mixer, width=96, depth=6),
    "ConvMixer, 64 wide, 6 layers": partial(mixer.conv_mixer, width=64, depth=6, window=7, patch=6),
}
"""Family by family, two of each; what comes after `x` is the multiplier of the published widths."""
SAMPLES = 4
FAST = Options(correct_bias=False, balance=False, integer_cells=False)
"""Random weights have no accuracy to lose."""


def quantised(name: str, folder: Path) -> Path:
    """The network in a file, which is only made where it is not there."""
    path = folder / f"{name.replace(' ', '_').replace(',', '')}.onnx"
    if not path.exists():
        net = Net(1)
        model = net.model(NETWORKS[name](net))
        samples = np.random.default_rng(2).normal(0, 1, (SAMPLES, 3, SIDE, SIDE)).astype(np.float32)
        save(quantise(pipeline.import_model(model), samples, FAST).graph, path, False)
    return path
