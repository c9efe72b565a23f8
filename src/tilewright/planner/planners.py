"""How networks are planned: one interface, and which of its two forms a machine has, which follows from its links."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Generic, TypeVar

from tilewright.ir.at_sizes import symbols_of
from tilewright.ir.graph import Graph
from tilewright.planner.arena.allocation import Allocation, allocate
from tilewright.planner.arena.transfers import with_transfers
from tilewright.planner.arena.weighing import weighed
from tilewright.planner.board.copied_weights import copy_weights
from tilewright.planner.board.memory import check_board_memory
from tilewright.planner.check.places import check_places
from tilewright.planner.check.plan import check_plan
from tilewright.planner.check.schedule import check_schedule
from tilewright.planner.check.sizes import at_bound, check_sizes
from tilewright.planner.check.states import check_allocation
from tilewright.planner.cluster.capacity import check_memory_names
from tilewright.planner.cluster.plan import Plan
from tilewright.planner.cluster.planning import plan
from tilewright.planner.placed import Placed
from tilewright.planner.plan_bodies import plan_bodies, with_control_flow
from tilewright.planner.refit.refit import refit_arena, refit_tiles
from tilewright.planner.schedule.lower_arena import lower_arena
from tilewright.planner.schedule.lower_tiles import lower_tiles
from tilewright.planner.schedule.schedule import Schedule
from tilewright.target.board import adapted
from tilewright.target.core_or_accelerator import fastest_first
from tilewright.target.mapping import Mapped, as_chosen
from tilewright.target.settings import Settings
from tilewright.target.target import Target

P = TypeVar("P", bound=Placed)
"""Where everything lies."""


class Planner(ABC, Generic[P]):
    """The stages between a lowered graph and C, of which each result has been checked."""

    joins: ClassVar[bool]
    """Whether operands of Concats are made in their results, long before a Concat's turn."""

    @abstractmethod
    def adapt(self, target: Target, settings: Settings) -> Target:
        """The target with the sizes that are asked for, which it may have."""

    @abstractmethod
    def fit(self, graph: Graph, target: Target, settings: Settings) -> Graph:
        """The graph with layers that fit the memories."""

    @abstractmethod
    def prefer(self, mapped: Mapped, settings: Settings) -> Mapped:
        """Of all kernels that take a layer, those first that are to be preferred, as far as that is known by now."""

    @abstractmethod
    def place(self, mapped: Mapped, settings: Settings) -> P:
        """Where everything lies."""

    @abstractmethod
    def schedule(self, placed: P, settings: Settings, predicts: bool) -> Schedule:
        """What runs; where it only `predicts` what that takes, events are not followed one by one."""


class TilePlanner(Planner[Plan]):
    """Layers in tiles, which links bring to the memory that cores work in; engines are weighed against each other."""

    joins = True

    def adapt(self, target: Target, settings: Settings) -> Target:
        check_memory_names(target, settings)
        return target

    def fit(self, graph: Graph, target: Target, settings: Settings) -> Graph:
        return refit_tiles(graph, target, settings)

    def prefer(self, mapped: Mapped, settings: Settings) -> Mapped:
        return mapped

    def place(self, mapped: Mapped, settings: Settings) -> Plan:
        return check_plan(plan(mapped, settings))

    def schedule(self, placed: Plan, settings: Settings, predicts: bool) -> Schedule:
        made = lower_tiles(placed)
        return made if predicts else check_schedule(made)


class ArenaPlanner(Planner[Allocation]):
    """Whole layers one after the other, in a memory that cores work in and nothing has to be brought to."""

    joins = False

    def adapt(self, target: Target, settings: Settings) -> Target:
        return with_control_flow(adapted(target, settings))

    def fit(self, graph: Graph, target: Target, settings: Settings) -> Graph:
        return refit_arena(plan_bodies(graph, target), target, settings)

    def prefer(self, mapped: Mapped, settings: Settings) -> Mapped:
        return with_transfers(weighed(fastest_first(mapped), settings))

    def place(self, mapped: Mapped, settings: Settings) -> Allocation:
        return replace(check_allocation(allocate(as_chosen(mapped))), pinned=dict(settings.placed))

    def schedule(self, placed: Allocation, settings: Settings, predicts: bool) -> Schedule:
        made = copy_weights(lower_arena(placed), settings)
        checked = check_board_memory(made, placed, settings)
        if not symbols_of(checked.graph):
            return check_places(check_schedule(checked))
        check_sizes(checked)
        check_schedule(at_bound(checked))
        return checked


TILES, ARENA = TilePlanner(), ArenaPlanner()


def planner_of(target: Target) -> Planner[Any]:
    return TILES if target.is_tiled else ARENA
