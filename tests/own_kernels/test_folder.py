"""Everything that may be wrong with a folder of kernels is one clear error."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.own_kernels.folders import RELU, changed
from tilewright import targets
from tilewright.errors import CompileError
from tilewright.own_kernels.attach import with_own_kernels
from tilewright.own_kernels.declaration import Library
from tilewright.own_kernels.folder import read_folder
from tilewright.own_kernels.library import LibraryFiles

pytestmark = pytest.mark.fast
SIGNATURE = '"X:int8 -> Y:int8", {}'


def complaint(*folders: str, target: str = "generic") -> str:
    with pytest.raises(CompileError) as error:
        with_own_kernels(targets.find(target), folders)
    return str(error.value)


def test_kernels_are_preferred_to_the_targets_own() -> None:
    found = with_own_kernels(targets.find("generic"), [str(RELU)])
    assert [engine.name for engine in found.engines] == ["own_relu", "cpu"]
    assert found.kernel_file("relu_words.c") == RELU / "relu_words.c"


def test_what_is_no_folder(tmp_path: Path) -> None:
    assert "missing: is not a folder" in complaint(str(tmp_path / "missing"))
    assert f"--kernels {tmp_path}: has no kernels.py\n  hint: docs/own_kernels.md" in complaint(str(tmp_path))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("import Relu", "import (Relu", r"kernels.py:8: is not valid Python: '\(' was never closed"),
        ("ops.relu import Relu", "ops.rely import Relu", "kernels.py:8: ModuleNotFoundError: .*tilewright.ops.rely"),
        ("KERNELS = OwnKernels(", "OTHER = OwnKernels(", "does not define KERNELS\n  hint: KERNELS = OwnKernels"),
        ("Kernel(Relu,", 'Kernel("Relu",', "'Relu' is not an operator\n  hint: the class itself"),
        ('"relu_words.c"', '"relu_word.c"', "is not in the folder\n  hint: is 'relu_words.c' meant?"),
        (SIGNATURE, '"X:int8 Y:int8", {}', "does not say which arguments are results\n  hint: .*'X:int8 -> Y:int8'"),
        (SIGNATURE, '"A:int8 -> Y:int8", {}', "A is not an operand of Relu\n  hint: its operands: X"),
        (SIGNATURE, '"X:int8 -> Z:int8", {}', "Z is not a result of Relu\n  hint: its results: Y"),
        (SIGNATURE, '"X:int9 -> Y:int8", {}', "X: int9 is not an element type"),
        (SIGNATURE, '"X -> Y:int8", {}', "does not say which element types X has"),
        (SIGNATURE, '"-> Y:int8", {}', "has no X, which every Relu has"),
        ('header="unary.h")]', 'header="unary.h")], layout="nhwc"', "layout 'nhwc' is unknown"),
        ('header="unary.h")]', 'header="unary.h")], name="a-b"', "the name 'a-b' is not a C name"),
        ('header="unary.h")]', 'header="unary.h")], name="cpu"', "the name 'cpu' is also that of target generic"),
        ("OwnKernels([Kernel", "OwnKernels([3, Kernel", "kernel 0: is a int"),
    ],
)  # fmt: skip
def test_declarations(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(CompileError, match=said):
        with_own_kernels(targets.find("generic"), [changed(tmp_path, "kernels.py", (old, new))])


def test_names_that_clash(tmp_path: Path) -> None:
    folder = changed(tmp_path, "kernels.py", ("relu_words.c", "relu.c"))
    shutil.copy(RELU / "relu_words.c", Path(folder) / "relu.c")
    assert "relu.c: target generic has a file of this name too\n  hint: rename it" in complaint(folder)
    other = changed(tmp_path / "other", "kernels.py", ("[Kernel", "name='other', kernels=[Kernel"))
    assert f"relu_words.c: {RELU} has a file of this name too" in complaint(str(RELU), other)


def test_a_cluster_is_refused() -> None:
    assert "target siracusa: chooses kernels by measured cycles" in complaint(str(RELU), target="siracusa")


def test_parameters(tmp_path: Path) -> None:
    assert "has no parameter 'path'" in complaint(f"{RELU}:path=/somewhere")
    kernel = "Kernel(Relu, 'relu_words.c', 'X:int8 -> Y:int8', {})"
    declared = f"def kernels(path, size='4'):\n    return OwnKernels([{kernel}], name=f'own_{{size}}')\n#"
    folder = changed(tmp_path, "kernels.py", ("KERNELS = ", declared))
    assert f"needs path\n  hint: --kernels {folder}:path=..." in complaint(folder)
    assert "has no parameter 'width'\n  hint: it has path, size" in complaint(f"{folder}:path=/a,width=3")
    assert "'size=' is not NAME=VALUE" in complaint(f"{folder}:path=/a,size=")
    assert read_folder(f"{folder}:path=/a/b:c,size=8").own.name == "own_8"


def test_a_library_that_is_not_there(tmp_path: Path) -> None:
    new = ('header="unary.h")]', f'header="unary.h")], library=Library("{tmp_path}/no")')
    folder = changed(tmp_path, "kernels.py", new, ("import Kernel,", "import Kernel, Library,"))
    assert f"the library's path {tmp_path}/no is not a folder" in complaint(folder)


def test_what_is_needed_of_a_library(tmp_path: Path) -> None:
    """The sources that define what is called, directly or through others, and no others; headers; the licence."""
    files = {
        "include/lib.h": "int twice(int x);\nint other(int x);\n#include <lib_types.h>\n",
        "include/lib_types.h": "static inline int half(int x) { return rest(x); }\n",
        "src/twice.c": '#include "lib.h"\n#include "local.h"\nint\ntwice(int x) { /* other(x) */ return TABLE[x]; }\n',
        "src/local.h": "extern const int TABLE[2];\n",
        "src/table.c": "const int TABLE[2] = {0, 2};\n",
        "src/rest.c": "int rest(int x) { return x % 2; }\n",
        "src/other.c": "int other(int x) { return x; }\n",
        "LICENSE": "free",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    library = LibraryFiles(Library(tmp_path, ("src/*.c",), ("include",)))
    assert set(library.needed(["#include <lib.h>\nint f(void) { return twice(1); }"])) == files.keys() - {"src/other.c"}
