"""Random programs for a CORE-V core, as assembly text: LLVM knows the encodings, not we."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.sim.cv32e40p.model import ONE_OPERAND, SCALAR, simd

DATA_SIZE = 256
BASE_REGISTER, POINTER, INDEX = 8, 9, 18
"""Start of the data, a pointer into it, an index: only the memory instructions write them."""
FREE = [r for r in range(1, 32) if r not in (BASE_REGISTER, POINTER, INDEX)]
Line = Callable[[random.Random], str]

RV32 = [
    "add",
    "sub",
    "sll",
    "slt",
    "sltu",
    "xor",
    "srl",
    "sra",
    "or",
    "and",
    "mul",
    "mulh",
    "mulhsu",
    "mulhu",
    "div",
    "divu",
    "rem",
    "remu",
]
RV32_IMMEDIATE = ["addi", "slti", "sltiu", "xori", "ori", "andi"]
RV32_SHIFTS = ["slli", "srli", "srai"]
LOADS = ["lb", "lh", "lw", "lbu", "lhu"]
STORES = ["sb", "sh", "sw"]
BRANCHES = ["beq", "bne", "blt", "bge", "bltu", "bgeu"]
EDGES = [0, 1, 2, 0x7F, 0x80, 0x7FFF, 0x8000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80808080, 0x80008000, 0xFFFF0000]


def register(rng: random.Random) -> str:
    return f"x{rng.choice(FREE)}"


def source(rng: random.Random) -> str:
    return f"x{rng.choice([0, *FREE, *FREE])}"


def plain(name: str, operands: int = 2) -> Line:
    """name rd, rs1[, rs2]"""
    return lambda rng: f"{name} {register(rng)}, " + ", ".join(source(rng) for _ in range(operands))


def immediate(name: str, *ranges: tuple[int, int], operands: int = 1) -> Line:
    """name rd, rs1[, rs2], and numbers from ranges that include both ends."""

    def line(rng: random.Random) -> str:
        return f"{plain(name, operands)(rng)}, " + ", ".join(str(rng.randint(*r)) for r in ranges)

    return line


def rv32_lines() -> list[Line]:
    lines = [plain(name) for name in RV32]
    lines += [immediate(name, (-2048, 2047)) for name in RV32_IMMEDIATE]
    lines += [immediate(name, (0, 31)) for name in RV32_SHIFTS]
    lines += [lambda rng: f"lui {register(rng)}, {rng.getrandbits(20)}"]
    return lines


def scalar_lines() -> list[Line]:
    lines = [plain(f"cv.{name}", 1 if name in ONE_OPERAND else 2) for name in SCALAR]
    lines += [plain(f"cv.{name}") for name in ("clipr", "clipur", "extractr", "extractur", "insertr", "bclrr", "bsetr")]
    lines += [immediate(f"cv.{name}", (0, 31)) for name in ("clip", "clipu")]
    lines += [field(f"cv.{name}") for name in ("extract", "extractu", "insert", "bclr", "bset")]
    lines += [immediate("cv.bitrev", (0, 3), (0, 31))]
    for operation in ("add", "sub"):
        lines += [immediate(f"cv.{operation}{kind}N", (0, 31), operands=2) for kind in ("", "u", "R", "uR")]
    for operation in ("mul", "mac"):
        for kind in ("s", "u", "hhs", "hhu"):
            lines += [immediate(f"cv.{operation}{kind}{n}", (0, 31), operands=2) for n in ("N", "RN")]
    return lines


def field(name: str) -> Line:
    """A bit field that lies inside the word."""

    def line(rng: random.Random) -> str:
        position = rng.randrange(32)
        return f"{name} {register(rng)}, {source(rng)}, {rng.randrange(32 - position)}, {position}"

    return line


def simd_lines() -> list[Line]:
    lines: list[Line] = []
    for suffix, width in (("h", 16), ("b", 8)):
        for name, (is_signed, _) in simd(width).items():
            limits = (0, width - 1) if name in ("srl", "sra", "sll") else (-32, 31) if is_signed else (0, 63)
            lines += [plain(f"cv.{name}{form}.{suffix}") for form in ("", ".sc")]
            lines += [immediate(f"cv.{name}.sci.{suffix}", limits)]
        last = 32 // width - 1
        lines += [immediate(f"cv.{name}.{suffix}", (0, last)) for name in ("extract", "extractu", "insert")]
        lines += [plain(f"cv.{name}.{suffix}") for name in ("shuffle", "shuffle2")]
        lines += [plain(f"cv.abs.{suffix}", 1)]
    lines += [immediate("cv.shuffle.sci.h", (0, 3))]
    lines += [immediate(f"cv.shufflei{i}.sci.b", (0, 63)) for i in range(4)]
    lines += [plain(f"cv.{name}") for name in ("pack", "pack.h", "packhi.b", "packlo.b")]
    return lines + complex_lines()


def complex_lines() -> list[Line]:
    lines = [
        plain(f"cv.{name}{by}")
        for name in ("cplxmul.r", "cplxmul.i", "subrotmj")
        for by in ("", ".div2", ".div4", ".div8")
    ]
    lines += [plain(f"cv.{name}.{by}") for name in ("add", "sub") for by in ("div2", "div4", "div8")]
    return [*lines, plain("cv.cplxconj", 1)]


def memory_lines() -> list[Line]:
    return [
        memory_access(form, name) for form in ("offset", "step", "register step", "index") for name in LOADS + STORES
    ]


def memory_access(form: str, name: str) -> Line:
    """The address stays inside the data, aligned or not."""

    def line(rng: random.Random) -> str:
        at, back = rng.randrange(DATA_SIZE - 4), rng.randrange(-64, 64)
        value = source(rng) if name in STORES else f"x{rng.choice([*FREE, POINTER])}"
        if form == "offset":
            return f"{name} {value if name in STORES else register(rng)}, {at}(x{BASE_REGISTER})"
        if form == "step":
            return f"addi x{POINTER}, x{BASE_REGISTER}, {at}\n cv.{name} {value}, (x{POINTER}), {back}"
        if form == "register step":
            return f"addi x{POINTER}, x{BASE_REGISTER}, {at}\n cv.{name} {value}, (x{POINTER}), {source(rng)}"
        begin = f"addi x{POINTER}, x{BASE_REGISTER}, {at - back}\n addi x{INDEX}, x0, {back}"
        return f"{begin}\n cv.{name} {value}, x{INDEX}(x{POINTER})"

    return line


def branch_over(inside: list[Line]) -> list[Line]:
    """Forward over a few instructions: branches, jumps and calls through a register."""

    def body(rng: random.Random) -> str:
        return "\n ".join(rng.choice(inside)(rng) for _ in range(rng.randint(1, 3)))

    def near(name: str) -> Line:
        return lambda rng: f"{name} {source(rng)}, {source(rng)}, 1f\n {body(rng)}\n1:"

    def number(name: str) -> Line:
        return lambda rng: f"{name} {source(rng)}, {rng.randint(-16, 15)}, 1f\n {body(rng)}\n1:"

    def through(rng: random.Random) -> str:
        skipped = f"addi {register(rng)}, {source(rng)}, 5"
        return f".option push\n.option norvc\n auipc x{INDEX}, 0\n jalr x1, 12(x{INDEX})\n {skipped}\n.option pop"

    jumps: list[Line] = [
        through,
        lambda rng: f"jal {register(rng)}, 1f\n {body(rng)}\n1:",
        lambda rng: f"j 1f\n {body(rng)}\n1:",
    ]
    return [near(name) for name in BRANCHES] + [number("cv.beqimm"), number("cv.bneimm")] + jumps


def hardware_loop(inside: list[Line]) -> Line:
    """Setup by register or immediate, or piece by piece; possibly with an inner loop."""

    def line(rng: random.Random) -> str:
        inner = [*setup(rng, 0, straight(rng, inside, 3)), *straight(rng, inside, 2)] if rng.random() < 0.4 else []
        body = [*straight(rng, inside, rng.randint(3, 6)), *inner] if inner else straight(rng, inside, 3)
        return "\n ".join(
            [".balign 4\n.option push\n.option norvc", *setup(rng, 1 if inner else 0, body), ".option pop"]
        )

    return line


def straight(rng: random.Random, inside: list[Line], at_least: int) -> list[str]:
    """Instructions one by one, as the loop's length counts them."""
    lines: list[str] = []
    while len(lines) < at_least + rng.randrange(4):
        lines += [text.strip() for text in rng.choice(inside)(rng).split("\n")]
    return lines


def setup(rng: random.Random, loop: int, body: list[str]) -> list[str]:
    """`x12 + loop` and so on: operation and loop number lie in the field of the destination register."""
    count, length = rng.randrange(6), len(body)
    choice = rng.randrange(3)
    if choice == 0 and length < 31:
        return [f".insn i 0x2b, 4, x{12 + loop}, x{length + 1}, {count}", *body]
    load_count = f"addi x{INDEX}, x0, {count}"
    if choice == 1:
        return [load_count, f".insn i 0x2b, 4, x{14 + loop}, x{INDEX}, {length + 1}", *body]
    pieces = [load_count, f".insn i 0x2b, 4, x{loop}, x0, 3", f".insn i 0x2b, 4, x{4 + loop}, x0, {length + 2}"]
    return [*pieces, f".insn i 0x2b, 4, x{10 + loop}, x{INDEX}, 0", *body]


def prologue(rng: random.Random, data: int) -> list[str]:
    values = [rng.choice([rng.getrandbits(32), rng.getrandbits(6), *EDGES]) for _ in FREE]
    return [f"li x{r}, {value}" for r, value in zip(FREE, values, strict=True)] + [f"li x{BASE_REGISTER}, {data}"]


def program(seed: int, length: int, data: int) -> str:
    """Every kind of instruction, in random order with random operands; falls off its end."""
    rng = random.Random(seed)
    arithmetic = [rv32_lines(), scalar_lines(), simd_lines()]
    calm = [line for lines in (*arithmetic, memory_lines() * 2) for line in lines]
    groups = [*arithmetic, memory_lines(), branch_over(calm), [hardware_loop(calm)]]
    lines = prologue(rng, data)
    for _ in range(length):
        lines.append(rng.choice(rng.choices(groups, weights=[4, 5, 8, 4, 3, 1])[0])(rng))
        if rng.random() < 0.1:
            lines.append(f"li {register(rng)}, {rng.choice(EDGES)}")
    return "\n ".join([*lines, ".balign 4"])


def sweep(kind: str, times: int, data: int) -> str:
    """Every instruction of a kind several times, with operands from the edges."""
    rng = random.Random(kind)
    kinds = {"rv32": rv32_lines, "scalar": scalar_lines, "simd": simd_lines, "memory": memory_lines}
    lines = prologue(rng, data)
    for line in kinds[kind]() * times:
        lines += [f"li {register(rng)}, {rng.choice(EDGES)}", line(rng)]
    return "\n ".join([*lines, ".balign 4"])
