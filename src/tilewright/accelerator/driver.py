"""The C that drives a unit, written from its declaration: the register map, how jobs are started, one driver for each
pattern."""

from __future__ import annotations

from pathlib import Path

from tilewright.accelerator.declaration import MADE, Accelerator, Event, Register
from tilewright.accelerator.kernels import UNUSED, Driver
from tilewright.accelerator.unit import Unit

STATIC = Path(__file__).parent / "c"
"""C that is the same for all accelerators."""


def register_header(accelerator: Accelerator) -> str:
    """NAME_registers.h: what driver and device model share."""
    prefix = accelerator.name.upper()
    lines = "\n".join(_define(prefix, register) for register in sorted(accelerator.registers, key=lambda r: r.offset))
    numbers = "\n".join(f"#define {prefix}_{name.upper()} {value}" for name, value in accelerator.parameters.items())
    fields = "\n".join(f"  uint32_t {register.name};" for register in accelerator.registers)
    offsets = ", ".join(str(register.offset) for register in accelerator.registers)
    access = "".join({"r": "r", "w": "w"}.get(register.access, "b") for register in accelerator.registers)
    bus = accelerator.bus
    return f"""\
/* Registers of {accelerator.name}: {_plain(accelerator.summary).rstrip(".")}. {MADE} */
#ifndef {prefix}_REGISTERS_H
#define {prefix}_REGISTERS_H

#include <stdint.h>

{lines}

#define {prefix}_JOB_START {prefix}_REG_{accelerator.start.upper()} /* writing it starts a job */
#define {prefix}_JOB_DONE {prefix}_REG_{accelerator.done.register.upper()}
#define {prefix}_JOB_DONE_BITS {accelerator.done.bits}u
#define {prefix}_JOB_EVENT_LINE {accelerator.done.line if isinstance(accelerator.done, Event) else -1}
#define {prefix}_JOB_BUS_BYTES_PER_CYCLE {bus.bytes_per_cycle if bus else 0}
#define {prefix}_JOB_BUS_OVERLAPPED {int(bus.overlapped) if bus else 1}
#define {prefix}_JOB_BUS_CONTENDS {int(bus.contends) if bus else 0}
{numbers}

/* Their values, by name. */
typedef struct {{
{fields}
}} {accelerator.name}_registers;

#define {prefix}_REG_OFFSETS {{{offsets}}}
#define {prefix}_REG_ACCESS "{access}" /* of each: r only read, w only written, b both */

#endif
"""


def _define(prefix: str, register: Register) -> str:
    says = f" /* {_plain(register.says)} */" if register.says else ""
    return f"#define {prefix}_REG_{register.name.upper()} 0x{register.offset:02x}{says}"


def _plain(text: str) -> str:
    """Text inside a comment that cannot end it."""
    return text.replace("*/", "* /").encode("ascii", "replace").decode()


def unit_header(unit: Unit, has_runtime: bool) -> str:
    """NAME_unit.h: begin, write registers, start; and wait, where no runtime does."""
    name, kind = unit.name, unit.accelerator.name.upper()
    if has_runtime:
        include = '#include "unit_jobs.h"\n'
        begin, start = f"tw_unit_begin({unit.number})", f"  tw_unit_commit({unit.number});\n"
        wait = ""
    else:
        include, begin, start = "", "(void)0", '  __asm__ volatile("" ::: "memory");\n'
        wait = f"""
/* Returns when the job that was started last has ended. */
static inline void {name}_wait(void) {{
  while (({unit.symbol}_REGISTER({kind}_JOB_DONE) & {kind}_JOB_DONE_BITS) == 0) {{
  }}
  __asm__ volatile("" ::: "memory");
}}
"""
    return f"""\
/* {name} as drivers see it. {MADE} */
#ifndef TW_{unit.symbol}_UNIT_H
#define TW_{unit.symbol}_UNIT_H

#include <stdint.h>

{include}#include "{unit.accelerator.name}_registers.h"

#define {unit.symbol}_REGISTER(offset) (*(volatile uint32_t *)(uintptr_t)(0x{unit.base:08x}u + (offset)))

/* Before the registers of a job are written: those of the job before are not needed any more. */
static inline void {name}_begin(void) {{ {begin}; }}

static inline void {name}_start(void) {{
{start}  {unit.symbol}_REGISTER({kind}_JOB_START) = {unit.accelerator.start_value}u;
}}
{wait}
#endif
"""


# ---- drivers --------------------------------------------------------------------------------------------------------


def driver_header(driver: Driver) -> str:
    stem = driver.stem
    fields = "  int32_t jobs;\n  const int32_t *words; /* of each job: where its operands are, then registers */\n"
    if not driver.is_cut:
        fields = "".join(f"  int32_t {name};\n" for name, _ in driver.values)
    totals = driver.form.gives_totals
    return f"""\
/* What the driver of {driver.unit.name} for pattern {driver.form.pattern.name} knows. {MADE} */
#ifndef TW_{stem.upper()}_H
#define TW_{stem.upper()}_H

#include <stdint.h>
{
        '''
#include "tw_totals.h"
'''
        if totals
        else ""
    }
typedef struct {{
{fields}{"  tw_totals totals;" if totals else "" if fields else f"  int32_t {UNUSED};"}
}} tw_{stem}_params;

#endif
"""


def driver_source(driver: Driver) -> str:
    pattern, stem, totals = driver.form.pattern, driver.stem, driver.form.gives_totals
    result = "totals, which cores requantise" if totals else "results"
    includes = "".join(
        f'#include "{name}"\n'
        for name in (f"{driver.unit.name}_unit.h", f"{stem}.h", *(["tw_totals_loops.h"] if totals else []))
    )
    return f"""\
/* {pattern.op} on {driver.unit.name}, pattern {pattern.name}: {result}. {MADE} */
{_alone(driver)}
{_absent(driver)}{includes}
#define ADDRESS(pointer) ((uint32_t)(uintptr_t)(pointer))

{_users(driver) if driver.unit.own_driver else _submits(driver)}{_finish(driver)}"""


def _submits(driver: Driver) -> str:
    job = _job_from_table(driver) if driver.is_cut else _job_from_struct(driver)
    return f"void TW_NAME({_arguments(driver)}) {{\n{_unused(driver)}{job}}}\n"


def _users(driver: Driver) -> str:
    """The user's driver.c: it defines `void TW_NAME(TW_ARGUMENTS)`, for one pattern after the other."""
    return f"""\
#define TW_ARGUMENTS {_arguments(driver)}
#define TW_PATTERN_{driver.form.pattern.name.upper()}
#define TW_GIVES_TOTALS {int(driver.form.gives_totals)}
#include "{users_file(driver.unit)}"
"""


def users_file(unit: Unit) -> str:
    """Where the user's driver lies among the kernels: drivers include it, nobody compiles it alone."""
    return f"{unit.name}_driver.h"


def _alone(driver: Driver) -> str:
    """Types of a driver that is compiled alone."""
    lines = ["#ifndef TW_NAME", f"#define TW_NAME tw_{driver.stem}"]
    lines += [f"#define TW_FINISH tw_{driver.stem}_finish"] if _has_finish(driver) else []
    lines += [f"#define TW_{name.upper()} int8_t" for name in _templates(driver)]
    return "\n".join([*lines, "#endif"])


def _templates(driver: Driver) -> list[str]:
    return [name for name in (*driver.operands, *driver.op.results) if name not in driver.int32s]


def _absent(driver: Driver) -> str:
    """Types of operands that a layer may not have."""
    optional = [name.rstrip("?") for name in driver.op.operands if name.endswith("?")]
    names = [name.upper() for name in optional if name not in driver.int32s]
    return "".join(f"#ifndef TW_{name}\n#define TW_{name} void\n#endif\n" for name in names)


def _has_finish(driver: Driver) -> bool:
    return driver.waits or driver.form.gives_totals


def _arguments(driver: Driver) -> str:
    templates, results = _templates(driver), driver.op.results
    found = [f"const tw_{driver.stem}_params *params"]
    for name in (*driver.operands, *results):
        kind = f"TW_{name.upper()}" if name in templates else "int32_t"
        found.append(f"{'' if name in results else 'const '}{kind} *{name.lower()}")
    return ", ".join([*found, *(["void *scratch"] if driver.form.gives_totals else [])])


def _unused(driver: Driver) -> str:
    used = {_source_of(driver, value) for _, value in driver.addresses}
    names = [name.lower() for name in (*driver.operands, *driver.op.results)]
    return "".join(f"  (void){name};\n" for name in names if name not in used)


def _source_of(driver: Driver, operand: str) -> str:
    """The argument that an address is of: totals go into the working memory."""
    return "scratch" if driver.form.gives_totals and operand in driver.op.results else operand.lower()


def _job_from_struct(driver: Driver) -> str:
    unit, kind = driver.unit.symbol, driver.unit.accelerator.name.upper()
    lines = [f"  {driver.unit.name}_begin();"]
    for register, operand in driver.addresses:
        lines.append(f"  {unit}_REGISTER({kind}_REG_{register.upper()}) = ADDRESS({_source_of(driver, operand)});")
    for register, _ in driver.values:
        lines.append(f"  {unit}_REGISTER({kind}_REG_{register.upper()}) = (uint32_t)params->{register};")
    lines += ["  (void)params;"] if not driver.values else []
    return "\n".join([*lines, f"  {driver.unit.name}_start();"]) + "\n"


def _job_from_table(driver: Driver) -> str:
    unit, kind, name = driver.unit.symbol, driver.unit.accelerator.name.upper(), driver.unit.name
    lines = []
    for at, (register, operand) in enumerate(driver.addresses):
        source = f"ADDRESS({_source_of(driver, operand)}) + (uint32_t)word[{at}]"
        lines.append(f"    {unit}_REGISTER({kind}_REG_{register.upper()}) = {source};")
    for at, (register, _) in enumerate(driver.values, len(driver.addresses)):
        lines.append(f"    {unit}_REGISTER({kind}_REG_{register.upper()}) = (uint32_t)word[{at}];")
    body = "\n".join(lines)
    waits = f"    if (job > 0) {name}_wait();\n" if driver.waits else ""
    return f"""\
  const int32_t *word = params->words;
  for (int32_t job = 0; job < params->jobs; job++, word += {len(driver.addresses) + len(driver.values)}) {{
{waits}    {name}_begin();
{body}
    {name}_start();
  }}
"""


def _finish(driver: Driver) -> str:
    if not _has_finish(driver):
        return ""
    lines = [f"  {driver.unit.name}_wait();"] if driver.waits else []
    if driver.form.gives_totals:
        bias = next(name.lower() for name in driver.operands if name not in _templates(driver))
        lines.append(f"  tw_totals_requantise(&params->totals, scratch, {bias}, mul, add, y);")
        used = {"params", bias, "mul", "add", "y", "scratch"}
    else:
        used = set()
    names = ["params", *(name.lower() for name in (*driver.operands, *driver.op.results))]
    unused = [f"  (void){name};" for name in names if name not in used]
    return f"""
void TW_FINISH({_arguments(driver)}) {{
{chr(10).join([*unused, *lines])}
}}
"""


def device_header(accelerator: Accelerator) -> str:
    """NAME_device.h: all that a model in C includes."""
    prefix = accelerator.name.upper()
    words = ("START", "DONE", "DONE_BITS", "EVENT_LINE", "BUS_BYTES_PER_CYCLE", "BUS_OVERLAPPED", "BUS_CONTENDS")
    lines = "\n".join(f"#define DEVICE_{word} {prefix}_JOB_{word}" for word in words)
    lines += "".join(f"\n#define DEVICE_{word} {prefix}_REG_{word}" for word in ("OFFSETS", "ACCESS"))
    return f"""\
/* For the model of {accelerator.name}. {MADE} */
#include "{accelerator.name}_registers.h"

{lines}
typedef {accelerator.name}_registers registers;

#include "accelerator_device.h"
"""


def unit_table(units: list[Unit]) -> str:
    """unit_table.h: where the runtime sees that a unit's job has ended."""
    rows = "".join(
        f"    {{0x{unit.base + unit.accelerator.register(unit.accelerator.done.register).offset:08x}u, "
        f"{unit.accelerator.done.bits}u, {_lines(unit.accelerator)}}}, /* {unit.name} */\n"
        for unit in units
    )
    return f"""\
/* The declared accelerators. {MADE} */
#ifndef TW_UNIT_TABLE_H
#define TW_UNIT_TABLE_H

#include <stdint.h>

#define TW_UNITS {len(units)}

typedef struct {{
  uint32_t done, bits; /* the register that says so, and what is set in it */
  uint32_t lines;      /* the event that it raises besides; 0 for none */
}} tw_unit;

/* By number, from 1 on. */
static const tw_unit tw_unit_table[TW_UNITS + 1] = {{
    {{0, 0, 0}},
{rows}}};

#endif
"""


def _lines(accelerator: Accelerator) -> str:
    return f"1u << {accelerator.done.line}" if isinstance(accelerator.done, Event) else "0"
