"""Which form network.h and network.c have: it follows from whether a runtime wakes cores and has the memories."""

from __future__ import annotations

from tilewright.codegen.arena_text import ArenaText
from tilewright.codegen.network import Writer
from tilewright.codegen.network_text import NetworkText
from tilewright.codegen.runtime_text import RuntimeText


def text_of(writer: Writer) -> NetworkText:
    return RuntimeText(writer) if writer.has_runtime else ArenaText(writer)
