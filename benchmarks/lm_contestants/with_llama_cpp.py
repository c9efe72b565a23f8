"""llama.cpp, by the functions of its library."""

from __future__ import annotations

import ctypes

import asked
import llama_cpp.llama_cpp as llama
import numpy as np

BATCH = 512


class Model:
    def __init__(self, path: str, threads: int, context: int) -> None:
        llama.llama_backend_init()
        self.silent = llama.llama_log_callback(lambda level, text, data: None)
        llama.llama_log_set(self.silent, None)
        settings = llama.llama_model_default_params()
        self.model = llama.llama_model_load_from_file(path.encode(), settings)
        if not self.model:
            raise SystemExit(f"llama.cpp cannot read {path}")
        wanted = llama.llama_context_default_params()
        wanted.n_ctx, wanted.n_batch, wanted.n_ubatch = context, BATCH, BATCH
        wanted.n_threads = wanted.n_threads_batch = threads
        self.context = llama.llama_init_from_model(self.model, wanted)
        self.words = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(self.model))

    def read(self, tokens: list[int]) -> None:
        for start in range(0, len(tokens), BATCH):
            part = tokens[start : start + BATCH]
            array = (llama.llama_token * len(part))(*part)
            if llama.llama_decode(self.context, llama.llama_batch_get_one(array, len(part))):
                raise SystemExit("llama.cpp cannot read the tokens")
        llama.llama_synchronize(self.context)

    def _logits(self) -> np.ndarray:
        pointer = llama.llama_get_logits_ith(self.context, -1)
        return np.ctypeslib.as_array(ctypes.cast(pointer, ctypes.POINTER(ctypes.c_float)), (self.words,))

    def next(self) -> int:
        token = int(self._logits().argmax())
        self.read([token])
        return token

    def rewind(self, length: int) -> None:
        llama.llama_memory_seq_rm(llama.llama_get_memory(self.context), 0, length, -1)

    def scores(self) -> list[float]:
        return self._logits().tolist()


asked.serve(lambda given: Model(given["model"], given["threads"], given["context"]))
