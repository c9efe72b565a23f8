"""How programs of a machine are built and run, as data: in a process of a computer, or on a chip that is simulated."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from pathlib import Path
from typing import TypeVar

from tilewright.emulator.machine import Emulator
from tilewright.emulator.qemu import Qemu
from tilewright.errors import InternalError
from tilewright.records import dataclass
from tilewright.sim.platform import Platform
from tilewright.sim.platforms import find_platform
from tilewright.sim.rtl.build import RtlDevice
from tilewright.sim.simulator import Simulator
from tilewright.sim.user.device import UserDevice
from tilewright.target import opencl_devices

Machine = Simulator | Emulator | Qemu
"""What programs run on, where that is not this machine."""
AnyMachine = TypeVar("AnyMachine", Simulator, Emulator, Qemu)
CYCLES, NANOSECONDS = "cycles", "nanoseconds"
UNICORN, QEMU = "unicorn", "qemu"
EMULATORS = (UNICORN, QEMU)
"""What runs programs of cores that the virtual SoC does not have."""


ON_HOST = "-DTW_GPU_HOST"
"""Kernels for a GPU are functions of this machine."""
BY_OPENCL = "-DTW_GPU_BY_OPENCL"
"""They are OpenCL C, which the driver of any GPU compiles."""
CUDA, OPENCL, HOST = "cuda", "opencl", "host"
GPU_DEFINITIONS: Mapping[str, tuple[str, ...]] = {CUDA: (), OPENCL: (BY_OPENCL,), HOST: (ON_HOST,)}
"""What launches kernels of a GPU, or does without one -> what the C is told."""
CAPABILITIES: Mapping[str, int] = {"7.0": 70, "7.5": 75, "8.0": 80}
"""Of the oldest GPU of NVIDIA's that PTX is for: as a user says it, and times ten. Newer ones take it too, and more of
it where they have more."""
GPU_DEVICES, ALL_DEVICES = 4, 0xFFFFFFFF
"""Kinds of OpenCL's devices."""
DEVICE_VARIABLE = "TILEWRIGHT_OPENCL_DEVICE"
"""Of the environment: names a device of OpenCL, which may be a processor."""
SECONDS_TO_ASK = 60.0
"""At most, for OpenCL's drivers to say which devices they have."""


@cache
def has_driver() -> bool:
    """Whether the driver of an NVIDIA GPU is installed here."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


@cache
def has_opencl_device() -> bool:
    """Whether OpenCL has a GPU here; any device where one is named."""
    kind = ALL_DEVICES if os.environ.get(DEVICE_VARIABLE) else GPU_DEVICES
    asking = [sys.executable, "-I", opencl_devices.__file__, str(kind)]
    try:
        return subprocess.run(asking, capture_output=True, timeout=SECONDS_TO_ASK, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


@dataclass(frozen=True)
class Model:
    """What stands for a device of the platform that a user has declared."""

    name: str
    """Of the device."""
    make: Callable[..., UserDevice | RtlDevice | Path]
    """A new one, what is verilated, or the C file that it is built from."""
    includes: tuple[Path, ...] = ()
    """Where such a file finds headers."""
    knows_chip: bool = False
    """Whether `make` is given the description of the chip."""


@dataclass(frozen=True)
class Runner(ABC):
    """What all of them have; stages look up what builds, runs and profiles by the class of a runner."""

    @property
    @abstractmethod
    def unit(self) -> str:
        """What runs are counted in and costs are measured in: CYCLES, NANOSECONDS, or nothing."""

    @property
    def clock_mhz(self) -> float | None:
        """What cycles are turned into seconds with, where it is known."""
        return None

    @property
    def emulator(self) -> str:
        """Of EMULATORS; empty where the virtual SoC or this machine runs programs."""
        return ""

    @property
    def chip(self) -> Platform | None:
        """The description of what is simulated, if something is."""
        return None


@dataclass(frozen=True)
class HostProcess(Runner):
    """A program, or a library, of the computer that Tilewright runs on."""

    cpu: str = ""
    """The processor whose code it is; empty where the C is to suit any."""

    @property
    def unit(self) -> str:
        return NANOSECONDS if self.cpu else ""

    @property
    def definitions(self) -> tuple[str, ...]:
        """What the compiler is told besides where a program is built for this machine."""
        return ()


@dataclass(frozen=True)
class GpuProcess(HostProcess):
    """A process of this machine that launches some kernels on a GPU, or calls them where there is no driver of one."""

    capability: int = field(kw_only=True)
    """The oldest of NVIDIA's GPUs that the code is for: ten times its compute capability."""

    api: str = ""
    """What launches kernels, of GPU_DEFINITIONS; by default what there is."""

    @property
    def unit(self) -> str:
        return NANOSECONDS

    @property
    def definitions(self) -> tuple[str, ...]:
        return GPU_DEFINITIONS[self.api or (CUDA if has_driver() else OPENCL if has_opencl_device() else HOST)]


@dataclass(frozen=True)
class VirtualSoc(Runner):
    """A program without an operating system, on a simulated chip or in what emulates its core."""

    platform: str | Platform
    """Its name in `sim/`, or its description. Memories are called there as in the target."""
    clock_mhz: float | None = None
    emulator: str = ""
    library_flag: str = ""
    """A compiler flag for another core, whose library this one takes too: zig builds one for each."""

    @property
    def unit(self) -> str:
        return CYCLES

    @property
    def chip(self) -> Platform:
        return find_platform(self.platform)

    def on(self, platform: Platform) -> VirtualSoc:
        """This virtual SoC with another chip."""
        return replace(self, platform=platform)

    def machine(self, models: Sequence[Model]) -> Machine:
        """What programs are loaded into, with all devices that a user has added."""
        if self.emulator == QEMU:
            return with_models(Qemu(self.chip), models)
        return with_models(Emulator(self.chip), models) if self.emulator else with_models(Simulator(self.chip), models)


def with_models(made: AnyMachine, models: Sequence[Model]) -> AnyMachine:
    for model in models:
        made.attach(model.name, model.make(made.platform) if model.knows_chip else model.make(), model.includes)
    return made


def host_process(runner: Runner) -> HostProcess:
    """The runner, if programs run in a process of this machine."""
    if not isinstance(runner, HostProcess):
        raise InternalError("run", "the program is for a chip, not for this machine")
    return runner


def virtual_soc(runner: Runner, where: str) -> VirtualSoc:
    """The runner, if it simulates a chip."""
    if not isinstance(runner, VirtualSoc):
        raise InternalError(where, "runs on this machine, not on a virtual SoC")
    return runner
