"""Compiles a program in OpenCL C for `opencl_items.c`: python opencl_items.py TEXT LIBRARY"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tilewright.targets.gpu import plain
from tilewright.toolchain.compiler import find_cross_compiler
from tilewright.toolchain.opencl_c.text import FUNCTIONS

DECLARED = Path(plain.__file__).parent / "opencl" / "declared.h"
OPERANDS = dict.fromkeys(("copysign", "fmax", "fmin", "fmod", "pow"), "xy") | {"fma": "xyz"}
OPTIONS = (
    "-x", "cl", "-cl-std=CL1.2", "-cl-no-stdinc", "-target", "x86_64-linux-gnu", "-O1", "-fPIC", "-w", "-Xclang",
    "-fdeclare-opencl-builtins",
)  # fmt: skip


def function(name: str, kind: str, ending: str) -> str:
    """One of C's library with its name of OpenCL C."""
    letters = OPERANDS.get(name, "x")
    given, used = ", ".join(f"{kind} {letter}" for letter in letters), ", ".join(letters)
    return f"""\
extern {kind} c_{name}{ending}({given}) __asm__("{name}{ending}");
static {kind} __attribute__((overloadable)) {name}({given}) {{ return c_{name}{ending}({used}); }}
"""


def questions(kind: str) -> str:
    return f"""static int __attribute__((overloadable)) isnan({kind} x) {{ return x != x; }}
static int __attribute__((overloadable)) isinf({kind} x) {{ return x == x && x - x != x - x; }}
"""


def call(text: str) -> str:
    """The entry as a function of addresses of its arguments."""
    entry = re.search(r"void tw_kernel\(const (\w+) params, (.*)\) \{", text)
    assert entry
    arguments = [f"*(__global const {entry[1]} *)a[0]"]
    for number, one in enumerate(entry[2].split(", "), 1):
        kind = one[: one.rindex(" ") + 1]
        pointer = f"({kind}*)*(__global const ulong *)a[{number}]"
        arguments.append(pointer if "*" in one else f"*(__global {kind}*)a[{number}]")
    return f"void tw_call(__global const ulong *a) {{ tw_kernel({', '.join(arguments)}); }}\n"


def main(source: Path, library: Path) -> None:
    zig, made = find_cross_compiler().command[0], source.with_suffix(".o")
    text = source.read_text()
    kinds = (("float", "f"), ("double", ""))
    named = "".join(function(name, *kind) for name in FUNCTIONS for kind in kinds)
    asked = "".join(questions(kind) for kind, _ in kinds)
    source.write_text(f"{DECLARED.read_text()}{named}{asked}{text}{call(text)}")
    subprocess.run([zig, "clang", *OPTIONS, "-c", str(source), "-o", str(made)], check=True)
    subprocess.run([zig, "ld.lld", "-shared", str(made), "-o", str(library)], check=True)
    made.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
