"""Tilewright, by its session of tokens."""

from __future__ import annotations

import asked

import tilewright as tw
from tilewright.target.settings import Settings


class Model:
    def __init__(self, path: str, threads: int, context: int) -> None:
        model = tw.LanguageModel.load(path)
        model.compile(target="cpu", context=context, settings=Settings(threads=threads))
        self.session = model.session()

    def read(self, tokens: list[int]) -> None:
        self.session.read(tokens)

    def next(self) -> int:
        token = self.session.choose()
        self.session.read([token])
        return token

    def rewind(self, length: int) -> None:
        self.session.keep(length)

    def scores(self) -> list[float]:
        return self.session.scores().tolist()


asked.serve(lambda given: Model(given["model"], given["threads"], given["context"]))
