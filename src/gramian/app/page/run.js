// Lists the fits, wherever they were started: the step, the percentage, the seconds left, Cancel, the model.

import { ask, asked, byId, element, say, tried } from "./api.js";

const SOON = 100, LATER = 1000, QUIET = 10_000;  // milliseconds to the next look, and between two announcements of one step
const RECENT = 600, MOST = 3;  // seconds in which a failure is still listed; listed fits that have ended
const seconds = (left) => left < 1 ? "less than 1 s" : left < 90 ? `about ${Math.ceil(left)} s` : `about ${Math.ceil(left / 60)} min`;
const running = ({ state }) => state === "running";

// Returns the query of data that are read in some way.
export function query(data, reading) {
  const made = new URLSearchParams({ data });
  for (const [name, one] of Object.entries(reading)) for (const entry of [one].flat()) made.append(name, entry);
  return made;
}

// Returns the share that is done and the seconds left: of what is counted by its rate, else of the whole by the plan.
function progressOf({ progress, plan, seconds: elapsed }, since) {
  if (progress.total > 0) {
    const share = Math.min(1, progress.done / progress.total), counted = progress.done - since.done;
    return { share, left: counted > 0 ? (progress.total - progress.done) * (elapsed - since.at) / counted : null };
  }
  const predicted = plan?.seconds ?? 0;
  return elapsed < predicted ? { share: elapsed / predicted, left: predicted - elapsed } : { share: null, left: null };
}

// An entry of a running fit: its element, and a function that shows its facts.
function entry({ id, name }) {
  const bar = element("progress", { max: 100, ariaLabel: name }), announced = element("p", { className: "hidden" });
  const [percent, left, step] = ["b", "span", "span"].map((kind) => element(kind));
  percent.className = "percent"; left.className = "left"; step.className = "soft"; announced.setAttribute("role", "status");
  const cancel = element("button", { type: "button", className: "quiet" }, "Cancel", element("span", { className: "hidden" }, ` ${name}`));
  cancel.addEventListener("click", () => tried(() => ask(`jobs/${id}`, { method: "DELETE" }), cancel, "Cancelling …")
    .then((well) => well && say("Cancelled.")));
  const place = element("li", {}, element("p", {}, element("span", { dir: "auto" }, name)), bar,
    element("p", {}, percent, " ", left, element("br"), step), announced, cancel);
  let since = null, said = { step: "", at: -Infinity };
  return { place, cancel, show(facts) {
    const { counted, done, total, text } = facts.progress;
    if (since?.counted !== counted || since.total !== total || done < since.done) since = { counted, total, done, at: facts.seconds };
    const { share, left: rest } = progressOf(facts, since), now = performance.now();
    if (share === null) bar.removeAttribute("value"); else bar.value = 100 * share;
    percent.textContent = share === null ? "" : `${Math.floor(100 * share)} %`;
    step.textContent = text.replace(/, about [\d.,]+ \w+$/, "") || "running";  // the plan's seconds
    left.textContent = rest === null ? `${Math.floor(facts.seconds)} s so far` : `${seconds(rest)} left`;
    // A screen reader hears each step once, and then only now and then.
    const heard = step.textContent.replace(/[\d.,]+/g, "");
    if (heard !== said.step || now - said.at > QUIET) {
      said = { step: heard, at: now };
      announced.textContent = [percent, step, left].map((one) => one.textContent).filter(Boolean).join(", ");
    }
  } };
}

function ended({ name, state, model, error, data, reading }) {
  const named = element("span", { dir: "auto" }, name);
  if (state === "failed") return element("li", {}, named, ": ", element("span", { className: "bad" }, error));
  return element("li", {}, element("a", { href: `/models/${model}?${query(data, reading)}` }, named), " is ready.");
}

// Lists fits in #jobs: those that run, on the page of data also its own models and failures, on the start page all failures.
// `changed` receives how many fits of the data are running.
// The returned function takes a fit that was just started: its end opens the model, or calls `failed` with its facts.
export function follow(data = null, changed = () => {}, failed = () => {}) {
  const list = byId("jobs"), shown = new Map(), mine = new Set();
  let waiting, wait = SOON, lost = false;
  const listed = (job) => running(job) || shown.has(job.id) || job.data === data && job.state === "done"
    || job.state === "failed" && (!data || job.data === data) && Date.now() / 1000 - job.created - job.seconds < RECENT;
  async function look() {
    clearTimeout(waiting);
    let all;
    try {
      all = await asked("jobs", { quiet: true });
      if (lost) say("");
      lost = false;
    } catch (error) {
      lost = true;
      say(error.message, true);
      waiting = setTimeout(look, 5 * LATER);
      return;
    }
    const over = all.filter((job) => !running(job) && mine.delete(job.id)), active = all.filter(running);
    const past = all.filter((job) => !running(job) && job.state !== "cancelled" && listed(job)).slice(-MOST);
    const jobs = [...past, ...active], ids = jobs.map(({ id }) => id);
    for (const id of shown.keys()) if (!ids.includes(id)) shown.delete(id);
    for (const job of jobs) {
      const one = shown.get(job.id);
      if (!one || !one.show === running(job)) shown.set(job.id, running(job) ? entry(job) : { place: ended(job) });
      shown.get(job.id).show?.(job);
    }
    const places = ids.map((id) => shown.get(id).place);
    if (places.length !== list.children.length || places.some((place, at) => place !== list.children[at])) list.replaceChildren(...places);
    list.parentElement.hidden = !places.length;
    changed(active.filter((job) => job.data === data).length);
    for (const job of over) {
      if (job.state === "done") location.href = `/models/${job.model}?${query(job.data, job.reading)}`;
      else failed(job);
    }
    wait = Math.min(LATER, 1.5 * wait);
    clearTimeout(waiting);
    if (active.length) waiting = setTimeout(look, wait);
  }
  addEventListener("pageshow", ({ persisted }) => persisted && look());
  const first = look();
  return async ({ id }) => {
    await first;
    mine.add(id);
    wait = SOON;
    await look();
    shown.get(id)?.cancel?.focus();
  };
}
