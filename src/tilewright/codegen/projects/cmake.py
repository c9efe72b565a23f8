"""A program for a board: the compiled folder, an application, start-up and linker script, toolchain files for CMake."""

from __future__ import annotations

import re
import shlex

from tilewright.codegen import memory_regions
from tilewright.codegen.program_call import PROGRAM
from tilewright.codegen.projects.gnu_flags import cpu_of, gnu_flags
from tilewright.codegen.projects.project import Content, Project, listed, rendered

LINK, LIBC = "runtime/link.ld", "runtime/libc/"
GENERATED = ("runtime/program_call.h", PROGRAM)
"""The program that `tilewright run` makes; here the application is the program."""


def files(project: Project) -> dict[str, Content]:
    compiled = {f"network/{name}": text for name, text in project.compiled.items() if name not in GENERATED}
    return compiled | (_bare(project) if project.target.agents.isa else _host(project))


def _bare(project: Project) -> dict[str, Content]:
    """For a core that is known, with start-up and linker script."""
    target, agents = project.target, project.target.agents
    is_arm = bool(cpu_of(target))
    runtime = [name for name in project.compiled if name.startswith("runtime/") and name not in GENERATED]
    start = [f"network/{name}" for name in runtime if name.endswith((".c", ".S")) and not name.startswith(LIBC)]
    libc = [f"network/{name}" for name in runtime if name.endswith(".c") and name.startswith(LIBC)]
    prefix = "arm-none-eabi-" if is_arm else "riscv64-unknown-elf-"
    return {
        "CMakeLists.txt": rendered(
            "cmake/board.txt", name=project.name, start=listed(start), libc=listed(libc), stack=str(agents.stack),
            entry=_entry(project.compiled[LINK]),
        ),
        "link.ld": _linker_script(project),
        "app/main.c": rendered("cmake/board_main.c"),
        "app/cycles.h": rendered("cmake/arm_cycles.h" if is_arm else "cmake/console_cycles.h"),
        "app/network_call.h": project.call_header(placed=True),
        f"cmake/{prefix}gcc.cmake": rendered(
            "cmake/gcc.cmake", prefix=prefix, package=prefix.rstrip("-"), flags=" ".join(gnu_flags(target)),
            processor=agents.isa,
        ),
        "cmake/zig.cmake": rendered("cmake/zig.cmake", **_zig_flags(target.flags), processor=agents.isa),
        "README.md": project.readme("cmake/board.md", toolchain=f"{prefix}gcc"),
    }  # fmt: skip


def _linker_script(project: Project) -> str:
    """With the memories in it: not every linker finds what a script includes."""
    compiled = project.compiled
    return compiled[LINK].replace(f"INCLUDE {memory_regions.FILE}\n", compiled[memory_regions.FILE])


def _entry(script: str) -> str:
    """Zig does not take it from the script."""
    found = re.search(r"^ENTRY\((\w+)\)", script, re.MULTILINE)
    return found[1] if found else "_start"


TRIPLE = "-target"
UNCHECKED = "-fno-sanitize=undefined"
"""Else zig would build a runtime for its checks first, which takes 20 s, for CMake's own look at the compiler."""


def _zig_flags(flags: tuple[str, ...]) -> dict[str, str]:
    """What is given to zig first, and what says for which core. The project says how to optimise."""
    at = flags.index(TRIPLE) if TRIPLE in flags else len(flags)
    others = (flag for flag in (*flags[:at], *flags[at + 2 :]) if not flag.startswith("-O"))
    return {"compiler": shlex.join(["cc", *flags[at : at + 2], UNCHECKED]), "flags": shlex.join(others)}


def _host(project: Project) -> dict[str, Content]:
    return {
        "CMakeLists.txt": rendered("cmake/host.txt", name=project.name),
        "app/main.c": rendered("cmake/host_main.c"),
        "app/network_call.h": project.call_header(),
        "README.md": project.readme("cmake/host.md"),
    }
