"""Networks with kernels from outside the package: right results, reasons, and errors that name the folder."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.own_kernels.folders import CMSIS, CMSIS_NN, RELU, changed
from tests.support.networks import models
from tilewright.analysis.explain import explain
from tilewright.errors import CompileError
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType
from tilewright.ops.add import Add
from tilewright.ops.relu import Relu
from tilewright.pipeline import Compiled, stages
from tilewright.program import Program, compile_model
from tilewright.target.settings import Settings

needs_cmsis = pytest.mark.skipif(not CMSIS_NN.is_dir(), reason=f"no CMSIS-NN at {CMSIS_NN}")


def relus() -> Graph:
    """One that is a multiple of four elements, and one that is not."""
    builder = Builder("relus")
    x, y = (builder.input(name, TensorType("int32", (size,))) for name, size in (("x", 4), ("y", 6)))
    for name, tensor in (("x", x), ("y", y)):
        narrow = builder.input(f"{name}8", TensorType("int8", builder.types[tensor].shape))
        builder.output(builder.add(Relu(), [narrow], name=f"relu_{name}")[0])
        builder.output(builder.add(Add(), [tensor, tensor], name=f"add_{name}")[0])
    return builder.build()


def program(folder: object, target: str = "generic") -> Program:
    settings = Settings(kernels=(str(folder),))
    return Program(Compiled(*stages(relus(), target, "net", settings)), "net", None, 0.0)


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("target", ["generic", "rv32", "cortex-m0plus"])
def test_results_are_right(target: str) -> None:
    made = program(RELU, target)
    engines = {call.node.name: call.engine for call in made.compiled.schedule.layers}
    assert engines == {"relu_x": "own_relu", "add_x": "cpu", "relu_y": "cpu", "add_y": "cpu"}
    check = made.check({"x": [1] * 4, "y": [1] * 6, "x8": [-128, -1, 0, 127], "y8": [-3, 3] * 3})
    assert check.agrees
    assert check.result[0].tolist() == [0, 0, 0, 127]


def test_reasons() -> None:
    compiled = program(RELU).compiled
    found = {one.node: one for one in explain(compiled.mapped, compiled.schedule)}
    refusals = {node: one.candidates[0].refusal for node, one in found.items()}
    assert refusals == {
        "relu_x": "", "add_x": "it has no kernel for Add", "relu_y": "its 6 elements are no multiple of 4",
        "add_y": "it has no kernel for Add",
    }  # fmt: skip


def test_wrong_results_are_found(tmp_path: Path) -> None:
    folder = changed(tmp_path, "relu_words.c", (">> 7", ">> 6"))
    first = program(folder).check(per_layer=True).first_difference
    assert first is not None
    assert "relu_x" in first.name


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("uint32_t word, negative;", "uint32_t word negative;", r"relu_words.c: does not compile\n.*relu_words.c:6:"),
        ("const int8_t *x", "const int16_t *x", "does not compile\n.*conflicting types"),
        ("memcpy(y + i, &word, 4);", "store(y + i, word);", r"relu_words.c: does not compile\n.*store"),
    ],
)  # fmt: skip
def test_c_that_does_not_compile(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(CompileError, match=said):
        program(changed(tmp_path, "relu_words.c", (old, new))).check()


def test_python_that_fails(tmp_path: Path) -> None:
    folder = changed(tmp_path, "kernels.py", ('types["X"].elements', 'types["Z"].elements'))
    with pytest.raises(CompileError, match=r"kernels.py:16, odd\(\): KeyError: 'Z'"):
        program(folder)


def test_a_function_that_is_missing(tmp_path: Path) -> None:
    folder = changed(
        tmp_path, "relu_words.c", ("memcpy(y + i, &word, 4);", "store(y + i, word);"),
        ("#include <string.h>", "#include <string.h>\nvoid store(int8_t *y, uint32_t word);"),
    )  # fmt: skip
    with pytest.raises(CompileError, match=r"cannot be built\n(.*\n)*.*store"):
        program(folder, "rv32").check()


@pytest.mark.in_turns(3)
def test_a_kernel_that_crashes(tmp_path: Path) -> None:
    folder = changed(tmp_path, "relu_words.c", ("  for (", "  ((volatile char *)y)[1 << 30] = 1;\n  for ("))
    with pytest.raises(CompileError, match=f"kernels of {folder} are part of the program"):
        program(folder, "rv32").check()


@pytest.mark.in_turns(6)
def test_the_folder_is_complete(tmp_path: Path) -> None:
    """CMake finds the library that a kernel calls in the folder."""
    library = tmp_path / "library"
    (library / "include").mkdir(parents=True)
    (library / "include" / "mask.h").write_text("unsigned mask(unsigned word);\n")
    (library / "mask.c").write_text('#include "mask.h"\nunsigned mask(unsigned word) { return word & MASK; }\n')
    (library / "LICENSE").write_text("free\n")
    folder = changed(
        tmp_path, "kernels.py", ("import Kernel,", "import Kernel, Library,"),
        ('header="unary.h")]', 'header="unary.h")], flags=("-DMASK=0x01010101u",), '
         f'library=Library("{library}", includes=("include",))'),
    )  # fmt: skip
    copy = Path(folder) / "relu_words.c"
    text = copy.read_text().replace("(word >> 7) & 0x01010101u", "mask(word >> 7)")
    copy.write_text(text.replace("#include <string.h>", "#include <mask.h>\n#include <string.h>"))
    made = program(folder)
    assert made.check().agrees
    files = made.save(tmp_path / "c")
    assert {f"kernels/own_relu/{name}" for name in ("include/mask.h", "mask.c", "LICENSE")} <= set(files)
    words = ["cmake", "-S", str(tmp_path / "c"), "-B", str(tmp_path / "build")]
    subprocess.run(words, check=True, capture_output=True)
    subprocess.run(["cmake", "--build", str(tmp_path / "build")], check=True, capture_output=True)


@pytest.mark.in_turns(8)
@needs_cmsis
def test_cmsis_nn() -> None:
    """All but the softmax, to the bit."""
    (model,) = models("mlperf_tiny/kws_ref_model.tflite")
    made = compile_model(model, target="cortex-m4", kernels=[f"{CMSIS}:path={CMSIS_NN}"])
    others = [call.node.op.kind for call in made.compiled.schedule.layers if call.engine != "cmsis_nn"]
    assert others == ["TfliteSoftmax"]
    stored = np.load(model.with_suffix(".npz"))
    assert made.check([stored["in_0"]], [stored["tflm_0"]]).agrees
