"""The protocol by which a debugger steers QEMU: memory, registers, breakpoints, going on and stopping."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterable
from pathlib import Path

CHUNK = 1024
"""Bytes of memory in a packet, of the 2 KiB that fit."""
INTERRUPT = b"\x03"
SECONDS = 30.0
"""Within which QEMU answers while the core stands."""


class Lost(Exception):
    """QEMU does not answer any more."""


class Remote:
    """One end of a socket with QEMU at the other."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket, self._unread = connection, b""
        self._ask("QStartNoAckMode")
        self._socket.sendall(b"+")
        self._ask("qXfer:features:read:target.xml:0,ff")  # single registers can be read only by who has asked for it

    def close(self) -> None:
        self._socket.close()

    # ---- what a debugger does ----

    def read(self, address: int, size: int) -> bytes:
        parts = [self._ask(f"m{at:x},{count:x}") for at, count in _chunks(address, size)]
        if any(part.startswith("E") for part in parts):
            raise ValueError(f"there is no memory at {address:#x}")
        return bytes.fromhex("".join(parts))

    def write(self, address: int, data: bytes) -> None:
        for at, count in _chunks(address, len(data)):
            part = data[at - address :][:count]
            if self._ask(f"M{at:x},{count:x}:{part.hex()}") != "OK":
                raise ValueError(f"there is no memory at {at:#x}")

    def save(self, address: int, size: int, path: Path) -> None:
        """Bytes into a file, by a command of QEMU's monitor."""
        self._send("qRcmd," + f'memsave {address:#x} {size} "{path}"'.encode().hex())
        said = ""
        while (reply := self._packet(SECONDS)) != "OK":
            if reply is None or not reply.startswith("O"):
                raise Lost(f"its monitor does not answer: {reply}")
            said += bytes.fromhex(reply[1:]).decode()
        if said.strip():
            raise ValueError(said.strip())

    def register(self, number: int) -> int:
        return int.from_bytes(bytes.fromhex(self._ask(f"p{number:x}")), "little")

    def set_register(self, number: int, value: int) -> None:
        self._ask(f"P{number:x}={value.to_bytes(4, 'little').hex()}")

    def break_at(self, address: int) -> None:
        self._ask(f"Z0,{address:x},2")

    def no_break_at(self, address: int) -> None:
        self._ask(f"z0,{address:x},2")

    def step(self) -> None:
        """One instruction; breakpoints do not count."""
        self._ask("s")

    def go_on(self) -> None:
        self._send("c")

    def interrupt(self) -> None:
        self._socket.sendall(INTERRUPT)

    def stopped(self, seconds: float) -> bool:
        """Whether the core stops within some time, after go_on()."""
        return self._packet(seconds) is not None

    # ---- packets ----

    def _ask(self, text: str) -> str:
        self._send(text)
        reply = self._packet(SECONDS)
        if reply is None:
            raise Lost(f"no answer within {SECONDS:g} s")
        return reply

    def _send(self, text: str) -> None:
        data = text.encode("ascii")
        try:
            self._socket.sendall(b"$%b#%02x" % (data, sum(data) & 0xFF))
        except OSError as error:
            raise Lost(str(error)) from None

    def _packet(self, seconds: float) -> str | None:
        """The next one that is not the echo of an interrupt; None if it does not come in time."""
        while (end := self._unread.find(b"#")) < 0 or len(self._unread) < end + 3:
            if not select.select([self._socket], [], [], seconds)[0]:
                return None
            try:
                data = self._socket.recv(1 << 16)
            except OSError as error:
                raise Lost(str(error)) from None
            if not data:
                raise Lost("it has closed the connection")
            self._unread += data
        packet, self._unread = self._unread[:end], self._unread[end + 3 :]
        return packet[packet.find(b"$") + 1 :].decode("ascii")


def _chunks(address: int, size: int) -> Iterable[tuple[int, int]]:
    return ((at, min(CHUNK, address + size - at)) for at in range(address, address + size, CHUNK))
