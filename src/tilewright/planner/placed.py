"""What is known of a network once everything of it has its place, whatever machine it is for: what reports and searches
ask of a plan with tiles and of one arena alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from tilewright.planner.home import Home
from tilewright.planner.machine_bound import MachineBound
from tilewright.planner.stacks import Stacks
from tilewright.target.mapping import Estimate, Mapped


class Placed(Protocol):
    @property
    def mapped(self) -> Mapped: ...

    @property
    def homes(self) -> Mapping[str, Home]:
        """Where every tensor lives."""

    @property
    def cores(self) -> int:
        """Cores, or threads, that compute."""

    @property
    def stacks(self) -> Stacks: ...

    @property
    def predicted(self) -> int:
        """Of one run, in the unit that its runner counts: cycles or nanoseconds; 0 where no costs were measured."""

    @property
    def layer_cycles(self) -> Mapping[str, int]:
        """What each layer takes in one run, by the keys of their nodes; nothing where single layers are not counted."""

    @property
    def gap(self) -> float:
        """How far that may be from the best among the candidates, as a fraction of its bound."""

    @property
    def least(self) -> MachineBound:
        """What no run can be below."""

    @property
    def estimates(self) -> Mapping[str, tuple[Estimate, ...]]:
        """What each node would take on the engines that could compute it, by its key."""

    @property
    def pinned(self) -> Mapping[str, str]:
        """Names of layers -> the engine that a user has put them on."""

    @property
    def weighs_engines(self) -> bool:
        """Whether they were chosen by what they and the transfers take together."""

    @property
    def tile_memory(self) -> str:
        """The memory that tiles are computed in; empty where tensors are computed where they lie."""

    @property
    def tile_bytes(self) -> int:
        """Of that memory: with stacks and variables of the runtime that are there."""

    @property
    def memory_bytes(self) -> Mapping[str, int]:
        """Of each memory that a plan divides a network among; nothing where there is one arena."""

    @property
    def tile_room(self) -> int:
        """Bytes of it that are left."""

    @property
    def code_in_tile_memory(self) -> bool:
        """Whether those have code: no other simulator takes such programs."""
