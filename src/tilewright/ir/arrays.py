"""Arrays that a user gives: read from a file, matched with the names of a model, and converted to its types."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tilewright.errors import CompileError, InternalError, unreadable
from tilewright.ir.types import BYTES, STORED, Array, TensorType, element, is_integer, limits, narrowest

REAL_NUMBERS = "quantise real numbers first: round(real / scale) + zero point; `tilewright analyze` prints both"
MAX_FILE_BYTES = 2**31
"""Of all arrays in one file, unpacked."""

Given: TypeAlias = "Mapping[str, Any] | Sequence[Any] | str | Path"
"""Arrays by name, in order, or in an .npz file."""

GIVEN = (Mapping, list, tuple, str, Path)
"""What holds arrays rather than being one."""


def arrays_of(given: Given, what: str) -> dict[str, Array]:
    """What was given as arrays by name; arrays without names are called 0, 1, ..."""
    if isinstance(given, str | Path):
        return read_npz(Path(given))
    held = given if isinstance(given, Mapping | list | tuple) else (given,)  # one array alone
    return {name: _numeric(as_numpy(value), f"{what} '{name}'") for name, value in named_leaves(held).items()}


def named_leaves(given: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    """The arrays of a mapping by name, those of a list in order; what an argument holds is flattened."""
    if not isinstance(given, Mapping):
        return {str(i): leaf for i, leaf in enumerate(leaf for value in given for leaf in leaves(value))}
    found = {str(name): list(leaves(value)) for name, value in given.items()}
    return {
        name if not _holds_many(given[name]) else f"{name}_{i}": leaf
        for name, held in found.items()
        for i, leaf in enumerate(held)
    }


def leaves(value: Any) -> Iterator[Any]:
    """The arrays in lists, tuples and mappings of them, however deep. Lists of plain numbers are arrays themselves."""
    if not _holds_many(value):
        yield from () if value is None else (value,)
        return
    for inner in value.values() if isinstance(value, Mapping) else value:
        yield from leaves(inner)


def _holds_many(value: Any) -> bool:
    if not isinstance(value, list | tuple | Mapping):
        return False
    inner = value.values() if isinstance(value, Mapping) else value
    return any(hasattr(one, "shape") or _holds_many(one) for one in inner)


def as_numpy(value: Any) -> Array:
    """An array, or a tensor of a framework: PyTorch's leave their gradients and their device."""
    if not hasattr(value, "detach"):
        return np.asarray(value)
    held = value.detach().cpu()
    if str(held.dtype) == "torch.bfloat16":  # which PyTorch does not give to numpy
        return np.asarray(held.float()).astype(element("bfloat16"))
    return np.asarray(held)


def read_npz(path: Path) -> dict[str, Array]:
    """The arrays of an .npz file in its order. Pickled objects are never loaded: the file is untrusted."""
    try:
        _refuse_too_large(path)
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            raise CompileError(str(path), "is a single .npy array", _SAVE_HINT)
        with loaded as file:
            return {name: _numeric(np.asarray(file[name]), f"{path}: array '{name}'") for name in file.files}
    except (CompileError, InternalError):
        raise
    except OSError as error:
        raise unreadable(path, error) from None
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        detail = "" if "pickle" in reason else f": {reason}"  # numpy takes whatever it does not know for a pickle
        raise CompileError(str(path), f"is not an .npz file of plain arrays{detail}", _SAVE_HINT) from None


def _refuse_too_large(path: Path) -> None:
    """A small archive can hold arrays that fill this machine's memory."""
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        needed = sum(entry.file_size for entry in archive.infolist())
    if needed > MAX_FILE_BYTES:
        held = f"holds {needed / 2**30:.1f} GiB, at most {MAX_FILE_BYTES / 2**30:.0f} GiB are read"
        raise CompileError(str(path), held, "keep only the arrays that the model needs")


def match(names: Sequence[str], arrays: Mapping[str, Array], what: str) -> dict[str, Array]:
    """One array per name: by name where all names are there, by position where none is.

    Arrays beyond those needed are passed over: exporters like to store the weights beside the inputs.
    """
    found = [name for name in names if name in arrays]
    if len(found) == len(names):
        return {name: arrays[name] for name in names}
    if not found and len(arrays) >= len(names):
        return dict(zip(names, arrays.values(), strict=False))
    missing = ", ".join(f"'{name}'" for name in names if name not in arrays)
    raise CompileError(
        what,
        f"the model has {_listed(names)}, but {_listed(list(arrays))} given; missing: {missing}",
        "name the arrays as the model does, or give all of them in its order under other names",
    )


def convert(array: Array, kind: TensorType, where: str, name: str) -> Array:
    """The array in the declared type, if that changes no value (floats are rounded to float32)."""
    if array.shape != kind.shape:
        raise CompileError(
            where,
            f"has shape {_shape(array.shape)}, the model needs {_shape(kind.shape)}",
            "reshape the array, or --dim",
        )
    if kind.dtype == "float32" or kind.dtype in STORED:
        return _to_float(array, kind, where)
    low, high = limits(kind.dtype) if is_integer(kind.dtype) else (0, 1)
    wrong = ~((array >= low) & (array < high + 1) & _is_whole(array))
    if wrong.any():
        raise _out_of_range(array, wrong, kind.dtype, (low, high), where, name)
    return array.astype(kind.dtype)


def convert_all(types: Mapping[str, TensorType], given: Given, what: str = "input") -> dict[str, Array]:
    """Inputs ready to run: matched by name or position, each in its declared type."""
    arrays = match(list(types), arrays_of(given, what), f"{what}s")
    return {name: convert(arrays[name], kind, f"{what} '{name}'", name) for name, kind in types.items()}


def random_inputs(
    types: Mapping[str, TensorType], seed: int = 0, below: Mapping[str, int] | None = None
) -> dict[str, Array]:
    """Reproducible inputs: normal floats, small or full-range integers; `below` bounds those that are indices."""
    rng = np.random.default_rng(seed)
    return {name: _random(rng, kind, (below or {}).get(name)) for name, kind in types.items()}


def _random(rng: np.random.Generator, kind: TensorType, below: int | None) -> Array:
    if kind.dtype == "float32" or kind.dtype in STORED:
        return rng.standard_normal(kind.shape).astype(kind.element)
    if kind.dtype == "bool":
        return rng.integers(0, 2, kind.shape).astype(np.bool_)
    low, high = limits(kind.dtype)
    if BYTES[kind.dtype] > 1:
        low, high = max(low, -1000), min(high, 1000)
    if below is not None:
        low, high = 0, max(below - 1, 0)
    return rng.integers(low, high + 1, kind.shape).astype(kind.dtype)


def _to_float(array: Array, kind: TensorType, where: str) -> Array:
    with np.errstate(over="ignore"):
        found = array.astype(kind.element)
    lost = np.isinf(found) & np.isfinite(array)
    if lost.any():
        raise CompileError(where, f"holds {array[lost].flat[0]}, which {kind.dtype} cannot hold", "scale the input")
    return found


def _out_of_range(array: Array, wrong: Array, dtype: str, span: tuple[int, int], where: str, name: str) -> CompileError:
    low, high = span
    count = f"{int(wrong.sum())} of {array.size} values do not fit {dtype} (whole numbers {low} to {high})"
    what = f"{count}, first {array[wrong].flat[0]}"
    fitting = _fitting_dtype(array)
    if fitting:
        return CompileError(where, what, f"if that is its type: --dtype {name}={fitting}")
    return CompileError(where, what, "check the values" if _is_whole(array).all() else REAL_NUMBERS)


def _is_whole(array: Array) -> Array:
    return (
        array == np.trunc(array)
        if array.dtype.kind == "f" or array.dtype.name in STORED
        else np.ones(array.shape, np.bool_)
    )


def _fitting_dtype(array: Array) -> str:
    """The narrowest integer type that holds all values, or nothing."""
    if not array.size or not np.all(np.isfinite(array) & _is_whole(array)):
        return ""
    low, high = int(array.min()), int(array.max())
    return narrowest(low, high, [dtype for dtype in BYTES if is_integer(dtype)]) or ""


def _numeric(array: Array, where: str) -> Array:
    if array.dtype.kind not in "biuf" and array.dtype.name not in STORED:
        hint = "give real and imaginary parts as two arrays" if array.dtype.kind == "c" else _SAVE_HINT
        raise CompileError(where, f"holds {array.dtype.name}, not numbers", hint)
    return array


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:8]) + (", ..." if len(names) > 8 else "")
    return f"{len(names)} ({shown})" if names else "none"


def _shape(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape)) or "scalar"


_SAVE_HINT = "save with numpy.savez(file, name=array)"
