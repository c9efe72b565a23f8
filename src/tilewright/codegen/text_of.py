"""Which form network.h and network.c have: it follows from whether a runtime wakes cores and has the memories, and from
whether one drives a GPU."""

from __future__ import annotations

from tilewright.codegen.arena_text import ArenaText
from tilewright.codegen.gpu_text import GpuText
from tilewright.codegen.network import Writer
from tilewright.codegen.network_text import NetworkText
from tilewright.codegen.runtime_text import RuntimeText
from tilewright.target.runner import GpuProcess


def text_of(writer: Writer) -> NetworkText:
    if isinstance(writer.schedule.target.runner, GpuProcess):
        return GpuText(writer)
    return RuntimeText(writer) if writer.has_runtime else ArenaText(writer)
