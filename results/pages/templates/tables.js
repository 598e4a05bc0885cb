// Sorts and filters the tables that ask for it. Without it they are the same tables, in the order of the run.
"use strict";
(() => {
  const told = (cell) => cell.dataset.value ?? cell.textContent.trim();
  const isNumber = (text) => text !== "" && Number.isFinite(Number(text));

  // Numbers by size, then words by the alphabet, then what was not measured.
  function compare(a, b) {
    if (isNumber(a) && isNumber(b)) return Number(a) - Number(b);
    const rank = (text) => (isNumber(text) ? 0 : text === "-" || text === "" ? 2 : 1);
    return rank(a) - rank(b) || a.localeCompare(b, undefined, { numeric: true });
  }

  function sort(table, index, direction) {
    const body = table.tBodies[0];
    const missing = (text) => text === "-" || text === "";
    const rows = [...body.rows].map((row) => [told(row.cells[index]), row]);
    rows.sort(([a], [b]) => (missing(a) || missing(b) ? compare(a, b) : direction * compare(a, b)));
    body.append(...rows.map(([, row]) => row));
  }

  function makeSortable(table) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, index) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        sort(table, index, up ? 1 : -1);
      });
    });
  }

  function labelled(text, control) {
    const label = document.createElement("label");
    label.append(text, control);
    return label;
  }

  function choice(table, index) {
    const select = document.createElement("select");
    select.append(new Option("all", ""));
    const values = new Set([...table.tBodies[0].rows].map((row) => told(row.cells[index])));
    [...values].sort(compare).forEach((value) => select.append(new Option(value, value)));
    return select;
  }

  function makeFilterable(table) {
    const controls = document.createElement("div");
    controls.className = "filters";
    controls.setAttribute("role", "search");
    controls.setAttribute("aria-label", `Filter: ${table.closest(".wide").getAttribute("aria-label")}`);
    const said = document.createElement("output");
    const tests = [];
    const apply = () => {
      const rows = [...table.tBodies[0].rows];
      rows.forEach((row) => { row.hidden = !tests.every((test) => test(row)); });
      said.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length}`;
    };
    [...table.tHead.rows[0].cells].forEach((head, index) => {
      if (!("choose" in head.dataset)) return;
      const select = choice(table, index);
      if (select.options.length < 3 || select.options.length > 60) return;
      tests.push((row) => select.value === "" || told(row.cells[index]) === select.value);
      select.addEventListener("change", apply);
      controls.append(labelled(head.dataset.choose, select));
    });
    const search = document.createElement("input");
    search.type = "search";
    tests.push((row) => row.textContent.toLowerCase().includes(search.value.trim().toLowerCase()));
    search.addEventListener("input", apply);
    controls.append(labelled("containing", search), said);
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
