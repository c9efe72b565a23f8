"""A small network as a project."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from tilewright.codegen import projects
from tilewright.codegen.projects.project import Content, Project
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.requant import Requant
from tilewright.ir.scale import Scale, Scales
from tilewright.ir.types import TensorType
from tilewright.ops.conv import Conv
from tilewright.pipeline import Compiled, stages
from tilewright.program import Program
from tilewright.target.settings import Settings


def network() -> Graph:
    """A convolution whose outputs are not all alike where inputs are zero."""
    random, builder = np.random.default_rng(7), Builder("tiny")
    x = builder.input("x", TensorType("int8", (1, 4, 4, 2)))
    w = builder.constant(random.integers(-128, 128, (3, 3, 3, 2)).astype(np.int8))
    b = builder.constant(random.integers(-9999, 9999, 3).astype(np.int32))
    mul = builder.constant(random.integers(2**30, 2**31, 3).astype(np.int32))
    exponents = builder.constant(np.array([-9, -8, -9], np.int32))
    requant = Requant(0, "int8", -128, 127, zero_point=3, rounding="double")
    op = Conv((1, 1), (1, 1), (0, 0, 0, 0), channels_last=True, x_zero=-5, requant=requant)
    builder.output(builder.add(op, [x, w, b, mul, exponents], name="conv")[0])
    builder.scales = Scales({x: Scale(0.5, 1)}, {builder.outputs[0]: Scale(0.25, -2)})
    return builder.build()


@cache
def program(target: str, *folders: str) -> Program:
    return Program(Compiled(*stages(network(), target, "tiny", Settings(kernels=folders))), "tiny", None, 0.0)


def content(kind: str, target: str = "cortex-m4", *folders: str) -> dict[str, Content]:
    compiled = program(target, *folders).compiled
    return projects.files(kind, Project(compiled.schedule, compiled.quantised, "tiny"))


def called(kind: str, label: str) -> dict[str, Content]:
    """The same network with another name."""
    compiled = program("cortex-m4").compiled
    return projects.files(kind, Project(compiled.schedule, compiled.quantised, label))


def put(found: dict[str, Content], place: Path) -> Path:
    for name, data in found.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
    return place


def text(found: dict[str, Content], name: str) -> str:
    data = found[name]
    assert isinstance(data, str)
    return data
