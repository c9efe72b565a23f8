"""The GDB server: by its packets always, with a real gdb where one is installed."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from tests.sim.assembling import built
from tilewright.sim.gdb import Connection, Server
from tilewright.simulate import Simulator

GDB = shutil.which("gdb-multiarch")


def served() -> Server:
    simulator = Simulator("siracusa")
    simulator.load(built("sum.c"))
    server = Server(simulator, 0)
    threading.Thread(target=server.serve, daemon=True).start()
    return server


def test_packets() -> None:
    server = served()
    share = server.simulator.address("share")
    with socket.create_connection(("127.0.0.1", server.port)) as line:
        connection = Connection(line)

        def ask(text: str) -> str:
            connection.send(text)
            return connection.receive() or ""

        assert "qXfer:features:read+" in ask("qSupported:x")
        assert ask("qfThreadInfo").startswith("m1,2,3")
        assert ask(f"Z0,{share:x},2") == "OK"
        threads = {ask("c")[3:] for _ in range(8)}
        assert threads == {f"thread:{i};" for i in range(1, 9)}
        assert ask("p20") == share.to_bytes(4, "little").hex()
        assert ask("vCont;s:1").startswith("T05thread:1")
        assert ask(f"m{server.simulator.address('total'):x},4") == "00000000"
        assert ask(f"z0,{share:x},2") == "OK"
        assert ask("c") == "W00"


@pytest.mark.skipif(GDB is None, reason="gdb-multiarch is not installed")
def test_with_gdb(tmp_path: Path) -> None:
    server = served()
    commands = ["set confirm off", f"target remote :{server.port}", "break share", "continue", "bt 1", "info threads"]
    commands += ["stepi", "delete", "continue"]
    arguments = [word for command in commands for word in ("-ex", command)]
    call = [str(GDB), "-batch", "-nx", str(built("sum.c")), *arguments]
    done = subprocess.run(call, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert "Breakpoint 1, share (" in done.stdout, done.stdout + done.stderr
    assert "cluster 7" in done.stdout
    assert "exited normally" in done.stdout
