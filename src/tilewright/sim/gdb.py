"""A GDB server: the remote protocol over TCP, one thread per core.

gdb-multiarch program.elf -ex "target remote :3333"
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import ClassVar

from tilewright.errors import CompileError
from tilewright.sim.simulator import Simulator

SIGNAL_TRAP, SIGNAL_INTERRUPT, SIGNAL_SEGMENT = 5, 2, 11
POLL = 200_000
"""Cycles between two looks at the line while the program runs."""
INTEGER = [*(f"x{i}" for i in range(32)), "pc"]
FLOAT = [*(f"f{i}" for i in range(32)), "fflags", "frm", "fcsr"]


def target_description(has_float: bool, float_bits: int = 32) -> str:
    features = _feature("cpu", INTEGER) + (_feature("fpu", FLOAT, float_bits) if has_float else "")
    head = '<?xml version="1.0"?><!DOCTYPE target SYSTEM "gdb-target.dtd"><target version="1.0">'
    return f"{head}<architecture>riscv:rv32</architecture>{features}</target>"


def _feature(name: str, registers: list[str], float_bits: int = 32) -> str:
    rows = (
        f'<reg name="{register}" bitsize="{float_bits if _is_float(register) else 32}" '
        f'type="{_kind(register, float_bits)}"/>'
        for register in registers
    )
    return f'<feature name="org.gnu.gdb.riscv.{name}">{"".join(rows)}</feature>'


def _is_float(register: str) -> bool:
    return register[0] == "f" and register[1:].isdigit()


def _kind(register: str, float_bits: int) -> str:
    if register == "pc":
        return "code_ptr"
    return ("ieee_double" if float_bits == 64 else "ieee_single") if _is_float(register) else "int"


class Connection:
    """Packets with checksums and acknowledgements."""

    def __init__(self, line: socket.socket) -> None:
        self.line = line
        self.buffer = b""
        self.acknowledges = True

    def receive(self) -> str | None:
        """The next packet; the interrupt character counts as one; None when the line is closed."""
        while True:
            if self.buffer[:1] == b"\x03":
                self.buffer = self.buffer[1:]
                return "\x03"
            start = self.buffer.find(b"$")
            end = self.buffer.find(b"#", start)
            if start >= 0 and end >= 0 and len(self.buffer) >= end + 3:
                packet, self.buffer = self.buffer[start + 1 : end], self.buffer[end + 3 :]
                if self.acknowledges:
                    self.line.sendall(b"+")
                return packet.decode("latin-1")
            data = self.line.recv(4096)
            if not data:
                return None
            self.buffer = (self.buffer + data).lstrip(b"+-")

    def send(self, text: str) -> None:
        data = text.encode("latin-1")
        self.line.sendall(b"$" + data + f"#{sum(data) & 255:02x}".encode())

    def is_interrupted(self) -> bool:
        self.line.setblocking(False)
        try:
            data = self.line.recv(4096)
            self.buffer += data.lstrip(b"+-")
        except BlockingIOError:
            return False
        finally:
            self.line.setblocking(True)
        return self.buffer[:1] == b"\x03" or not data


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        why = (error.strerror or str(error)).partition(" (")[0]
        raise CompileError(f"port {port}", f"cannot be opened: {why}", "choose another one") from None


class Server:
    def __init__(self, simulator: Simulator, port: int) -> None:
        self.simulator = simulator
        self.shown = 0
        self.groups = [group for group in simulator.platform.groups for _ in range(group.cores)]
        self.float_bits = max(group.float_bits for group in self.groups)
        self.description = target_description(any(group.has_float for group in self.groups), self.float_bits)
        self.listener = _listen(port)
        self.port: int = self.listener.getsockname()[1]
        self.breakpoints: set[int] = set()
        self.core = next((i for i, group in enumerate(self.groups) if group.boots), 0)
        self.is_over = False

    def serve(self) -> bool:
        """One debugger, until it leaves: False if it killed the program."""
        line, _ = self.listener.accept()
        with line, self.listener:
            self.connection = Connection(line)
            while (packet := self.connection.receive()) is not None:
                if packet == "k":
                    break
                self.connection.send(self.answer(packet))
                if packet[:1] == "D":
                    return True
                if packet == "QStartNoAckMode":
                    self.connection.acknowledges = False
        return self.is_over

    def answer(self, packet: str) -> str:
        handler = self._HANDLERS.get(packet[:1])
        if handler is None:
            return ""
        try:
            return handler(self, packet[1:])
        except (CompileError, ValueError):
            return "E01"

    # ---- state ----

    def halted(self, _: str = "") -> str:
        return f"T{SIGNAL_TRAP:02x}thread:{self.core + 1:x};"

    @property
    def registers(self) -> int:
        """How many the description has; cores without floating point have the last ones too, as unavailable."""
        return len(INTEGER) + (len(FLOAT) if "riscv.fpu" in self.description else 0)

    def register(self, number: int) -> str:
        size = self.size(number)
        if number >= len(INTEGER) and not self.groups[self.core].has_float:
            return "xx" * size
        return self.simulator.register(self.core, number).to_bytes(size, "little").hex()

    def size(self, number: int) -> int:
        """Bytes of a register."""
        first = len(INTEGER)
        return self.float_bits // 8 if first <= number < first + 32 else 4

    def read_registers(self, _: str) -> str:
        return "".join(self.register(number) for number in range(self.registers))

    def write_registers(self, rest: str) -> str:
        for number in range(self.registers):
            value, rest = rest[: 2 * self.size(number)], rest[2 * self.size(number) :]
            if value:
                self.set_register(number, value)
        return "OK"

    def read_register(self, rest: str) -> str:
        number = int(rest, 16)
        return self.register(number) if number < self.registers else "E01"

    def write_register(self, rest: str) -> str:
        number, value = rest.split("=")
        self.set_register(int(number, 16), value)
        return "OK"

    def set_register(self, number: int, value: str) -> None:
        if not value.startswith("x"):
            self.simulator.set_register(self.core, number, int.from_bytes(bytes.fromhex(value), "little"))

    @property
    def group(self) -> int:
        """Whose view of the memory map is meant."""
        return self.simulator.platform.groups.index(self.groups[self.core])

    def read_memory(self, rest: str) -> str:
        address, size = (int(word, 16) for word in rest.split(","))
        return self.simulator.read(address, size, self.group).hex()

    def write_memory(self, rest: str) -> str:
        place, data = rest.split(":")
        self.simulator.write(int(place.split(",")[0], 16), bytes.fromhex(data), self.group)
        return "OK"

    def breakpoint(self, rest: str, wanted: bool) -> str:
        kind, address, _ = rest.split(",")
        if kind not in "01":
            return ""
        (self.breakpoints.add if wanted else self.breakpoints.discard)(int(address, 16))
        return "OK"

    def thread(self, rest: str) -> str:
        number = int(rest[1:], 16) if rest[1:] != "-1" else 0
        if number > len(self.groups):
            return "E01"
        if number > 0 and rest[0] in "gc":
            self.core = number - 1
        return "OK"

    # ---- running ----

    def go_on(self, _: str = "") -> str:
        return self.stopped(self._run)

    def step(self, _: str = "") -> str:
        return self.stopped(self._step)

    def stopped(self, action: Callable[[], str | None]) -> str:
        """What a stop looks like to the debugger; a fault stops like a signal and is told on its console."""
        try:
            ended = action()
        except CompileError as error:
            self._show_output()
            self.connection.send("O" + f"{error}\n".encode().hex())
            return f"T{SIGNAL_SEGMENT:02x}thread:{self.core + 1:x};"
        self._show_output()
        return ended or self.halted()

    def _show_output(self) -> None:
        """What the program prints appears on the debugger's console."""
        text = self.simulator.stdout[self.shown :]
        self.shown += len(text)
        if text:
            self.connection.send("O" + text.encode().hex())

    def _ended(self) -> str:
        self.is_over = True
        return f"W{(self.simulator.exit_code or 0) & 255:02x}"

    def _step(self) -> str | None:
        return None if self.simulator.step(self.core) else self._ended()

    def _run(self) -> str | None:
        if self.is_over:
            return self._ended()
        while True:
            hit = self.simulator.run_slice(sorted(self.breakpoints), POLL)
            self._show_output()
            if hit is not None:
                if hit < 0:
                    return self._ended()
                self.core = hit
                return None
            if self.connection.is_interrupted():
                self.connection.buffer = self.connection.buffer.removeprefix(b"\x03")
                return f"T{SIGNAL_INTERRUPT:02x}thread:{self.core + 1:x};"

    def query(self, rest: str) -> str:
        if rest.startswith("Supported"):
            return "PacketSize=4000;qXfer:features:read+;QStartNoAckMode+"
        if rest.startswith("Xfer:features:read:target.xml:"):
            start, size = (int(word, 16) for word in rest.rsplit(":", 1)[1].split(","))
            return ("l" if start + size >= len(self.description) else "m") + self.description[start : start + size]
        if rest == "fThreadInfo":
            return "m" + ",".join(f"{i + 1:x}" for i in range(self.simulator.platform.cores))
        if rest.startswith("ThreadExtraInfo,"):
            return self.simulator.platform.core_name(int(rest.split(",")[1], 16) - 1).encode().hex()
        return {"sThreadInfo": "l", "C": f"QC{self.core + 1:x}", "Attached": "1"}.get(rest, "")

    def extended(self, rest: str) -> str:
        if rest == "Cont?":
            return "vCont;c;C;s;S"
        if not rest.startswith("Cont;"):
            return ""
        actions = rest[5:].split(";")
        action, _, thread = actions[0].partition(":")
        if thread and thread != "-1":
            self.core = int(thread, 16) - 1
        self.simulator.lock(self.core if thread and len(actions) == 1 else None)
        try:
            return self.step() if action[:1] in "sS" else self.go_on()
        finally:
            self.simulator.lock(None)

    _HANDLERS: ClassVar[dict[str, Callable[[Server, str], str]]] = {
        "?": halted,
        "g": read_registers,
        "G": write_registers,
        "p": read_register,
        "P": write_register,
        "m": read_memory,
        "M": write_memory,
        "Z": lambda self, rest: self.breakpoint(rest, True),
        "z": lambda self, rest: self.breakpoint(rest, False),
        "H": thread,
        "D": lambda self, rest: "OK",
        "T": lambda self, rest: "OK",
        "c": go_on,
        "s": step,
        "q": query,
        "Q": lambda self, rest: "OK" if rest == "StartNoAckMode" else "",
        "v": extended,
    }
