"""The pages of the frameworks: their code runs, and prints what stands under it. In a page `...` is any text."""

from __future__ import annotations

import contextlib
import io
import linecache
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

PAGES = {"pytorch": ["torch", "onnxscript"], "keras": ["tensorflow", "keras", "tf2onnx"], "jax": ["jax"]}
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)


INSTALLED = [name for name, packages in PAGES.items() if all(map(find_spec, packages))]
NONE = pytest.param("", marks=pytest.mark.skip(reason="could not import 'torch', 'tensorflow' or 'jax'"))


@pytest.mark.parametrize("name", INSTALLED or [NONE])
def test_the_code_of_a_page(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / f"{name}.md"
    text = page.read_text()
    linecache.cache[page.name] = (len(text), None, text.splitlines(keepends=True), page.name)
    scope: dict[str, object] = {"__name__": "page"}
    blocks = list(BLOCK.finditer(text))
    assert len(blocks) >= 2
    for block in blocks:
        printed = io.StringIO()
        before = "\n" * text[: block.start(1)].count("\n")  # so that errors have the page's lines
        with contextlib.redirect_stdout(printed):
            exec(compile(before + block[1], page.name, "exec"), scope)
        wanted = re.escape(block[2] or "").replace(r"\.\.\.", "[^\n]*")
        assert re.fullmatch(wanted, printed.getvalue()), printed.getvalue()


def test_pages_name_what_to_install() -> None:
    for name, extra in (("pytorch", "torch"), ("keras", "tensorflow"), ("jax", "jax")):
        assert f"pip install 'tilewright[{extra}]'" in (ROOT / "docs" / f"{name}.md").read_text()
