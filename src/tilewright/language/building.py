"""From a model's C to a shared library for this machine, and the file of its weights; and what is said of them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tilewright.codegen import gpu_files
from tilewright.codegen.kernels import PREFIX_FILE
from tilewright.language.folder import FOLDER, ModelC
from tilewright.language.generation import Weights
from tilewright.language.library import library_in
from tilewright.language.memory_use import rows_twice, used_bytes, weight_bytes
from tilewright.language.summary import Summary
from tilewright.run.host import LOADABLE, check_machine, processor_of
from tilewright.run.library import SMALL
from tilewright.target.processors import processor_flags
from tilewright.target.runner import host_process
from tilewright.toolchain.compiler import STRICT, compile_objects, find_compiler, link_without_runtime

SIZES = "library.c"
SEEN = '-DTW_LM_API=__attribute__((visibility("default")))'
"""Functions that a process finds in the library; all others are hidden."""


def summary_of(model: ModelC, parameters: int) -> Summary:
    facts, target = model.config, model.modes.decoding.schedule.target
    kind = "floating point" if model.scale is None else "integers only"
    sizes = f"{facts.layers} layers, width {facts.width}, vocabulary {facts.words}"
    limits = f"context {model.context}, blocks of {model.block}"
    said = f"{model.name}: {facts.family}, {sizes}, {parameters:,} parameters; {kind}, {limits}"
    weights = Weights(weight_bytes(model), model.modes.second_packings, rows_twice(model))
    used = used_bytes(model, None) if model.place.is_mapped else {}
    return Summary(
        model.name, target.name, said, model.context, model.ends, model.greedy, target.agents.threads,
        target.agents.pins_threads, used, weights,
    )  # fmt: skip


def build(model: ModelC, folder: Path, cc: str | None = None) -> None:
    """Both files, and nothing else, into a folder; the model is one whose weights are mapped."""
    target, made = model.modes.decoding.schedule.target, library_in(folder, model.name)
    check_machine(target)
    compiler = find_compiler(cc)
    with tempfile.TemporaryDirectory(prefix="tilewright-") as place:
        sources = Path(place)
        asked = host_process(target.runner).definitions
        write_sources(sources, {**_read(model, asked), SIZES: (FOLDER / SIZES).read_text()})
        # As `run` has them, which makes the same kernels.
        chosen = processor_flags(processor_of(target), compiler.is_zig)
        flags = [*STRICT, *target.flags, *asked, *chosen, "-g0", "-I.", *LOADABLE]
        kernels = dict.fromkeys(sorted(sources.glob("kernels/*.c")), flags)
        own = {path: [*flags, SEEN] for path in sorted(sources.rglob("*.c")) if path not in kernels}
        objects = compile_objects(own | kernels, sources, compiler)
        linked = sources / made.library.name
        link_without_runtime(objects, target.libraries, linked, compiler, [*target.flags, "-shared", *SMALL])
        shutil.copy(linked, made.library)
    model.write_weights(made.weights)


def _read(model: ModelC, definitions: Sequence[str]) -> dict[str, str]:
    """Files that are needed with what the C is told."""
    texts, others = model.texts(), gpu_files.unread(definitions)
    return {name: texts[name] for name in texts if not name.endswith(others)}


def write_sources(folder: Path, texts: Mapping[str, str]) -> None:
    """Models share the objects of kernels that do not have their names."""
    for name, text in {**texts, f"kernels/{PREFIX_FILE}": ""}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")
