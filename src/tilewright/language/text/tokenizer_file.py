"""A tokenizer from whatever file holds it."""

from __future__ import annotations

from pathlib import Path

from tilewright.errors import CompileError
from tilewright.frontends.checkpoint.gguf import SUFFIX
from tilewright.language.text import tokenizer_bin, tokenizer_gguf, tokenizer_json
from tilewright.language.text.tokenizer import Tokenizer

NAMES = ("tokenizer.json", "tokenizer.bin")


def load_tokenizer(path: Path) -> Tokenizer:
    """Of a file `tokenizer.json`, llama2.c's `tokenizer.bin` or a GGUF file, or of a folder with one of these two."""
    if path.is_dir():
        names = [name for name in NAMES if (path / name).is_file()]
        if not names:
            raise CompileError(str(path), f"has no {' or '.join(NAMES)}", "name the tokenizer's file")
        path = path / names[0]
    if path.suffix.lower() == SUFFIX:
        return tokenizer_gguf.read(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CompileError(str(path), f"cannot be read: {error.strerror}", "name a tokenizer's file") from None
    reader = tokenizer_bin.read if path.suffix == ".bin" else tokenizer_json.read
    return reader(data, str(path))
