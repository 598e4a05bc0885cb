// Keeps a page true while a run goes on: fetches it again when something has changed, and puts in the new part.
// Without it the page says what was true when it was loaded, and loads itself again every few seconds.
"use strict";
(() => {
  const part = () => document.getElementById("live");

  async function changed() {
    const { state, cells, status, told } = part().dataset;
    if (!state) return true;
    const answer = await (await fetch(state)).json();
    return String(answer.cells) !== cells || answer.status !== status || answer.told !== told;
  }

  // What somebody has opened, chosen or typed stays so.
  function keep(old, fresh) {
    const opened = new Set([...old.querySelectorAll("details[open] > summary")].map((summary) => summary.textContent));
    fresh.querySelectorAll("details").forEach((one) => { one.open = opened.has(one.querySelector("summary")?.textContent); });
    const chosen = new Set([...old.querySelectorAll("input[name=run]:checked")].map((box) => box.value));
    fresh.querySelectorAll("input[name=run]").forEach((box) => { box.checked = chosen.has(box.value); });
    const all = old.querySelector(".toggle-extra");
    const again = fresh.querySelector(".toggle-extra");
    if (all && again) again.checked = all.checked;
  }

  function busy() {
    const focused = document.activeElement;
    return part().contains(focused) && focused.matches("select, input[type=search]");
  }

  async function refresh() {
    const old = part();
    try {
      if (!busy() && (await changed())) {
        const text = await (await fetch(location.href)).text();
        const fresh = new DOMParser().parseFromString(text, "text/html").getElementById("live");
        if (fresh) {
          keep(old, fresh);
          old.replaceWith(fresh);
          window.flightpathTables.enhance(fresh);
        }
      }
    } catch {
      // The dashboard has ended or is busy: what is shown stays, and the next time may work.
    }
    const pause = Number(part().dataset.refresh);
    if (pause) setTimeout(refresh, pause);
  }

  if (part()?.dataset.refresh) setTimeout(refresh, Number(part().dataset.refresh));
})();
