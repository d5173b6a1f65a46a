// Shows how far a fit is: the step, the percentage and the seconds left.

import { byId } from "./api.js";

const TICK = 500, QUIET = 10_000;  // milliseconds between two looks, and between two announcements of one step
const ENDED = ["done", "failed", "cancelled"];
const seconds = (left) => left < 1 ? "less than 1 s" : left < 90 ? `about ${Math.ceil(left)} s` : `about ${Math.ceil(left / 60)} min`;

// Returns the share that is done and the seconds left: of what is counted by its rate, else of the whole by the plan.
export function progressOf({ progress, plan }, elapsed, since) {
  if (progress.total > 0) {
    const share = Math.min(1, progress.done / progress.total), counted = progress.done - since.done;
    return { share, left: counted > 0 ? (progress.total - progress.done) * (elapsed - since.at) / counted : null };
  }
  const predicted = plan?.seconds ?? 0;
  return elapsed < predicted ? { share: elapsed / predicted, left: predicted - elapsed } : { share: null, left: null };
}

export function watch(job, ended) {
  const bar = byId("progress"), began = performance.now(), events = new EventSource(`/api/v1/jobs/${job}/events`);
  let facts = null, since = null, said = { step: "", at: -Infinity };
  const show = () => {
    if (!facts) return;
    const elapsed = (performance.now() - began) / 1000, { counted, done, total, text } = facts.progress;
    if (since?.counted !== counted || since.total !== total || done < since.done) since = { counted, total, done, at: elapsed };
    const { share, left } = progressOf(facts, elapsed, since), step = text.replace(/, about [\d.,]+ \w+$/, "") || "running";  // the plan's seconds
    if (share === null) bar.removeAttribute("value"); else bar.value = 100 * share;
    byId("percent").textContent = share === null ? "" : `${Math.floor(100 * share)} %`;
    byId("step").textContent = step;
    byId("left").textContent = left === null ? `${Math.floor(elapsed)} s so far` : `${seconds(left)} left`;
    // A screen reader hears each step once, and then only now and then.
    const now = performance.now(), name = step.replace(/[\d.,]+/g, "");
    if (name !== said.step || now - said.at > QUIET) {
      said = { step: name, at: now };
      byId("announced").textContent = [byId("percent").textContent, step, byId("left").textContent].filter(Boolean).join(", ");
    }
  };
  const ticking = setInterval(show, TICK);
  const look = (event) => {
    facts = JSON.parse(event.data);
    if (!ENDED.includes(facts.state)) return show();
    events.close();
    clearInterval(ticking);
    byId("running").hidden = true;
    ended(facts);
  };
  for (const state of ["planning", "running", ...ENDED]) events.addEventListener(state, look);
  byId("running").hidden = false;
}
