"""Arrays in the memory of a GPU: those of others, by `__dlpack__` or `__cuda_array_interface__`, and our own, which
have both. Nothing is copied."""

from __future__ import annotations

import ctypes
import math
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.types import BYTES, Array, TensorType
from tilewright.records import dataclass

CUDA = 2
"""The number of NVIDIA's GPUs among the devices of DLPack."""
DEFAULT_STREAM = 1
"""What makers of arrays are asked to let wait for them: calls wait for it."""
CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "bool": 6}
"""Of DLPack's element types."""
CAPSULE = b"dltensor"


class _Tensor(ctypes.Structure):
    """`DLTensor`."""

    _fields_ = [
        ("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("number", ctypes.c_int32), ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    ]  # fmt: skip


class _Managed(ctypes.Structure):
    """`DLManagedTensor`: who takes it calls its deleter once."""


DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]


def _python(name: str, result: Any, *arguments: Any) -> Any:
    """A function of Python's own interface for C."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


ENDS = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_GET = _python("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_NEW = _python("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ENDS)
_IS_UNUSED = _python("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_GET_ENDING = _python("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)


@dataclass(frozen=True, eq=False)
class OnDevice:
    """Somebody's array, for as long as this object lives."""

    address: int
    dtype: str
    shape: tuple[int, ...]
    is_contiguous: bool
    stream: int
    """Of its maker, where that has one that calls do not wait for by themselves; else 0."""
    keeps: Any
    """Whose it is."""

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * BYTES.get(self.dtype, 0)


def on_device(array: object) -> OnDevice | None:
    """An array in the memory of a GPU; None for anything else."""
    where = getattr(array, "__dlpack_device__", None)
    if where is not None:
        return _by_dlpack(array) if where()[0] == CUDA else None
    interface = getattr(array, "__cuda_array_interface__", None)
    return None if interface is None else _by_interface(array, interface)


def _by_dlpack(array: Any) -> OnDevice:
    capsule = array.__dlpack__(stream=DEFAULT_STREAM)
    managed = ctypes.cast(_GET(capsule, CAPSULE), ctypes.POINTER(_Managed)).contents
    tensor = managed.tensor
    shape = tuple(tensor.shape[axis] for axis in range(tensor.rank))
    strides = tuple(tensor.strides[axis] for axis in range(tensor.rank)) if tensor.strides else None
    kinds = {code: name for name, code in CODES.items()}
    name = kinds.get(tensor.code, f"type {tensor.code} of ")
    dtype = "bool" if name == "bool" else f"{name}{tensor.bits}"
    address = (tensor.data or 0) + tensor.offset
    return OnDevice(address, dtype, shape, tensor.lanes == 1 and _is_contiguous(shape, strides), 0, (array, capsule))


def _by_interface(array: object, interface: dict[str, Any]) -> OnDevice:
    kind, shape = np.dtype(interface["typestr"]), tuple(interface["shape"])
    strides = interface.get("strides")
    steps = None if strides is None else tuple(step // max(kind.itemsize, 1) for step in strides)
    stream = interface.get("stream") or 0
    own = stream if stream != DEFAULT_STREAM else 0
    return OnDevice(interface["data"][0] or 0, kind.name, shape, _is_contiguous(shape, steps), own, (array,))


def _is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...] | None) -> bool:
    """Whether the last axis varies fastest and nothing is left out; steps are counted in elements."""
    if strides is None or 0 in shape:
        return True
    expected = 1
    for size, step in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1 and step != expected:
            return False
        expected *= size
    return True


def checked(what: str, array: OnDevice, kind: TensorType) -> OnDevice:
    """The array, if a network can take it for a tensor."""
    if array.shape != kind.shape or array.dtype != kind.dtype:
        found = f"{array.dtype} {'x'.join(map(str, array.shape))}"
        raise CompileError("call", f"{what} is {found} on a GPU, not {kind}", "convert it before the call")
    if not array.is_contiguous:
        raise CompileError("call", f"{what} is on a GPU and not contiguous", "pass array.contiguous(), or a copy")
    return array


class DeviceArray:
    """An output in the memory of a GPU, which is given back with the last of its users. `__dlpack__` and
    `__cuda_array_interface__` give it to others, `numpy()` is a copy in the memory of the computer."""

    def __init__(
        self, kind: TensorType, address: int, release: Callable[[int], None], copy: Callable[[int, int, int], int]
    ) -> None:
        self.shape, self.dtype, self.address = kind.shape, kind.element, address
        self._kind, self._copy = kind, copy
        weakref.finalize(self, release, address).atexit = False

    @property
    def bytes(self) -> int:
        return self._kind.bytes

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self._kind.dtype == "bfloat16":
            raise AttributeError("this protocol has no bfloat16; __dlpack__ has")
        typestr = self.dtype.str
        return {"shape": self.shape, "typestr": typestr, "data": (self.address, False), "version": 3, "strides": None}

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, 0

    def __dlpack__(self, stream: int | None = None, **_: object) -> object:
        """Calls end when their outputs are there: no stream has to wait."""
        managed = _Managed()
        axes = (ctypes.c_int64 * max(len(self.shape), 1))(*self.shape)
        name = self._kind.dtype
        code = CODES[name.rstrip("0123456789")]
        managed.tensor = _Tensor(self.address, CUDA, 0, len(self.shape), code, 8 * BYTES[name], 1, axes, None, 0)
        key = ctypes.addressof(managed)
        managed.deleter = _FORGET
        LENT[key] = (managed, axes, self)
        return _NEW(key, CAPSULE, _UNUSED)

    def numpy(self) -> Array:
        found = np.empty(self.shape, self.dtype)
        if self._copy(found.ctypes.data, self.address, found.nbytes):
            what = "the driver fails to copy an array to the memory of the computer"
            raise CompileError("gpu", what, "see whether `nvidia-smi` shows the GPU")
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def __repr__(self) -> str:
        return f"DeviceArray({self._kind}, on GPU 0)"


LENT: dict[int, tuple[object, ...]] = {}
"""By address, what others have of our arrays until they call the deleter."""


def _forget(managed: Any) -> None:
    LENT.pop(ctypes.addressof(managed.contents), None)


def _unused(capsule: int) -> None:
    """Nobody has taken what is in it: who does gives it another name."""
    if _IS_UNUSED(capsule, CAPSULE):
        LENT.pop(_GET_ENDING(capsule, CAPSULE), None)


_FORGET, _UNUSED = DELETER(_forget), ENDS(_unused)
