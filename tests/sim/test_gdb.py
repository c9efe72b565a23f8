"""The GDB server: by its packets always, with a real gdb where one is installed."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from tests.sim.assembling import built
from tilewright.sim.gdb import Connection, Server, target_description
from tilewright.sim.simulator import Simulator

GDB = shutil.which("gdb-multiarch")


def served() -> Server:
    simulator = Simulator("siracusa")
    simulator.load(built("sum.c"))
    server = Server(simulator, 0)
    threading.Thread(target=server.serve, daemon=True).start()
    return server


class Client:
    """A debugger that says what the test tells it to."""

    def __init__(self, server: Server) -> None:
        self.connection = Connection(socket.create_connection(("127.0.0.1", server.port)))
        self.console = ""

    def ask(self, text: str) -> str:
        self.connection.send(text)
        while (answer := self.connection.receive() or "")[:1] == "O" and answer != "OK":
            self.console += bytes.fromhex(answer[1:]).decode()
        return answer

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.line.close()


def word(value: int) -> str:
    return value.to_bytes(4, "little").hex()


def test_breakpoints_steps_and_the_end() -> None:
    server = served()
    share = server.simulator.address("share")
    with Client(server) as gdb:
        assert "qXfer:features:read+" in gdb.ask("qSupported:x")
        assert gdb.ask("qfThreadInfo").startswith("m1,2,3")
        assert gdb.ask(f"Z0,{share:x},2") == "OK"
        threads = {gdb.ask("c")[3:] for _ in range(8)}
        assert threads == {f"thread:{i};" for i in range(1, 9)}
        assert gdb.ask("p20") == word(share)
        assert gdb.ask("vCont;s:1").startswith("T05thread:1")
        assert gdb.ask(f"m{server.simulator.address('total'):x},4") == "00000000"
        assert gdb.ask(f"z0,{share:x},2") == "OK"
        assert gdb.ask("c") == "W00"
        assert gdb.console == "done\n"


def test_memory_and_registers_are_written() -> None:
    server = served()
    total = server.simulator.address("total")
    with Client(server) as gdb:
        assert gdb.ask(f"Z0,{server.simulator.address('share'):x},2") == "OK"
        assert gdb.ask("c").startswith("T05")
        assert gdb.ask(f"M{total:x},4:{word(5)}") == "OK"
        assert gdb.ask(f"m{total:x},4") == word(5)
        assert gdb.ask("m50000000,4") == "E01"
        assert gdb.ask(f"Pa={word(3)}") == "OK"
        assert server.simulator.register(server.core, "a0") == 3


def test_floating_point_registers() -> None:
    """The cluster's cores have them; on the fabric controller they are unavailable."""
    server = served()
    with Client(server) as gdb:
        description = gdb.ask("qXfer:features:read:target.xml:0,4000")
        assert description.startswith("l<?xml")
        assert description.count("<reg ") == 33 + 35
        assert gdb.ask("Hg1") == "OK"
        assert gdb.ask(f"P22={word(0x3FC00000)}") == "OK"
        assert gdb.ask(f"P43={word(0x51)}") == "OK"
        registers = gdb.ask("g")
        assert len(registers) == 8 * 68
        assert registers[8 * 34 : 8 * 35] == word(0x3FC00000)
        assert [gdb.ask(f"p{number:x}") for number in (65, 66, 67)] == [word(0x11), word(2), word(0x51)]
        assert gdb.ask("HgA") == "OK"
        assert gdb.ask("g")[8 * 33 :] == "x" * 8 * 35
        assert gdb.ask("HgB") == "E01"


def test_without_floating_point_there_are_33_registers() -> None:
    assert target_description(has_float=False).count("<reg ") == 33


@pytest.mark.parametrize(("last", "goes_on"), [("D", True), ("k", False)])
def test_leaving(last: str, goes_on: bool) -> None:
    simulator = Simulator("siracusa")
    simulator.load(built("sum.c"))
    server = Server(simulator, 0)
    answers: list[bool] = []
    thread = threading.Thread(target=lambda: answers.append(server.serve()))
    thread.start()
    with Client(server) as gdb:
        assert gdb.ask("?").startswith("T05")
        gdb.connection.send(last)
        assert gdb.connection.receive() == ("OK" if goes_on else None)
    thread.join(10)
    assert answers == [goes_on]
    assert simulator.run().exit_code == 0


@pytest.mark.skipif(GDB is None, reason="gdb-multiarch is not installed")
def test_with_gdb(tmp_path: Path) -> None:
    server = served()
    commands = ["set confirm off", f"target remote :{server.port}", "break share", "continue", "bt 1", "info threads"]
    commands += ["stepi", "set var $ft1 = 1.5", "print $ft1 + 1", "set var *(int *)0x10030000 = 12345"]
    commands += ["print *(int *)0x10030000", "thread 10", "print $ft1", "delete", "continue"]
    done = run_gdb(commands, tmp_path)
    assert "Breakpoint 1, share (" in done
    assert "cluster 7" in done
    assert [line for line in done.splitlines() if line.startswith("$")] == [
        "$1 = 2.5",
        "$2 = 12345",
        "$3 = <unavailable>",
    ]
    assert "exited normally" in done


@pytest.mark.skipif(GDB is None, reason="gdb-multiarch is not installed")
def test_gdb_detaches(tmp_path: Path) -> None:
    server = served()
    done = run_gdb([f"target remote :{server.port}", "tbreak share", "continue", "detach"], tmp_path)
    assert "detached" in done


def run_gdb(commands: list[str], folder: Path) -> str:
    arguments = [word for command in commands for word in ("-ex", command)]
    call = [str(GDB), "-batch", "-nx", str(built("sum.c")), *arguments]
    done = subprocess.run(call, capture_output=True, text=True, timeout=600, cwd=folder)
    return done.stdout + done.stderr
