"""What pages say, without a browser: figures that Plotly takes, texts that names cannot break."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import plotly.graph_objects
import pytest

from tests.support.reported import ENDS_SCRIPT, LOADS_IMAGE, page, profiled, study
from tilewright.profiling.memory_map import TENSOR, WORKING, MemoryMap, Occupied
from tilewright.profiling.profile import NANOSECONDS
from tilewright.profiling.spans import KERNEL, LAYER, Doing, spans
from tilewright.report.page.content import Cell, Chart, Column, Drawing, Page, Table
from tilewright.report.page.layer_bars import layer_bars
from tilewright.report.page.layer_table import layer_table
from tilewright.report.page.memory_maps import memory_charts
from tilewright.report.page.pareto import pareto
from tilewright.report.page.point_table import point_table
from tilewright.report.page.profile_page import estimate_notes, speed_totals
from tilewright.report.page.program_page import program_page, settings_said
from tilewright.report.page.study_page import study_page
from tilewright.report.page.timeline import joined
from tilewright.report.page.write import html
from tilewright.target.settings import Settings


def charts(of: Page) -> dict[str, Chart]:
    return {section.name: section for section in of.sections if isinstance(section, Chart)}


def chart(name: str) -> Chart:
    return charts(page())[name]


class Elements(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]
        assert not [value for name, value in attrs if name in ("src", "href") and not (value or "").startswith("#")]

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] == "script" and data.strip():
            self.scripts.append(data)


def test_plotly_takes_all_figures() -> None:
    """It refuses names and values that it does not know."""
    for one in (*charts(page()).values(), *charts(study_page(study())).values()):
        for figure in one.choices.values():
            plotly.graph_objects.Figure(data=figure["data"], layout=figure["layout"])


def test_sections_are_in_the_order_of_use() -> None:
    names = [section.name for section in page().sections]
    assert names[:3] == ["layers", "table", "timeline"]
    assert names[-1] == "graph"
    assert [name for name in names if name.startswith("memory-")] == names[3:-1] != []
    assert len(set(names)) == len(names)


def test_bars_are_the_cycles_of_the_layers() -> None:
    _, found = profiled()
    data = chart("layers").choices["cycles"]["data"]
    shown = {y: x for trace in data if trace["type"] == "bar" for y, x in zip(trace["y"], trace["x"], strict=True)}
    assert shown == {layer.number: layer.cycles for layer in found.profile.layers}


def test_times_of_a_computer_are_no_cycles() -> None:
    _, found = profiled()
    profile = replace(found.profile, unit=NANOSECONDS)
    bars = layer_bars(profile, dict.fromkeys((layer.engine for layer in profile.layers), "#000"))
    assert list(bars.choices)[:2] == ["time", "GMAC/s"]
    first = bars.choices["time"]["data"][0]
    assert first["x"][0] == profile.layers[first["y"][0]].cycles / 1000
    headings = [column.heading for column in layer_table(profile).columns]
    assert {"us", "GMAC/s"} <= set(headings)
    assert not any("cycle" in heading for heading in headings)
    assert [total.name for total in speed_totals(profile)] == ["time"]
    assert next(speed_totals(profile)).value.endswith(" us")


def test_shares_of_core_time_add_up() -> None:
    data = chart("layers").choices["time of the cores"]["data"]
    for at in range(len(data[0]["x"])):
        assert sum(trace["x"][at] for trace in data) == pytest.approx(1, abs=0.02)


def test_the_timeline_has_every_span_on_its_lane() -> None:
    _, found = profiled()
    figure = chart("timeline").choices[""]
    lanes, shown = figure["layout"]["yaxis"]["ticktext"], {trace["name"]: trace for trace in figure["data"]}
    own = [one for one in spans(found) if one.kind == KERNEL and one.end > one.start]
    assert len(shown[KERNEL]["x"]) == len(own)
    assert {lanes[lane] for lane in shown[KERNEL]["y"]} == {f"core {one.track}" for one in own}
    assert sum(shown[KERNEL]["x"]) == sum(one.end - one.start for one in own)
    assert "DMA in" in lanes
    assert [span.end - span.start for span in chart("timeline").spans] == [one.cycles for one in found.profile.layers]


def test_spans_are_joined_where_there_are_too_many() -> None:
    many = [Doing(0, KERNEL, at // 50, f"conv, tile {at}", 10 * at, 10 * at + 7) for at in range(1000)]
    many.append(Doing(0, LAYER, 0, "0 conv", 0, 500))
    found = joined(many, 100)
    assert 20 <= len(found) <= 100
    assert {one.layer for one in found} == set(range(20))
    assert max(one.end for one in found) == 9997
    assert any(one.name == "conv and more" for one in found)
    assert joined(many, 2000) == many


def test_memories_show_every_region() -> None:
    """Heights are bytes: no rectangle is over another one of the same step."""
    for name, one in charts(page()).items():
        if not name.startswith("memory-"):
            continue
        boxes = [
            (x - width / 2, x + width / 2, base, base + y)
            for trace in one.choices[""]["data"]
            for x, width, base, y in zip(*(trace[key] for key in ("x", "width", "base", "y")), strict=True)
        ]
        for at, (left, right, low, high) in enumerate(boxes):
            for other in boxes[:at]:
                assert right <= other[0] or other[1] <= left or high <= other[2] or other[3] <= low


def test_boxes_of_memories_have_names_that_tell_them_apart() -> None:
    """As many letters as fit, and not only the end that names of one converter have in common."""
    layers = [f"net/layer{at}/conv;net/layer{at}/bias/ReadVariableOp/resource_conv_2" for at in range(4)]
    regions = [Occupied(name, TENSOR, 10 * at, 10, at, at) for at, name in enumerate(layers)]
    regions.append(Occupied(layers[0] + " (scratch)", WORKING, 90, 10, 0, 3))
    (chart,) = memory_charts([MemoryMap("L1", 100, 100, ("0 a", "1 b", "2 c", "3 d"), tuple(regions))])
    boxes, _ = chart.choices[""]["data"]
    assert boxes["text"] == [f"layer{at}/conv" for at in range(4)]
    many = [replace(one, last=one.first) for one in regions[:1]]
    (chart,) = memory_charts([MemoryMap("L1", 100, 100, tuple(map(str, range(100))), tuple(many))])
    assert len(chart.choices[""]["data"][0]["text"][0]) <= 8


def test_words_of_legends_are_explained() -> None:
    for name, one in charts(page()).items():
        if name == "timeline" or name.startswith("memory-"):
            shown = {trace["name"] for trace in one.choices[""]["data"] if trace["x"] and trace.get("showlegend", True)}
            assert shown
            assert [word for word in shown if f"{word}: " not in one.caption.lower()] == []


def test_outputs_are_held_to_the_reference() -> None:
    program, found = profiled()
    check = program.check()
    totals = {total.name: total for total in program_page(program, found, check=check).totals}
    assert totals["outputs"].value == "agree"
    assert totals["outputs"].remark.startswith("0 of ")
    wrong = replace(check, outputs=tuple(replace(one, mismatches=3) for one in check.outputs))
    totals = {total.name: total for total in program_page(program, found, check=wrong).totals}
    assert totals["outputs"].value == "disagree"
    assert "outputs" not in {total.name for total in page().totals}


def test_the_graph_has_a_box_for_every_node() -> None:
    program, _ = profiled()
    (drawing,) = [section for section in page().sections if isinstance(section, Drawing)]
    graph = program.compiled.schedule.graph
    assert drawing.svg.count("<rect") == len(graph.nodes) + len(graph.inputs) + len(graph.outputs)
    assert set(drawing.legend) >= {call.engine for call in program.compiled.schedule.layers}


def test_estimates_are_said_to_be_estimates() -> None:
    profile = profiled()[1].profile
    assert estimate_notes(profile) == ()
    assert estimate_notes(replace(profile, estimate="no waits")) == ("Cycles are an estimate: no waits.",)


def test_settings_are_said_where_they_are_not_the_usual() -> None:
    assert settings_said(Settings()) == {}
    said = settings_said(Settings(l1=5, engines=("a", "b"), memories=(("l2", 7),), weight_memory=False))
    assert said == {"L1": "5", "engines": "a, b", "memories": "l2=7", "weight memory": "no"}


def test_the_front_of_a_study() -> None:
    found = pareto(study())
    assert found is not None
    assert next(iter(found.choices)) == "cycles against planned RAM"
    assert "cycles against L1" in found.choices
    data = found.choices["cycles against planned RAM"]["data"]
    (line,) = [trace for trace in data if trace["mode"] == "lines"]
    assert line["x"] == [8000, 9000, 11000]
    assert line["y"] == [6000, 4500, 3750]
    points = {trace["name"]: trace for trace in data if trace["mode"] == "markers"}
    assert points["kws on siracusa"]["marker"]["symbol"] == ["square"] * 3
    assert points["kws on quad"]["marker"]["symbol"] == ["circle-open"] * 3
    assert points["kws on siracusa"]["hovertext"][0].startswith("<b>kws on siracusa</b><br>L1 1000")


def test_points_that_tell_nothing_have_no_picture() -> None:
    none = replace(study(), rows=study().rows[-1:])
    assert pareto(none) is None
    assert [section.name for section in study_page(none).sections] == ["table"]


def test_the_table_of_a_study_has_all_rows_and_reasons() -> None:
    table = point_table(study())
    assert [column.heading for column in table.columns][:5] == ["best", "model", "target", "L1", "engines"]
    assert len(table.rows) == 8
    assert table.rows[-1][-1].text.startswith("needs 20 bytes")
    cycles = [column.heading for column in table.columns].index("cycles")
    assert table.rows[0][cycles].value == 18000
    assert table.columns[cycles].is_number
    assert table.rows[-1][cycles].value is None
    assert any("refused" in note for note in study_page(study()).notes)


@pytest.mark.parametrize("of", [page, lambda: study_page(study())])
def test_names_do_no_harm(of: object) -> None:
    assert callable(of)
    text = html(of(), "/* the library */")
    found = Elements(text)
    assert found.tags.count("script") == len(found.scripts) == 3
    assert "img" not in found.tags
    json.loads(found.scripts[0])
    assert ENDS_SCRIPT not in text
    assert LOADS_IMAGE not in text
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    for rule in ("default-src 'none'", "form-action 'none'", "base-uri 'none'"):
        assert rule in policy[1]
    assert "'unsafe-inline'" not in policy[1].partition("style-src")[0]


def test_long_cells_are_broken_and_details_hidden() -> None:
    columns = (Column("#", "", True), Column("reason", is_detail=True))
    table = Table("table", "All", "how", columns, ((Cell("1", 1.0), Cell("x" * 60)),))
    text = html(Page("t", {}, (), (table,)), "")
    assert '<td class="number" data-value="1.0">1</td>' in text
    assert f'<td class="detail long">{"x" * 60}</td>' in text


def test_the_same_run_gives_the_same_page() -> None:
    assert html(study_page(study()), "") == html(study_page(study()), "")
