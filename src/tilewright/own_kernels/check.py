"""What may be wrong with a declaration of kernels, before anything uses it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

from tilewright.errors import CompileError, raise_all
from tilewright.ir.op import Op
from tilewright.ir.types import BYTES
from tilewright.own_kernels.declaration import Library, OwnKernels
from tilewright.target.kernel import Argument, Kernel

LAYOUTS = ("", "channels_last", "channels_second")


def check_declaration(own: OwnKernels, where: str, files: Mapping[str, Path]) -> None:
    """All that is wrong at once; `files` are the sources and headers of the folder."""
    errors = [] if re.fullmatch(r"[A-Za-z]\w*", own.name) else [
        CompileError(where, f"the name '{own.name}' is not a C name", 'name="letters_and_digits"')
    ]  # fmt: skip
    if own.layout not in LAYOUTS:
        errors.append(CompileError(where, f"layout '{own.layout}' is unknown", "channels_last or channels_second"))
    if not own.kernels:
        errors.append(CompileError(where, "declares no kernel", "OwnKernels([Kernel(...)])"))
    if own.library is not None:
        errors += _of_library(own.library, where)
    for position, kernel in enumerate(own.kernels):
        if not isinstance(kernel, Kernel):
            errors.append(CompileError(f"{where}, kernel {position}", f"is a {type(kernel).__name__}", "Kernel(...)"))
            continue
        errors += _of_kernel(kernel, where, files)
    raise_all(errors)


def _of_library(library: Library, where: str) -> list[CompileError]:
    path = Path(library.path)
    if not path.is_dir():
        return [CompileError(where, f"the library's path {path} is not a folder", "give the folder of the library")]
    return [
        CompileError(where, f"the library at {path} has no folder {name}", "is that the library?")
        for name in library.includes
        if not (path / name).is_dir()
    ]


def _of_kernel(kernel: Kernel, where: str, files: Mapping[str, Path]) -> list[CompileError]:
    place = f"{where}, {kernel.source}"
    if not isinstance(kernel.op, type) or not issubclass(kernel.op, Op):
        hint = "the class itself, for example: from tilewright.ops.conv import Conv"
        return [CompileError(place, f"{kernel.op!r} is not an operator", hint)]
    if not kernel.source.endswith(".c") or kernel.source not in files:
        close = get_close_matches(kernel.source, files, 1)
        hint = f"is '{close[0]}' meant?" if close else "sources lie beside kernels.py, and end in .c"
        return [CompileError(place, "is not in the folder", hint)]
    return _of_signature(kernel, place)


def _of_signature(kernel: Kernel, place: str) -> list[CompileError]:
    place = f"{place}, '{kernel.signature}'"
    operands, results = [name.rstrip("?*") for name in kernel.op.operands], list(kernel.op.results)
    example = f"'{' '.join(f'{name}:int8' for name in operands)} -> {' '.join(f'{name}:int8' for name in results)}'"
    if kernel.signature.count("->") != 1:
        return [CompileError(place, "does not say which arguments are results", f"for example {example}")]
    arguments = kernel.arguments()
    errors = [error for argument in arguments for error in _of_argument(kernel, argument, place)]
    named = {argument.stem for argument in arguments}
    needed = [name.rstrip("*") for name in kernel.op.operands if not name.endswith("?")]
    for name in [*needed, *results[:1]]:
        if name not in named:
            hint = f"operands: {', '.join(operands)}; results: {', '.join(results)}"
            errors.append(CompileError(place, f"has no {name}, which every {kernel.op.__name__} has", hint))
    return errors


def _of_argument(kernel: Kernel, argument: Argument, place: str) -> list[CompileError]:
    known = [name.rstrip("?*") for name in (kernel.op.results if argument.is_result else kernel.op.operands)]
    kind = "result" if argument.is_result else "operand"
    if argument.stem not in known:
        what = f"{argument.stem} is not {'an' if kind == 'operand' else 'a'} {kind} of {kernel.op.__name__}"
        return [CompileError(place, what, f"its {kind}s: {', '.join(known)}")]
    allowed = kernel.allowed(argument)
    if not allowed:
        hint = f"write {argument.stem}:int8, or give the types in `dtypes`"
        return [CompileError(place, f"does not say which element types {argument.stem} has", hint)]
    unknown = sorted(dtype for dtype in allowed if dtype not in BYTES)
    if unknown:
        return [
            CompileError(place, f"{argument.stem}: {unknown[0]} is not an element type", f"known: {', '.join(BYTES)}")
        ]
    return []
