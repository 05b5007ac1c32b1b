// Tables that sort and search, and figures that filter and answer to a pointer and to keys.
"use strict";

const MINUS = "\u2212";

function valueOf(cell) {
  const text = (cell.dataset.value ?? cell.textContent).trim();
  const number = Number(text.replace(MINUS, "-").replaceAll(",", ""));
  return text === "" || Number.isNaN(number) ? text.toLowerCase() : number;
}

function compare(a, b) {
  // Nothing comes last, numbers before words.
  if (a === b) return 0;
  if (a === "" || b === "") return a === "" ? 1 : -1;
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return a < b ? -1 : 1;
}

function sortBy(table, place) {
  const heads = [...table.tHead.rows[0].cells];
  const up = heads[place].getAttribute("aria-sort") !== "ascending";
  const body = table.tBodies[0];
  const rows = [...body.rows].map(row => [valueOf(row.cells[place]), row]);
  rows.sort(([a], [b]) => (up || a === "" || b === "" ? 1 : -1) * compare(a, b));
  body.append(...rows.map(([, row]) => row));
  heads.forEach(head => head.removeAttribute("aria-sort"));
  heads[place].setAttribute("aria-sort", up ? "ascending" : "descending");
}

function makeSortable(table) {
  [...table.tHead.rows[0].cells].forEach((head, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.addEventListener("click", () => sortBy(table, place));
    head.replaceChildren(button);
  });
}

function makeSearchable(table, least = 8) {
  const rows = [...table.tBodies[0].rows];
  if (rows.length < least) return;
  const label = document.createElement("label");
  const field = document.createElement("input");
  const found = document.createElement("output");
  label.className = "search";
  field.type = "search";
  label.append("Search these rows ", field, found);
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every(word => text.includes(word));
    }
    found.textContent = ` ${rows.filter(row => !row.hidden).length} of ${rows.length}`;
  });
  table.closest(".wide").before(label);
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function themed(spec, width) {
  const text = JSON.stringify(spec).replace(/"(--[a-z-]+)"/g, (_, name) => `"${colour(name)}"`);
  const words = { labelColor: colour("--text"), titleColor: colour("--text"), labelFontSize: 12,
    titleFontSize: 12, titleFontWeight: "normal" };
  const axis = { ...words, labelLimit: Math.min(300, 0.42 * width), gridColor: colour("--line"),
    domainColor: colour("--soft"), tickColor: colour("--soft"), labelSeparation: 6 };
  const legend = { ...words, orient: "top", labelLimit: 0.8 * width, symbolOpacity: 1,
    columns: Math.max(1, Math.floor(width / 220)) };
  const config = { font: "system-ui, sans-serif", background: "transparent",
    view: { stroke: null }, axis, legend };
  return { ...JSON.parse(text), autosize: { type: "fit-x", contains: "padding" }, config };
}

// In pixels: of a figure with a row a name, so much a row as its specification says.
function heightOf(spec, rows) {
  if (typeof spec.height === "number") return spec.height;
  const names = new Set(rows.map(row => row[spec.encoding.y.field]));
  return Math.max(2, names.size) * spec.height.step;
}

// What each choice leaves of the rows; a choice offers what the ones before it leave.
function filtered(rows, filters, selects) {
  filters.forEach(({ field, every }, place) => {
    const select = selects[place], before = select.value;
    const values = [...new Set(rows.map(row => row[field]))];
    const options = values.map(value => new Option(value, value));
    select.replaceChildren(...(every ? [new Option("all", "")] : []), ...options);
    if (values.includes(before)) select.value = before;
    if (select.value !== "") rows = rows.filter(row => row[field] === select.value);
  });
  return rows;
}

const POINT = ".mark-symbol.role-mark path";
const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

// Whoever points at a mark with keys is told what one is told who does with a pointer.
function pointAs(event, mark) {
  const { x, y, width, height } = mark.getBoundingClientRect();
  const place = { clientX: x + width / 2, clientY: y + height / 2 };
  mark.dispatchEvent(new MouseEvent(event, { bubbles: true, ...place }));
}

// Arrows lead from point to point, Home and End to the first and the last, Escape hides what is told.
function answerToKeys(plot) {
  plot.addEventListener("focusin", ({ target }) => {
    if (target.matches(POINT)) pointAs("mousemove", target);
  });
  plot.addEventListener("focusout", ({ target }) => {
    if (target.matches(POINT)) pointAs("mouseout", target);
  });
  plot.addEventListener("keydown", event => {
    const points = [...plot.querySelectorAll(POINT)], at = points.indexOf(event.target);
    if (at < 0) return;
    if (event.key === "Escape") pointAs("mouseout", event.target);
    const next = { Home: 0, End: points.length - 1 }[event.key] ?? at + STEPS[event.key];
    if (Number.isNaN(next)) return;
    event.preventDefault();
    points.at(next % points.length).focus();
  });
}

// One point stands in the page's order; marks that say nothing are not read out.
function makeReachable(plot) {
  plot.querySelectorAll(POINT).forEach((point, n) => { point.tabIndex = n ? -1 : 0; });
  plot.querySelectorAll("g[role='graphics-symbol']:not([aria-label])")
    .forEach(group => { group.removeAttribute("role"); group.ariaHidden = "true"; });
}

function makeChart(chart) {
  const { filters, rows, spec } = JSON.parse(chart.querySelector("script").textContent);
  const plot = chart.querySelector(".plot");
  const selects = filters.map(({ label }) => {
    const around = document.createElement("label"), select = document.createElement("select");
    around.append(`${label} `, select);
    chart.querySelector(".filters").append(around);
    return select;
  });
  const draw = () => {
    const values = filtered(rows, filters, selects);
    const options = { actions: false, renderer: "svg", logLevel: vega.Error,
      tooltip: { theme: "site" } };
    const drawn = { ...themed(spec, plot.clientWidth), height: heightOf(spec, values) };
    return vegaEmbed(plot, { ...drawn, data: { values } }, options).then(() => makeReachable(plot));
  };
  answerToKeys(plot);
  selects.forEach(select => select.addEventListener("change", draw));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw().then(() => { chart.dataset.drawn = "yes"; });
}

document.querySelectorAll("table.sorted").forEach(table => {
  makeSortable(table);
  makeSearchable(table);
});
document.querySelectorAll(".chart").forEach(makeChart);
