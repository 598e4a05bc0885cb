// The player: one clock for all runs of the page.
"use strict";

const byId = (id) => document.getElementById(id);

class Run {
  constructor(section, recording) {
    this.recording = recording;
    this.focus = null;
    this.said = section.querySelector(".chosen");
    this.network = new NetworkView(section.querySelector(".network"), recording);
    this.lanes = new LanesView(section.querySelector(".lanes"), recording);
    this.state = section.querySelector(".state");
    this.legend = section.querySelector(".legend");
    this.fillLegend();
  }

  fillLegend() {
    for (const flow of this.recording.main.slice(0, 40)) {
      const { name, subflow, mptcp, colour: number } = this.recording.flows[flow], button = document.createElement("button");
      button.type = "button";
      button.textContent = mptcp ? `${name} · subflow ${subflow + 1}` : name;
      button.style.setProperty("--mine", `var(--c${number % 6})`);
      button.setAttribute("aria-pressed", "false");
      button.addEventListener("click", () => this.follow(this.focus?.flow === flow ? null : { flow }));
      button.dataset.flow = flow;
      this.legend.append(button);
    }
  }

  follow(focus, text = "") {
    this.focus = focus;
    this.said.textContent = text;
    for (const button of this.legend.children) button.setAttribute("aria-pressed", String(focus?.flow === +button.dataset.flow));
    player.request();
  }

  followPacket(i) {
    this.follow({ identity: this.recording.identity[i] }, this.recording.describe(i));
  }

  draw(time, speed) {
    this.network.draw(time, speed, this.focus);
    this.lanes.draw(time, speed, this.focus);
    this.state.textContent = this.focus?.flow === undefined ? "" : this.recording.describeState(this.focus.flow, time);
  }
}

const player = {
  runs: [],
  time: 0,
  isPlaying: false,
  frames: 0,

  get speed() { return 10 ** +byId("speed").value; },
  get duration() { return Math.max(...this.runs.map((run) => run.recording.duration)); },

  request() {
    if (!this.requested) this.requested = requestAnimationFrame((now) => this.frame(now));
  },

  frame(now) {
    this.requested = 0;
    if (this.isPlaying) {
      this.time += Math.min(100, now - this.last) * this.speed;
      this.last = now;
      if (this.time >= this.duration) this.seek(this.duration, false);
    }
    for (const run of this.runs) run.draw(Math.min(this.time, run.recording.duration), this.speed);
    byId("time").textContent = this.speed < 0.02 ? `${this.time.toFixed(3)} ms` : `${(this.time / 1e3).toFixed(3)} s`;
    this.frames++;
    if (this.isPlaying) this.request();
  },

  play(on) {
    if (on && this.time >= this.duration) this.time = 0;
    this.isPlaying = on;
    this.last = performance.now();
    byId("play").textContent = on ? "Pause" : "Play";
    this.request();
  },

  seek(time, goesOn = this.isPlaying) {
    this.time = Math.max(0, Math.min(this.duration, time));
    if (!goesOn) this.play(false);
    this.request();
  },

  // For pictures and films: shows what a reader looks at and nothing to press; returns the page's height.
  film(speed) {
    document.body.classList.add("film");
    this.setSpeed(Math.log10(speed));
    this.show(this.time);
    return document.querySelector("main").getBoundingClientRect().bottom + scrollY + 12;
  },

  show(time) {
    this.seek(time, false);
    cancelAnimationFrame(this.requested);
    this.frame(performance.now());
  },

  setSpeed(exponent) {
    byId("speed").value = exponent;
    const speed = this.speed;
    byId("speed-text").textContent = speed >= 0.5 ? `${speed.toFixed(1)} ×` : `1/${scaleText(Math.round(1 / speed))}`;
    this.request();
  },

  // To the next or the previous packet that comes to a link, or arrives; of the flow that is followed, if any.
  step(forward) {
    let best = null;
    for (const { recording, focus } of this.runs) {
      const begin = firstWhere(recording.count, (i) => forward ? recording.entered[i] > this.time + 1e-9 : recording.entered[i] >= this.time - 1e-9);
      for (let i = forward ? begin : begin - 1; i >= 0 && i < recording.count; i += forward ? 1 : -1) {
        if (!recording.follows(i, focus)) continue;
        if (!best || (forward ? recording.entered[i] < best[0] : recording.entered[i] > best[0])) best = [recording.entered[i], recording, i];
        break;
      }
    }
    if (!best) return;
    this.seek(best[0], false);
    const run = this.runs.find((each) => each.recording === best[1]);
    run.said.textContent = best[1].describe(best[2]);
  },

  jump(forward) {
    const wanted = +byId("kind").value;
    let best = null;
    for (const run of this.runs) {
      const { eventTime, eventKind } = run.recording;
      let n = firstWhere(eventTime.length, (i) => forward ? eventTime[i] > this.time + 1e-6 : eventTime[i] >= this.time - 1e-6) - (forward ? 0 : 1);
      while (n >= 0 && n < eventTime.length && wanted >= 0 && eventKind[n] !== wanted) n += forward ? 1 : -1;
      if (n >= 0 && n < eventTime.length && (!best || (forward ? eventTime[n] < best[0] : eventTime[n] > best[0]))) best = [eventTime[n], run, n];
    }
    if (!best) return;
    const [time, run, n] = best, { recording } = run, packet = recording.eventPacket[n];
    this.seek(time, false);
    const kind = recording.eventKind[n], of = recording.eventFlow[n];
    const what = kind === LINK_CHANGE ? recording.changes[of] : packet >= 0 ? recording.describe(packet) : recording.flows[of]?.name || "";
    run.said.textContent = `${recording.kinds[kind]}: ${what}`;
  },
};

function bindRun(run) {
  const place = (event, canvas) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  const { network, lanes } = run;
  network.canvas.addEventListener("click", (event) => {
    const i = network.nearest(...place(event, network.canvas));
    if (i === null) run.follow(null); else { player.play(false); run.followPacket(i); }
  });
  const scrub = (event) => player.seek(lanes.timeAt(...place(event, lanes.canvas), player.time, player.speed), false);
  lanes.canvas.addEventListener("pointerdown", (event) => {
    const i = lanes.nearest(...place(event, lanes.canvas));
    if (i !== null) { player.seek(run.recording.entered[i], false); run.followPacket(i); return; }
    lanes.canvas.setPointerCapture(event.pointerId);
    scrub(event);
  });
  lanes.canvas.addEventListener("pointermove", (event) => {
    if (event.buttons && lanes.canvas.hasPointerCapture(event.pointerId) && (place(event, lanes.canvas)[1] < 30 || player.speed >= 0.5)) scrub(event);
  });
}

function bindControls() {
  byId("play").addEventListener("click", () => player.play(!player.isPlaying));
  byId("back").addEventListener("click", () => player.step(false));
  byId("forward").addEventListener("click", () => player.step(true));
  byId("event-back").addEventListener("click", () => player.jump(false));
  byId("event-forward").addEventListener("click", () => player.jump(true));
  byId("speed").addEventListener("input", (event) => player.setSpeed(event.target.value));
  const kinds = player.runs[0].recording.kinds;
  kinds.forEach((kind, number) => byId("kind").append(new Option(kind, number)));
  document.addEventListener("keydown", (event) => {
    if (event.target.matches("select, input") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("button") && event.key === " ") return;
    const speed = +byId("speed").value;
    const actions = {
      " ": () => player.play(!player.isPlaying),
      ArrowRight: () => event.shiftKey ? player.jump(true) : player.step(true),
      ArrowLeft: () => event.shiftKey ? player.jump(false) : player.step(false),
      "+": () => player.setSpeed(Math.min(1, speed + 0.25)),
      "=": () => player.setSpeed(Math.min(1, speed + 0.25)),
      "-": () => player.setSpeed(Math.max(-4, speed - 0.25)),
      Home: () => player.seek(0),
      End: () => player.seek(player.duration, false),
      Escape: () => player.runs.forEach((run) => run.follow(null)),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  });
}

(async () => {
  readPalette();
  const sections = [...document.querySelectorAll(".run")];
  player.runs = (await Promise.all(sections.map(decode))).map((recording, n) => new Run(sections[n], recording));
  player.runs.forEach(bindRun);
  bindControls();
  const repaint = () => { readPalette(); player.request(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  addEventListener("resize", repaint);
  // Begins where the first data is on its way.
  const first = Math.min(...player.runs.map(({ recording }) => recording.main.length ? recording.entered[recording.ofFlow[recording.main[0]][0] ?? 0] || 0 : 0));
  player.time = Number.isFinite(first) ? first : 0;
  player.setSpeed(-1.5);
  document.body.dataset.ready = "true";
})();
