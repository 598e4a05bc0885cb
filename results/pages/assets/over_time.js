// The series of a cell, or of two on the same axes: a plot for each quantity.
"use strict";

const overTime = (() => {
  const answers = new Map(), chosen = new Map();

  async function cellsOf(figure) {
    const own = figure.querySelector("script");
    const sources = JSON.parse(figure.dataset.sources ?? "[]");
    for (const source of sources) if (!answers.has(source)) answers.set(source, await (await fetch(source)).json());
    return [...(own ? JSON.parse(own.textContent) : []), ...sources.flatMap((source) => answers.get(source))];
  }

  function scaleOf(values, unit) {
    const largest = values.reduce((most, value) => Math.max(most, Math.abs(value ?? 0)), 0);
    for (const [factor, prefix] of [[1e-9, "G"], [1e-6, "M"], [1e-3, "k"]])
      if ((unit === "bit/s" || unit === "B") && largest * factor >= 1) return [factor, prefix + unit];
    return [1, unit === "1" ? "count" : unit];
  }

  function specOf(cells) {
    const names = [...new Set(cells.flatMap((cell) => Object.keys(cell.series)))];
    const panels = names.map((name) => {
      const of = cells.map((cell) => cell.series[name]), units = [...new Set(of.filter(Boolean).map((each) => each.unit))];
      const [factor, unit] = units.length === 1 ? scaleOf(of.flatMap((each) => each?.y ?? []), units[0]) : [1, units.join(", ")];
      const traces = cells.map((cell, n) => of[n] && {
        label: cell.name, kind: "line", colour: ["#0072B2", "#D55E00"][n], dashed: n > 0, x: of[n].x, y: of[n].y.map((value) => value === null ? null : value * factor),
        cells: [cell.of], links: cell.link && of[n].x.map(() => cell.link),
      });
      return { title: name.replaceAll("_", " "), y_label: `(${unit})`, traces: traces.filter(Boolean) };
    });
    return { title: "Over time", x_label: "time (s)", y_label: "", panels };
  }

  function choice(label, cells, first, selected, changed) {
    const select = make("select"), runs = [...new Set(cells.map((cell) => cell.run))];
    if (first) select.append(new Option(first, ""));
    for (const run of runs) {
      const group = runs.length > 1 ? make("optgroup", "", "", { label: run }) : select;
      cells.forEach((cell, n) => { if (cell.run === run) group.append(new Option(cell.label, n, false, n === selected)); });
      if (group !== select) select.append(group);
    }
    select.addEventListener("change", () => changed(select.value === "" ? null : Number(select.value)));
    return labelled(label, select);
  }

  async function show(figure) {
    const cells = await cellsOf(figure);
    if (!cells.length) { figure.closest("section").hidden = true; return; }
    const runs = new Set(cells.map((cell) => cell.run)).size;
    const other = runs > 1 ? cells.findIndex((cell) => cell.run !== cells[0].run && cell.label === cells[0].label) : -1;
    const wanted = chosen.get(figure.id) ?? [0, other < 0 ? null : other];
    chosen.set(figure.id, wanted);
    const draw = () => {
      const shown = wanted.filter((n) => n !== null && cells[n]);
      new charts.Chart(figure, specOf(shown.map((n) => ({ ...cells[n], name: runs > 1 ? `${cells[n].run}: ${cells[n].label}` : cells[n].label }))));
    };
    const fields = make("div", "fields");
    fields.append(...["cell", "beside"].map((word, n) => choice(word, cells, n ? "nothing" : "", wanted[n], (number) => { wanted[n] = number; draw(); })));
    figure.querySelector(".fields")?.remove();
    figure.append(fields);
    draw();
  }

  const enhance = (root) => { for (const figure of root.querySelectorAll("figure.over-time")) show(figure); };
  enhance(document);
  return { enhance };
})();
