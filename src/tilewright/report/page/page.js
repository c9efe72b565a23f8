"use strict";
// Charts are Plotly's; here they are put into their places, and the page's lists, tables and colours work.

const charts = JSON.parse(document.getElementById("figures").textContent);
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const narrow = window.matchMedia("(max-width: 40rem)");
const NARROW_LETTERS = 12;
// Marks along a narrow picture, of bytes and of layers.
const [NARROW_SIZES, NARROW_NUMBERS] = [4, 10];
// Buttons are named one by one: some of Plotly's send a chart away.
const BUTTONS = [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]];
const CONFIG = { responsive: true, displaylogo: false, modeBarButtons: BUTTONS, showSendToCloud: false, plotlyServerURL: "" };

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Names beside a picture, as far as there is room for them: numbers stay, names lose their middle.
function tick(text, isBelow) {
  if (!narrow.matches) return text;
  const number = /^\d+ (?!B$)/.exec(text)?.[0] ?? "";
  if (isBelow && number) return number.trim();
  if (isBelow && text.endsWith(")")) return ""; // a view, which has no number
  const name = text.slice(number.length);
  if (name.length <= NARROW_LETTERS) return text;
  const half = NARROW_LETTERS / 2;
  // An entity such as &lt; is not cut in two.
  return number + name.slice(0, half).replace(/&[^;]*$|[._/]+$/, "") + "…" + name.slice(1 - half).replace(/^[^&]{0,4};/, "");
}

// Keeps one mark in so many, so that they lie side by side: slanted ones reach into the title.
function thin(axis, most) {
  const each = Math.ceil(axis.tickvals.length / most);
  const kept = (_, at) => at % each === 0;
  Object.assign(axis, { tickangle: 0, tickvals: axis.tickvals.filter(kept), ticktext: axis.ticktext.filter(kept) });
}

function styled(layout) {
  const found = { ...layout, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)" };
  found.font = { color: colour("--ink"), family: "system-ui, Arial, sans-serif", size: 12 };
  found.hoverlabel = { bgcolor: colour("--panel"), bordercolor: colour("--quiet"), font: { color: colour("--ink") }, align: "left" };
  found.modebar = { bgcolor: "rgba(0,0,0,0)", color: colour("--quiet"), activecolor: colour("--accent") };
  for (const name of Object.keys(layout).filter((key) => /^[xy]axis/.test(key))) {
    found[name] = { ...layout[name], gridcolor: colour("--line"), linecolor: colour("--line") };
    if (!layout[name].ticktext) continue;
    found[name].ticktext = layout[name].ticktext.map((text) => tick(text, name[0] === "x"));
    if (narrow.matches && name[0] === "x") thin(found[name], layout[name].rangemode ? NARROW_SIZES : NARROW_NUMBERS);
  }
  return found;
}

function draw(place) {
  const section = place.closest("section");
  const choice = section.querySelector(".choice");
  const figure = charts[place.dataset.chart].figures[choice ? Number(choice.value) : 0];
  return Plotly.react(place, figure.data, styled(figure.layout), CONFIG);
}

// Shows a part of the horizontal axis, by its place in the list; 0 is everything.
function zoom(place, part) {
  const { figures, spans } = charts[place.dataset.chart];
  const [start, end] = part ? spans[part - 1] : figures[0].layout.xaxis.range;
  const around = part ? 0.03 * (end - start) : 0;
  return Plotly.relayout(place, { "xaxis.range": [start - around, end + around] });
}

function showLayer(number) {
  const select = document.querySelector("#timeline .zoom");
  if (!select || number + 1 >= select.options.length) return;
  select.value = String(number + 1);
  zoom(document.querySelector("#timeline .chart"), number + 1);
  document.getElementById("timeline").scrollIntoView();
}

for (const place of document.querySelectorAll(".chart")) {
  const section = place.closest("section");
  draw(place).then(() => {
    if (place.dataset.chart === "layers") place.on("plotly_click", (event) => showLayer(event.points[0].y));
  });
  section.querySelector(".choice")?.addEventListener("change", () => draw(place));
  section.querySelector(".zoom")?.addEventListener("change", (event) => zoom(place, Number(event.target.value)));
}
for (const query of [dark, narrow])
  query.addEventListener("change", () => document.querySelectorAll(".chart").forEach(draw));

// The whole graph at first. Buttons, and Ctrl with the wheel, change the scale; dragging moves it.
function movable(place) {
  const svg = place.querySelector("svg");
  const [width, height] = [svg.viewBox.baseVal.width, svg.viewBox.baseVal.height];
  let seen;
  const show = (...box) => svg.setAttribute("viewBox", (seen = box).join(" "));
  const whole = () => {
    const { width: across, height: down } = svg.getBoundingClientRect();
    const scale = Math.min(1, across / width, down / height) || 1;
    show((width - across / scale) / 2, (height - down / scale) / 2, across / scale, down / scale);
  };
  const zoomBy = (by, right = 0.5, down = 0.5) => {
    const [x, y, w, h] = seen;
    show(x + w * (1 - by) * right, y + h * (1 - by) * down, w * by, h * by);
  };
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const box = svg.getBoundingClientRect();
    zoomBy(event.deltaY < 0 ? 0.8 : 1.25, (event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
  }, { passive: false });
  svg.addEventListener("pointermove", (event) => {
    if (event.pointerType === "touch" || !event.buttons) return;
    const [x, y, w, h] = seen;
    const { width: across, height: down } = svg.getBoundingClientRect();
    show(x - (event.movementX * w) / across, y - (event.movementY * h) / down, w, h);
  });
  svg.addEventListener("dblclick", whole);
  for (const button of place.closest("section").querySelectorAll(".view"))
    button.addEventListener("click", () => Number(button.dataset.by) ? zoomBy(Number(button.dataset.by)) : whole());
  window.addEventListener("resize", whole);
  whole();
}
document.querySelectorAll(".graph").forEach(movable);

function compared(one, other) {
  if (one.dataset.value !== undefined && other.dataset.value !== undefined) return one.dataset.value - other.dataset.value;
  return one.textContent.localeCompare(other.textContent, undefined, { numeric: true });
}

// Rows without a value stand last, whichever the direction.
function sort(table, column, down) {
  const empty = (cell) => cell.textContent === "";
  const rows = [...table.tBodies[0].rows].sort((a, b) => {
    const [one, other] = [a.cells[column], b.cells[column]];
    return empty(one) - empty(other) || (down ? compared(other, one) : compared(one, other));
  });
  table.tBodies[0].append(...rows);
}

for (const table of document.querySelectorAll("table.sortable")) {
  const section = table.closest("section");
  const heads = [...table.tHead.rows[0].cells];
  const rows = [...table.tBodies[0].rows];
  const count = section.querySelector(".count");
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    sort(table, column, down);
  }));
  const filter = section.querySelector(".filter");
  const show = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length}`;
  };
  filter.addEventListener("input", show);
  section.querySelector(".every")?.addEventListener("change", (event) => table.classList.toggle("all", event.target.checked));
  show();
}
document.documentElement.dataset.ready = "yes";
