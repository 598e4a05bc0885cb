// The network: packets move along links, queues fill beside them, drops fall out.
"use strict";

const DROP_SECONDS = 0.9, BOW = 150;

function style(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

// All colours of the reader's setting, read once and again when it changes.
let palette = {};
function readPalette() {
  palette = Object.fromEntries(["paper", "ink", "quiet", "line", "panel", "drop", "node", "pipe", "other", "accent"].map((name) => [name, style(`--${name}`)]));
  palette.flows = [0, 1, 2, 3, 4, 5].map((n) => style(`--c${n}`));
}
function colour(number) { return number < 0 ? palette.other : palette.flows[number % palette.flows.length]; }

// Fits a canvas to its width and the screen's pixels; returns its context.
function fit(canvas, height) {
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

class NetworkView {
  constructor(canvas, recording) {
    this.canvas = canvas;
    this.recording = recording;
    this.spots = [];
    const [width, height] = recording.size, rows = new Set(recording.nodes.map((node) => Math.round(node.y))).size;
    this.source = { width, height };
    const bow = Math.max(0, ...recording.links.map((link) => Math.abs(link.bow)));
    this.height = Math.max(190, Math.min(460, 90 + rows * 78)) + 2 * bow * BOW / 2;
  }

  place(x, y) {
    const margin = 58, { width, height } = this.source, wide = this.wide;
    const top = 64, bottom = 46, across = Math.max(1, width - 112), down = Math.max(1, height - 112);
    const flat = height <= 113;
    return [margin + (x - 56) / across * (wide - 2 * margin), flat ? this.height / 2 : top + (y - 56) / down * (this.height - top - bottom)];
  }

  // The point at a fraction of a direction's way, and the normal there; both directions drive on their right.
  at(point, fraction) {
    const [ax, ay, mx, my, bx, by] = this.lines[point >> 1], t = point & 1 ? 1 - fraction : fraction, s = 1 - t;
    const x = s * s * ax + 2 * s * t * mx + t * t * bx, y = s * s * ay + 2 * s * t * my + t * t * by;
    let dx = s * (mx - ax) + t * (bx - mx), dy = s * (my - ay) + t * (by - my);
    const length = Math.hypot(dx, dy) || 1, side = point & 1 ? -1 : 1;
    return [x - dy / length * side * 7, y + dx / length * side * 7, -dy / length * side, dx / length * side];
  }

  draw(time, speed, focus) {
    const context = fit(this.canvas, this.height), recording = this.recording, wide = this.wide = this.canvas.clientWidth;
    context.clearRect(0, 0, wide, this.height);
    this.lines = recording.links.map(({ line, bow }) => {
      const [ax, ay, mx, my, bx, by] = [0, 2, 4].flatMap((n) => this.place(line[n], line[n + 1])), length = Math.hypot(bx - ax, by - ay) || 1;
      return [ax, ay, mx - (by - ay) / length * bow * BOW, my + (bx - ax) / length * bow * BOW, bx, by];
    });
    this.drawLinks(context);
    this.spots.length = 0;
    this.waiting = new Map(); // bytes in each queue by their flows' colours
    const fall = DROP_SECONDS * 1e3 * speed;
    recording.underWay(time, fall, (i) => this.drawPacket(context, i, time, fall, focus));
    recording.directions.forEach((_, point) => this.drawQueue(context, point, time));
    this.drawNodes(context);
  }

  drawLinks(context) {
    context.lineCap = "round";
    for (const [ax, ay, mx, my, bx, by] of this.lines) {
      context.beginPath();
      context.moveTo(ax, ay);
      context.quadraticCurveTo(mx, my, bx, by);
      context.lineWidth = 26;
      context.strokeStyle = palette.pipe;
      context.stroke();
    }
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "center";
    context.fillStyle = palette.quiet;
    const texts = this.recording.links.map((_, link) => this.recording.directions[2 * link].specification);
    if (texts.every((text) => text === texts[0]) && texts.length > 1) {
      context.textAlign = "left";
      context.fillText(`every link: ${texts[0]}`, 12, 20);
    } else if (texts.length <= 8) {
      texts.forEach((text, link) => {
        const [x, y] = this.at(2 * link, 0.4);
        if (context.measureText(text).width < this.wide - 20) context.fillText(text, x, y - 44); // above the queue of the other direction
      });
    }
  }

  drawNodes(context) {
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.font = "600 13px system-ui, sans-serif";
    for (const node of this.recording.nodes) {
      const [x, y] = this.place(node.x, node.y), half = Math.max(24, context.measureText(node.name).width / 2 + 9);
      context.beginPath();
      context.roundRect(x - half, y - 17, 2 * half, 34, node.host ? 17 : 5);
      context.fillStyle = palette.node;
      context.fill();
      context.lineWidth = 1.5;
      context.strokeStyle = palette.ink;
      context.stroke();
      context.fillStyle = palette.ink;
      context.fillText(node.name, x, y + 0.5);
    }
    context.textBaseline = "alphabetic";
  }

  // A tank beside the beginning of a link, as full as its queue, in the colours of those who wait in it.
  drawQueue(context, point, time) {
    const { queue } = this.recording.directions[point], { peak } = this.recording.queues[point];
    const limit = queue || peak;
    if (!limit || peak < 0.02 * limit) return;
    const bytes = this.recording.queued(point, time), isFull = bytes > 0.97 * limit;
    const [ax, ay] = this.at(point, 0), [bx, by] = this.at(point, 0.15), angle = Math.atan2(by - ay, bx - ax);
    const wide = Math.min(120, this.wide / 5), tall = this.lines.length > 3 ? 12 : 18, left = 32;
    // The link leads to the right, and its queue is below; on the outer side, if several links join the same nodes.
    const isInside = this.recording.links[point >> 1].bow * (point & 1 ? -1 : 1) < 0, top = isInside ? -14 - tall : 14;
    context.save();
    context.translate(ax, ay);
    context.rotate(angle);
    context.fillStyle = palette.paper;
    context.fillRect(left, top, wide, tall);
    let filled = 0;
    for (const [number, waiting] of this.waiting.get(point) || []) {
      const width = Math.min(wide - filled, wide * waiting / limit);
      context.fillStyle = colour(number);
      context.fillRect(left + wide - filled - width, top, width, tall);
      filled += width;
    }
    context.strokeStyle = isFull ? palette.drop : palette.quiet;
    context.lineWidth = isFull ? 2.5 : 1;
    context.strokeRect(left, top, wide, tall);
    context.translate(left + wide / 2, isInside ? top - 11 : top + tall + 11);
    if (Math.abs(angle) > Math.PI / 2) context.rotate(Math.PI);
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = palette.quiet;
    if (this.lines.length <= 3 || bytes > 0)
      context.fillText(`queue ${(bytes / 1e3).toFixed(bytes < 1e4 ? 1 : 0)} of ${(limit / 1e3).toFixed(0)} kB`, 0, 0);
    context.restore();
  }

  drawPacket(context, i, time, fall, focus) {
    const recording = this.recording, point = recording.point[i], direction = recording.directions[point];
    const isFollowed = recording.follows(i, focus), ofData = recording.payload[i] > 0;
    context.globalAlpha = isFollowed ? 1 : 0.18;
    context.fillStyle = colour(recording.colourOf(recording.flow[i]));
    if (recording.isDropped(i)) {
      this.drawDrop(context, i, (time - recording.entered[i]) / fall);
    } else if (time >= recording.started[i]) {
      const serialisation = direction.rate ? recording.bytes[i] * 8e3 / direction.rate : 0;
      const flight = Math.max(recording.arrived[i] - recording.started[i], 1e-6), delay = Math.max(flight - serialisation, 1e-6);
      const front = Math.min(1, (time - recording.started[i]) / delay), rear = Math.max(0, (time - recording.started[i] - serialisation) / delay);
      const [fx, fy] = this.at(point, front), [rx, ry] = this.at(point, Math.min(front, rear));
      const size = ofData ? 7 : 4, length = Math.hypot(fx - rx, fy - ry);
      context.lineWidth = size;
      context.lineCap = "butt";
      context.strokeStyle = recording.isAgain(i) ? palette.ink : context.fillStyle;
      if (length > 4) {
        context.beginPath();
        context.moveTo(rx, ry);
        for (let n = 1; n <= 4; n++) context.lineTo(...this.at(point, Math.min(front, rear) + (front - Math.min(front, rear)) * n / 4).slice(0, 2));
        context.stroke();
      } else {
        context.fillStyle = context.strokeStyle;
        context.fillRect((fx + rx) / 2 - 2, (fy + ry) / 2 - size / 2, 4, size);
      }
      if (focus?.identity !== undefined && isFollowed) this.ring(context, (fx + rx) / 2, (fy + ry) / 2);
      this.spots.push([(fx + rx) / 2, (fy + ry) / 2, i]);
    } else {
      const of = this.waiting.get(point) || this.waiting.set(point, new Map()).get(point), number = recording.colourOf(recording.flow[i]);
      of.set(number, (of.get(number) || 0) + recording.bytes[i]);
    }
    context.globalAlpha = 1;
  }

  drawDrop(context, i, progress) {
    const early = this.recording.fateOf(i) === 1 ? 0.06 : 0.3;
    const [x, y, , ny] = this.at(this.recording.point[i], early), sway = (this.recording.identity[i] % 17 - 8) * 1.6 * progress;
    const py = y + (ny || 1) * 4 + 62 * progress * progress, px = x + sway;
    context.globalAlpha *= Math.max(0, 1 - progress * progress);
    context.fillRect(px - 4, py - 4, 8, 8);
    context.strokeStyle = palette.drop;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(px - 6, py - 6);
    context.lineTo(px + 6, py + 6);
    context.moveTo(px + 6, py - 6);
    context.lineTo(px - 6, py + 6);
    context.stroke();
    this.spots.push([px, py, i]);
  }

  ring(context, x, y) {
    context.strokeStyle = palette.ink;
    context.lineWidth = 2;
    context.beginPath();
    context.arc(x, y, 10, 0, 7);
    context.stroke();
  }

  // The packet that was drawn nearest to a position; null if none is near.
  nearest(x, y) {
    let best = null, least = 18;
    for (const [px, py, i] of this.spots) {
      const distance = Math.hypot(px - x, py - y);
      if (distance < least) [best, least] = [i, distance];
    }
    return best;
  }
}
