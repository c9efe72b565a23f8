"""Whatever a language model's methods are called with: one clear error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support import talkers
from tilewright.errors import CompileError
from tilewright.language.arguments import tokens_of, whole
from tilewright.language.model import LanguageModel

SIZES = {"context": 40, "block": 4}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    folder = talkers.save(tmp_path_factory.mktemp("models") / "fox")
    return LanguageModel.load(folder).compile(**SIZES)  # type: ignore[arg-type]


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("given", [None, 3, b"x", [], 1.5, "a\0b"])
def test_no_path(given: object, model: LanguageModel, tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="model "):
        LanguageModel.load(given)  # type: ignore[arg-type]
    with pytest.raises(CompileError, match="folder "):
        model.save(given)  # type: ignore[arg-type]
    if given is not None:
        with pytest.raises(CompileError, match="tokenizer "):
            LanguageModel.load(model.path, given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"context": "a"}, "context 'a': is of type str\n  hint: give a whole number"),
        ({"context": 1.5}, "context 1.5: is of type float"),
        ({"context": True}, "context True: is of type bool"),
        ({"block": "a"}, "block 'a': is of type str"),
        ({"weight_bits": "a"}, "weight_bits 'a': is of type str"),
        ({"quantise": 3}, "quantise 3: is of type int\n  hint: give a path"),
        ({"quantise": "a\0b"}, "holds a character that no path has"),
        ({"settings": {}}, "settings {}: is of type dict"),
        ({"name": 3}, "name 3: is of type int"),
        ({"cc": 3}, "cc 3: is of type int"),
        ({"progress": 3}, "progress 3: is of type int\n  hint: give a function"),
    ],
)
def test_no_option_of_compile(model: LanguageModel, options: dict[str, object], what: str) -> None:
    with pytest.raises(CompileError) as found:
        LanguageModel.load(model.path).compile(**{**SIZES, **options})  # type: ignore[arg-type]
    assert what in str(found.value)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"prompt": None}, "prompt None: is of type NoneType\n  hint: give a text"),
        ({"prompt": ["a" * 99]}, "is of type list"),
        ({"tokens": None}, "tokens None: is of type NoneType"),
        ({"tokens": 3 * 10**9}, "choose 0 to 2147483647"),
        ({"top_k": 2**40}, "must be from 0 to 2147483647"),
        ({"seed": "x"}, "must be from 0 to 18446744073709551615"),
        ({"stop": "no"}, "stop 'no': is of type str\n  hint: give True or False"),
    ],
)
def test_no_option_of_generate(model: LanguageModel, options: dict[str, object], what: str) -> None:
    with pytest.raises(CompileError) as found:
        model.generate(**{"prompt": "A fox", **options})  # type: ignore[arg-type]
    assert what in str(found.value)


def test_numbers_of_numpy_are_numbers() -> None:
    assert whole(np.int64(3), "context") == 3
    assert tokens_of(np.uint8(7)) == 7
