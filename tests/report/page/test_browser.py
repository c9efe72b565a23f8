"""Pages in a real browser: they load alone and without an error, and what they promise works."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.chromium import browser as browser
from tests.support.reported import ENDS_SCRIPT, page, profiled, study
from tilewright.report.page.content import Page
from tilewright.report.page.study_page import study_page
from tilewright.report.page.write import write_page

WIDE, NARROW = {"width": 1400, "height": 900}, {"width": 420, "height": 800}


class Opened:
    """A page in the browser, with what it said and asked for."""

    def __init__(self, browser: Any, path: Path, size: dict[str, int], scheme: str) -> None:
        self.said: list[str] = []
        self.asked: list[str] = []
        self.view = browser.new_context(viewport=size, color_scheme=scheme).new_page()
        self.view.on("console", lambda message: self.said.append(message.text))
        self.view.on("pageerror", lambda error: self.said.append(str(error)))
        self.view.on("request", lambda request: self.asked.append(request.url))
        self.view.goto(path.as_uri())
        self.view.wait_for_function("document.documentElement.dataset.ready === 'yes'")
        self.view.wait_for_function(
            "[...document.querySelectorAll('.chart')].every((one) => one.querySelector('.main-svg'))"
        )

    def count(self, selector: str) -> int:
        return int(self.view.locator(selector).count())

    def column(self, at: int) -> list[str]:
        cells: list[str] = self.view.locator(f"#table tbody tr:not([hidden]) td:nth-child({at})").all_text_contents()
        return cells


def opened(browser: Any, folder: Path, shown: Page, size: dict[str, int] = WIDE, scheme: str = "light") -> Opened:
    write_page(shown, folder / "page.html")
    return Opened(browser, folder / "page.html", size, scheme)


@pytest.mark.in_turns(3)
@pytest.mark.parametrize(("size", "scheme"), [(WIDE, "light"), (NARROW, "dark")])
@pytest.mark.parametrize("of", ["run", "study"])
def test_it_loads_alone(browser: Any, tmp_path: Path, of: str, size: dict[str, int], scheme: str) -> None:
    found = opened(browser, tmp_path, page() if of == "run" else study_page(study()), size, scheme)
    assert found.said == []
    assert found.asked == [(tmp_path / "page.html").as_uri()]
    assert found.view.evaluate("window.harmed") is None
    assert found.view.evaluate("document.documentElement.scrollWidth") <= size["width"]
    paper = found.view.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 24, 29)")


@pytest.mark.in_turns(6)
def test_the_marks_are_there(browser: Any, tmp_path: Path) -> None:
    _, profile = profiled()
    layers = len(profile.profile.layers)
    found = opened(browser, tmp_path, page())
    assert found.count("#layers .point path") >= layers
    assert found.count("#timeline .point path") > layers
    assert found.count("#table tbody tr") == layers
    assert found.count("#graph .node") >= layers
    assert ENDS_SCRIPT.rpartition("/")[2] in found.column(2)
    assert any(ENDS_SCRIPT in said for said in found.view.locator("#graph title").all_text_contents())


@pytest.mark.in_turns(6)
def test_the_graph_is_whole_and_moves(browser: Any, tmp_path: Path) -> None:
    found = opened(browser, tmp_path, page(), NARROW)
    graph = found.view.locator("#graph svg")

    def seen() -> list[float]:
        return [float(word) for word in graph.get_attribute("viewBox").split()]

    def is_inside(box: Any, frame: Any) -> bool:
        return frame["y"] - 1 <= box["y"] and box["y"] + box["height"] <= frame["y"] + frame["height"] + 1

    whole, (first, last) = seen(), (found.view.locator("#graph rect").nth(at).bounding_box() for at in (0, -1))
    assert is_inside(first, graph.bounding_box())
    assert is_inside(last, graph.bounding_box())
    closer, _, back = found.view.locator("#graph .view").all()
    closer.click()
    assert seen()[2] < whole[2]
    near = seen()
    graph.hover()
    found.view.mouse.down()
    found.view.mouse.move(150, 300, steps=3)
    found.view.mouse.up()
    assert seen()[:2] != near[:2]
    assert seen()[2:] == near[2:]
    back.click()
    assert seen() == whole
    assert found.said == []


@pytest.mark.in_turns(6)
def test_titles_of_axes_stand_clear_and_boxes_have_names(browser: Any, tmp_path: Path) -> None:
    found = opened(browser, tmp_path, page())
    title = found.view.locator("#timeline .xtitle").bounding_box()
    marks = [one.bounding_box() for one in found.view.locator("#timeline .xtick text").all()]
    frame = found.view.locator("#timeline .chart").bounding_box()
    assert title["y"] > max(one["y"] + one["height"] for one in marks)
    assert title["y"] + title["height"] < frame["y"] + frame["height"]
    assert found.view.locator("[id^=memory-] .bartext").count() > 3


@pytest.mark.in_turns(6)
def test_no_button_sends_a_chart_away(browser: Any, tmp_path: Path) -> None:
    found = opened(browser, tmp_path, study_page(study()))
    titles = found.view.evaluate("[...document.querySelectorAll('.modebar-btn')].map((one) => one.dataset.title)")
    assert set(titles) == {"Download plot as a PNG", "Zoom", "Pan", "Zoom in", "Zoom out", "Reset axes"}
    found.view.locator("#pareto .chart").hover()
    with found.view.expect_download() as image:
        found.view.locator(".modebar-btn").first.click()
    assert image.value.suggested_filename.endswith(".png")
    assert found.said == []


@pytest.mark.in_turns(6)
def test_another_picture_is_chosen(browser: Any, tmp_path: Path) -> None:
    found = opened(browser, tmp_path, page())
    found.view.locator("#layers .choice").select_option(label="time of the cores")
    title = found.view.locator("#layers .xtitle")
    assert title.text_content() == "share of the cores' time"
    assert found.said == []


@pytest.mark.in_turns(6)
def test_the_timeline_zooms_to_a_layer(browser: Any, tmp_path: Path) -> None:
    _, profile = profiled()
    found, layer = opened(browser, tmp_path, page()), profile.profile.layers[1]
    found.view.locator("#timeline .zoom").select_option(index=2)
    found.view.wait_for_function("document.querySelector('#timeline .chart').layout.xaxis.range[0] > 0")
    start, end = found.view.evaluate("document.querySelector('#timeline .chart').layout.xaxis.range")
    assert start <= layer.time.start < layer.time.end <= end
    assert end - start < 1.1 * layer.cycles


@pytest.mark.in_turns(6)
def test_a_point_is_named_under_the_pointer(browser: Any, tmp_path: Path) -> None:
    found = opened(browser, tmp_path, study_page(study()))
    point = found.view.locator("#pareto .points path").first
    point.scroll_into_view_if_needed()
    place = point.bounding_box()
    found.view.mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    named = found.view.locator("#pareto .hoverlayer text").first
    named.wait_for()
    assert "kws on" in (named.text_content() or "")


@pytest.mark.in_turns(6)
def test_the_table_sorts_and_filters(browser: Any, tmp_path: Path) -> None:
    found = opened(browser, tmp_path, study_page(study()))
    head = found.view.locator("#table th", has_text="cycles").first
    at = 1 + found.view.locator("#table th").all_text_contents().index("cycles")
    head.locator("button").click()
    assert found.column(at) == ["3,750", "4,500", "6,000", "11,250", "13,500", "18,000", "5,000,000", ""]
    head.locator("button").click()
    assert found.column(at)[0] == "5,000,000"
    assert found.column(at)[-1] == ""
    found.view.locator("#table .filter").fill("SIRACUSA kws")
    assert found.column(3) == ["siracusa"] * 3
    assert found.view.locator("#table .count").text_content() == "3 of 8"
    assert found.count("#table th.detail:visible") == 0
    found.view.locator("#table .every").check()
    assert found.count("#table th.detail:visible") > 0
