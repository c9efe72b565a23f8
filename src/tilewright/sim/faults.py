"""Why a run stopped, in words."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.errors import CompileError, StackOverrun
from tilewright.sim.library import CFault

NONE, EXIT, ILLEGAL, UNMAPPED, MISALIGNED, DEADLOCK, LIMIT, BREAKPOINT, DEVICE, TRAP, FETCH, STOPPED = range(12)
UNWRITTEN, PROTECTED, TRANSFER, COMMAND, MISUSE, STACK = range(12, 18)
"""In the order of engine/sim.h."""
EBREAK = 3
ANYTHING = "the platform may answer with anything"
LAYER_HINT = "finish the layer with the jobs that are left of it"
MISUSES = (
    ("reads which cores are started, which on the chip's public simulator stops them", "remember what was written"),
    ("gives the DMA a command of no bytes, of rows that are not whole, or without increment", ANYTHING),
    ("writes to a job of N-EUREKA that it has not acquired", "read the register at 0x04 until it is not negative"),
    ("clears N-EUREKA, which the chip's public simulator does not survive", "let its jobs end"),
    ("gives N-EUREKA a job in a mode that it does not have here", ANYTHING),
    ("gives N-EUREKA a job that fetches weights of L1 ahead", "fetch ahead from the weight memory only"),
    ("gives N-EUREKA a job that adds to results of 8 bits, or depthwise", ANYTHING),
    ("gives N-EUREKA a depthwise job with more or fewer filters than channels", ANYTHING),
    ("uses the HyperRAM before the clock of its transfers is on", "write -1 to the first register of the uDMA"),
    ("gives the HyperRAM a ninth transfer", "wait until its status has fewer than eight"),
    ("gives the HyperRAM a transfer of no bytes", ANYTHING),
    ("gives the HyperRAM a transfer whose set-up, address and start differ about its direction", ANYTHING),
    ("gives the HyperRAM a transfer with a memory that it does not reach", "it exchanges bytes with L2"),
    (
        "runs code in L1, as another core has: lines come through one port, and the chip's public simulator refuses a "
        "second core's",
        "keep code in L2 or in the weight memory (leave --code-in-l1 out), or let one core run it",
    ),
    ("accesses a register of a device with less than 32 bits", "use whole words"),
    ("reads a register that can only be written", ANYTHING),
    ("writes a register that can only be read", ANYTHING),
    ("uses a register of the event unit that the chip's public simulator does not have", ANYTHING),
    ("dispatches work where some core has still to take the eighth one before", "wait for the team at a barrier"),
    ("gives the DMA a command without a transfer id", "read the command register first, and free the id afterwards"),
    ("gives N-EUREKA a job with an offset of the weights, but not the bit that says so", "set bit 15 of register 23"),
    ("uses the HyperRAM with pages, or while flash is selected", "write 4 to its register 0x00 and 0 to 0x20"),
    ("writes a register of a device that is at work", "wait until its job has ended"),
    ("reads a register of a device that can only be written, or writes one that can only be read", ANYTHING),
    ("touches what a device's job is at work on", "wait until the job has ended"),
    ("ends the program while a device is at work", "wait for its last job"),
    ("starts a job of ITA while four wait or run", "read the register at 0x04 until it is not negative"),
    ("writes to a context of ITA whose job waits or runs", "read the register at 0x04 until it is not negative"),
    ("gives ITA a pointer that is not aligned", "tiles lie at multiples of 128 bytes, biases of 64"),
    ("gives ITA a job of another layer, or with other numbers of tiles, than the one in progress", LAYER_HINT),
    ("gives ITA a job whose result is not due, or keeps one back that is", "the last inner block writes, no other"),
    (
        "gives ITA a bias where none is added, or along the wrong side",
        "none for QK and AV; per row for V and only there",
    ),
    (
        "gives ITA a job without its first weights",
        "load them first, as every first job of a layer does, or let the job before fetch them from the same place",
    ),
    (
        "gives ITA constants of GELU whose products do not fit 26 bits",
        "b and c are negative, as for a scale of 4 / 128",
    ),
    ("writes to ITA while it is being cleared", "wait for 10 cycles"),
    ("starts a head of sizes that are no multiples of 64, or above 512", "pad with zeros"),
    ("starts a head with more than one iteration", "leave bits 5 to 7 of the state 0"),
    (
        "uses a stream register while its data mover has nothing to deliver or take",
        "write its pointer, and its bounds before",
    ),
    (
        "reads a register whose data mover has elements for it while streams are off",
        "switch streams on (CSR 0x7C0, bit 0) after their set-up, and off after the last instruction that reads them",
    ),
    ("has in the body of frep what does not go through the queue", "only arithmetic of the FPU repeats"),
    ("repeats more instructions than the queue holds", "let frep repeat at most 16"),
    (
        "has an instruction of the integer core in the body of frep, which is not repeated",
        "put it before or after the loop",
    ),
    ("uses a stream register in an instruction that goes past the queue", "take the element by an arithmetic one"),
    ("wakes a core that does not exist", "hart numbers begin at 0; -1 wakes all"),
    (
        "launches a transfer that is not of whole words, or not between L1 and L2",
        "addresses and length are multiples of 4, and one side is L1",
    ),
)
"""What is done, and what to try; in the order of engine/sim.h."""


def describe(fault: CFault, where: str) -> CompileError:
    what, hint = _DESCRIPTIONS[fault.reason](fault)
    return (StackOverrun if fault.reason == STACK else CompileError)(where, what, hint)


def standstill(reason: int, cycle: int, places: str) -> CompileError:
    if reason == DEADLOCK:
        what = "all cores are asleep and nothing can wake them"
        hint = "look for a missing event mask, a barrier with too few cores, or a missing exit"
    else:
        what, hint = (
            "the program has not ended",
            "allow more with --max-cycles (max_cycles in Python), or look where it loops",
        )
    return CompileError(f"cycle {cycle}", f"{what}:\n{places}", hint)


def _access(fault: CFault) -> str:
    size = "1 byte" if fault.size == 1 else f"{fault.size} bytes"
    return f"{'writes' if fault.is_write else 'reads'} {size} at {fault.address:#010x}"


def _illegal(fault: CFault) -> tuple[str, str]:
    return "illegal instruction", "is the program built for this core's instruction set?"


def _unmapped(fault: CFault) -> tuple[str, str]:
    return f"{_access(fault)}, where nothing is mapped", "a wild pointer, or an address of another chip?"


def _misaligned(fault: CFault) -> tuple[str, str]:
    return (
        f"{_access(fault)}, which is not aligned to it",
        "device registers, atomics and some cores take aligned accesses only",
    )


def _device(fault: CFault) -> tuple[str, str]:
    return (
        f"a device {_access(fault)}, where there is no memory",
        "check the addresses of the job or transfer that was started",
    )


def _trap(fault: CFault) -> tuple[str, str]:
    return f"{'ebreak' if fault.value == EBREAK else 'ecall'} without a trap handler", "set mtvec first"


def _fetch(fault: CFault) -> tuple[str, str]:
    return f"runs into {fault.pc:#010x}, where there is no memory", "a wild function pointer or return address?"


def _unwritten(fault: CFault) -> tuple[str, str]:
    return f"{_access(fault)}, which is uninitialised", "initialise it; memory is undefined at reset"


def _protected(fault: CFault) -> tuple[str, str]:
    return f"{_access(fault)}, which is code or a constant", "a wild pointer, or an array that is too short?"


def _transfer(fault: CFault) -> tuple[str, str]:
    return f"{_access(fault)}, where a DMA transfer is in flight", "wait for the transfer first"


def _command(fault: CFault) -> tuple[str, str]:
    what = f"gives the DMA the command {fault.value:#010x}, with rows of {fault.size} bytes, which it cannot carry out"
    return what, "2D is for the external side, with rows that are not empty"


def _misuse(fault: CFault) -> tuple[str, str]:
    return MISUSES[fault.value]


def _stack(fault: CFault) -> tuple[str, str]:
    needed = fault.value + fault.size
    what = f"needs {needed} bytes of stack, the core has {fault.value}"
    return what, f"give each core more: --stack {-(-3 * needed // 32) * 16}"


_DESCRIPTIONS: dict[int, Callable[[CFault], tuple[str, str]]] = {
    ILLEGAL: _illegal,
    UNMAPPED: _unmapped,
    MISALIGNED: _misaligned,
    DEVICE: _device,
    TRAP: _trap,
    FETCH: _fetch,
    UNWRITTEN: _unwritten,
    PROTECTED: _protected,
    TRANSFER: _transfer,
    COMMAND: _command,
    MISUSE: _misuse,
    STACK: _stack,
}
