"""The files of a network as text; what is long is written only when somebody reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

Text = str | Callable[[], str]


class Texts(Mapping[str, str]):
    """Relative path -> text, in the order of the paths."""

    def __init__(self, texts: Mapping[str, Text]) -> None:
        self._texts = dict(sorted(texts.items()))

    def __getitem__(self, name: str) -> str:
        text = self._texts[name]
        if not isinstance(text, str):
            text = self._texts[name] = text()
        return text

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def __repr__(self) -> str:
        return repr(dict(self))
