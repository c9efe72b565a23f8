"""The size of a parameter struct as it is read from the header is what the compiler says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tilewright as tw
from tests.support.models import residual
from tilewright import targets
from tilewright.errors import CompileError, InternalError
from tilewright.target.struct_size import struct_bytes
from tilewright.toolchain.compiler import find_compiler

SIRACUSA = targets.find("siracusa")
MACHINE = ("-target", "riscv32-freestanding", "-mcpu=generic_rv32+m+c+f", "-std=c99", "-Wall", "-Wextra", "-Werror")
STRUCTS = sorted({(k.params_header, k.params_type) for engine in SIRACUSA.engines for k in engine.kernels})


def read(name: str) -> str:
    return SIRACUSA.kernel_file(name).read_text()


def compiles(claims: dict[tuple[str, str], int], folder: Path) -> None:
    """An array of -1 elements is an error for each struct that has another size than claimed."""
    lines = [f'#include "{header}"' for header in sorted({header for header, _ in claims})]
    lines += [f"extern char size_of_{name}[sizeof({name}) == {size} ? 1 : -1];" for (_, name), size in claims.items()]
    source = folder / "sizes.c"
    source.write_text("\n".join(lines) + "\n")
    headers = [f"-I{place / 'kernels'}" for place in SIRACUSA.folders]
    find_compiler().run([*MACHINE, *headers, "-c", str(source), "-o", str(folder / "sizes.o")], folder)


def test_sizes_are_the_compilers(tmp_path: Path) -> None:
    assert len(STRUCTS) > 30
    compiles({struct: struct_bytes(read, *struct) for struct in STRUCTS}, tmp_path)


def test_a_wrong_size_would_be_noticed(tmp_path: Path) -> None:
    header, name = STRUCTS[0]
    with pytest.raises(CompileError, match=name):
        compiles({(header, name): struct_bytes(read, header, name) + 4}, tmp_path)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("typedef struct { int8_t a; int32_t b; } t;", 8),
        ("typedef struct { int32_t a; int8_t b; } t;", 8),
        ("typedef struct { int8_t a, b, c[3]; } t;", 5),
        ("#define N 3\ntypedef struct { int16_t a[N][2]; } t;", 12),
        ("typedef struct { int8_t a; int64_t b; } t;", 16),
        ("typedef struct { const int32_t *p, *q; int8_t a; } t;", 12),
        ("typedef struct { int8_t a; } u;\ntypedef u t; /* typedef struct { int64_t z; } t; */", 1),
        ("typedef struct { int8_t a; int16_t b; } u;\ntypedef struct { int8_t c; u d[2]; } t;", 10),
    ],
)
def test_layouts(text: str, size: int) -> None:
    assert struct_bytes(lambda name: text, "t.h", "t") == size


def test_an_unknown_type_is_an_error() -> None:
    with pytest.raises(InternalError, match="is not defined in the kernel's headers"):
        struct_bytes(lambda name: "typedef struct { strange a; } t;", "t.h", "t")


@pytest.mark.in_turns(6)
def test_generated_code_asserts_what_the_planner_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every parameter table; and where the planner counts wrong, the network does not build."""
    program = tw.compile(residual(), target="siracusa")
    source = program.files["network.c"]
    tables = re.findall(r"^static const (\w+) layer_\d+_params", source, re.MULTILINE)
    asserted = dict(re.findall(r"^TW_ASSERT_SIZE\((\w+), (\d+)\);$", source, re.MULTILINE))
    assert tables
    assert set(tables) == set(asserted)
    counted = {name: struct_bytes(read, header, name) for header, name in STRUCTS}
    assert all(int(size) == counted[name] for name, size in asserted.items())
    for reader in ("target.mapping", "planner.check.buffers"):
        monkeypatch.setattr(f"tilewright.{reader}.struct_bytes", lambda *arguments: struct_bytes(*arguments) + 4)
    with pytest.raises(CompileError, match="tw_size_of_"):
        tw.compile(residual(), target="siracusa").check()
