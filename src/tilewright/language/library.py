"""A language model as a shared library in this process, and contexts of it: token by token, any number at once."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from tilewright.errors import CompileError, InternalError
from tilewright.ir.types import Array
from tilewright.language.sampler import Sampling
from tilewright.language.summary import Summary
from tilewright.records import dataclass

POINTER, INT, SIZE, LONG = ctypes.c_void_p, ctypes.c_int32, ctypes.c_size_t, ctypes.c_uint64
SIZES = "tw_library_sizes"
FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "open": (INT, (POINTER, ctypes.c_char_p)), "close": (None, (POINTER,)),
    "begin": (INT, (POINTER, POINTER, POINTER, SIZE)), "reset": (None, (POINTER,)),
    "sampling": (INT, (POINTER, POINTER, LONG)), "saw": (None, (POINTER, INT)),
    "prompt": (INT, (POINTER, POINTER, INT)), "choose": (INT, (POINTER,)), "length": (INT, (POINTER,)),
    "keep": (INT, (POINTER, INT)), "state_bytes": (SIZE, (POINTER,)), "save": (INT, (POINTER, POINTER, SIZE)),
    "restore": (INT, (POINTER, POINTER, SIZE)),
}  # fmt: skip
SCORES = (INT, (POINTER, POINTER))
ON_GPU: dict[str, tuple[Any, tuple[Any, ...]]] = {"end": (None, (POINTER,)), "gpu_error": (ctypes.c_char_p, ())}
"""Of a program that has a GPU."""
START, STOP = (ctypes.c_int, (ctypes.c_int,)), (None, ())
FULL, UNKNOWN, NOTHING, FAILED, MEMORY, FILE, WEIGHTS, STATE = range(-1, -9, -1)
"""Errors of language_model.h."""
PAGE = mmap.PAGESIZE


LIBRARY, WEIGHTS_SUFFIX = "model.so", ".weights"


@dataclass(frozen=True)
class BuiltLibrary:
    """Files of a model for this machine."""

    library: Path
    weights: Path


def library_in(folder: Path, name: str) -> BuiltLibrary:
    return BuiltLibrary(folder / LIBRARY, folder / f"{name}{WEIGHTS_SUFFIX}")


_pools, _pools_lock = Counter[str](), threading.Lock()
"""How many models that were loaded use the threads of a library, which has one pool however often it is loaded."""


def _leave_pool(library: str, stop: Callable[[], None]) -> None:
    with _pools_lock:
        _pools[library] -= 1
        if not _pools[library]:
            stop()


class LoadedModel:
    """Weights that are mapped once, and the functions that read them; ends with the last of its contexts."""

    def __init__(self, built: BuiltLibrary, said: Summary) -> None:
        self._name = said.name
        try:
            self._library = ctypes.CDLL(str(built.library))
        except OSError as error:
            raise CompileError(str(built.library), f"cannot be loaded: {error}", "compile the model again") from None
        counts = (ctypes.c_int64 * 6).in_dll(self._library, SIZES)
        model_bytes, self.struct_bytes, self.memory_bytes, self.alignment, self.context, self.words = counts
        self.functions = {name: self._function(name, *kind) for name, kind in FUNCTIONS.items()}
        self.functions |= {name: self._function(name, *kind) for name, kind in ON_GPU.items() if self._has(name)}
        if not said.greedy:
            self.functions["scores"] = self._function("scores", *SCORES)
        self.model = ctypes.create_string_buffer(model_bytes)
        self._open(built.weights)
        weakref.finalize(self, self.functions["close"], self.model).atexit = False
        self._start_threads(said)

    def _function(self, name: str, result: Any, arguments: Sequence[Any]) -> Callable[..., Any]:
        found = getattr(self._library, f"{self._name}_{name}")
        found.restype, found.argtypes = result, arguments
        return found

    def _has(self, name: str) -> bool:
        return hasattr(self._library, f"{self._name}_{name}")

    def _open(self, weights: Path) -> None:
        code = self.functions["open"](self.model, str(weights).encode())
        if code == FILE:
            raise CompileError(str(weights), "cannot be mapped", "compile the model again")
        if code:
            raise CompileError(str(weights), "holds weights of another model", "compile the model again")

    def _start_threads(self, said: Summary) -> None:
        if said.threads < 2:
            return
        with _pools_lock:
            if self._function("start_threads", *START)(int(said.pins_threads)):
                raise CompileError(f"{said.threads} threads", "are refused by the system", "compile with threads=1")
            _pools[self._library._name] += 1
        stop = self._function("stop_threads", *STOP)
        weakref.finalize(self, _leave_pool, self._library._name, stop).atexit = False

    def tokens(self) -> LibraryTokens:
        """A new context."""
        return LibraryTokens(self)


class LibraryTokens:
    """One context: what was read, in memory of its own, of which pages are taken as tokens need them."""

    def __init__(self, loaded: LoadedModel) -> None:
        self._loaded, self._call = loaded, loaded.functions
        self.context, self.words = loaded.context, loaded.words
        struct_bytes = -(-loaded.struct_bytes // PAGE) * PAGE
        self._memory = _reserved(struct_bytes + loaded.memory_bytes)
        self._bytes = ctypes.c_char.from_buffer(self._memory)
        self._at = ctypes.addressof(self._bytes)
        self._lock = threading.Lock()
        self._check("begin", self._call["begin"](self._at, loaded.model, self._at + struct_bytes, loaded.memory_bytes))
        self._end = weakref.finalize(self, _end_context, loaded, self._memory, self._at)
        self._end.atexit = False

    @property
    def length(self) -> int:
        """Tokens read."""
        with self._alone():
            return int(self._call["length"](self._at))

    def reset(self) -> None:
        self.keep(0)

    def keep(self, length: int) -> None:
        """Forget all but the first tokens; then read some before scores are asked for."""
        with self._alone():
            code = self._call["keep"](self._at, length)
        if code:
            raise CompileError(f"{length} tokens to keep", f"{self.length} were read", "keep 0 or more of them")

    def read(self, tokens: Sequence[int]) -> None:
        given = _numbers(tokens)
        if given.size and not (given.min() >= 0 and given.max() < self.words):
            wrong = next(token for token in given.tolist() if not 0 <= token < self.words)
            raise CompileError(
                f"token {wrong}", f"is not one of the {self.words} of the vocabulary", "is it this model's?"
            )
        with self._alone():
            held = int(self._call["length"](self._at))
            if held + given.size > self.context:
                what = f"{given.size} tokens behind {held} do not fit a context of {self.context}"
                raise CompileError("prompt", what, "choose a longer context, or give fewer")
            given = np.ascontiguousarray(given, np.int32)
            self._check("read", self._call["prompt"](self._at, given.ctypes.data, given.size))

    def scores(self) -> Array:
        """Of the token that follows."""
        if "scores" not in self._call:
            raise CompileError("scores", "are none that a greedy program has", "compile it without greedy")
        found = np.empty(self.words, np.float32)
        with self._alone():
            self._check("scores", self._call["scores"](self._at, found.ctypes.data))
        return found

    def sample(self, sampling: Sampling, seen: Sequence[int] = ()) -> None:
        """How tokens are chosen from now on."""
        fields = sampling.fixed
        settings = (INT * len(fields))(*fields)
        with self._alone():
            if self._call["sampling"](self._at, settings, sampling.seed):
                what = "needs scores, which a greedy program does not have"
                raise CompileError("sampling", what, "compile it without greedy")
            for token in seen:
                self._call["saw"](self._at, token)

    def choose(self) -> int:
        """The next token, which is not read yet."""
        with self._alone():
            token = int(self._call["choose"](self._at))
        if token < 0:
            self._check("choose", token)
        return token

    def save(self) -> bytes:
        """All that a context of the same model needs to go on."""
        with self._alone():
            state = ctypes.create_string_buffer(self._call["state_bytes"](self._at))
            self._check("save", self._call["save"](self._at, state, len(state)))
        return state.raw

    def restore(self, state: bytes) -> None:
        with self._alone():
            code = self._call["restore"](self._at, state, len(state))
        if code:
            what = "is of another model, context, kind of cache or version, or damaged"
            raise CompileError(f"state of {len(state)} bytes", what, "save it anew: read the text again")

    def close(self) -> None:
        """Give the memory back."""
        if not self._at:
            return
        with self._alone():
            self._end()
            self._at = 0
            del self._bytes
            self._memory.close()

    @contextlib.contextmanager
    def _alone(self) -> Any:
        """One thread at a time; what comes in between is a mistake of the caller's, not a race."""
        if not self._lock.acquire(blocking=False):
            raise CompileError("session", "is being used by another thread", "give each thread a session of its own")
        try:
            if not self._at:
                raise CompileError("session", "is closed", "open another one")
            yield
        finally:
            self._lock.release()

    def _check(self, what: str, code: int) -> None:
        if code == NOTHING:
            raise CompileError(what, "there is no token to continue from", "read one first")
        if code == FAILED and "gpu_error" in self._call:
            failure, _, hint = self._call["gpu_error"]().decode().partition("\n")
            raise CompileError(what, failure, hint)
        if code:
            _refuse(what, code)


def _numbers(tokens: Sequence[int]) -> Array:
    """Whole numbers, of numpy too, and nothing that would be rounded to some."""
    found = np.asarray(tokens)
    if isinstance(tokens, str | bytes) or found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        what = f"a list of whole numbers is expected, not {tokens!r:.40}"
        raise CompileError("tokens", what, "encode a text before: lm.tokenizer.encode(text)")
    return found.astype(np.int64)


def _end_context(loaded: LoadedModel, memory: mmap.mmap, context: int) -> None:
    """While its memory is still there: a GPU has more of it."""
    if "end" in loaded.functions:
        loaded.functions["end"](context)


def _refuse(what: str, code: int) -> NoReturn:
    raise InternalError(what, f"the library reports error {code}")


def _reserved(size: int) -> mmap.mmap:
    """Memory that is only addresses until it is written."""
    try:
        if not hasattr(mmap, "MAP_PRIVATE"):
            return mmap.mmap(-1, size)
        later = getattr(mmap, "MAP_NORESERVE", 0)
        return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | later)
    except (OSError, OverflowError, ValueError) as error:
        raise CompileError(
            "context",
            f"{size} bytes of memory are refused: {getattr(error, 'strerror', None) or error}",
            "choose a shorter --context",
        ) from None
