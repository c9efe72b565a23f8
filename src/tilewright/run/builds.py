"""What is built from the C of a network: programs for this machine and for the virtual SoC, each made once."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from tilewright.codegen.network import Writer, symbol_prefix
from tilewright.planner.schedule.schedule import Schedule
from tilewright.run.board import BoardProgram
from tilewright.run.host import HostProgram
from tilewright.run.library import HostLibrary
from tilewright.run.soc import SocProgram

LINKING = threading.Lock()


class Builds:
    """Of one network."""

    def __init__(self, schedule: Schedule, files: Mapping[str, str], name: str, cc: str | None) -> None:
        self._schedule, self._files, self._cc = schedule, files, cc
        self._prefix = symbol_prefix(name or schedule.graph.name)
        self._hosts: dict[str, HostProgram] = {}
        self._library: HostLibrary | None = None
        self._soc: SocProgram | BoardProgram | None = None

    @property
    def _writer(self) -> Writer:
        return Writer(self._schedule, self._prefix)

    def host(self, probe: str) -> HostProgram:
        """For this machine."""
        if probe not in self._hosts:
            self._hosts[probe] = HostProgram(self._schedule, self._files, self._writer, self._cc, probe)
        return self._hosts[probe]

    def library(self) -> HostLibrary:
        """A shared library, made once also where several threads ask for it."""
        with LINKING:
            if self._library is None:
                self._library = HostLibrary(self._schedule, self._files, self._writer, self._cc)
            return self._library

    def soc(self) -> SocProgram | BoardProgram:
        """The C and what is needed to make a program for the virtual SoC of it."""
        if self._soc is None:
            kind = SocProgram if self._writer.has_runtime else BoardProgram
            self._soc = kind(self._writer, self._files, self._cc)
        return self._soc
