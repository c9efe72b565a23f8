"""What profiles a program, and what maps its memories: one of each for every kind of program that there is."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.errors import instance
from tilewright.ir.types import Array
from tilewright.planner.arena.allocation import Allocation
from tilewright.planner.cluster.plan import Plan
from tilewright.planner.schedule.schedule import Schedule
from tilewright.profiling.board import board_memory_maps, profile_board
from tilewright.profiling.computer import arena_map, profile_computer
from tilewright.profiling.measuring import Profiled, profile_program
from tilewright.profiling.memory_map import MemoryMap, memory_maps, whole_memory_maps
from tilewright.run.board import BoardProgram
from tilewright.run.host import HostProgram
from tilewright.run.soc import SocProgram
from tilewright.target.runner import HostProcess


def profile(program: HostProgram | BoardProgram | SocProgram, feeds: Mapping[str, Array], network: str) -> Profiled:
    match program:
        case HostProgram():
            return profile_computer(program, feeds)
        case BoardProgram():
            return profile_board(program, feeds, network)
        case SocProgram():
            return profile_program(program, feeds, network)


def maps(schedule: Schedule, placed: Allocation | Plan, whole: bool = False) -> tuple[MemoryMap, ...]:
    """What lies where, step by step; `whole`: also what lies beside arenas."""
    match placed, schedule.target.runner:
        case Allocation(), HostProcess():
            return (arena_map(schedule, placed),)
        case Allocation(), _:
            return board_memory_maps(schedule, placed)
    return (whole_memory_maps if whole else memory_maps)(instance(placed, Plan))
