"""`tilewright sim`: what it prints, writes and refuses."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from tests.sim.assembling import assemble, built, elf_bytes
from tests.support.command import Command

EXAMPLE = Path(__file__).parents[2] / "examples" / "mac_engine"


def test_prints_output_and_cost(command: Command) -> None:
    ran = command("sim", built("sum.c"), "--profile")
    assert (ran.code, ran.out) == (0, "done\n")
    for part in (
        "cycles on siracusa",
        "cluster 7",
        "exit code 0",
        "busy cycles: dma",
        "traffic: l1",
        "share",
        "energy: ",
    ):
        assert part in ran.err


def test_json_is_one_object(command: Command) -> None:
    found = command("sim", built("sum.c"), "--json", "--profile").json
    assert (found["status"], found["stdout"], found["exit_code"]) == ("ok", "done\n", 0)
    assert found["cycles"] > 0
    assert {"load_use", "conflict", "sleep"} <= set(found["cores"][0]["stalls"])
    assert any(row["name"] == "share" for row in found["profile"])


@pytest.fixture
def failing(tmp_path: Path) -> Path:
    """Prints a line, then goes wrong."""
    letters = "\n".join(f"li a1, {ord(letter)}\n sw a1, 0(a0)" for letter in "so far\n")
    (tmp_path / "failing.elf").write_bytes(elf_bytes(assemble(f"li a0, 0x1a10f000\n {letters}\n ebreak")))
    return tmp_path / "failing.elf"


def test_a_failing_program_shows_what_it_printed(command: Command, failing: Path) -> None:
    ran = command("sim", failing, "--platform", "rv32")
    assert (ran.code, ran.out) == (2, "so far\n")
    assert "ebreak without a trap handler" in ran.err


def test_so_does_its_json(command: Command, failing: Path) -> None:
    ran = command("sim", failing, "--platform", "rv32", "--json")
    assert (ran.code, ran.json["status"], ran.json["stdout"]) == (2, "error", "so far\n")
    assert "ebreak without a trap handler" in ran.json["error"]["what"]
    assert ran.json["errors"] == [ran.json["error"]]


def test_watching_changes_nothing(command: Command, tmp_path: Path) -> None:
    plain = command("sim", built("sum.c"), "--json").json["cycles"]
    traced = command("sim", built("sum.c"), "--json", "--trace", tmp_path / "trace.json").json["cycles"]
    assert plain == traced
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {"share", "asleep"} <= {event["name"] for event in events}


def test_a_device_in_c(command: Command) -> None:
    program = built(str(EXAMPLE / "program.c"))
    ran = command("sim", program, "--device", f"0x30000000={EXAMPLE / 'mac_engine.c'}")
    assert ran.code == 0, ran.err


@pytest.mark.parametrize(
    ("words", "where", "what"),
    [
        (["--platform", "toaster"], "toaster", "is not a platform"),
        (["--check", "nothing"], "--check nothing", "there is no such check"),
        (["--device", "here=x.c"], "--device here=x.c", "is not ADDRESS=FILE.c"),
        (["--device", "0x30000000=/no/such.c"], "/no/such.c", "is not a file"),
        (["--max-cycles", "100"], "cycle 1", "has not ended"),
        (["--trace", "/no/such/folder/t.json"], "/no/such/folder/t.json", "cannot be written"),
    ],
)
def test_refusals(command: Command, words: list[str], where: str, what: str) -> None:
    ran = command("sim", built("sum.c"), *words, "--json")
    assert ran.code == 2
    assert where in ran.json["error"]["where"]
    assert what in ran.json["error"]["what"]


def test_a_port_that_is_taken(command: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = command("sim", built("sum.c"), "--gdb", str(port), "--json")
    assert (ran.code, ran.json["error"]["where"]) == (2, f"port {port}")
    assert ran.json["error"]["what"] == "cannot be opened: Address already in use"


def test_two_devices_of_one_name(command: Command, tmp_path: Path) -> None:
    """Both are attached: the second one, far from the first, does not compile."""
    (tmp_path / "mac_engine.c").write_text("nonsense")
    devices = [f"0x30000000={EXAMPLE / 'mac_engine.c'}", f"0x40000000={tmp_path / 'mac_engine.c'}"]
    ran = command("sim", built("sum.c"), "--device", devices[0], "--device", devices[1], "--json")
    assert (ran.code, ran.json["error"]["where"]) == (2, str(tmp_path / "mac_engine.c"))
    assert ran.json["error"]["what"].startswith("does not compile:\n")


def test_not_an_elf(command: Command, tmp_path: Path) -> None:
    (tmp_path / "x.elf").write_bytes(b"hello")
    ran = command("sim", tmp_path / "x.elf", "--json")
    assert (ran.code, ran.json["error"]["what"]) == (2, "is not an ELF file")
