"""Which form network.h and network.c have: it follows from whether a runtime wakes cores and has the memories."""

from __future__ import annotations

from tilewright.codegen.arena import ArenaText
from tilewright.codegen.cluster import RuntimeText
from tilewright.codegen.network import Writer
from tilewright.codegen.network_text import NetworkText


def text_of(writer: Writer) -> NetworkText:
    return RuntimeText(writer) if writer.has_runtime else ArenaText(writer)
