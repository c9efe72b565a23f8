"""The reference model of ITA, where there is one: a numpy file, given by its folder and no part of the package."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np

from tests.sim.ita.layers import HEAD, Case, Image, attention_case, linear_case
from tilewright.targets.ita.arithmetic import Activation, Head, Scale, Softmax

MODEL, CASES = "ita_reference.py", "ita_cases.npz"


def reference_folder() -> Path:
    """$TILEWRIGHT_ITA_REFERENCE, or beside the repository."""
    here = Path(__file__).resolve().parents[3]
    return Path(os.environ.get("TILEWRIGHT_ITA_REFERENCE", here.parent / "shared" / "calibration_ita"))


def load_reference(folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("ita_reference", folder / MODEL)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def constants(activation: Activation) -> dict[str, int]:
    scale = activation.scale
    return {"am": scale.multiplier, "as": scale.shift, "aa": scale.add, "b": activation.b, "c": activation.c}


def reference_results(model: ModuleType, case: Case) -> dict[str, np.ndarray]:
    """What the reference computes of a case, by the names of its results."""
    o, scales = case.operands, case.layer.scales
    act, kind = constants(case.layer.activation), case.layer.activation.kind
    if case.name == "linear":
        return {"y": model.linear(o["x"], o["w"], o["b"], *_values(scales[0]), kind, act)}
    if case.name == "feed-forward":
        hidden = model.linear(o["x"], o["w1"], o["b1"], *_values(scales[6]), kind, act)
        return {"hidden": hidden, "y": model.linear(hidden, o["w2"], o["b2"], *_values(scales[7]))}
    if case.name == "single attention":
        a = model.linear(o["q"], o["k"].T, 0, *_values(scales[3]))
        shares = model.softmax(a, case.softmax.bits)
        return {"a": a, "o": model.linear(shares, o["v"], 0, *_values(scales[4]))}
    m, s, a = zip(*(_values(scale) for scale in scales), strict=True)
    operands = [o[name] for name in ("x", "y", *HEAD)]
    found: dict[str, np.ndarray] = model.attention(*operands, m, s, a, case.softmax.bits)
    return found


def _values(scale: Scale) -> tuple[int, int, int]:
    return scale.multiplier, scale.shift, scale.add


def stored_cases(folder: Path) -> Iterator[tuple[str, Case, dict[str, np.ndarray]]]:
    """The cases that were stored with their results."""
    stored = dict(np.load(folder / CASES))
    for name in ("lin64", "lin128", "relu", "gelu"):
        values = _of(stored, name)
        yield name, _linear(name, values), values
    for name in ("att64", "att128", "att64_sh5"):
        values = _of(stored, name)
        yield name, _attention(values), values


def _of(stored: dict[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    return {key.removeprefix(f"{name}."): value for key, value in stored.items() if key.startswith(f"{name}.")}


def _image() -> Image:
    return Image(np.random.default_rng(1))


def _linear(name: str, v: dict[str, np.ndarray]) -> Case:
    m, s, a, am, shift, aa, b, c = (int(value) for value in v["const"])
    kind = name if name in ("relu", "gelu") else "identity"
    return linear_case(v["x"], v["w"], v["b"], Scale(m, s, a), Activation(kind, Scale(am, shift, aa), b, c), _image())


def _attention(v: dict[str, np.ndarray]) -> Case:
    scales = [Scale(int(m), int(s), int(a)) for m, s, a in zip(v["mult"], v["shift"], v["add"], strict=True)]
    operands = (v[name] for name in HEAD)
    return attention_case(v["x"], v["y"], Head(*operands, scales), _image(), Softmax(int(v["sh"])))
