"""A network that learns, built and running: what any place where it runs can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np

from tilewright.codegen import binary_data
from tilewright.codegen.kernels import PREFIX_FILE
from tilewright.errors import CompileError, InternalError
from tilewright.ir.types import Array
from tilewright.records import dataclass
from tilewright.training.folder import LearnerC

LABEL, NOT_FINITE, NOTHING_LEARNED, NOTHING_SAVED, OTHER_NETWORK, NOT_WRITTEN, FAILED = range(-1, -8, -1)
"""Errors of learner.h."""
BUILT = ".bin"
"""Of files of constants."""


@dataclass(frozen=True)
class Call:
    """What a call of one of the networks gave and took."""

    outputs: Mapping[str, Array]
    """By the names that the network gives them."""
    cycles: int | None
    """None where no cycle counter is available."""


class NotFinite(Exception):
    """A loss that is infinite or no number."""


class Session(ABC):
    """Begins with the first weights and nothing learned."""

    counts_cycles: ClassVar[bool]

    def __init__(self, model: LearnerC) -> None:
        self.model, self.learner = model, model.learner

    def train(self, inputs: Mapping[str, Array]) -> Call:
        """One step; its outputs begin with the loss."""
        return self._network("train", inputs)

    def update(self) -> Call:
        return self._network("update", {})

    def infer(self, inputs: Mapping[str, Array]) -> Call:
        if self.model.infer is None:
            hint = "give the model itself: `tilewright train model.onnx --loss ...`"
            raise CompileError("infer", "a training graph does not say which tensor is the network's output", hint)
        return self._network("infer", inputs)

    def state(self, name: str) -> Array:
        """The value of a state now."""
        kind = self.learner.training.types[name]
        data = self._memory(self.learner.offset(name), kind.bytes)
        return np.frombuffer(data, kind.element).reshape(kind.shape).copy()

    def weights(self) -> dict[str, Array]:
        return {name: self.state(name) for name in self.learner.training.learned}

    def _network(self, which: str, inputs: Mapping[str, Array]) -> Call:
        graph = self.learner.training.graphs[which]
        given = [np.ascontiguousarray(inputs[name], graph.types[name].element) for name in graph.inputs]
        made = [np.empty(graph.types[name].shape, graph.types[name].element) for name in dict.fromkeys(graph.outputs)]
        status, cycles = self._call(which, given, made)
        _check(which, status)
        outputs = dict(zip(dict.fromkeys(graph.outputs), made, strict=True))
        return Call(graph.outputs_by_name(outputs), cycles)

    @abstractmethod
    def _call(self, which: str, given: list[Array], made: list[Array]) -> tuple[int, int | None]:
        """Fills what is made; the status, and the cycles that it took."""

    @abstractmethod
    def _memory(self, offset: int, count: int) -> bytes:
        """Bytes of the network's memory."""


def _check(which: str, status: int) -> None:
    if status == NOT_FINITE:
        raise NotFinite
    if status == NOTHING_LEARNED:
        raise CompileError("update", "no step was made since the last one", "train first")
    if status:
        raise InternalError(which, f"the network reports error {status}")


def write_sources(model: LearnerC, folder: Path, besides: Mapping[str, str] | None = None) -> None:
    """The C, with constants as bytes, which the compiler reads faster; networks share the objects of kernels that do
    not have their names."""
    own = {name: text for name, text in model.texts().items() if not name.endswith(("network_data.c", "main.c"))}
    for which, writer in model.writers.items():
        own[f"{which}/network_data.S"] = binary_data.source(writer, f"{which}{BUILT}")
        (folder / f"{which}{BUILT}").write_bytes(binary_data.data(writer))
    for name, text in {**own, **(besides or {}), f"kernels/{PREFIX_FILE}": ""}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
