"""The ports that a device in Verilog has: a register bus and a memory port, each in one of several conventions."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.errors import CompileError
from tilewright.records import dataclass

IN, OUT = "input", "output"
REGISTER_ADDRESS = range(2, 33)
"""Bits of an address inside of a device: as many as it has use for."""
MEMORY_WIDTHS = (32, 64, 128, 256, 512)


@dataclass(frozen=True)
class Port:
    """Of a module, as it was read."""

    direction: str
    bits: int | None
    """None for what is no plain vector."""


@dataclass(frozen=True)
class Wire:
    """A port of a convention."""

    name: str
    """The device's."""
    direction: str
    """As the device sees it."""
    adapter: str = ""
    """The adapter's port; of the simple bus, that of the top."""
    bits: int | str = 1
    """`data` and `strobe` follow the memory port's width, `address` is any."""
    is_optional: bool = False


@dataclass(frozen=True)
class Convention:
    name: str
    key: str
    """The port by which it is known."""
    wires: tuple[Wire, ...]
    module: str = ""
    """The adapter; the simple bus needs none."""


def _wires(prefix: str, words: str, adapted: bool = True) -> tuple[Wire, ...]:
    """`>name:bits` is an output of the device, `<name` an input, `?` an optional one; `=` names the adapter's port."""
    found = []
    for word in words.split():
        direction = OUT if word[0] == ">" else IN
        rest = word[1:].removeprefix("?")
        full, _, bits = rest.partition(":")
        name, _, adapter = full.partition("=")
        own = adapter or (name if adapted else prefix + name)
        width: int | str = int(bits) if bits.isdecimal() else bits or 1
        found.append(Wire(prefix + name, direction, own, width, word[1] == "?"))
    return tuple(found)


REGISTER_BUSES = (
    Convention("register bus", "reg_valid", _wires(
        "reg_", "<valid <write <address:address <wdata:32 >rdata:32 >ready", adapted=False)),
    Convention("APB", "psel", _wires("", "<psel <penable <pwrite <paddr:address <pwdata:32 >prdata:32 >pready"),
               "tw_from_apb"),
    Convention("AXI-Lite", "s_axil_awvalid", _wires(
        "s_axil_",
        "<awvalid >awready <awaddr:address <wvalid >wready <wdata:32 <?wstrb:4 >bvalid <bready <arvalid >arready "
        "<araddr:address >rvalid <rready >rdata:32"), "tw_from_axi_lite"),
)  # fmt: skip
MEMORY_PORTS = (
    Convention("memory port", "mem_request", _wires(
        "mem_", ">request >write >address:32 >wdata:data >strobe:strobe <grant <rvalid <rdata:data", adapted=False)),
    Convention("TCDM", "tcdm_req", _wires(
        "tcdm_", ">req <gnt >add:32 >wen >be:strobe >data:data <r_data:data <r_valid"), "tw_from_tcdm"),
    Convention("AXI", "m_axi_arvalid", _wires(
        "m_axi_",
        ">awvalid <awready >awaddr:32 >awlen:8 >wvalid <wready >wdata:data >wstrb:strobe <bvalid >bready "
        ">arvalid <arready >araddr:32 >arlen:8 <rvalid >rready <rdata:data <?rlast"), "tw_from_axi"),
)  # fmt: skip
CLOCK = Wire("clk", IN, "clk")
RESETS = (Wire("reset", IN, "reset"), Wire("reset_n", IN, "!reset"))
BUSY = Wire("busy", OUT, "busy")
KNOWN = "docs/rtl.md has all ports"


@dataclass(frozen=True)
class Interface:
    """How a device is connected."""

    registers: Convention
    memory: Convention | None
    reset: Wire
    width: int
    """Bits of the memory port."""

    @property
    def wires(self) -> tuple[Wire, ...]:
        memory = self.memory.wires if self.memory else ()
        return (CLOCK, self.reset, BUSY, *self.registers.wires, *memory)


def interface(module: str, ports: Mapping[str, Port], where: str) -> Interface:
    """Raises an error that names all ports that are missing or of another width."""
    registers = _found(REGISTER_BUSES, ports)
    memory = _found(MEMORY_PORTS, ports)
    if registers is None:
        keys = ", or ".join(f"{one.key} ({one.name})" for one in REGISTER_BUSES)
        raise CompileError(where, f"module {module} has no bus for registers: there is no port {keys}", KNOWN)
    reset = next((one for one in RESETS if one.name in ports), RESETS[0])
    found = Interface(registers, memory, reset, _width(memory, ports))
    faults = [fault for wire in found.wires if (fault := _fault(wire, ports, found.width))]
    known = {wire.name for wire in found.wires}
    faults += [
        f"port {name} is not known" for name, port in ports.items() if name not in known and port.direction == IN
    ]
    if faults:
        raise CompileError(where, f"module {module}: {'; '.join(faults)}", KNOWN)
    return found


def _found(conventions: tuple[Convention, ...], ports: Mapping[str, Port]) -> Convention | None:
    """The one whose key is there, or else the one of which most is there; None where nothing is."""
    known = next((one for one in conventions if one.key in ports), None)
    return known or max(
        (one for one in conventions if _present(one, ports)), key=lambda one: _present(one, ports), default=None
    )


def _present(convention: Convention, ports: Mapping[str, Port]) -> int:
    return sum(wire.name in ports for wire in convention.wires)


def _width(memory: Convention | None, ports: Mapping[str, Port]) -> int:
    if memory is None:
        return MEMORY_WIDTHS[0]
    data = next(wire.name for wire in memory.wires if wire.bits == "data")
    found = ports[data].bits if data in ports else None
    return found if found in MEMORY_WIDTHS else MEMORY_WIDTHS[0]


def _fault(wire: Wire, ports: Mapping[str, Port], width: int) -> str:
    port = ports.get(wire.name)
    if port is None:
        return "" if wire.is_optional else f"{wire.direction} {wire.name} is missing"
    if port.direction != wire.direction:
        return f"{wire.name} is an {port.direction}, not an {wire.direction}"
    if wire.bits == "address":
        fits, wanted = port.bits in REGISTER_ADDRESS, f"{REGISTER_ADDRESS.start} to {REGISTER_ADDRESS.stop - 1}"
    else:
        bits = {"data": width, "strobe": width // 8}.get(str(wire.bits), wire.bits)
        fits, wanted = port.bits == bits, str(bits)
    if wire.bits == "data" and not fits:
        wanted = ", ".join(map(str, MEMORY_WIDTHS))
    return "" if fits else f"{wire.name} has {port.bits or 'no plain vector of'} bits, not {wanted}"


# ---- the top --------------------------------------------------------------------------------------------------------

TOP = "tw_top"


def top_module(module: str, found: Interface, ports: Mapping[str, Port], parameters: Mapping[str, int | float]) -> str:
    """Verilog: the device behind the ports that the simulator knows."""
    width = found.width
    given = ", ".join(f".{name}({value})" for name, value in parameters.items())
    lines = [
        f"module {TOP} (",
        "    input wire clk, input wire reset, output wire busy, input wire reg_valid, input wire reg_write,",
        "    input wire [31:0] reg_address, input wire [31:0] reg_wdata, output wire [31:0] reg_rdata,",
        "    output wire reg_ready, output wire mem_request, output wire mem_write, output wire [31:0] mem_address,",
        f"    output wire [{width - 1}:0] mem_wdata, output wire [{width // 8 - 1}:0] mem_strobe,",
        f"    input wire mem_grant, input wire mem_rvalid, input wire [{width - 1}:0] mem_rdata",
        ");",
        *_adapter(found.registers, REGISTER_BUSES[0], width),
        *(_adapter(found.memory, MEMORY_PORTS[0], width) if found.memory else _no_memory(width)),
        f"  {module} {f'#({given}) ' if given else ''}device (",
        ",\n".join(f"    .{name}({net})" for name, net in _connections(found, ports).items()),
        "  );",
        "endmodule",
    ]
    return "\n".join(lines) + "\n"


def _adapter(convention: Convention, simple: Convention, width: int) -> list[str]:
    if not convention.module:
        return []
    nets = [f"  wire [{_bits(wire, width) - 1}:0] {wire.name};" for wire in convention.wires]
    own = [f".{wire.name}({wire.name})" for wire in (CLOCK, RESETS[0], *simple.wires)]
    other = [f".{wire.adapter}({wire.name})" for wire in convention.wires]
    widths = f"#(.WIDTH({width})) " if simple is MEMORY_PORTS[0] else ""
    return [*nets, f"  {convention.module} {widths}adapter_{convention.module} (", f"    {', '.join([*own, *other])});"]


def _no_memory(width: int) -> list[str]:
    nothing = ("mem_request", "mem_write", "mem_address", "mem_wdata", "mem_strobe")
    return [f"  assign {name} = 0;" for name in nothing]


def _bits(wire: Wire, width: int) -> int:
    return {"data": width, "strobe": width // 8, "address": 32}.get(str(wire.bits)) or int(wire.bits)


def _connections(found: Interface, ports: Mapping[str, Port]) -> dict[str, str]:
    """Outputs that no convention knows are left open."""
    known = {wire.name: _net(wire, found, ports) for wire in found.wires if wire.name in ports}
    return {name: known.get(name, "") for name in ports}


def _net(wire: Wire, found: Interface, ports: Mapping[str, Port]) -> str:
    bits = ports[wire.name].bits
    if wire in RESETS:
        return wire.adapter
    return f"{wire.name}[{(bits or 1) - 1}:0]" if wire.bits == "address" else wire.name
