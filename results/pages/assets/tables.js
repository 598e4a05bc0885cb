// Sorts tables with data-sort and filters tables with data-filter.
"use strict";

function make(tag, name, text = "", attributes = {}) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

function labelled(text, control) {
  const label = make("label", "", text);
  label.append(control);
  return label;
}

(() => {
  const valueOf = (cell) => cell.dataset.value ?? cell.textContent.trim();
  const isMissing = (text) => text === "-" || text === "";
  const isNumber = (text) => text !== "" && Number.isFinite(Number(text));

  // Numbers come first, by size, then words, alphabetically, then what was not measured.
  function compare(a, b) {
    if (isNumber(a) && isNumber(b)) return Number(a) - Number(b);
    const rank = (text) => (isNumber(text) ? 0 : isMissing(text) ? 2 : 1);
    return rank(a) - rank(b) || a.localeCompare(b, undefined, { numeric: true });
  }

  function sort(table, index, direction) {
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [valueOf(row.cells[index]), row]);
    rows.sort(([a], [b]) => (isMissing(a) || isMissing(b) ? compare(a, b) : direction * compare(a, b)));
    body.append(...rows.map(([, row]) => row));
  }

  function makeSortable(table) {
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((head, index) => {
      const button = make("button", "", "", { type: "button" });
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const ascending = head.getAttribute("aria-sort") !== "ascending";
        headings.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
        sort(table, index, ascending ? 1 : -1);
      });
    });
  }

  function selectOfValues(table, index) {
    const select = make("select");
    select.append(new Option("all", ""));
    const values = new Set([...table.tBodies[0].rows].map((row) => valueOf(row.cells[index])));
    [...values].sort(compare).forEach((value) => select.append(new Option(value, value)));
    return select;
  }

  function makeFilterable(table) {
    const about = `Filter: ${table.closest(".wide").getAttribute("aria-label")}`;
    const controls = make("div", "filters", "", { role: "search", "aria-label": about });
    const count = make("output"), tests = [];
    const apply = () => {
      const rows = [...table.tBodies[0].rows];
      rows.forEach((row) => { row.hidden = !tests.every((test) => test(row)); });
      count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length}`;
    };
    [...table.tHead.rows[0].cells].forEach((head, index) => {
      if (!("choose" in head.dataset)) return;
      const select = selectOfValues(table, index);
      if (select.options.length < 3 || select.options.length > 60) return;
      tests.push((row) => select.value === "" || valueOf(row.cells[index]) === select.value);
      select.addEventListener("change", apply);
      controls.append(labelled(head.dataset.choose, select));
    });
    const search = make("input", "", "", { type: "search" });
    tests.push((row) => row.textContent.toLowerCase().includes(search.value.trim().toLowerCase()));
    search.addEventListener("input", apply);
    controls.append(labelled("containing", search), count);
    table.closest(".wide").before(controls);
    apply();
  }

  function enhance(root) {
    root.querySelectorAll("table[data-sort]").forEach(makeSortable);
    root.querySelectorAll("table[data-filter]").forEach(makeFilterable);
  }

  enhance(document);
  window.flightpathTables = { enhance };
})();
