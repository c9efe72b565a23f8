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
from tilewright.ir.at_sizes import sizes_of, symbols_of
from tilewright.ir.graph import Graph
from tilewright.ir.length import resolved
from tilewright.ir.types import Array, TensorType
from tilewright.ops._control_flow import too_many_turns
from tilewright.planner.schedule.schedule import Schedule
from tilewright.records import dataclass
from tilewright.run.device_arrays import DeviceArray, OnDevice, checked, on_device
from tilewright.run.host import HostNetwork, HostPrograms, check_machine, gpu_failed
from tilewright.target.target import Target
from tilewright.toolchain.compiler import find_compiler, link_without_runtime

POINTER = ctypes.c_void_p
CALL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(POINTER), ctypes.POINTER(POINTER), POINTER)
QUICK_CALL = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, POINTER, POINTER)
"""The same with addresses as numbers, which take less time to pass."""
SIZED_CALL = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(POINTER), ctypes.POINTER(POINTER), ctypes.POINTER(ctypes.c_int), POINTER
)
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
        ("sizes", ctypes.c_int), ("bytes_at", POINTER), ("sized_call", SIZED_CALL),
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


@dataclass(frozen=True)
class Sized:
    """What a call is like whose inputs have certain sizes."""

    types: Mapping[str, TensorType]
    arguments: Any = None
    """The sizes, as C takes them; None where it takes none."""


Done = tuple[int, Sequence[Array]]
"""What C returns, and the outputs."""
Quick = Callable[[Sequence[Array], Sequence[Array] | None], Done | None]


def quick_call(network: Any, inputs: Sequence[TensorType], outputs: Sequence[TensorType], arena: int) -> Quick:
    """Calls of a network for one size with arrays in the order of its inputs and outputs, one at a time. Where all of
    them are as they should be, little more is done than to look at them: small networks take less time than a search
    for what is wrong."""
    function = QUICK_CALL(ctypes.cast(network.call, POINTER).value or 0)
    given: Any = (POINTER * len(inputs))()
    made: Any = (POINTER * len(outputs))()
    given_at, made_at = ctypes.addressof(given), ctypes.addressof(made)
    shapes, elements = [kind.shape for kind in inputs], [kind.element for kind in inputs]
    sizes = [kind.bytes for kind in inputs]
    results = [(number, kind.shape, kind.element, kind.bytes) for number, kind in enumerate(outputs)]
    reads = list(enumerate(sizes))
    address, ndarray, empty = ctypes.addressof, np.ndarray, np.empty
    byte: Callable[[Any], Any] = ctypes.c_char.from_buffer

    def call(arrays: Sequence[Array], out: Sequence[Array] | None) -> Done | None:
        """None where an array is not as it should be."""
        if len(arrays) != len(shapes):
            return None
        for number, array in enumerate(arrays):
            if type(array) is not ndarray or array.shape != shapes[number] or array.dtype != elements[number]:
                return None
            if not array.flags.carray:
                return None
            given[number] = address(byte(array))
        if out is None:
            out = []
            for number, shape, element, _ in results:
                array = empty(shape, element)
                made[number] = address(byte(array))
                out.append(array)
        elif not take(out):
            return None
        return function(given_at, made_at, arena), out

    def take(out: Sequence[Array]) -> bool:
        if len(out) != len(results):
            return False
        for number, shape, element, size in results:
            array = out[number]
            if type(array) is not ndarray or array.shape != shape or array.dtype != element or not array.flags.carray:
                return False
            start = made[number] = address(byte(array))
            end = start + size
            for other, bytes_ in reads:
                if given[other] < end and start < given[other] + bytes_:
                    return False
            for other in range(number):
                if made[other] < end and start < made[other] + results[other][3]:
                    return False
        return True

    return call


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
        self._is_single = len(self._order) == 1
        self._elements = {name: graph.types[name].element for name in (*graph.inputs, *self._outputs)}
        self._arena = _aligned(library.network.arena_bytes)
        self._has_device = False  # until memory of it was asked for
        self._call, self._address = library.network.call, _address(self._arena)
        self._sized_call, self._symbols = library.network.sized_call, symbols_of(graph)
        self._at_bound, self._known_sizes = Sized(graph.types), dict[tuple[int, ...], Sized]()
        self._lock = threading.Lock()
        given, made = ([graph.types[name] for name in names] for names in (graph.inputs, self._outputs))
        can_be_quick = not self._symbols and all(kind.bytes and kind.element.isbuiltin == 1 for kind in (*given, *made))
        self._quick = quick_call(library.network, given, made, self._address) if can_be_quick else None
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
        if self._quick is not None and not named:
            wanted = [out] if type(out) is np.ndarray else out
            if wanted is None or (type(wanted) is list and "out" not in self._names):
                with self._lock:
                    done = self._quick(inputs, wanted)
                if done is not None:
                    code, results = done
                    if code:
                        self._check_done(code)
                    return results[0] if self._is_single else tuple([results[at] for at in self._order])
        if out is not None and "out" in self._names:
            named, out = {**named, "out": out}, None  # type: ignore[dict-item]  # is checked as all inputs are
        arrays = self._matched(inputs, named)
        sized = self._sized(arrays)
        given = self._inputs(arrays, sized)
        made = self._new_outputs(sized) if out is None else self._checked_outputs(out, given, sized)
        return self._called(given, made, sized)

    def on_device(self, *inputs: Array, **named: Array) -> Any:
        """The same with outputs in the memory of the GPU; they have `__dlpack__`, `__cuda_array_interface__` and
        `numpy()`."""
        given = self._inputs(self._matched(inputs, named), self._at_bound)
        made = [self._allocated(self._graph.types[name]) for name in self._outputs]
        return self._called(given, made, self._at_bound)

    def _called(self, given: Sequence[AnyArray], made: Sequence[AnyArray], sized: Sized) -> Any:
        with self._lock:
            if sized.arguments is None:
                code = self._call(_pointers(given), _pointers(made), self._address)
            else:
                code = self._sized_call(_pointers(given), _pointers(made), sized.arguments, self._address)
            self._check_done(code)
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

    def _sized(self, given: Mapping[str, Array]) -> Sized:
        """What a call with these inputs is like; of a network for one size, always the same."""
        if not self._symbols:
            return self._at_bound
        arrays = {name: given[name] for name in self._names if isinstance(given[name], np.ndarray)}
        sizes = sizes_of({name: self._graph.types[self._names[name]] for name in arrays}, arrays)
        if len(sizes) < len(self._symbols):
            return self._at_bound  # Some input is no array, which is said where each is checked.
        known = tuple(sizes[symbol.name] for symbol in self._symbols)
        if known not in self._known_sizes:
            names = (*self._graph.inputs, *self._outputs)
            types = {name: resolved(self._graph.types[name], sizes) for name in names}
            self._known_sizes[known] = Sized(types, (ctypes.c_int * len(known))(*known))
        return self._known_sizes[known]

    def _matched(self, inputs: Sequence[Array], named: Mapping[str, Array]) -> dict[str, Array]:
        """By name, one for each input."""
        names = list(self._names)
        given = dict(zip(names, inputs, strict=False)) | dict(named)
        wrong = [name for name in named if name not in names[len(inputs) :]]
        if wrong or len(inputs) > len(names) or set(given) != set(names):
            raise CompileError(
                "call", f"{len(inputs)} arrays and {', '.join(named) or 'no names'} were given",
                f"the inputs are {', '.join(names)}",
            )  # fmt: skip
        return given

    def _inputs(self, given: Mapping[str, Array], sized: Sized) -> list[AnyArray]:
        return [self._checked(f"input {name}", given[name], self._names[name], sized) for name in self._names]

    def _new_outputs(self, sized: Sized) -> list[AnyArray]:
        return [np.empty(sized.types[name].shape, self._elements[name]) for name in self._outputs]

    def _checked_outputs(
        self, out: Array | Sequence[Array], inputs: Sequence[AnyArray], sized: Sized
    ) -> list[AnyArray]:
        is_one = isinstance(out, np.ndarray) or on_device(out) is not None
        if not is_one and not isinstance(out, list | tuple):
            raise CompileError(
                "call", f"out is {type(out).__name__}", "give an array, or a list of one for each output"
            )
        given: list[Any] = [out] if is_one else list(out)
        if len(given) != len(self._outputs):
            raise CompileError("call", f"out has {len(given)} arrays", f"the network has {len(self._outputs)} outputs")
        pairs = zip(self._outputs, given, strict=True)
        checked = [self._checked(f"out {name}", array, name, sized) for name, array in pairs]
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

    def _checked(self, what: str, array: Array, name: str, sized: Sized) -> AnyArray:
        kind = sized.types[name]
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
