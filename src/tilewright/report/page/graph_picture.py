"""The graph that is computed, from inputs to outputs, with engines in colour."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tilewright.ir.graph import Graph, Node
from tilewright.planner.schedule.schedule import Schedule
from tilewright.profiling.profile import Profile
from tilewright.records import dataclass
from tilewright.report.page.colours import QUIET
from tilewright.report.page.content import Drawing
from tilewright.report.page.layered_layout import NodePositions, layered
from tilewright.report.page.time_words import time_words
from tilewright.report.page.words import in_html, shortened

WIDTH, HEIGHT, ACROSS, DOWN, EDGE = 196, 40, 212, 68, 10
"""Of a box; from one to the next; around everything."""
LETTERS = 28
VIEW = "no work"


@dataclass(frozen=True)
class Box:
    """A node as it is drawn."""

    name: str
    below: str
    """The second line."""
    colour: str
    inputs: tuple[str, ...]
    """Keys of others."""
    said: str
    """Under the pointer."""


def graph_picture(schedule: Schedule, profile: Profile, engines: Mapping[str, str]) -> Drawing:
    """`engines`: their colours."""
    boxes = _boxes(schedule, profile, engines)
    used = {call.engine for call in schedule.layers}
    legend = {name: colour for name, colour in engines.items() if name in used}
    legend |= {VIEW: QUIET} if any(node.op.view for node in schedule.graph.nodes) else {}
    caption = (
        "From the inputs at the top to the outputs; a box is a layer as it is computed, its colour the engine that"
        " computes it. Under the pointer: operator, kernel, result and time. Drag it, and zoom by the buttons or by"
        " Ctrl and the wheel; a double click shows the whole."
    )
    return Drawing("graph", "Graph", caption, svg(boxes), legend)


def _boxes(schedule: Schedule, profile: Profile, engines: Mapping[str, str]) -> dict[str, Box]:
    graph = schedule.graph
    found = {f"input {name}": Box(name, _type(graph, name), "none", (), f"input {name}") for name in graph.inputs}
    found |= {f"input {state.before}": Box(state.name, "state", "none", (), f"state {state.name}")
              for state in graph.states}  # fmt: skip
    made = {name.removeprefix("input "): name for name in found}
    calls = {call.node.key: (call, layer) for call, layer in zip(schedule.layers, profile.layers, strict=True)}
    for node in graph.nodes:
        read = tuple(dict.fromkeys(made[name] for name in node.inputs if name in made))
        call = calls.get(node.key)
        if call is None:
            said = f"{_name(node)}: {node.op.kind}, nothing is computed"
            found[node.key] = Box(graph.short_name(node), node.op.kind, QUIET, read, said)
        else:
            (kernel, engine), layer = (call[0].kernel.stem, call[0].engine), call[1]
            said = f"{layer.number} {_name(node)}: {node.op.kind} by {engine}.{kernel}; {_type(graph, node.key)}"
            said += f"; {time_words(profile).said(layer.cycles)}"
            found[node.key] = Box(
                graph.short_name(node), f"{layer.number} · {node.op.kind}", engines[engine], read, said
            )
        made |= {name: node.key for name in node.outputs if name}
    for name, tensor in zip(graph.output_names, graph.outputs, strict=True):
        read = (made[tensor],) if tensor in made else ()
        found[f"output {name}"] = Box(name, _type(graph, tensor), "none", read, f"output {name}")
    return found


def _name(node: Node) -> str:
    return node.name or node.key


def _type(graph: Graph, tensor: str) -> str:
    kind = graph.types[tensor]
    return f"{kind.dtype} {'x'.join(map(str, kind.shape)) or 'scalar'}"


def svg(boxes: Mapping[str, Box]) -> str:
    layout = layered({key: box.inputs for key, box in boxes.items()})
    left = min(layout.places.values(), default=0.0)
    right = max(layout.places.values(), default=0.0)
    width = (right - left) * ACROSS + WIDTH + 2 * EDGE
    height = max(layout.rows.values(), default=0) * DOWN + HEIGHT + 2 * EDGE
    middle = EDGE + WIDTH / 2 - left * ACROSS
    drawn = [*_lines(boxes, layout, middle), *_drawn(boxes, layout, middle)]
    head = f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" role="img">'
    return "\n".join([head, *drawn, "</svg>"])


def _lines(boxes: Mapping[str, Box], layout: NodePositions, middle: float) -> Iterator[str]:
    """From the bottom of a box through the rows that it passes to the top of what reads it."""
    for key, box in boxes.items():
        for other in box.inputs:
            rows = range(layout.rows[other], layout.rows[key])
            across = [middle + ACROSS * layout.places[other, row] for row in rows]
            across.append(middle + ACROSS * layout.places[key, layout.rows[key]])
            yield f'<path d="{_path(across, layout.rows[other])}"/>'


def _path(across: Sequence[float], first: int) -> str:
    y = EDGE + DOWN * first + HEIGHT
    words = [f"M{across[0]:.1f} {y}"]
    for at, x in enumerate(across[1:]):
        top, end = EDGE + DOWN * (first + at) + HEIGHT, EDGE + DOWN * (first + at + 1)
        bend = (top + end) / 2
        words.append(f"C{across[at]:.1f} {bend:.0f} {x:.1f} {bend:.0f} {x:.1f} {end}")
        if at < len(across) - 2:
            words.append(f"V{end + HEIGHT}")
    return "".join(words)


def _drawn(boxes: Mapping[str, Box], layout: NodePositions, middle: float) -> Iterator[str]:
    for key, box in boxes.items():
        row = layout.rows[key]
        x, y = middle + ACROSS * layout.places[key, row], EDGE + DOWN * row
        kind = "border" if box.colour == "none" else "node"
        place = f'x="{x - WIDTH / 2:.1f}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="6"'
        yield (
            f'<g class="{kind}"><title>{in_html(box.said)}</title><rect {place} fill="{box.colour}"/>'
            f'<text x="{x:.1f}" y="{y + 17}">{in_html(shortened(box.name, LETTERS))}</text>'
            f'<text class="below" x="{x:.1f}" y="{y + 32}">{in_html(shortened(box.below, LETTERS))}</text></g>'
        )
