"""Which framework a model belongs to, and what is said where that framework is missing: needs none of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.support.models import model, node
from tilewright.frontends import frameworks
from tilewright.frontends.frameworks import framework_of

pytestmark = pytest.mark.fast


def instance_of(module: str) -> Any:
    """An object whose class says that it comes from a module."""
    base = type("Base", (), {"__module__": module})
    return type("Mine", (base,), {"__module__": "my.code"})()


@pytest.mark.parametrize(
    ("module", "framework"),
    [("torch.nn.modules.module", "torch"), ("keras.src.models", "keras"), ("flax.nnx.module", "jax"),
     ("equinox._module", "jax"), ("tensorflow.python.eager", "tensorflow"), ("numpy", None)],
)  # fmt: skip
def test_objects_belong_to_the_packages_of_their_classes(module: str, framework: str | None) -> None:
    assert framework_of(instance_of(module)) == framework


@pytest.mark.parametrize(
    ("path", "framework"), [("net.pt2", "torch"), ("net.keras", "keras"), ("net.onnx", None), ("net", None)]
)
def test_files_belong_to_the_framework_of_their_suffix(path: str, framework: str | None) -> None:
    assert framework_of(path) == framework
    assert framework_of(Path(path)) == framework


def test_folders_may_be_saved_models_and_functions_are_of_jax(tmp_path: Path) -> None:
    assert framework_of(tmp_path) is None
    (tmp_path / "saved_model.pb").touch()
    assert framework_of(tmp_path) == "tensorflow"
    assert framework_of(lambda x: x) == "jax"


@pytest.mark.parametrize(("module", "extra"), [("torch.nn", "torch"), ("keras.src", "tensorflow"), ("flax.nnx", "jax")])
def test_a_missing_framework_is_named_with_its_command(
    module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frameworks, "_is_there", lambda package: False)
    with pytest.raises(tw.CompileError, match="not installed") as error:
        tw.compile(instance_of(module), (np.zeros(1),))
    assert error.value.hint == f"pip install 'tilewright[{extra}]'"


def test_what_no_front_end_reads_is_refused() -> None:
    with pytest.raises(tw.CompileError, match="is a dict, which no front end reads"):
        tw.compile({"weights": 1})


def test_a_target_in_the_place_of_inputs_is_noticed() -> None:
    with pytest.raises(tw.CompileError, match="is the name of a target") as error:
        tw.compile(model([node("Relu", "x", "y")], {"x": (3,)}, ["y"]), "generic")
    assert error.value.hint == "write target='generic'"
