// Keeps a page up to date while a run goes on: fetches it again when something has changed, and replaces its #live part.
// Without JavaScript the page reloads itself every few seconds.
"use strict";
(() => {
  const livePart = () => document.getElementById("live");

  async function hasChanged() {
    const { state, cells, status, reported } = livePart().dataset;
    if (!state) return true;
    const current = await (await fetch(state)).json();
    return String(current.cells) !== cells || current.status !== status || current.reported !== reported;
  }

  // Keeps what the user has opened or checked.
  function copyState(old, fresh) {
    const opened = new Set([...old.querySelectorAll("details[open] > summary")].map((summary) => summary.textContent));
    fresh.querySelectorAll("details").forEach((details) => { details.open = opened.has(details.querySelector("summary")?.textContent); });
    const chosen = new Set([...old.querySelectorAll("input[name=run]:checked")].map((box) => box.value));
    fresh.querySelectorAll("input[name=run]").forEach((box) => { box.checked = chosen.has(box.value); });
    const oldToggle = old.querySelector(".toggle-extra");
    const freshToggle = fresh.querySelector(".toggle-extra");
    if (oldToggle && freshToggle) freshToggle.checked = oldToggle.checked;
  }

  function isInUse() {
    const focused = document.activeElement;
    return livePart().contains(focused) && focused.matches("select, input[type=search]");
  }

  async function refresh() {
    const old = livePart();
    try {
      if (!isInUse() && (await hasChanged())) {
        const text = await (await fetch(location.href)).text();
        const fresh = new DOMParser().parseFromString(text, "text/html").getElementById("live");
        if (fresh) {
          copyState(old, fresh);
          const focus = charts.focus();
          old.replaceWith(fresh);
          for (const each of [window.flightpathTables, charts, overTime]) each.enhance(fresh);
          charts.focusOn(focus);
        }
      }
    } catch {
      // The dashboard has ended, or is busy: try again later.
    }
    const pauseMs = Number(livePart().dataset.refresh);
    if (pauseMs) setTimeout(refresh, pauseMs);
  }

  if (livePart()?.dataset.refresh) setTimeout(refresh, Number(livePart().dataset.refresh));
})();
