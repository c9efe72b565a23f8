"""A page as one file of HTML, with everything inside that it needs."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template

from tilewright.errors import CompileError
from tilewright.report.page.content import Chart, Drawing, Page, Section, Table, Total
from tilewright.report.page.plotly_library import plotly_script
from tilewright.report.page.words import in_html, in_script, sentence
from tilewright.version import VERSION
from tilewright.whole_file import write_whole

FOLDER = Path(__file__).parent
LONG = 48
"""Letters of a cell that is broken into lines."""


def refuse_place(path: Path) -> None:
    """Before a run of minutes, whose page could not be written."""
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        what = "is not writable" if path.parent.is_dir() else "is not a folder"
        raise CompileError(str(path), f"cannot be written: {path.parent} {what}", "choose another -o")


def write_page(page: Page, path: Path) -> None:
    write_whole(path, html(page, plotly_script()), "-o")


def html(page: Page, library: str) -> str:
    """`library`: the script that draws charts."""
    script = (FOLDER / "page.js").read_text(encoding="utf-8")
    charts = [section for section in page.sections if isinstance(section, Chart)]
    template = Template((FOLDER / "template.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=in_html(page.title), version=in_html(VERSION), style=(FOLDER / "page.css").read_text(encoding="utf-8"),
        scripts=" ".join(f"'sha256-{_digest(text)}'" for text in (library, script)),
        facts=_pairs(page.facts), totals="\n".join(map(_total, page.totals)), notes="\n".join(_notes(page)),
        links="\n".join(f'<a href="#{in_html(one.name)}">{in_html(one.title)}</a>' for one in page.sections),
        sections="\n".join(map(_section, page.sections)),
        figures=in_script({chart.name: _described(chart) for chart in charts}), library=library, script=script,
    )  # fmt: skip


def _digest(script: str) -> str:
    """As browsers compare it: no other script of the page is run, wherever it came from."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _pairs(pairs: Mapping[str, str]) -> str:
    return "\n".join(f"<div><dt>{in_html(name)}</dt><dd>{in_html(value)}</dd></div>" for name, value in pairs.items())


def _total(total: Total) -> str:
    remark = f'<dd class="remark">{in_html(total.remark)}</dd>' if total.remark else ""
    return f"<div><dt>{in_html(total.name)}</dt><dd>{in_html(total.value)}</dd>{remark}</div>"


def _notes(page: Page) -> Iterator[str]:
    if page.notes:
        yield f'<ul class="notes">{"".join(f"<li>{sentence(note)}</li>" for note in page.notes)}</ul>'


def _described(chart: Chart) -> dict[str, object]:
    spans = [[span.start, span.end] for span in chart.spans]
    return {"figures": list(chart.choices.values()), "spans": spans}


def _section(section: Section) -> str:
    name = in_html(section.name)
    body = {Chart: _chart, Drawing: _drawing, Table: _table}[type(section)](section)  # type: ignore[operator]
    return (
        f'<section id="{name}"><h2>{in_html(section.title)}</h2><p class="caption">{in_html(section.caption)}</p>'
        f"{body}</section>"
    )


def _chart(chart: Chart) -> str:
    chosen = _choice("choice", "shown", list(chart.choices)) if len(chart.choices) > 1 else ""
    zoomed = _choice("zoom", "part", ["everything", *(span.label for span in chart.spans)]) if chart.spans else ""
    controls = f'<div class="controls">{chosen}{zoomed}</div>' if chosen or zoomed else ""
    return f'{controls}<div class="scroll"><div class="chart" data-chart="{in_html(chart.name)}"></div></div>'


def _choice(kind: str, label: str, options: list[str]) -> str:
    items = "".join(f'<option value="{at}">{in_html(text)}</option>' for at, text in enumerate(options))
    return f'<label>{label} <select class="{kind}">{items}</select></label>'


def _drawing(drawing: Drawing) -> str:
    legend = "".join(
        f'<li><span class="swatch" style="background:{in_html(colour)}"></span>{in_html(name)}</li>'
        for name, colour in drawing.legend.items()
    )
    buttons = "".join(
        f'<button type="button" class="view" data-by="{by}" aria-label="{said}">{sign}</button>'
        for by, said, sign in (("0.7", "closer", "+"), ("1.43", "further away", "−"), ("0", "the whole graph", "whole"))
    )
    return (
        f'<ul class="legend">{legend}</ul><div class="controls">{buttons}</div>'
        f'<div class="scroll graph">{drawing.svg}</div>'
    )


def _table(table: Table) -> str:
    detail = any(column.is_detail for column in table.columns)
    every = '<label><input type="checkbox" class="every"> all columns</label>' if detail else ""
    heads = "".join(
        f'<th scope="col"{_classes(column.is_number, column.is_detail)} title="{in_html(column.meaning)}">'
        f'<button type="button">{in_html(column.heading)}</button></th>'
        for column in table.columns
    )
    rows = "\n".join(f"<tr>{''.join(_cells(table, row))}</tr>" for row in range(len(table.rows)))
    return (
        f'<div class="controls"><label>filter <input type="search" class="filter"></label>{every}'
        f'<output class="count"></output></div><div class="scroll"><table class="sortable"><thead><tr>{heads}</tr>'
        f"</thead><tbody>{rows}</tbody></table></div>"
    )


def _cells(table: Table, row: int) -> Iterator[str]:
    for column, cell in zip(table.columns, table.rows[row], strict=True):
        value = "" if cell.value is None else f' data-value="{cell.value!r}"'
        classes = _classes(column.is_number, column.is_detail, len(cell.text) > LONG)
        yield f"<td{classes}{value}>{in_html(cell.text)}</td>"


def _classes(is_number: bool, is_detail: bool, is_long: bool = False) -> str:
    found = " ".join(["number"] * is_number + ["detail"] * is_detail + ["long"] * is_long)
    return f' class="{found}"' if found else ""
