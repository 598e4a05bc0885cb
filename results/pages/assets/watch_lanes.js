// Lanes on one time line: an overview, sequence numbers, windows, queues and throughput.
"use strict";

const MOST_POINTS = 3000, LEFT = 62;

function scaleText(value) {
  for (const [factor, suffix] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]])
    if (Math.abs(value) >= factor) return `${+(value / factor).toPrecision(3)}${suffix}`;
  return `${+value.toPrecision(3)}`;
}

// The next larger of 1, 2 and 5 times a power of ten.
function niceStep(step) {
  const power = 10 ** Math.floor(Math.log10(step || 1));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= step);
}

function timeText(ms, span) {
  if (span >= 2000) return `${(ms / 1e3).toFixed(span > 20000 ? 0 : 1)} s`;
  return `${ms.toFixed(span > 50 ? 0 : span > 1 ? 2 : 4)} ms`;
}

class LanesView {
  constructor(canvas, recording) {
    this.canvas = canvas;
    this.recording = recording;
    this.busiest = recording.directions.map((_, point) => point).sort((a, b) => recording.queues[b].peak - recording.queues[a].peak)
      .filter((point, order, all) => recording.queues[point].peak > 0.02 * recording.queues[all[0]].peak).slice(0, 3);
    this.lanes = [
      { title: "sequence number (bytes, from the left edge)", height: 150, draw: (from, to) => this.sequences(from, to) },
      { title: "window (packets; thin: in flight, dashed: threshold)", height: 90, draw: (from, to) => this.windows(from, to) },
      { title: "queue (bytes)", height: 90, draw: (from, to) => this.queues(from, to) },
      { title: "throughput (bit/s)", height: 90, draw: (from, to) => this.rates(from, to) },
    ];
    this.height = 34 + this.lanes.reduce((sum, lane) => sum + lane.height + 24, 0) + 20;
    this.kept = document.createElement("canvas");
    this.key = "";
  }

  // The part of the time that is shown: as much as passes in twenty seconds, and never more than there is. It stands
  // still while time passes through it, and is turned like a page, so that the lanes are drawn once for each.
  span(time, speed) {
    const total = this.recording.duration, width = Math.min(total, 2e4 * speed);
    const page = 0.8 * width, from = Math.max(0, Math.min(total - width, Math.floor(time / page) * page - 0.1 * width));
    return [from, from + width];
  }

  draw(time, speed, focus) {
    const [from, to] = this.span(time, speed), wide = this.wide = this.canvas.clientWidth;
    const context = fit(this.canvas, this.height);
    if (!this.canvas.width) return;
    const key = [from, to, wide, window.devicePixelRatio, palette.paper, JSON.stringify(focus)].join();
    if (key !== this.key) {
      this.key = key;
      this.kept.width = this.canvas.width;
      this.kept.height = this.canvas.height;
      this.context = this.kept.getContext("2d");
      this.context.setTransform(context.getTransform());
      this.drawAll(from, to, focus);
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.drawImage(this.kept, 0, 0);
    context.setTransform(this.context.getTransform());
    const x = this.x(time, from, to);
    context.fillStyle = palette.ink;
    context.fillRect(x - 0.75, 34, 1.5, this.height - 54);
    context.fillRect(this.x(time, 0, this.recording.duration) - 1, 2, 2, 22);
  }

  x(time, from, to) { return LEFT + (time - from) / (to - from || 1) * (this.wide - LEFT - 4); }

  drawAll(from, to, focus) {
    const context = this.context, wide = this.wide;
    context.clearRect(0, 0, wide, this.height);
    this.focus = focus;
    this.overview(from, to);
    let top = 34;
    for (const lane of this.lanes) {
      this.top = top + 18;
      this.bottom = this.top + lane.height;
      context.font = "600 12px system-ui, sans-serif";
      context.textAlign = "left";
      context.fillStyle = palette.quiet;
      const fits = context.measureText(lane.title).width < wide - LEFT - 4;
      context.fillText(fits ? lane.title : lane.title.replace(/[;,].*\)/, ")"), LEFT, top + 12);
      context.fillStyle = palette.panel;
      context.fillRect(LEFT, this.top, wide - LEFT - 4, lane.height);
      context.save();
      context.beginPath();
      context.rect(LEFT, this.top - 3, wide - LEFT - 4, lane.height + 6);
      context.clip();
      const range = lane.draw(from, to);
      context.restore();
      this.axis(range);
      top = this.bottom + 6;
    }
    context.textAlign = "center";
    context.fillStyle = palette.quiet;
    context.font = "11px system-ui, sans-serif";
    const step = niceStep((to - from) / Math.max(2, wide / 170));
    for (let time = Math.ceil(from / step) * step; time <= to; time += step) {
      const x = this.x(time, from, to);
      if (x > wide - 26 || x < LEFT + 14) continue;
      context.fillText(timeText(time, to - from), x, top + 10);
    }
  }

  axis([low, high]) {
    const context = this.context;
    context.textAlign = "right";
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = palette.quiet;
    context.fillText(scaleText(high), LEFT - 6, this.top + 9);
    context.fillText(scaleText(low), LEFT - 6, this.bottom);
  }

  // The whole recording, with its events, and what is shown of it.
  overview(from, to) {
    const context = this.context, recording = this.recording, total = recording.duration;
    context.fillStyle = palette.pipe;
    context.fillRect(LEFT, 6, this.wide - LEFT - 4, 14);
    const seen = new Set();
    for (let n = 0; n < recording.eventTime.length; n++) {
      const x = Math.round(this.x(recording.eventTime[n], 0, total)), kind = recording.eventKind[n];
      if (seen.has(x * 8 + kind)) continue;
      seen.add(x * 8 + kind);
      context.fillStyle = kind === 2 || kind === 4 ? palette.drop : kind === 3 || kind === LINK_CHANGE ? palette.ink : palette.accent;
      context.fillRect(x, kind === 2 || kind === 4 || kind === LINK_CHANGE ? 6 : 13, 1.5, kind === LINK_CHANGE ? 14 : 7);
    }
    context.strokeStyle = palette.ink;
    context.lineWidth = 1.5;
    context.strokeRect(this.x(from, 0, total), 4, Math.max(3, this.x(to, 0, total) - this.x(from, 0, total)), 18);
    context.textAlign = "right";
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = palette.quiet;
    context.fillText("events", LEFT - 6, 17);
  }

  y(value, low, high) { return this.bottom - (value - low) / (high - low || 1) * (this.bottom - this.top); }
  alpha(flow) { return !this.focus || this.focus.flow === undefined || this.focus.flow === flow || this.recording.flows[flow]?.reverse === this.focus.flow ? 1 : 0.15; }

  sequences(from, to) {
    const recording = this.recording, context = this.context, shown = [];
    let high = 1, count = 0;
    for (const flow of recording.main) {
      const packets = recording.ofFlow[flow];
      const first = firstWhere(packets.length, (n) => recording.entered[packets[n]] >= from), last = firstWhere(packets.length, (n) => recording.entered[packets[n]] > to);
      if (first < last) shown.push({ flow, packets, first, last });
      count += last - first;
    }
    const step = Math.max(1, Math.ceil(count / MOST_POINTS)), size = step > 1 ? 1.6 : Math.min(5, 1.6 + 400 / count);
    for (const each of shown) {
      let most = 0;
      each.base = Infinity;
      for (let n = each.first; n < each.last; n += n + step < each.last ? step : Math.max(1, each.last - 1 - n)) {
        each.base = Math.min(each.base, recording.seq[each.packets[n]]);
        most = Math.max(most, recording.seq[each.packets[n]] + recording.payload[each.packets[n]]);
      }
      high = Math.max(high, most - each.base);
    }
    this.points = [];
    for (const { flow, packets, first, last, base } of shown) {
      context.globalAlpha = this.alpha(flow);
      context.fillStyle = colour(recording.colourOf(flow));
      for (let n = first; n < last; n += step) this.dot(packets[n], from, to, base, high, size);
      const special = recording.special[flow], end = firstWhere(special.length, (n) => recording.entered[special[n]] > to);
      const begin = firstWhere(special.length, (n) => recording.entered[special[n]] >= from), skip = Math.max(1, Math.ceil((end - begin) / MOST_POINTS));
      for (let n = begin; n < end; n += skip) {
        context.fillStyle = recording.isDropped(special[n]) ? palette.drop : palette.ink;
        this.dot(special[n], from, to, base, high, size + 1.6);
      }
    }
    context.globalAlpha = 1;
    return [0, high];
  }

  dot(i, from, to, base, high, size) {
    const context = this.context, x = this.x(this.recording.entered[i], from, to), y = this.y(this.recording.seq[i] - base, 0, high);
    if (this.recording.isDropped(i)) {
      context.fillRect(x - 3, y - 0.75, 6, 1.5);
      context.fillRect(x - 0.75, y - 3, 1.5, 6);
    } else context.fillRect(x - size / 2, y - size / 2, size, size);
    this.points.push([x, y, i]);
  }

  windows(from, to) {
    const recording = this.recording, context = this.context;
    let high = 1;
    const shown = recording.main.map((flow) => {
      const { from: begin, to: end } = recording.sockets[flow];
      const first = Math.max(begin, begin + firstWhere(end - begin, (n) => recording.socketTime[begin + n] > from) - 1);
      const last = begin + firstWhere(end - begin, (n) => recording.socketTime[begin + n] > to);
      for (let n = first; n < last; n++) high = Math.max(high, recording.cwnd[n]);
      return [flow, first, last];
    });
    for (const [flow, first, last] of shown) {
      if (first >= last) continue;
      context.strokeStyle = colour(recording.colourOf(flow));
      for (const [column, width, alpha, dashes] of [["cwnd", 2, 1, []], ["inFlight", 1, 0.45, []], ["ssthresh", 1, 0.6, [4, 4]]]) {
        context.globalAlpha = alpha * this.alpha(flow);
        context.lineWidth = width;
        context.setLineDash(dashes);
        let begin = first;
        while (column === "ssthresh" && begin < last && recording.ssthresh[begin] === NO_THRESHOLD) begin++;
        this.steps(begin, last, (n) => recording.socketTime[n], (n) => recording[column][n], from, to, high);
        context.stroke();
      }
    }
    context.setLineDash([]);
    context.globalAlpha = 1;
    return [0, high];
  }

  // A line of steps through numbers `first` to `last` - 1; of several in one pixel, from the highest to the lowest.
  steps(first, last, timeOf, valueOf, from, to, high) {
    const context = this.context;
    const height = (value) => this.y(Math.min(value, 2 * high), 0, high);
    context.beginPath();
    for (let n = first, y = null; n < last;) {
      const x = Math.max(LEFT, this.x(timeOf(n), from, to));
      let value = valueOf(n), least = value, most = value;
      for (n++; n < last && this.x(timeOf(n), from, to) < x + 0.7; n++) {
        value = valueOf(n);
        least = Math.min(least, value);
        most = Math.max(most, value);
      }
      if (y === null) context.moveTo(x, height(most)); else context.lineTo(x, y);
      context.lineTo(x, height(most));
      context.lineTo(x, height(least));
      y = height(value);
      context.lineTo(x, y);
      if (n >= last) context.lineTo(this.x(Math.min(to, this.recording.duration), from, to), y);
    }
  }

  queues(from, to) {
    const recording = this.recording, context = this.context;
    let high = 1;
    const shown = this.busiest.map((point) => {
      const { times, values } = recording.queues[point];
      const first = Math.max(0, firstWhere(times.length, (n) => times[n] > from) - 1), last = firstWhere(times.length, (n) => times[n] > to);
      for (let n = first; n < last; n++) high = Math.max(high, values[n]);
      return [point, times, values, first, last];
    });
    const limit = Math.max(...this.busiest.map((point) => recording.directions[point].queue || 0), 0);
    if (limit && limit < 6 * high) high = Math.max(high, limit * 1.04);
    shown.forEach(([point, times, values, first, last], order) => {
      context.strokeStyle = [palette.accent, palette.flows[3], palette.flows[4]][order];
      context.lineWidth = 1.4;
      this.steps(first, last, (n) => times[n], (n) => values[n], from, to, high);
      context.stroke();
      context.font = "11px system-ui, sans-serif";
      context.textAlign = "left";
      context.fillStyle = context.strokeStyle;
      context.fillText(recording.directions[point].name, LEFT + 6, this.top + 13 + 13 * order);
    });
    if (limit && limit <= high) {
      context.fillStyle = palette.drop;
      context.globalAlpha = 0.6;
      context.fillRect(LEFT, this.y(limit, 0, high), this.wide, 1);
      context.globalAlpha = 1;
    }
    return [0, high];
  }

  rates(from, to) {
    const recording = this.recording, context = this.context, bins = Math.min(160, Math.max(40, this.wide >> 3));
    const width = (to - from) / bins, sums = new Map();
    let high = 1;
    for (const flow of recording.main) {
      const { times, sums: carried } = recording.delivered[flow];
      if (!times.length) continue;
      const subflow = `${recording.flows[flow].colour}`, series = sums.get(subflow) || sums.set(subflow, [recording.flows[flow].colour, new Float64Array(bins), flow]).get(subflow);
      let before = carried[firstWhere(times.length, (n) => times[n] >= from)];
      for (let bin = 0; bin < bins; bin++) {
        const after = carried[firstWhere(times.length, (n) => times[n] >= from + width * (bin + 1))];
        series[1][bin] += (after - before) * 8e3 / width;
        before = after;
      }
    }
    for (const [, values] of sums.values()) for (const value of values) high = Math.max(high, value);
    for (const [number, values, flow] of sums.values()) {
      context.strokeStyle = colour(number);
      context.globalAlpha = this.alpha(flow);
      context.lineWidth = 1.8;
      this.steps(0, bins, (bin) => from + width * bin, (bin) => values[bin], from, to, high);
      context.stroke();
    }
    context.globalAlpha = 1;
    return [0, high];
  }

  // The time at a position: of the overview, or of the part that is shown.
  timeAt(x, y, time, speed) {
    const share = Math.max(0, Math.min(1, (x - LEFT) / (this.wide - LEFT - 4)));
    const [from, to] = y < 30 ? [0, this.recording.duration] : this.span(time, speed);
    return from + share * (to - from);
  }

  nearest(x, y) {
    let best = null, least = 7;
    for (const [px, py, i] of this.points || []) {
      const distance = Math.hypot(px - x, py - y);
      if (distance < least) [best, least] = [i, distance];
    }
    return best;
  }
}
