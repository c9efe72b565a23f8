"""What a target with a cluster says when something does not fit or is not there."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto

from tests.support.command import Command
from tests.support.models import model, node, residual

pytestmark = pytest.mark.fast


def dense(inputs: int, outputs: int, layers: int = 1) -> ModelProto:
    """Matrix products, each with a matrix of its own."""
    nodes = [node("MatMul", f"x{i} w{i}", f"x{i + 1}", name=f"product{i}") for i in range(layers)]
    constants = {f"w{i}": np.full((inputs, outputs), i, np.float32) for i in range(layers)}
    return model(nodes, {"x0": (1, inputs)}, [f"x{layers}"], constants)


def one_long_table(length: int) -> ModelProto:
    """A constant that no axis of the result goes along."""
    return model(
        [node("Gather", "t i", "y")], {"i": (2,)}, ["y"], {"t": np.ones(length, np.float32)}, dtype=TensorProto.INT64
    )


SMALL = residual()


def whole(size: int) -> str:
    """What to try where a memory has fewer bytes than were asked for."""
    return f"give it 1 to {size}, or leave it out for all of them"


@pytest.mark.parametrize(
    ("made", "options", "where", "what", "hint"),
    [
        (SMALL, "--l1 10", "L1 of 10 bytes", "64 are needed for the runtime", "give it more, for example --l1 4160"),
        (SMALL, "--l1 300000", "--l1 300000", "L1 of siracusa has 262144 bytes", whole(262144)),
        (SMALL, "--l2 9999999", "--l2 9999999", "L2 of siracusa has 2031616 bytes", whole(2031616)),
        (SMALL, "--memory foo=1", "--memory foo=1", "is not a memory of siracusa", "its memories: l1, l2, wmem, l3"),
        (SMALL, "--memory l1=x", "--memory l1=x", "the size is not a whole number", "for example --memory l1=64000"),
        (SMALL, "--memory l1=6Q", "--memory l1=6Q", "the size is not a whole number", "for example --memory l1=64000"),
        (SMALL, "--memory L2=9MiB", "--memory l2=9437184", "L2 of siracusa has 2031616 bytes", whole(2031616)),
        (SMALL, "--l1 300k", "--l1 307200", "L1 of siracusa has 262144 bytes", whole(262144)),
        (SMALL, "--memory l1:9000", "--memory l1:9000", "is not NAME=VALUE", "for example --memory l1=64000"),
        (SMALL, "--memory l1=-5", "--memory l1=-5", "L1 of siracusa has 262144 bytes", whole(262144)),
        (SMALL, "--memory l3=-5", "--memory l3=-5", "L3 of siracusa has 8388608 bytes", whole(8388608)),
        (SMALL, "--memory l1", "--memory l1", "is not NAME=VALUE", "for example --memory l1=64000"),
        (SMALL, "--memory wmem=9999999", "--memory wmem=9999999", "WMEM of siracusa has 8388608 bytes", whole(8388608)),
        (SMALL, "--memory l1=9000 --memory L1=80", "--memory L1=80", "contradicts --memory l1=9000", "leave one out"),
        (SMALL, "--memory l1=9000 --memory l1=80", "--memory l1=80", "contradicts --memory l1=9000", "leave one out"),
        (SMALL, "--memory l1=9000 --l1 8000", "--memory l1=9000", "contradicts 8000 bytes, which l1 was given too",
         "leave one out"),
        (SMALL, "--engines npu", "engine 'npu'", "is not an engine of siracusa", "its engines: cluster, neureka"),
        (SMALL, "--l2 5000", "L2 of 5000 bytes", "98304 are kept for the program",
         "give it more, for example --l2 393216"),
        (SMALL, "--cores 9", "--cores 9", "the cluster has 8", "choose 1 to 8"),
        (SMALL, "--buffering foo", "--buffering foo", "is unknown", "use single, double or auto"),
        (SMALL, "--home L1", "--home L1", "is not a memory for constants", "use L2 or L3"),
        (
            dense(400, 100), "--home L2 --l2 200000", "L2, node 'product0' (MatMul)",
            "162000 bytes are needed (0 for activations and constants of L3 in use, 160000 for constants, 2000 for "
            "inputs and outputs), 101696 are there: 60304 are missing",
            "the largest layer is named; make it smaller, or use --home L3",
        ),
        (
            one_long_table(500_000), "--l2 1000000 --weight-memory off", "L2, node 'y' (Gather)",
            "2000032 bytes are needed (2000000 for activations and constants of L3 in use, 0 for constants, 32 for "
            "inputs and outputs), 901696 are there: 1098336 are missing",
            "the largest layer is named; make it smaller",
        ),
        (
            dense(300, 300, 2), "--home L3 --memory wmem=1000000", "WMEM, node 'product0' (MatMul)",
            "720000 bytes are needed (0 for activations, 720000 for the constants of L3, 0 for weights), 475712 are "
            "there: 244288 are missing", "the largest layer is named; use a smaller input or network",
        ),
        (
            dense(40, 10), "--home L3 --memory l3=1000", "L3",
            "1600 bytes are needed (0 for activations, 1600 for constants), 1000 are there: 600 are missing",
            "use a smaller input or network, or give it more: --memory l3=1600",
        ),
    ],
)  # fmt: skip
def test_refusals(
    made: ModelProto, options: str, where: str, what: str | None, hint: str | None, command: Command, tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(made, path)
    ran = command("analyze", path, "--target", "siracusa", "--json", *options.split())
    assert ran.code == 2
    (error,) = ran.json["errors"]
    assert error["where"] == where
    assert what is None or error["what"] == what
    assert hint is None or error["hint"] == hint


def test_a_layer_that_fits_in_no_part(command: Command, tmp_path: Path) -> None:
    """Its rows are parts of longer ones, so that it cannot work in L2 either."""
    nodes = [node("Relu", "x", "a"), node("Concat", "a y", "z", axis=1)]
    path = tmp_path / "model.onnx"
    onnx.save(model(nodes, {"x": (3, 90), "y": (3, 7)}, ["z"]), path)
    ran = command("analyze", path, "--target", "siracusa", "--json", "--l1", "90")
    assert ran.code == 2
    (error,) = ran.json["errors"]
    assert error["where"] == "node 'z' (Identity)"
    found = re.fullmatch(r"needs (\d+) bytes of L1, (\d+) are free: (\d+) are missing", error["what"])
    assert found is not None
    needed, free, missing = map(int, found.groups())
    assert needed - free == missing > 0
    enough = error["hint"].rpartition(" ")[2]
    assert command("analyze", path, "--target", "siracusa", "--json", "--l1", enough).code == 0


def test_tensors_of_layers_cannot_be_looked_at(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(SMALL, path)
    ran = command("run", path, "--target", "siracusa", "--per-layer", "--json")
    assert ran.code == 2
    (error,) = ran.json["errors"]
    assert error["where"] == "--per-layer"
    assert error["hint"] == "use --target generic, whose integers are the same"


@pytest.mark.parametrize("option", ["--cores 4", "--l1 1000", "--home L3", "--buffering single", "--place a=cpu"])
def test_a_target_without_a_cluster_has_nothing_to_set(option: str, command: Command, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(SMALL, path)
    ran = command("analyze", path, "--json", *option.split())
    assert ran.code == 2
    (error,) = ran.json["errors"]
    assert error["where"] == option
    assert error["what"] == "target generic has no cluster whose cores, tiles or buffering could be set"


def test_memory_of_the_caller_has_no_size(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(SMALL, path)
    ran = command("analyze", path, "--json", "--memory", "arena=1000")
    assert ran.code == 2
    assert ran.json["errors"][0]["where"] == "--memory arena=1000"
    assert "has no memory whose size could be set" in ran.json["errors"][0]["what"]
