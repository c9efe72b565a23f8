"""Programs that try each instruction of Zve32x on all types of elements, with masks and without.

A case loads all registers with bytes by chance, does one instruction, and writes what became of registers 8 to 15, of
the integer register, of the saturation flag and of the length: 140 bytes. Stores and loads use 512 bytes of their own.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

CASE_BYTES, MEMORY_BYTES = 140, 512
FEATURES = "+m+c+zve32x+zvl128b"

PLAIN = (
    "vadd:vxi vsub:vx vrsub:xi vminu:vx vmin:vx vmaxu:vx vmax:vx vand:vxi vor:vxi vxor:vxi vsaddu:vxi vsadd:vxi "
    "vssubu:vx vssub:vx vsll:vxu vsmul:vx vsrl:vxu vsra:vxu vssrl:vxu vssra:vxu vaaddu:vx vaadd:vx vasubu:vx vasub:vx "
    "vdivu:vx vdiv:vx vremu:vx vrem:vx vmulhu:vx vmul:vx vmulhsu:vx vmulh:vx vslideup:xu vslidedown:xu vslide1up:x "
    "vslide1down:x vrgather:vxu"
)
COMPARE = "vmseq:vxi vmsne:vxi vmsltu:vx vmslt:vx vmsleu:vxi vmsle:vxi vmsgtu:xi vmsgt:xi"
ADD = "vmacc:vx vnmsac:vx vmadd:vx vnmsub:vx"
WIDE = "vwaddu:vx vwadd:vx vwsubu:vx vwsub:vx vwmulu:vx vwmulsu:vx vwmul:vx"
WIDE_ADD = "vwmaccu:vx vwmacc:vx vwmaccsu:vx vwmaccus:x"
FROM_WIDE = "vwaddu:vx vwadd:vx vwsubu:vx vwsub:vx"
NARROW = "vnsrl:vxu vnsra:vxu vnclipu:vxu vnclip:vxu"
REDUCE = "vredsum vredand vredor vredxor vredminu vredmin vredmaxu vredmax"
LOGIC = "vmand vmnand vmandn vmxor vmor vmnor vmorn vmxnor"
CARRY = [
    "vadc.vvm",
    "vadc.vxm",
    "vadc.vim",
    "vsbc.vvm",
    "vsbc.vxm",
    "vmadc.vvm",
    "vmadc.vxm",
    "vmadc.vim",
    "vmsbc.vvm",
    "vmsbc.vxm",
    "vmerge.vvm",
    "vmerge.vxm",
    "vmerge.vim",
    "vmadc.vv",
    "vmadc.vx",
    "vmadc.vi",
    "vmsbc.vv",
    "vmsbc.vx",
]
GROUPS = {"mf4": -2, "mf2": -1, "m1": 0, "m2": 1, "m4": 2, "m8": 3}


@dataclass(frozen=True)
class Case:
    text: str
    """The instruction."""
    bits: int
    group: str
    length: int
    scalar: int
    rounding: int
    seed: int

    @property
    def name(self) -> str:
        return self.text.split()[0]


def cases(seed: int) -> list[Case]:
    rng = random.Random(seed)
    found = []
    for bits in (8, 16, 32):
        for group, power in GROUPS.items():
            if bits > 32 >> max(-power, 0):
                continue
            most = max(1, (128 << power if power >= 0 else 128 >> -power) // bits)
            for text in _of_type(rng, bits, power):
                scalar = rng.choice(
                    [0, 1, 3, 0x7F, 0x80, 0x8000, 0x7FFFFFFF, 0x80000000, rng.getrandbits(32), most - 1]
                )
                length = rng.choice([most, most, rng.randint(0, most), most // 2])
                found.append(Case(text, bits, group, length, scalar, rng.randrange(4), rng.getrandbits(32)))
    return found


def _of_type(rng: random.Random, bits: int, power: int) -> Iterator[str]:
    """Instructions with operands that elements of this size may have."""
    yield from (text + rng.choice(["", ", v0.t"]) for text in _maskable(rng, bits, power))
    yield from (
        f"{name} v8, v16, {_operand(name[-2 if name.endswith('m') else -1], rng)}{_carry(name)}" for name in CARRY
    )
    yield from (f"{name}.mm v8, v16, v24" for name in LOGIC.split())
    yield from (
        "vcompress.vm v8, v16, v24",
        "vmv.v.v v8, v24",
        "vmv.v.x v8, a1",
        "vmv.v.i v8, -7",
        "vmv.s.x v8, a1",
        "vmv.x.s a0, v24",
    )
    yield from (f"vmv{n}r.v v8, v16" for n in (1, 2, 4, 8))
    yield from ("vlm.v v8, (a4)", "vsm.v v8, (a4)", "vs4r.v v8, (a4)", "vl2re8.v v8, (a4)", "vl8re32.v v8, (a4)")


def _carry(name: str) -> str:
    return ", v0" if name.endswith("m") else ""


def _operand(form: str, rng: random.Random) -> str:
    return {"v": "v24", "x": "a1", "i": str(rng.randint(-16, 15)), "u": str(rng.randint(0, 31))}[form]


def _listed(names: str, first: str, rng: random.Random, suffix: str = "v") -> Iterator[str]:
    for name in names.split():
        mnemonic, forms = name.split(":")
        for form in forms:
            ending = "i" if form == "u" else form
            yield f"{mnemonic}.{suffix}{ending} v8, {first}, {_operand(form, rng)}"


def _maskable(rng: random.Random, bits: int, power: int) -> Iterator[str]:
    yield from _listed(PLAIN, "v16", rng)
    yield from _listed(COMPARE, "v16", rng)
    for name, form in ((name, form) for one in ADD.split() for name, forms in [one.split(":")] for form in forms):
        yield f"{name}.v{form} v8, {_operand(form, rng)}, v16"
    yield from (f"{name}.vs v8, v16, v24" for name in REDUCE.split())
    yield from ("viota.m v8, v16", "vid.v v8", "vcpop.m a0, v16", "vfirst.m a0, v16")
    yield from (f"vms{kind}f.m v8, v16" for kind in ("b", "o", "i"))
    if -3 <= power + {8: 1, 16: 0, 32: -1}[bits] <= 3:
        yield "vrgatherei16.vv v8, v16, v24"
    if bits < 32 and power < 3:
        yield from _listed(WIDE, "v16", rng)
        yield from _listed(FROM_WIDE, "v16", rng, "w")
        yield from _listed(NARROW, "v16", rng, "w")
        for name, form in (
            (name, form) for one in WIDE_ADD.split() for name, forms in [one.split(":")] for form in forms
        ):
            yield f"{name}.v{form} v8, {_operand(form, rng)}, v16"
    if bits < 32:
        yield from (f"vwredsum{u}.vs v8, v16, v24" for u in ("", "u"))
    for parts, shorter in ((2, 1), (4, 2)):
        if bits // parts >= 8 and power - shorter >= -2:
            yield from (f"v{kind}ext.vf{parts} v8, v16" for kind in "zs")
    yield from _of_memory(bits, power)


def _of_memory(bits: int, power: int) -> Iterator[str]:
    for wide in (8, 16, 32):
        group = power + {8: 0, 16: 1, 32: 2}[wide] - {8: 0, 16: 1, 32: 2}[bits]
        if not -2 <= group <= 3:
            continue
        yield from (f"vle{wide}.v v8, (a4)", f"vse{wide}.v v8, (a4)", f"vle{wide}ff.v v8, (a4)")
        if group < 3:
            yield from (f"vlse{wide}.v v8, (a4), a5", f"vsse{wide}.v v8, (a4), a5")
        for fields in (2, 3, 5, 8):
            if fields << max(group, 0) <= 8:
                yield from (f"vlseg{fields}e{wide}.v v8, (a4)", f"vsseg{fields}e{wide}.v v8, (a4)")
    if bits == 8 and power <= 1:
        yield from ("vluxei8.v v8, (a4), v16", "vsoxei8.v v8, (a4), v16", "vloxseg2ei8.v v8, (a4), v24")


def program(listed: list[Case]) -> str:
    """Assembly: a2 is behind all cases' 1024 bytes of input, a3 what is written, a4 512 bytes that are moved.

    Registers that are loaded with `li` are set here; s0 is the number of a case's first byte of input.
    """
    return "\n".join(_one(case) for case in listed)


def _one(case: Case) -> str:
    return f"""
    vsetvli t0, zero, e8, m8, ta, ma
    li s0, {case.seed & 0x1FF}
    add s0, s0, a2
    vle8.v v0, (s0)
    addi s0, s0, 128
    vle8.v v8, (s0)
    addi s0, s0, 128
    vle8.v v16, (s0)
    addi s0, s0, 128
    vle8.v v24, (s0)
    csrwi vcsr, {case.rounding << 1}
    li a0, 0
    li a1, {case.scalar}
    li a5, {case.bits // 8 + 4 & 12 or 4}
    li t0, {case.length}
    vsetvli t0, t0, e{case.bits}, {case.group}, tu, mu
    {case.text}
    csrr t1, vl
    csrr t2, vxsat
    vsetvli t0, zero, e8, m8, ta, ma
    vse8.v v8, (a3)
    sw a0, 128(a3)
    sw t1, 132(a3)
    sw t2, 136(a3)
    addi a3, a3, {CASE_BYTES}"""
