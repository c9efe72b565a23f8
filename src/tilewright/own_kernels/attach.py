"""A target with kernels of the user's own before its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tilewright.errors import CompileError
from tilewright.own_kernels.folder import KernelFolder, read_folder
from tilewright.own_kernels.library import LibraryFiles
from tilewright.passes import Pass
from tilewright.passes.layout.channels_last import CHANNELS_LAST
from tilewright.passes.layout.channels_second import CHANNELS_SECOND
from tilewright.target.settings import Settings, check_options
from tilewright.target.target import Engine, ExternalKernels, Target

LAYOUTS = {"channels_last": CHANNELS_LAST, "channels_second": CHANNELS_SECOND}


def with_own_kernels(target: Target, folders: Sequence[str]) -> Target:
    """The target with an engine for the kernels of each folder; the first folder's are preferred."""
    if not folders:
        return target
    check_options(target, Settings(kernels=tuple(folders)))
    found = [read_folder(words) for words in folders]
    _check_names(target, found)
    return replace(
        target, engines=(*(_engine(target, one) for one in found), *target.engines), passes=_passes(target, found),
        external_kernels=(*target.external_kernels, *map(_external, found)),
    )  # fmt: skip


def _check_names(target: Target, found: Sequence[KernelFolder]) -> None:
    """No two engines and no two files have a name in common."""
    engines = {engine.name: f"target {target.name}" for engine in target.engines}
    files: dict[str, str] = {}
    for one in found:
        where = f"--kernels {one.folder}"
        if one.own.name in engines:
            hint = "give one of them another name: OwnKernels(..., name=...)"
            raise CompileError(where, f"the name '{one.own.name}' is also that of {engines[one.own.name]}", hint)
        engines[one.own.name] = str(one.folder)
        for name in one.files:
            if name in files or target.kernel_file(name).is_file():
                whose = files.get(name, f"target {target.name}")
                raise CompileError(f"{where}/{name}", f"{whose} has a file of this name too", "rename it")
            files[name] = str(one.folder)


def _engine(target: Target, found: KernelFolder) -> Engine:
    own = found.own
    peak = target.engines[0].peak if own.every_product else None
    return Engine(own.name, tuple(own.kernels), forms=own.forms, peak=peak)


def _passes(target: Target, found: Sequence[KernelFolder]) -> tuple[Pass, ...]:
    """With the layout that the first folder asks for, which the target's own kernels take as well."""
    wanted = next((LAYOUTS[one.own.layout] for one in found if one.own.layout), None)
    if wanted is None:
        return target.passes
    layouts = {one.name for one in LAYOUTS.values()}
    return (wanted, *(one for one in target.passes if one.name not in layouts))


def _external(found: KernelFolder) -> ExternalKernels:
    own = found.own
    includes = tuple(own.library.includes) if own.library else ()
    reasons = {op.__name__: reason for op, reason in own.refused.items()}
    return ExternalKernels(own.name, found.folder, found.files, own.flags, includes, _needed(found), reasons)


def _needed(found: KernelFolder) -> Callable[[Iterable[str]], Mapping[str, Path]]:
    """What kernels of the folder need of its library; headers of the folder may call it too."""
    if found.own.library is None:
        return lambda sources: {}
    library = LibraryFiles(found.own.library)
    headers = [path.read_text(encoding="utf-8") for name, path in found.files.items() if name.endswith(".h")]
    return lambda sources: library.needed(
        [*headers, *(found.files[name].read_text(encoding="utf-8") for name in sources)]
    )
