"""A check of plans for a cluster, written from the definitions and without the planner's code. It always runs."""

from __future__ import annotations

from tilewright.planner.check.plan_homes import check_homes
from tilewright.planner.check.plan_lifetimes import check_lifetimes
from tilewright.planner.check.plan_overlap import check_dma_copies, check_in_flight
from tilewright.planner.check.plan_tiles import check_tiles
from tilewright.planner.cluster.plan import Plan


def check_plan(plan: Plan) -> Plan:
    """The plan, or `InternalError` if it could go wrong: tiles, buffers, homes, and who has which bytes when."""
    check_homes(plan)
    check_in_flight(plan)
    check_dma_copies(plan)
    for step in plan.steps:
        check_tiles(plan, step)
    check_lifetimes(plan)
    return plan
