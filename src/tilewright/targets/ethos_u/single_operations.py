"""Vela's interface for single operations of an Ethos-U: what streams of our own are made with."""

from __future__ import annotations

import contextlib
import importlib
import io
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.types import Array
from tilewright.sim.ethos_u.configurations import find_configuration
from tilewright.sim.ethos_u.timing import stream_cycles
from tilewright.targets.ethos_u.vela import check_installed

Block = tuple[int, int, int]
"""Height, width and channels of what the NPU computes at once."""


def vela_api() -> Any:
    check_installed()
    return importlib.import_module("ethosu.vela.api")


def accelerator(api: Any, npu: str) -> Any:
    return api.NpuAccelerator[npu.replace("ethos-u", "Ethos_U").replace("-", "_")]


def fastest_block(api: Any, npu: str, make: Callable[[], Any]) -> Block:
    """With which the operation that `make` gives is predicted to take the fewest cycles; of equals the largest."""
    chip = find_configuration(npu)
    with _quietly():
        found = [tuple(block) for block in api.npu_find_block_configs(make(), accelerator(api, npu))]
        cycles = {block: stream_cycles(_words(api, npu, [_with_block(api, make(), block)]), chip) for block in found}
    if not cycles:
        raise Refusal("Vela has no blocks for it")
    best: Block = min(cycles, key=lambda block: (cycles[block], -prod(block)))
    return best


def driver_payload(api: Any, npu: str, operations: Sequence[tuple[Any, Block | None]]) -> Array:
    """Words of a stream of operations, each with its block if it has one, behind those for Arm's driver."""
    made = [_with_block(api, one, block) if block else one for one, block in operations]
    with _quietly():
        payload = bytes(api.npu_create_driver_payload(_words(api, npu, made), accelerator(api, npu)))
    return np.frombuffer(payload, "<u4").astype(np.uint32)


def _with_block(api: Any, operation: Any, block: Block) -> Any:
    operation.block_config = api.NpuShape3D(*block)
    return operation


def _words(api: Any, npu: str, operations: Sequence[Any]) -> list[int]:
    words: list[int] = api.npu_generate_register_command_stream(list(operations), accelerator(api, npu))
    return words


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Vela says that it takes a default system, which no stream depends on; what it refuses is refused here."""
    errors = importlib.import_module("ethosu.vela.errors")
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    except errors.VelaError as error:
        raise Refusal(f"Vela does not take it: {error}") from None
