// Tables that sort and search.
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

document.querySelectorAll("table.sorted").forEach(table => {
  makeSortable(table);
  makeSearchable(table);
});
