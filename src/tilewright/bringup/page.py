"""The documentation page of an accelerator, written from its declaration."""

from __future__ import annotations

from tilewright.accelerator.declaration import Accelerator, Event, Pattern, texts


def page(accelerator: Accelerator) -> str:
    """Markdown."""
    return "\n".join(
        [
            f"# {accelerator.name}", "", f"{accelerator.summary}.", "", *_job(accelerator), "", "## Registers", "",
            "| offset | name | access | |", "|---|---|---|---|",
            *(f"| {r.offset:#04x} | `{r.name}` | {r.access} | {r.says} |" for r in accelerator.registers), "",
            *(line for pattern in accelerator.patterns for line in _pattern(accelerator, pattern)),
            *_parameters(accelerator),
        ]
    ).rstrip() + "\n"  # fmt: skip


def _job(accelerator: Accelerator) -> list[str]:
    done = accelerator.done
    ends = f"and raises event line {done.line}" if isinstance(done, Event) else "which cores poll"
    lines = [
        f"Writing {accelerator.start_value} to `{accelerator.start}` starts a job. At its end the device sets "
        f"{done.bits:#x} in `{done.register}`, {ends}."
    ]
    if accelerator.scratchpad:
        held = ", ".join(accelerator.scratchpad.holds) or "all operands and results"
        lines.append(f"Its scratchpad has {accelerator.scratchpad.bytes} bytes, for {held} of a job.")
    if accelerator.bus:
        how = "while it computes" if accelerator.bus.overlapped else "before and after it computes"
        lines.append(f"It moves {accelerator.bus.bytes_per_cycle:g} bytes per cycle, {how}.")
    if accelerator.area:
        lines.append(f"Its area is taken as `{accelerator.area}`.")
    return lines


def _pattern(accelerator: Accelerator, pattern: Pattern) -> list[str]:
    types = ", ".join(f"{name} {' or '.join(texts(kinds))}" for name, kinds in pattern.types.items())
    chain = "".join(f" + {part}" for part in pattern.chain)
    lines = [f"## Pattern `{pattern.name}`: {pattern.op}{chain}", ""]
    lines += [f"* {types}"] if types else []
    lines += [f"* {pattern.layout}"] if pattern.layout else []
    lines += [f"* {condition.name}: `{condition.holds}`" for condition in pattern.conditions]
    lines += [f"* at most {most} of loop `{loop}` in a job" for loop, most in pattern.limits.items()]
    lines += (
        [f"* layers are cut into jobs along {', '.join(f'`{loop}`' for loop in pattern.cuts)}"] if pattern.cuts else []
    )
    lines += [f"* `{accelerator.cycles_of(pattern)}` cycles for a job", "", "| register | gets |", "|---|---|"]
    return [*lines, *(f"| `{register}` | `{value}` |" for register, value in pattern.writes.items()), ""]


def _parameters(accelerator: Accelerator) -> list[str]:
    if not accelerator.parameters:
        return []
    rows = [f"| `{name}` | {value} |" for name, value in accelerator.parameters.items()]
    return ["## Parameters", "", "| name | default |", "|---|---|", *rows]
