"""`tilewright ops` and `tilewright targets`: what there is."""

from __future__ import annotations

from dataclasses import asdict

from tilewright.cli.options import Json, TargetName
from tilewright.cli.process import AGREES, print_json


def ops(target: TargetName = "generic", as_json: Json = False) -> int:
    """List the supported operators, with element types and kernels."""
    from tilewright import ops as operators
    from tilewright import targets
    from tilewright.frontends.onnx import accepted
    from tilewright.report import catalogue
    from tilewright.report.console import console

    found, on = operators.all_operators(), targets.find(target)
    if as_json:
        others = {"defined": accepted.by_definition(), "folded": accepted.only_folded()}
        listed = [catalogue.operator(kind, on) for kind in found]
        print_json("ops", {"status": "ok", "target": on.name, "operators": listed, **others})
    else:
        catalogue.print_operators(console(), found, on)
        catalogue.print_others(console(), accepted.by_definition(), accepted.only_folded())
    return AGREES


def targets_command(as_json: Json = False) -> int:
    """List the targets and boards."""
    from tilewright import targets
    from tilewright.report import catalogue
    from tilewright.report.console import console

    found = [targets.find(name) for name in targets.names()]
    if as_json:
        listed = [catalogue.target(entry) for entry in found]
        print_json(
            "targets", {"status": "ok", "targets": listed, "boards": [asdict(board) for board in targets.boards()]}
        )
    else:
        catalogue.print_targets(console(), found)
        catalogue.print_boards(console(), targets.boards())
    return AGREES
