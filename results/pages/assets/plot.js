// One plot that one explores: values under the pointer or by keyboard, zoom, links from a value to its cells; drawn by uPlot.
"use strict";

const plots = (() => {
  const HEIGHT = 200, NEAR = 40, LISTED = 12;
  const JOINED = new Set(["line", "thin", "dotted", "marked", "reference"]);
  const COLOURS = { "#0072B2": "--c0", "#D55E00": "--c1", "#009E73": "--c2", "#AA4499": "--c3", "#E69F00": "--c4", "#56B4E9": "--c5", "#222222": "--ink", "#666666": "--other" };

  // Plots are drawn when they come near the window: a page may have hundreds.
  const byBox = new Map(), near = new IntersectionObserver((changes) => {
    for (const { target, isIntersecting } of changes) if (isIntersecting) byBox.get(target)?.come();
  }, { rootMargin: "1500px 0px" });
  addEventListener("beforeprint", () => byBox.forEach((plot) => plot.come()));

  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colourOf = (trace) => (COLOURS[trace.colour] ? style(COLOURS[trace.colour]) : trace.colour);
  const short = (value) => (Math.abs(value) >= 1000 ? value.toFixed(0) : String(+value.toPrecision(4)));
  const unitOf = (label) => /\(([^()]*)\)$/.exec(label ?? "")?.[1] ?? "";

  // Where a value leads: to an address, or to the rows of its cells on this page.
  function targetOf(trace, i) {
    if (trace.links?.[i]) return trace.links[i];
    const words = trace.cells?.length > 1 ? trace.cells[i] : trace.cells?.[0];
    return words?.length && document.querySelector("tr[data-of]") ? `#of:${words.map(encodeURIComponent).join("&")}` : "";
  }

  // Marks the rows of the cells that the address names.
  function showCells() {
    if (!location.hash.startsWith("#of:")) return;
    const rows = [...document.querySelectorAll("tr[data-of]")].map((row) => [row, JSON.parse(row.dataset.of)]);
    const names = new Set(rows.flatMap(([, of]) => of.map((word) => word.split("=")[0])));
    const wanted = location.hash.slice(4).split("&").map(decodeURIComponent).filter((word) => word.startsWith("#") || names.has(word.split("=")[0]));
    rows.forEach(([row]) => row.classList.remove("chosen"));
    const chosen = wanted.length ? rows.filter(([, of]) => wanted.every((word) => of.includes(word))).map(([row]) => row) : [];
    for (const row of chosen) { row.classList.add("chosen"); row.hidden = false; row.tabIndex = -1; }
    chosen[0]?.scrollIntoView({ block: "center" });
    chosen[0]?.focus({ preventScroll: true });
  }

  function mark(context, shape, x, y, r) {
    context.beginPath();
    if (shape === 0) context.arc(x, y, r, 0, 2 * Math.PI);
    else if (shape === 1) context.rect(x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8);
    else {
      const corners = shape === 2 ? [[0, -1.2], [1.1, 0.9], [-1.1, 0.9]] : [[0, -1.3], [1.2, 0], [0, 1.3], [-1.2, 0]];
      corners.forEach(([dx, dy], n) => context[n ? "lineTo" : "moveTo"](x + dx * r, y + dy * r));
      context.closePath();
    }
    context.fill();
  }

  class Plot {
    constructor(chart, panel, number) {
      Object.assign(this, { chart, number, panel, title: panel.title ?? "", ticks: panel.ticks ?? [] });
      this.traces = (panel.traces ?? []).map((trace, order) => ({ ...trace, order, x: trace.x ?? [], y: trace.y ?? [] }));
      this.joined = this.traces.filter((trace) => JOINED.has(trace.kind) && trace.x.every((x, i) => !i || x >= trace.x[i - 1]));
      this.element = make("div", "panel");
      this.element.append(make("p", "panel-title", [this.title, panel.y_label || chart.spec.y_label].filter(Boolean).join(panel.y_label?.startsWith("(") ? " " : " · ")));
      this.box = make("div", "plot", "", { tabindex: 0, role: "application", "aria-roledescription": "chart", "aria-label": `${this.title || chart.spec.title}: ${this.summary()}` });
      this.tip = make("div", "tip");
      this.dot = make("div", "spot");
      this.tip.hidden = this.dot.hidden = true;
      this.element.append(this.box);
      this.box.addEventListener("keydown", (event) => this.key(event));
      this.observer = new ResizeObserver(() => this.fit());
      this.observer.observe(this.box);
      byBox.set(this.box, this);
      near.observe(this.box);
    }

    come() {
      near.unobserve(this.box);
      this.isNear = true;
      this.fit();
    }

    // What a reader hears who does not see the plot.
    summary() {
      const said = this.traces.filter((trace) => trace.kind !== "thin" && trace.y.length).map((trace) => {
        const values = trace.y.filter((y) => y !== null);
        const [least, most] = [values.reduce((a, b) => Math.min(a, b), Infinity), values.reduce((a, b) => Math.max(a, b), -Infinity)];
        return `${trace.label} ${least === most ? short(least) : `${short(least)} to ${short(most)}`}`;
      });
      return `${said.slice(0, LISTED).join("; ")}. ${unitOf(this.panel.y_label || this.chart.spec.y_label)}`;
    }

    isShown(trace) { return !this.chart.state.hidden.has(trace.label); }
    get whole() {
      const xs = this.traces.flatMap((trace) => (trace.x.length ? [trace.x[0], trace.x.at(-1)] : [])).filter(Number.isFinite);
      const marks = Object.values(this.panel.marks ?? {});
      let [low, high] = [Math.min(...xs, ...marks), Math.max(...xs, ...marks)];
      if (!Number.isFinite(high - low)) return [0, 1];
      if (this.traces.some((trace) => trace.kind === "bars")) return [-0.5, this.ticks.length - 0.5];
      const pad = this.traces.some((trace) => trace.kind === "marked" || trace.kind === "points") ? 0.05 * (high - low) : 0;
      [low, high] = [low - pad, high + pad];
      return low === high ? [low - 0.5, high + 0.5] : [low, high];
    }
    get across() { return this.chart.state.x ?? this.chart.whole; }

    // The least and the largest value in view.
    reach() {
      const [from, to] = this.across;
      let low = Infinity, high = -Infinity;
      for (const trace of this.traces) {
        if (!this.isShown(trace)) continue;
        for (let i = 0; i < trace.x.length; i++) {
          if (trace.x[i] < from || trace.x[i] > to) continue;
          for (const value of [trace.y[i], trace.low?.[i], trace.high?.[i], trace.base?.[i]]) {
            if (value === null || value === undefined || (this.chart.spec.logarithmic && value <= 0)) continue;
            low = Math.min(low, value);
            high = Math.max(high, value);
          }
        }
      }
      return [low, high];
    }

    upright() {
      if (this.chart.state.y.has(this.number)) return this.chart.state.y.get(this.number);
      let [low, high] = this.panel.y_label ? this.reach() : this.chart.reach();
      if (this.chart.spec.logarithmic) return high > 0 ? [low / 1.3, high * 1.3] : [1, 10];
      [low, high] = [Math.min(0, low), Math.max(0, high)];
      if (!Number.isFinite(high - low)) return [0, 1];
      const pad = 0.06 * (high - low) || 1;
      return [low < 0 ? low - pad : 0, high > 0 ? high + pad : pad];
    }

    fit() {
      const width = this.box.clientWidth;
      if (!width || !this.isNear) return;
      if (!this.drawn) this.draw(width);
      else if (this.drawn.width !== width) this.drawn.setSize({ width, height: HEIGHT });
    }

    draw(width) {
      this.drawn?.destroy();
      const axis = { stroke: style("--quiet"), grid: { stroke: style("--line"), width: 1 }, ticks: { stroke: style("--line"), width: 1 }, font: "12px system-ui, sans-serif" };
      const words = this.ticks.length > 0, logarithmic = this.chart.spec.logarithmic;
      const series = this.joined.map((trace) => ({
        stroke: colourOf(trace), width: { thin: 1, dotted: 1.2, reference: 1.3 }[trace.kind] ?? 2, alpha: trace.kind === "thin" ? 0.35 : 1, spanGaps: false,
        dash: trace.kind === "dotted" ? [2, 3] : trace.kind === "reference" ? [5, 4] : trace.dashed ? [8, 4] : [], points: { show: false }, show: this.isShown(trace),
      }));
      const unseen = { paths: () => null, points: { show: false } }; // a plot of bars has no other series
      this.drawn = new uPlot({
        width, height: HEIGHT, legend: { show: false }, series: [{}, unseen, ...series],
        scales: { x: { time: false, range: () => this.across }, y: { distr: logarithmic ? 3 : 1, range: () => this.upright() } },
        axes: [
          { ...axis, size: 34, splits: words ? (u) => this.ticksIn(u) : undefined, values: (u, splits) => splits.map((x) => (words ? this.tickText(x, u) : short(x))) },
          { ...axis, size: 58, values: (u, splits) => splits.map((y) => (y === null ? "" : short(y))) },
        ],
        cursor: { drag: { x: true, y: true, uni: 40, setScale: false }, points: { show: false }, y: false },
        hooks: { drawAxes: [(u) => this.paint(u, ["bars"])], draw: [(u) => this.paint(u, ["marked", "points", "crosses"])], setCursor: [(u) => this.hover(u)], setSelect: [(u) => this.select(u)] },
      }, uPlot.join([[this.chart.whole, [0, 0]], ...this.joined.map((trace) => [trace.x, trace.y])]), this.box);
      this.drawn.over.append(this.dot);
      this.drawn.root.append(this.tip);
      this.drawn.over.addEventListener("mousedown", () => { this.selected = false; });
      this.drawn.over.addEventListener("click", () => { if (!this.selected && this.current) this.follow(); });
      this.drawn.over.addEventListener("dblclick", () => this.chart.zoom(null));
      const { hover } = this.chart.state;
      if (hover?.number === this.number) this.drawn.setCursor(hover);
    }

    ticksIn(u) {
      const [from, to] = this.across, inside = this.ticks.filter(([x]) => x >= from && x <= to);
      const step = Math.max(1, Math.ceil(inside.length * 64 / Math.max(64, u.over.clientWidth || u.width - 80)));
      return inside.filter((_, n) => n % step === 0).map(([x]) => x);
    }
    tickText(x, u) {
      const text = this.ticks.find(([at]) => at === x)?.[1] ?? "", inside = Math.max(1, this.ticksIn(u).length);
      const room = Math.max(6, Math.floor((u.width - 80) / inside / 6.5));
      return text.length > room ? `${text.slice(0, room - 1)}…` : text;
    }

    // Draws what is no line: bars, marks with their intervals, crosses; and, once, vertical lines with their meaning.
    paint(u, kinds) {
      const context = u.ctx, ratio = uPlot.pxRatio, { left, top, width, height } = u.bbox;
      const at = (value, scale) => u.valToPos(value, scale, true);
      context.save();
      context.beginPath();
      context.rect(left, top, width, height);
      context.clip();
      for (const trace of this.traces) {
        if (!kinds.includes(trace.kind) || !this.isShown(trace)) continue;
        const half = trace.width ? (at(trace.width, "x") - at(0, "x")) / 2 : 0, paint = colourOf(trace);
        context.lineWidth = 1.5 * ratio;
        for (let i = 0; i < trace.x.length; i++) {
          if (trace.y[i] === null) continue;
          const x = at(trace.x[i], "x"), y = at(trace.y[i], "y"), r = 4 * ratio;
          context.fillStyle = context.strokeStyle = paint;
          context.globalAlpha = trace.notes?.[i]?.startsWith("unusable") && trace.kind === "bars" ? 0.3 : 1;
          if (trace.kind === "bars") context.fillRect(x - half, y, 2 * half, at(trace.base[i] ?? 0, "y") - y);
          context.globalAlpha = 1;
          if (trace.kind === "crosses") {
            for (const way of [1, -1]) { context.beginPath(); context.moveTo(x - r, y - way * r); context.lineTo(x + r, y + way * r); context.stroke(); }
          } else if (trace.low?.[i] != null && trace.high?.[i] != null) {
            if (trace.kind === "bars") context.strokeStyle = style("--ink");
            context.beginPath();
            context.moveTo(x, at(trace.low[i], "y"));
            context.lineTo(x, at(trace.high[i], "y"));
            context.stroke();
          }
          if (trace.kind === "marked" || trace.kind === "points") mark(context, trace.order % 4, x, y, r * 0.9);
        }
      }
      if (!kinds.includes("bars")) this.paintMarks(context, at, top, height, ratio);
      context.restore();
    }

    paintMarks(context, at, top, height, ratio) {
      context.fillStyle = context.strokeStyle = style("--quiet");
      context.lineWidth = ratio;
      context.font = `${11 * ratio}px system-ui, sans-serif`;
      for (const [text, x] of Object.entries(this.panel.marks ?? {})) {
        context.setLineDash([2 * ratio, 3 * ratio]);
        context.beginPath();
        context.moveTo(at(x, "x"), top);
        context.lineTo(at(x, "x"), top + height);
        context.stroke();
        context.textAlign = x > (this.across[0] + this.across[1]) / 2 ? "right" : "left";
        context.fillText(text, at(x, "x") + (context.textAlign === "left" ? 4 : -4) * ratio, top + height - 5 * ratio);
      }
    }

    // The value of a trace nearest to a position on the horizontal axis.
    nearest(trace, x) {
      let best = -1, least = Infinity;
      for (let i = 0; i < trace.x.length; i++) {
        const distance = Math.abs(trace.x[i] - x);
        if (trace.y[i] !== null && distance < least) [best, least] = [i, distance];
      }
      return best;
    }

    distance(trace, i, left, top) {
      const u = this.drawn, dx = Math.abs(u.valToPos(trace.x[i], "x") - left), y = u.valToPos(trace.y[i], "y");
      if (trace.kind !== "bars") return Math.hypot(dx, Math.abs(y - top) * 0.7);
      const half = (u.valToPos(trace.width, "x") - u.valToPos(0, "x")) / 2, base = u.valToPos(trace.base[i] ?? 0, "y");
      return Math.max(0, dx - half) + (top < y ? y - top : Math.max(0, top - base)) * 0.3;
    }

    hover(u) {
      const { left, top } = u.cursor;
      if (left < 0 || top < 0) {
        if (this.chart.state.hover?.number === this.number) this.chart.state.hover = null;
        if (document.activeElement !== this.box) this.leave();
        return;
      }
      this.chart.state.hover = { number: this.number, left, top };
      const x = u.posToVal(left, "x"), found = [];
      for (const trace of this.traces) {
        if (!this.isShown(trace) || trace.kind === "reference") continue;
        const i = this.nearest(trace, x);
        if (i >= 0) found.push([this.distance(trace, i, left, top) + (trace.kind === "thin" ? 12 : 0), trace, i]);
      }
      found.sort((a, b) => a[0] - b[0]);
      if (!found.length || Math.abs(u.valToPos(found[0][1].x[found[0][2]], "x") - left) > 2 * NEAR) return this.leave();
      this.show(found[0][1], found[0][2]);
      this.chart.line(this, x);
    }

    leave() {
      this.current = null;
      this.tip.hidden = this.dot.hidden = true;
      this.chart.line(this, null);
    }

    xText(x) {
      if (!this.ticks.length) return `${short(x)} ${unitOf(this.chart.spec.x_label)}`.trim();
      const [, text] = this.ticks.reduce((best, tick) => (Math.abs(tick[0] - x) < Math.abs(best[0] - x) ? tick : best));
      return text;
    }

    valueText(trace, i) {
      const interval = trace.low?.[i] != null && trace.high?.[i] != null ? ` (${short(trace.low[i])} to ${short(trace.high[i])})` : "";
      const value = trace.kind === "bars" && trace.base?.[i] ? trace.y[i] - trace.base[i] : trace.y[i];
      return `${short(value)}${interval}`;
    }

    // Shows a value, and beside it those of the other traces at the same place.
    show(trace, i) {
      this.current = { trace, i };
      const u = this.drawn, x = u.valToPos(trace.x[i], "x"), y = u.valToPos(trace.y[i], "y"), unit = unitOf(this.panel.y_label || this.chart.spec.y_label);
      this.tip.replaceChildren(make("strong", "", this.xText(trace.x[i])));
      const near = this.ticks.length ? 0.5 : Math.abs(u.posToVal(12, "x") - u.posToVal(0, "x"));
      const listed = this.traces.filter((each) => this.isShown(each) && (each === trace || (each.kind !== "thin" && each.kind !== "reference"))).slice(0, LISTED);
      for (const each of listed) {
        const n = each === trace ? i : this.nearest(each, trace.x[i]);
        if (n < 0 || Math.abs(each.x[n] - trace.x[i]) > near) continue;
        const row = make("div", each === trace ? "mine" : "", `${each.label} ${this.valueText(each, n)} ${unit}${each === trace && each.notes?.[n] ? `, ${each.notes[n]}` : ""}`);
        row.style.setProperty("--mine", colourOf(each));
        this.tip.append(row);
      }
      if (targetOf(trace, i)) this.tip.append(make("small", "", "click: its cells"));
      this.tip.hidden = this.dot.hidden = false;
      const wide = this.box.clientWidth, edge = x + u.over.offsetLeft;
      this.tip.style.left = `${Math.max(0, Math.min(edge < wide / 2 ? edge + 14 : edge - 14 - this.tip.offsetWidth, wide - this.tip.offsetWidth))}px`;
      this.tip.style.top = `${Math.max(0, Math.min(HEIGHT - 40 - this.tip.offsetHeight, y - 10))}px`;
      this.dot.style.transform = `translate(${x}px, ${y}px)`;
    }

    follow() {
      const target = targetOf(this.current.trace, this.current.i);
      if (!target) return;
      if (target === location.hash) showCells();
      location.href = target;
    }

    select(u) {
      const { left, top, width, height } = u.select;
      if (width < 4 && height < 4) return;
      this.selected = true;
      const [x, y] = [[left, left + width], [top + height, top]].map((ends, n) => ends.map((end) => u.posToVal(end, n ? "y" : "x")));
      u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      if (height < u.over.clientHeight - 2) this.chart.state.y.set(this.number, y);
      this.chart.zoom(width < u.over.clientWidth - 2 ? x : this.chart.state.x ?? this.chart.whole, true);
    }

    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const traces = this.traces.filter((trace) => this.isShown(trace) && trace.kind !== "thin" && trace.kind !== "reference" && trace.x.length);
      if (!this.drawn) this.come();
      if (!traces.length || !this.drawn) return;
      const [from, to] = this.across, { trace, i } = this.current && traces.includes(this.current.trace) ? this.current : { trace: traces[0], i: -1 };
      const along = (step) => {
        let n = i < 0 ? this.nearest(trace, from) - (step > 0 ? 1 : 0) : i;
        do n += step; while (trace.y[n] === null);
        return n >= 0 && n < trace.x.length && trace.x[n] >= from && trace.x[n] <= to ? [trace, n] : null;
      };
      const other = (step) => {
        const next = traces[(traces.indexOf(trace) + step + traces.length) % traces.length];
        return [next, this.nearest(next, i < 0 ? from : trace.x[i])];
      };
      const zoom = (factor) => { const centre = i < 0 ? (from + to) / 2 : trace.x[i], half = (to - from) / 2 * factor; this.chart.zoom([centre - half, centre + half]); };
      const moves = { ArrowRight: () => along(1), ArrowLeft: () => along(-1), ArrowUp: () => other(-1), ArrowDown: () => other(1) };
      const actions = { "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), Home: () => this.chart.zoom(null), Escape: () => this.leave(), Enter: () => this.current && this.follow() };
      if (!moves[event.key] && !actions[event.key]) return;
      event.preventDefault();
      const move = moves[event.key]?.();
      if (!move) { actions[event.key]?.(); return; }
      this.show(...move);
      this.chart.line(this, move[0].x[move[1]]);
      const notes = move[0].notes?.[move[1]];
      this.chart.said.textContent = `${move[0].label}, ${this.xText(move[0].x[move[1]])}: ${this.valueText(...move)} ${unitOf(this.panel.y_label || this.chart.spec.y_label)}${notes ? `, ${notes}` : ""}`;
    }

    destroy() {
      this.observer.disconnect();
      near.unobserve(this.box);
      byBox.delete(this.box);
      this.drawn?.destroy();
      this.drawn = null;
    }
  }

  return { Plot, colourOf, short, showCells };
})();
