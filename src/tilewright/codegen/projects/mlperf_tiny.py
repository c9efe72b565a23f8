"""What a submitter to MLPerf Tiny writes: the functions th_... around the network."""

from __future__ import annotations

import math

from tilewright.codegen.projects.project import Content, Project, rendered
from tilewright.errors import CompileError
from tilewright.ir.scale import Scale

PLACE = "network"
MODELS = {
    (49, 10, 1): ("KWS01", "AS_THEY_ARE"), (96, 96, 3): ("VWW01", "PIXELS"), (32, 32, 3): ("IC01", "PIXELS"),
    (640,): ("AD01", "FLOATS"),
}  # fmt: skip
"""The benchmark's models by the shape of their input, and what the runner sends."""
ERROR = "AD01"
"""The model whose result is how far its output is from its input."""


def files(project: Project) -> dict[str, Content]:
    graph = project.schedule.graph
    if len(graph.inputs) != 1 or len(graph.outputs) != 1 or graph.states:
        raise CompileError(
            "--as mlperf-tiny", "the benchmark's networks have one input, one output and no state", "use --as cmake"
        )
    return {
        **project.sources(PLACE),
        "app/network_call.h": project.call_header(),
        "app/model.h": _model(project),
        "app/board.h": rendered("mlperf_tiny/board.h"),
        "app/board.c": rendered("mlperf_tiny/board.c"),
        "app/submitter_implemented.cpp": rendered("mlperf_tiny/submitter_implemented.cpp"),
        "app/main.cpp": rendered("mlperf_tiny/main.cpp"),
        "README.md": project.readme("mlperf_tiny/README.md"),
    }


def _model(project: Project) -> str:
    """model.h: which of the benchmark's it is, and how bytes and numbers go in and out."""
    graph = project.schedule.graph
    source, sink = graph.types[graph.inputs[0]], graph.types[graph.outputs[0]]
    shape = tuple(size for size in source.shape[1:]) or source.shape
    model, form = MODELS.get(shape, ("", "AS_THEY_ARE"))
    given, made = (graph.scale_of(name) or Scale(1.0, 0) for name in (graph.inputs[0], graph.outputs[0]))
    return rendered(
        "mlperf_tiny/model.h", define=f"#define TH_MODEL_VERSION EE_MODEL_VERSION_{model}" if model else _UNKNOWN,
        form=form, inputs=str(math.prod(source.shape)), outputs=str(math.prod(sink.shape)),
        error=str(int(model == ERROR)), input_float=str(int(source.dtype == "float32")),
        output_float=str(int(sink.dtype == "float32")), input_scale=_float(given.scale),
        input_zero=str(given.zero_point), output_scale=_float(made.scale),
        output_zero=str(made.zero_point), clock=f"{project.clock_mhz or 100:g}",
    )  # fmt: skip


_UNKNOWN = '#error "say which model it is: -DTH_MODEL_VERSION=EE_MODEL_VERSION_..."'


def _float(value: float) -> str:
    return f"{value:.9g}f" if "." in f"{value:.9g}" or "e" in f"{value:.9g}" else f"{value:.9g}.0f"
