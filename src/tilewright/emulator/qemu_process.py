"""QEMU as a process: started with a program, steered by a debugger's protocol, ended with its object."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import socket
import subprocess
from pathlib import Path

from tilewright.emulator.qemu_counting import BlockTable, plugin
from tilewright.emulator.qemu_machines import QemuMachine
from tilewright.errors import CompileError

PROGRAM = "qemu-system-arm"
INSTALL = "apt install qemu-system-arm, or brew install qemu"
INSTEAD = "a Cortex-M55 beside an NPU runs with --emulator unicorn, too, as a Cortex-M33"
OLDEST = (7, 0)
SECOND_INTERFACE = 9
"""The release that came with the plugin interface's second version."""
DYING = 2.0
"""Seconds that its end may take once it does not answer."""
VECTORS = 16
"""The words that a core knows of its own."""


def find_qemu() -> str:
    found = shutil.which(PROGRAM)
    if found is None:
        raise CompileError(PROGRAM, "is not installed: it runs programs for this core", f"{INSTALL}; {INSTEAD}")
    return found


@functools.cache
def version_of(program: str, install: str = INSTALL) -> tuple[int, int]:
    """An error where it is too old, with what to install."""
    try:
        text = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CompileError(program, f"does not run: {error}", install) from None
    found = re.search(r"version (\d+)\.(\d+)", text)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    if version < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise CompileError(program, f"is version {'.'.join(map(str, version))}, and {oldest} is needed", install)
    return version


class QemuProcess:
    """QEMU with a program loaded; the core stands before its first instruction."""

    def __init__(
        self, machine: QemuMachine, core: str, elf: Path, start: int, vectors: bytes, table: BlockTable
    ) -> None:
        """The core finds its vectors where the board has them: if they begin elsewhere, a copy is put there."""
        program = find_qemu()
        interface = 2 if version_of(program)[0] >= SECOND_INTERFACE else 1
        folder = table.table.parent
        (folder / "vectors").write_bytes(vectors)
        self._said = folder / "said"
        self.connection, theirs = socket.socketpair()
        copy = f"loader,file={folder / 'vectors'},addr={machine.vectors:#x},force-raw=on"
        command = [
            program, "-M", machine.name, "-cpu", core, "-display", "none", "-monitor", "none", "-serial", "none",
            "-kernel", str(elf), *(["-device", copy] if start != machine.vectors else []),
            "-plugin", f"{plugin(interface)},table={table.table},events={table.events_file}",
            "-chardev", f"socket,id=debugger,fd={theirs.fileno()}", "-gdb", "chardev:debugger", "-S",
        ]  # fmt: skip
        with theirs, self._said.open("wb") as said:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=said, stderr=said, pass_fds=(theirs.fileno(),),
                start_new_session=True, env={**os.environ, "QEMU_AUDIO_DRV": "none"},
            )  # fmt: skip

    def died(self) -> CompileError:
        """Why it does not answer any more."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(DYING)
        code = self._process.returncode
        lines = self._said.read_text("utf-8", "replace").strip().splitlines()
        if any("plugin" in line for line in lines):
            return CompileError(
                PROGRAM, f"does not take a plugin: {lines[0]}", "one that is built with plugins is needed"
            )
        state = "does not answer" if code is None else f"ended with code {code}"
        return CompileError(PROGRAM, ": ".join([state, *lines[:1]]), "")

    def end(self) -> None:
        self.connection.close()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.kill()
        self._process.wait()
