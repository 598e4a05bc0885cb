// The recorded columns of a cell, decoded once, and what the drawings ask of them. Times are milliseconds since the recording began.
"use strict";

const NEVER = 0xffffffff, RETRANSMITTED = 8, ARRIVED = 0, UNDER_WAY = 4, LINK_CHANGE = 5, BLOCK = 256;
const NO_THRESHOLD = 0x7fffffff;
const ARRAYS = { f8: Float64Array, i4: Int32Array, u4: Uint32Array, u2: Uint16Array, u1: Uint8Array };

function bytesOf(base64) {
  const letters = atob(base64), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

async function decode(section) {
  const facts = JSON.parse(section.querySelector(".facts").textContent);
  const element = section.querySelector(".columns");
  const packed = bytesOf(element.textContent);
  element.remove();
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = await new Response(stream).arrayBuffer();
  const columns = {};
  let at = 0;
  for (const [name, type, length] of facts.columns) {
    columns[name] = new ARRAYS[type](bytes, at, length);
    at += columns[name].byteLength;
  }
  return new Recording(facts, columns);
}

// The first number in [0, count) for which `holds` is true, if it is false before that and true after it.
function firstWhere(count, holds) {
  let low = 0, high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle; else low = middle + 1;
  }
  return low;
}

class Recording {
  constructor(facts, columns) {
    Object.assign(this, facts, columns);
    this.count = this.gap.length;
    this.readTimes();
    this.readFlows();
    this.queues = this.readQueues();
  }

  // When each packet came to a queue, left it (its first bit), was sent (its last bit), and arrived.
  readTimes() {
    const count = this.count;
    this.entered = new Float64Array(count);
    this.started = new Float64Array(count);
    this.arrived = new Float64Array(count);
    this.ends = new Float64Array(Math.ceil(count / BLOCK));
    this.longest = 0;
    let time = 0;
    for (let i = 0; i < count; i++) {
      time += this.gap[i] * this.unit / 1e6;
      const direction = this.directions[this.point[i]];
      const reached = this.transit[i] !== NEVER;
      const serialisation = direction.rate ? this.bytes[i] * 8e3 / direction.rate : 0;
      this.entered[i] = time;
      this.arrived[i] = reached ? time + this.transit[i] / 1e6 : time;
      this.started[i] = reached ? Math.max(time, this.arrived[i] - this.air[i] / 1e6 - serialisation) : time;
      this.longest = Math.max(this.longest, this.arrived[i] - time);
      const block = i / BLOCK | 0;
      this.ends[block] = Math.max(this.ends[block], this.arrived[i]);
    }
  }

  readFlows() {
    this.ofFlow = this.flows.map(() => []);
    this.delivered = this.flows.map(() => []);
    const hosts = new Set(this.nodes.filter((node) => node.host).map((node) => node.name));
    this.fromHost = this.directions.map((direction) => hosts.has(direction.name.split(" → ")[0]));
    this.toHost = this.directions.map((direction) => hosts.has(direction.name.split(" → ")[1]));
    for (let i = 0; i < this.count; i++) {
      const flow = this.flows[this.flow[i]];
      if (!flow || flow.colour < 0 || !this.payload[i]) continue;
      if (this.fromHost[this.point[i]]) this.ofFlow[this.flow[i]].push(i);
      if (this.toHost[this.point[i]] && this.transit[i] !== NEVER) this.delivered[this.flow[i]].push(i);
    }
    this.special = this.ofFlow.map((packets) => packets.filter((i) => this.isAgain(i) || this.isDropped(i)));
    this.delivered = this.delivered.map((packets) => {
      const times = Float64Array.from(packets, (i) => this.arrived[i]), sums = new Float64Array(packets.length + 1);
      packets.forEach((i, n) => { sums[n + 1] = sums[n] + this.payload[i]; });
      return { times, sums };
    });
    this.sockets = this.flows.map((_, flow) => ({
      from: firstWhere(this.socketFlow.length, (n) => this.socketFlow[n] >= flow),
      to: firstWhere(this.socketFlow.length, (n) => this.socketFlow[n] > flow),
    }));
    // Flows that carry data, the largest first.
    this.main = this.flows.map((_, number) => number).filter((number) => this.flows[number].colour >= 0 && this.flows[number].carried > 0)
      .sort((a, b) => this.flows[b].carried - this.flows[a].carried);
  }

  // The bytes in the queue of each link's direction after each change.
  readQueues() {
    const waiting = this.directions.map(() => []);
    for (let i = 0; i < this.count; i++)
      if (this.transit[i] !== NEVER && this.started[i] > this.entered[i]) waiting[this.point[i]].push(i);
    return waiting.map((coming) => this.readQueue(coming));
  }

  // Of packets in the order in which they come: nearly always they also leave in it.
  readQueue(coming) {
    const { entered, started } = this, count = coming.length, leaving = coming.slice().sort((a, b) => started[a] - started[b]);
    const times = new Float64Array(2 * count), values = new Float64Array(2 * count);
    let bytes = 0, peak = 0;
    for (let come = 0, leave = 0; leave < count;) {
      const comes = come < count && entered[coming[come]] < started[leaving[leave]], n = come + leave;
      const i = comes ? coming[come++] : leaving[leave++];
      bytes += comes ? this.bytes[i] : -this.bytes[i];
      times[n] = comes ? entered[i] : started[i];
      values[n] = bytes;
      peak = Math.max(peak, bytes);
    }
    return { times, values, peak };
  }

  queued(point, time) {
    const { times, values } = this.queues[point];
    const n = firstWhere(times.length, (i) => times[i] > time);
    return n ? values[n - 1] : 0;
  }

  // Calls `visit` for each packet that is in a queue or on a link at a time, or was dropped at most `before` ms earlier.
  underWay(time, before, visit) {
    const end = firstWhere(this.count, (i) => this.entered[i] > time);
    const begin = firstWhere(this.count, (i) => this.entered[i] >= time - Math.max(this.longest, before));
    for (let i = begin; i < end;) {
      const block = i / BLOCK | 0, next = Math.min(end, (block + 1) * BLOCK);
      if (this.ends[block] < time - before) { i = next; continue; }
      for (; i < next; i++)
        if (this.transit[i] === NEVER ? this.fateOf(i) !== UNDER_WAY && this.entered[i] >= time - before : this.arrived[i] > time) visit(i);
    }
  }

  fateOf(i) { return this.fate[i] & 7; }
  isAgain(i) { return (this.fate[i] & RETRANSMITTED) !== 0; }
  isDropped(i) { return this.fateOf(i) !== ARRIVED && this.fateOf(i) !== UNDER_WAY; }
  colourOf(flow) { return this.flows[flow] ? this.flows[flow].colour : -1; }
  follows(i, focus) {
    return focus === null || (focus.identity !== undefined ? this.identity[i] === focus.identity
      : this.flow[i] === focus.flow || this.flows[this.flow[i]]?.reverse === focus.flow);
  }

  // A packet in words.
  describe(i) {
    const flow = this.flows[this.flow[i]], flags = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"].filter((_, bit) => this.flags[i] >> bit & 1);
    const parts = [`${flow ? flow.name : "another flow"}`, `on ${this.directions[this.point[i]].name}`];
    parts.push(`${this.bytes[i]} bytes, ${this.payload[i]} of data`);
    if (flow?.name.startsWith("TCP")) parts.push(`seq ${this.seq[i]}, ack ${this.ack[i]}, ${flags.join(" ")}${this.isAgain(i) ? ", sent again" : ""}`);
    if ((this.ecn[i] & 3) !== 0) parts.push((this.ecn[i] >> 2) === 3 ? "ECN: congestion experienced" : "ECN capable");
    const came = this.entered[i];
    if (this.isDropped(i)) parts.push(`dropped at ${came.toFixed(3)} ms: ${this.fates[this.fateOf(i)]}`);
    else if (this.transit[i] !== NEVER)
      parts.push(`came at ${came.toFixed(3)} ms, waited ${(this.started[i] - came).toFixed(3)} ms, arrived at ${this.arrived[i].toFixed(3)} ms`);
    return parts.join(" · ");
  }

  // What a flow's sender knew of its path at a time, in words; nothing if it was not sampled.
  describeState(flow, time) {
    const { from, to } = this.sockets[flow], n = from + firstWhere(to - from, (k) => this.socketTime[from + k] > time) - 1;
    if (n < from) return "";
    const parts = [`window ${this.cwnd[n]} packets`, `in flight ${this.inFlight[n]}`];
    if (this.ssthresh[n] !== NO_THRESHOLD) parts.push(`threshold ${this.ssthresh[n]}`);
    parts.push(`round trip ${(this.rtt[n] / 1e3).toFixed(1)} ms`);
    if (this.pacing[n]) parts.push(`paced at ${scaleText(this.pacing[n]).replace(/[A-Zk]?$/, " $&")}bit/s`);
    return [...parts, this.states[this.state[n]] ?? ""].filter(Boolean).join(" · ");
  }
}
