// Charts: plots over the same horizontal axis, with one legend and one range. They keep their state while a page is refreshed.
"use strict";

const charts = (() => {
  const { Plot, colourOf, short, showCells } = plots;
  const states = new Map(), drawn = new Map(); // by the figure's id

  class Chart {
    constructor(figure, spec) {
      Object.assign(this, { figure, spec });
      drawn.get(figure.id)?.destroy();
      drawn.set(figure.id, this);
      this.state = states.get(figure.id) ?? { x: null, y: new Map(), hidden: new Set(), hover: null };
      states.set(figure.id, this.state);
      this.root = make("div", "explored");
      this.said = make("p", "unseen", "", { role: "status" });
      this.plots = (spec.panels ?? []).map((panel, number) => new Plot(this, panel, number));
      const panels = make("div", this.plots.length > 1 ? "panels" : "panels single");
      panels.append(...this.plots.map((plot) => plot.element));
      if (figure.querySelector(".figure")) this.root.append(make("h3", "", spec.title));
      this.root.append(this.legend(), panels, make("p", "axis", spec.x_label), this.tools(), this.said);
      if (spec.badge) this.root.append(make("p", `badge small ${spec.verdict}`, spec.badge));
      figure.append(this.root);
      figure.classList.add("charted");
    }

    get whole() {
      const [from, to] = [0, 1].map((end) => this.plots.map((plot) => plot.whole[end]));
      return [Math.min(...from), Math.max(...to)];
    }

    // What is in view of all plots that share the vertical axis.
    reach() {
      const each = this.plots.filter((plot) => !plot.panel.y_label).map((plot) => plot.reach());
      return [Math.min(...each.map(([low]) => low)), Math.max(...each.map(([, high]) => high))];
    }

    legend() {
      const list = make("div", "legend", "", { role: "group", "aria-label": "Show or hide" });
      const first = new Map(this.plots.flatMap((plot) => plot.traces).reverse().map((trace) => [trace.label, trace]));
      for (const [label, trace] of [...first].reverse()) {
        const button = make("button", trace.dashed || trace.kind === "reference" ? "dashed" : "", label, { type: "button", "aria-pressed": String(!this.state.hidden.has(label)) });
        button.style.setProperty("--mine", colourOf(trace));
        button.addEventListener("click", () => {
          const hide = !this.state.hidden.has(label);
          this.state.hidden[hide ? "add" : "delete"](label);
          button.setAttribute("aria-pressed", String(!hide));
          this.redraw();
        });
        list.append(button);
      }
      list.hidden = first.size < 2;
      return list;
    }

    tools() {
      const bar = make("div", "tools");
      this.back = make("button", "", "whole range", { type: "button" });
      this.back.addEventListener("click", () => this.zoom(null));
      if (!this.plots.some((plot) => plot.ticks.length)) {
        this.ends = ["from", "to"].map((word) => {
          const field = make("input", "", "", { type: "number", step: "any" });
          field.addEventListener("change", () => {
            const [from, to] = this.ends.map((each) => Number(each.value));
            if (to > from) this.zoom([from, to], true);
          });
          bar.append(labelled(word, field));
          return field;
        });
      }
      bar.append(this.back);
      const svg = this.figure.querySelector(".figure svg");
      if (svg) {
        const button = make("button", "", "SVG for papers", { type: "button" });
        button.addEventListener("click", () => save(new XMLSerializer().serializeToString(svg), `${this.figure.dataset.name || "figure"}.svg`));
        bar.append(button);
      }
      this.showRange();
      return bar;
    }

    showRange() {
      this.back.hidden = !this.state.x && !this.state.y.size;
      const range = this.state.x ?? this.whole;
      this.ends?.forEach((field, n) => { field.value = short(range[n]); });
    }

    // Shows a part of the horizontal axis in all plots; all of it, and of the vertical ones, without a part.
    zoom(range, keep = false) {
      const [from, to] = this.whole;
      if (!range || !keep) this.state.y.clear();
      this.state.x = range && [Math.max(from, range[0]), Math.min(to, range[1])];
      if (this.state.x && (this.state.x[1] <= this.state.x[0] || (this.state.x[0] <= from && this.state.x[1] >= to))) this.state.x = null;
      this.redraw();
    }

    redraw() {
      this.showRange();
      for (const plot of this.plots) {
        if (!plot.drawn) continue;
        const [min, max] = plot.across, [low, high] = plot.upright();
        plot.drawn.batch(() => {
          plot.joined.forEach((trace, n) => plot.drawn.setSeries(n + 2, { show: plot.isShown(trace) }));
          plot.drawn.setScale("x", { min, max });
          plot.drawn.setScale("y", { min: low, max: high });
        });
        plot.leave();
      }
    }

    // Draws a vertical line at the same place in the other plots; removes it without a place.
    line(from, x) {
      for (const plot of this.plots)
        if (plot !== from && plot.drawn) plot.drawn.setCursor({ left: x === null ? -10 : plot.drawn.valToPos(x, "x"), top: 1 }, false);
    }

    repaint() {
      for (const plot of this.plots) if (plot.drawn) plot.draw(plot.drawn.width);
      const old = this.root.querySelector(".legend");
      old.replaceWith(this.legend());
    }

    destroy() {
      this.plots.forEach((plot) => plot.destroy());
      this.root.remove();
    }
  }

  function save(text, name) {
    const link = make("a", "", "", { href: URL.createObjectURL(new Blob([text], { type: "image/svg+xml" })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function enhance(root) {
    for (const figure of root.querySelectorAll("figure.chart")) {
      const description = figure.querySelector("script");
      if (description) new Chart(figure, JSON.parse(description.textContent));
    }
  }

  // Which plot has the focus, and giving it back after the page was refreshed.
  function focus() {
    for (const [id, chart] of drawn) {
      const number = chart.plots.findIndex((plot) => plot.box === document.activeElement);
      if (number >= 0) return [id, number];
    }
    return null;
  }
  const focusOn = (place) => { if (place) drawn.get(place[0])?.plots[place[1]]?.box.focus({ preventScroll: true }); };

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn.forEach((chart) => chart.repaint()));
  addEventListener("hashchange", showCells);
  enhance(document);
  showCells();
  return { Chart, drawn, enhance, focus, focusOn };
})();
