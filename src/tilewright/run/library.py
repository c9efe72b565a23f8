"""A compiled network as a library in this process: called with arrays, gives arrays.

    f = tw.compile("model.onnx", target="cpu").load()
    y = f(x)

Arrays are read and written where they are, nothing is copied. The arena belongs to the loaded network: calls of several
threads wait for each other, and `f.context()` is the same network with an arena of its own.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.codegen.flow_names import TOO_MANY_TURNS
from tilewright.codegen.network import Writer
from tilewright.errors import CompileError, InternalError
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array, TensorType
from tilewright.ops._control_flow import too_many_turns
from tilewright.planner.schedule.schedule import Schedule
from tilewright.run.device_arrays import DeviceArray, OnDevice, checked, on_device
from tilewright.run.host import HostNetwork, HostPrograms, check_machine, gpu_failed
from tilewright.target.target import Target
from tilewright.toolchain.compiler import find_compiler, link_without_runtime

POINTER = ctypes.c_void_p
CALL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(POINTER), ctypes.POINTER(POINTER), POINTER)
RESET = ctypes.CFUNCTYPE(ctypes.c_int, POINTER)
SAID, MEASURE = ctypes.CFUNCTYPE(ctypes.c_char_p), ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int)
TAKE, ALLOCATE = ctypes.CFUNCTYPE(None, POINTER), ctypes.CFUNCTYPE(POINTER, ctypes.c_ulong)
COPY = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, POINTER, ctypes.c_ulong)
START, STOP = ctypes.CFUNCTYPE(ctypes.c_int), ctypes.CFUNCTYPE(None)
SMALL = ("-s", "-Wl,--gc-sections") if sys.platform == "linux" else ()
"""A library has nothing that only debuggers want, or that nobody calls."""
GPU_ERROR = 3
"""What a network returns where a GPU or its driver fails."""
AnyArray = Array | OnDevice | DeviceArray
ARENA_ALIGNMENT = 64
"""A line of a cache; networks ask for no more."""


class CNetwork(ctypes.Structure):
    """`tw_harness_network` of harness.h."""

    _fields_ = [
        ("inputs", ctypes.c_int), ("outputs", ctypes.c_int), ("input_bytes", POINTER), ("output_bytes", POINTER),
        ("arena_bytes", ctypes.c_ulong), ("call", CALL), ("reset", RESET),
        ("start_threads", START), ("stop_threads", STOP), ("gpu_error", SAID), ("gpu_microseconds", MEASURE),
        ("gpu_free", TAKE), ("gpu_allocate", ALLOCATE), ("gpu_release", TAKE), ("gpu_after", RESET), ("gpu_copy", COPY),
    ]  # fmt: skip


class HostLibrary(HostPrograms):
    """A network as a shared library. The file lives as long as the object."""

    def __init__(self, schedule: Schedule, files: Mapping[str, str], writer: Writer, cc: str | None) -> None:
        super().__init__([HostNetwork(schedule, files, writer)], cc)
        self._users, self._lock = 0, threading.Lock()

    @cached_property
    def network(self) -> Any:
        """The library, loaded into this process."""
        return CNetwork.in_dll(ctypes.CDLL(str(self.path)), "tw_network_0")

    def start(self, user: object) -> None:
        """Load it, and make its threads, which end with the last of its users."""
        with self._lock:
            if self.network.start_threads and self.network.start_threads():
                raise CompileError("load", "the system refuses threads", "compile with threads=1")
            self._users += 1
        # A process that ends has no threads to stop, and its memory on a GPU ends with it.
        weakref.finalize(user, self._leave).atexit = not self.network.gpu_free

    def _leave(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users and self.network.stop_threads:
                self.network.stop_threads()
            if not self._users and self.network.gpu_free:
                self.network.gpu_free(None)

    def _build(self, target: Target, cc: str | None) -> None:
        check_machine(target)
        compiler = find_compiler(cc)
        objects = self._objects(target, compiler, ())
        link_without_runtime(objects, target.libraries, self.path, compiler, [*target.flags, "-shared", *SMALL])

    @property
    def path(self) -> Path:
        return self.folder / "network.so"


class LoadedNetwork:
    """One context of a network: it has an arena, and what the network keeps between calls."""

    def __init__(
        self, library: HostLibrary, graph: Graph, input_names: Sequence[str], output_names: Sequence[str]
    ) -> None:
        self._library, self._graph = library, graph
        library.start(self)
        self._names = dict(zip(input_names, graph.inputs, strict=True))
        self._output_names = list(output_names)
        self._outputs = list(dict.fromkeys(graph.outputs))
        # What every call needs is looked up once: small networks take less time than looking it up does.
        self._order = [self._outputs.index(name) for name in graph.outputs]
        self._elements = {name: graph.types[name].element for name in (*graph.inputs, *self._outputs)}
        self._arena = _aligned(library.network.arena_bytes)
        self._has_device = False  # until memory of it was asked for
        self._call, self._address = library.network.call, _address(self._arena)
        self._lock = threading.Lock()
        LOADED.add(self)
        if library.network.gpu_free:
            weakref.finalize(self, _free, library.network.gpu_free, self._arena).atexit = False
        self.reset()

    @property
    def library(self) -> Path:
        """The shared library, which is there as long as this object or the program is."""
        return self._library.path

    @property
    def library_bytes(self) -> int:
        """Of the shared library, constants included."""
        return self._library.path.stat().st_size

    @property
    def arena_bytes(self) -> int:
        return int(self._library.network.arena_bytes)

    def context(self) -> LoadedNetwork:
        """The same network with an arena and a state of its own, for another thread."""
        return LoadedNetwork(self._library, self._graph, list(self._names), self._output_names)

    def reset(self) -> None:
        """Forget what was kept between calls."""
        if self._library.network.reset:
            self._check_done(self._library.network.reset(self._address))

    def __call__(self, *inputs: Array, out: Array | Sequence[Array] | None = None, **named: Array) -> Any:
        """The outputs, one array or a tuple of them; those of `out`, where it is given, are written. A network with an
        input of that name takes it for that."""
        if out is not None and "out" in self._names:
            named, out = {**named, "out": out}, None  # type: ignore[dict-item]  # is checked as all inputs are
        given = self._inputs(inputs, named)
        return self._called(given, self._new_outputs() if out is None else self._checked_outputs(out, given))

    def on_device(self, *inputs: Array, **named: Array) -> Any:
        """The same with outputs in the memory of the GPU; they have `__dlpack__`, `__cuda_array_interface__` and
        `numpy()`."""
        given = self._inputs(inputs, named)
        return self._called(given, [self._allocated(self._graph.types[name]) for name in self._outputs])

    def _called(self, given: Sequence[AnyArray], made: Sequence[AnyArray]) -> Any:
        with self._lock:
            self._check_done(self._call(_pointers(given), _pointers(made), self._address))
        results = [_as_given(made[at]) for at in self._order]
        return results[0] if len(results) == 1 else tuple(results)

    def _allocated(self, kind: TensorType) -> DeviceArray:
        network = self._library.network
        address = network.gpu_allocate(max(kind.bytes, 1)) if network.gpu_allocate else None
        if not address:
            raise self._no_device()
        return DeviceArray(kind, address, network.gpu_release, network.gpu_copy)

    def _no_device(self) -> CompileError:
        error = self._library.network.gpu_error
        if error:
            return gpu_failed(error().decode())
        return CompileError("call", "the network runs on this machine, without a GPU", "compile with target='gpu'")

    def gpu_microseconds(self, repeats: int = 100) -> float | None:
        """What a GPU takes for its part of a call, without copies: the mean of so many, from the third call on. None
        where kernels do not run on one."""
        measure = self._library.network.gpu_microseconds
        with self._lock:
            found = float(measure(repeats)) if measure else -1.0
        return found if found >= 0.0 else None

    def _check_done(self, code: int) -> None:
        if code == TOO_MANY_TURNS:
            raise too_many_turns()
        if code == GPU_ERROR:
            raise gpu_failed(self._library.network.gpu_error().decode())
        if code:
            raise InternalError("call", f"the network reports error {code}")

    def _inputs(self, inputs: Sequence[Array], named: Mapping[str, Array]) -> list[AnyArray]:
        names = list(self._names)
        given = dict(zip(names, inputs, strict=False)) | dict(named)
        wrong = [name for name in named if name not in names[len(inputs) :]]
        if wrong or len(inputs) > len(names) or set(given) != set(names):
            raise CompileError(
                "call", f"{len(inputs)} arrays and {', '.join(named) or 'no names'} were given",
                f"the inputs are {', '.join(names)}",
            )  # fmt: skip
        return [self._checked(f"input {name}", given[name], self._names[name]) for name in names]

    def _new_outputs(self) -> list[AnyArray]:
        return [np.empty(self._graph.types[name].shape, self._elements[name]) for name in self._outputs]

    def _checked_outputs(self, out: Array | Sequence[Array], inputs: Sequence[AnyArray]) -> list[AnyArray]:
        is_one = isinstance(out, np.ndarray) or on_device(out) is not None
        if not is_one and not isinstance(out, list | tuple):
            raise CompileError(
                "call", f"out is {type(out).__name__}", "give an array, or a list of one for each output"
            )
        given: list[Any] = [out] if is_one else list(out)
        if len(given) != len(self._outputs):
            raise CompileError("call", f"out has {len(given)} arrays", f"the network has {len(self._outputs)} outputs")
        checked = [self._checked(f"out {name}", array, name) for name, array in zip(self._outputs, given, strict=True)]
        for number, (name, array) in enumerate(zip(self._outputs, checked, strict=True)):
            if isinstance(array, np.ndarray) and not array.flags.writeable:
                raise CompileError("call", f"out {name} is read-only", "give an array that may be written")
            if any(_may_overlap(array, other) for other in (*inputs, *checked[:number])):
                raise CompileError("call", f"out {name} shares memory with another array", "give one of its own")
        return checked

    def _on_device(self, what: str, array: object, kind: TensorType) -> OnDevice | None:
        """An array of somebody's in the memory of a GPU, which has been made when this returns."""
        found = on_device(array)
        if found is None:
            return None
        network = self._library.network
        if not self._has_device:
            self._allocated(kind)
            self._has_device = True
        if found.stream and network.gpu_after(found.stream):
            raise self._no_device()
        return checked(what, found, kind)

    def _checked(self, what: str, array: Array, name: str) -> AnyArray:
        kind = self._graph.types[name]
        if not isinstance(array, np.ndarray):
            there = self._on_device(what, array, kind)
            if there is not None:
                return there
            raise CompileError(
                "call", f"{what} is {type(array).__name__}, not a numpy array", "numpy.asarray() makes one"
            )
        if array.shape != kind.shape or array.dtype != self._elements[name]:
            found = f"{array.dtype} {'x'.join(map(str, array.shape))}"
            raise CompileError("call", f"{what} is {found}, not {kind}", "convert it before the call")
        if not array.flags.c_contiguous or not array.flags.aligned:
            reason = "is not contiguous" if array.flags.aligned else "is not aligned"
            raise CompileError("call", f"{what} {reason}", "pass array.copy()")
        return array


def _free(gpu_free: Callable[[int], None], arena: Array) -> None:
    """What a GPU keeps for an arena; that is still there, so that no other one has its address."""
    gpu_free(_address(arena))


LOADED: weakref.WeakSet[LoadedNetwork] = weakref.WeakSet()


def _renew_locks() -> None:
    """In a copy of the process the threads that held them are gone."""
    for one in LOADED:
        one._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


def _pointers(arrays: Sequence[AnyArray]) -> Any:
    return (POINTER * max(1, len(arrays)))(*map(_address, arrays))


def _may_overlap(one: AnyArray, other: AnyArray) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.may_share_memory(one, other)
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return False
    return one.address < other.address + other.bytes and other.address < one.address + one.bytes


def _address(array: AnyArray) -> int:
    """As `array.ctypes.data` is, in a third of its time."""
    return int(array.__array_interface__["data"][0]) if isinstance(array, np.ndarray) else array.address


def _as_given(array: AnyArray) -> Any:
    """An output as the caller knows it."""
    return array.keeps[0] if isinstance(array, OnDevice) else array


def _aligned(size: int) -> Array:
    memory = np.zeros(size + ARENA_ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ARENA_ALIGNMENT
    return memory[start : start + size]
