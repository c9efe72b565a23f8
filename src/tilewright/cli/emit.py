"""`--emit` and `--onnx`: a stage of the pipeline as text or as ONNX."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.cli.options import complete_onnx_stage
from tilewright.cli.process import AGREES, print_json, show
from tilewright.errors import CompileError, printable

if TYPE_CHECKING:
    from tilewright.ir.graph import Graph
    from tilewright.program import Program
    from tilewright.target.settings import Settings

DEVICE_CODE = ("spirv", "gfx942", "gfx1100")
"""Of kernels for a GPU, as files beside the C."""


def device_code_of(program: Program, emit: str) -> dict[str, bytes]:
    """Files for the folder of the C."""
    from tilewright.codegen.gpu_files import opencl_texts
    from tilewright.toolchain.opencl_c.devices import FORMS, device_code

    target = program.compiled.schedule.target
    texts = opencl_texts(program.compiled.files)
    if not texts:
        raise CompileError(f"--emit {emit}", f"{target.name} has no kernels of a GPU here", "choose --target gpu")
    made = device_code(texts, FORMS[emit], target.folder / "opencl")
    return {f"kernels/{name}": code for name, code in made.items()}


def emit_stage(
    graph: Graph, target: str, name: str, emit: str, onnx: Path | None, stage: str, as_json: bool, settings: Settings
) -> int:
    """Print a stage, or write it as ONNX."""
    from tilewright import pipeline

    if onnx is not None:
        return _write_onnx(graph, target, onnx, stage, as_json, settings)
    if emit not in pipeline.STAGES:
        raise CompileError(f"--emit {emit}", "there is no such stage", f"stages: {', '.join(pipeline.STAGES)}")
    text = _stage_text(pipeline.stage(graph, target, emit, name, settings))
    if as_json:
        print_json("stage", {"status": "ok", "stage": emit, "text": text})
    else:
        show(text)
    return AGREES


def _stage_text(result: Any) -> str:
    """A stage as text; of the C, the files that are about this network."""
    from tilewright.planner.schedule.listing import listing
    from tilewright.planner.schedule.schedule import Schedule

    if isinstance(result, Schedule):
        return listing(result)
    if not isinstance(result, Mapping):
        return str(result)
    return "\n".join(f"/* ---- {name} ---- */\n{result[name]}" for name in ("network.h", "network.c"))


def _write_onnx(graph: Graph, target: str, path: Path, stage: str, as_json: bool, settings: Settings) -> int:
    from tilewright import pipeline
    from tilewright.frontends.onnx import writer as onnx_writer

    if stage not in complete_onnx_stage():
        raise CompileError(f"--stage {stage}", "there is no such stage", f"stages: {', '.join(complete_onnx_stage())}")
    drawn, remarks = pipeline.drawing(pipeline.stage(graph, target, stage, settings=settings))
    onnx_writer.save(drawn, path, remarks)
    if as_json:
        print_json("stage-onnx", {"status": "ok", "stage": stage, "onnx": str(path)})
    else:
        show(printable(f"stage {stage} written to {path}"))
    return AGREES
