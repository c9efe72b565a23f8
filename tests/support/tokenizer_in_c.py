"""A tokenizer's C, compiled for this machine and called from Python."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

from tilewright.language.text.tokenizer import Tokenizer
from tilewright.language.text.tokenizer_tables import tokenizer_files
from tilewright.toolchain.compiler import STRICT, compile_objects, find_compiler, link_without_runtime

FLAGS = (*STRICT, "-O2", "-fPIC", "-g0")


def library(texts: dict[str, str], folder: Path) -> ctypes.CDLL:
    """A shared library of C files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="ascii")
    sources = [folder / name for name in texts if name.endswith(".c")]
    compiler = find_compiler()
    objects = compile_objects(dict.fromkeys(sources, FLAGS), folder, compiler)
    link_without_runtime(objects, [], folder / "made.so", compiler, ["-shared", "-O2"])
    return ctypes.CDLL(str(folder / "made.so"))


class Stream(ctypes.Structure):
    _fields_ = [("tokens", ctypes.c_int32), ("spaces", ctypes.c_int32), ("began", ctypes.c_int32)]


class InC:
    def __init__(self, tokenizer: Tokenizer, folder: Path) -> None:
        made = library(tokenizer_files(tokenizer, "made"), folder)
        self.library, self.table = made, ctypes.c_void_p(ctypes.addressof(ctypes.c_int.in_dll(made, "made_tokenizer")))
        made.tw_tokenizer_scratch_words.restype = made.tw_tokenizer_invalid_byte.restype = ctypes.c_size_t

    def encode(
        self, text: bytes, special: bool = True, most: int | None = None, scratch: int | None = None
    ) -> list[int]:
        count, tokens = self.try_encode(text, special, most, scratch)
        assert count >= 0, count
        return tokens

    def scratch_words(self, length: int) -> int:
        return int(self.library.tw_tokenizer_scratch_words(self.table, ctypes.c_size_t(length)))

    def try_encode(
        self, text: bytes, special: bool = True, most: int | None = None, scratch: int | None = None
    ) -> tuple[int, list[int]]:
        """What C gives back and the tokens; nothing beyond the memory that it was given may change."""
        room = 3 * len(text) + 16 if most is None else most
        words = self.scratch_words(len(text)) if scratch is None else scratch
        tokens, memory = (ctypes.c_int32 * (room + 1))(), (ctypes.c_uint32 * (words + 1))()
        tokens[room], memory[words] = 12345, 54321
        count = self.library.tw_tokenizer_encode(
            self.table, text, ctypes.c_size_t(len(text)), int(special), tokens, room, memory, ctypes.c_size_t(words)
        )
        assert (tokens[room], memory[words]) == (12345, 54321)
        return count, list(tokens[: max(count, 0)])

    def decode(self, tokens: Sequence[int]) -> bytes:
        """All pieces, one by one."""
        stream, out, text = Stream(), ctypes.create_string_buffer(600), b""
        for token in tokens:
            count = self.library.tw_tokenizer_decode(self.table, ctypes.byref(stream), token, out, len(out))
            assert count >= 0
            text += out.raw[:count]
        return text

    def invalid_byte(self, text: bytes) -> int:
        return int(self.library.tw_tokenizer_invalid_byte(text, ctypes.c_size_t(len(text))))
