// Select columns and a method, show the plan, run and cancel the fit.

import { ask, asked, byId, say, tried } from "./api.js";
import { watch } from "./run.js";

const main = byId("main"), form = byId("fit"), id = main.dataset.id;
const value = (name) => byId(name)?.value ?? "";
const method = () => form.querySelector("[name=method]:checked").value;
let median = null, job = null, turn = 0;

for (const select of [byId("label"), byId("row-names")].filter(Boolean)) {
  const likely = select.querySelector("[data-likely]");
  if (likely) likely.selected = true;
}

// The reading options, as for gramian.scan.
function reading() {
  const found = {};
  if (!byId("label")) return found;
  if (value("label")) found.label = [value("label")];
  if (value("row-names")) found.id = value("row-names");
  if (value("weights")) found.weights = value("weights");
  if (value("missing")) found.missing = value("missing");
  if (byId("transpose").checked) found.transpose = true;
  const kept = new Set([value("label"), found.id, found.weights]);
  const drop = [...form.querySelectorAll("[name=use]:not(:checked)")].map((box) => box.value).filter((name) => !kept.has(name));
  if (drop.length) found.drop = drop;
  return found;
}

function query(found) {
  const made = new URLSearchParams({ data: id });
  for (const [name, one] of Object.entries(found)) for (const entry of [one].flat()) made.append(name, entry);
  return made;
}

function parameters() {
  const given = value("components").trim();
  const found = { n_components: /^\d+$/.test(given) ? parseInt(given, 10) : /^[\d.]+$/.test(given) ? parseFloat(given) : given };
  if (method() === "PCA" && value("scale")) found.scale = value("scale");
  if (method() === "KernelPCA") {
    found.kernel = { rbf: `rbf(sigma=${sigma()})`, poly: `poly(degree=${value("degree")})`, cosine: "cosine", own: value("expression") }[value("kernel")];
  }
  return found;
}

const sigma = () => Number(((median ?? 1) * 10 ** Number(value("sigma"))).toPrecision(4));
const WORDS = { PCA: "PCA", KernelPCA: "Kernel PCA", FaceSpace: "Eigenfaces" };
const order = () => ({ data: id, estimator: method(), parameters: parameters(), reading: reading(), name: `${WORDS[method()]} of ${document.querySelector("h1").textContent}`.slice(0, 200) });

async function widths() {
  const made = query(reading());
  made.delete("data");
  median = (await asked(`data/${id}/width?${made}`)).median;
}

function layout() {
  for (const part of form.querySelectorAll("[data-for]")) {
    part.hidden = part.dataset.for !== method() || (part.dataset.kernel ?? value("kernel")) !== value("kernel");
  }
  byId("degree-is").value = value("degree");
}

async function plan() {
  const mine = ++turn;
  layout();
  byId("run").disabled = true;
  try {
    if (method() === "KernelPCA" && value("kernel") === "rbf") {
      if (median === null) await widths();
      byId("sigma-is").value = `${sigma()}, ${(10 ** Number(value("sigma"))).toPrecision(2)} times the median distance between rows`;
    }
    const result = await asked("plans", { json: order() });
    if (mine !== turn) return;
    const [summary, why] = result.text.split("\n");
    byId("plan-summary").textContent = [summary, why].filter(Boolean).join("\n").replace("Why: ", "");
    byId("plan-summary").className = "";
    byId("plan").textContent = result.text;
    byId("run").disabled = job !== null;
  } catch (error) {
    if (mine !== turn) return;
    byId("plan-summary").textContent = error.message.replace(/ Leave out with drop=.*/, " Clear its box, or select it under Labels or Row names.");
    byId("plan-summary").className = "bad";
    byId("plan").textContent = "";
  }
}

for (const button of form.querySelectorAll("[data-missing]")) {
  button.addEventListener("click", () => {
    byId("missing").value = button.dataset.missing;
    byId("missing").dispatchEvent(new Event("input", { bubbles: true }));
  });
}

const usual = { PCA: value("components"), KernelPCA: "3", FaceSpace: "0.95" };
let waiting, edited = false;
form.addEventListener("input", (event) => {
  edited ||= event.target.id === "components";
  if (event.target.name === "method" && !edited) byId("components").value = usual[method()];
  if (["label", "row-names", "weights", "missing", "transpose"].includes(event.target.id) || event.target.name === "use") median = null;
  layout();
  byId("run").disabled = true;  // only a planned fit may run
  clearTimeout(waiting);
  waiting = setTimeout(plan, 250);
});

function ended(text, bad) {
  job = null;
  byId("cancel").hidden = true;
  byId("run").disabled = false;
  byId("run").focus();
  say(text, bad);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (job !== null || byId("run").disabled) return;
  job = "starting";
  byId("run").disabled = true;
  tried(async () => {
    job = (await asked("jobs", { json: order() })).id;
    byId("cancel").hidden = false;
    byId("cancel").focus();
    say("");
    watch(job, ({ state, model, problem }) => {
      if (state === "done") location.href = `/models/${model}?${query(reading())}`;
      else ended(state === "failed" ? problem.error : "Cancelled.", state === "failed");
    });
  }, null, "Starting …").then((well) => {
    if (!well) { job = null; byId("run").disabled = false; }
  });
});

byId("cancel").addEventListener("click", () => tried(() => ask(`jobs/${job}`, { method: "DELETE" }), null, "Cancelling …"));

const sheet = document.querySelector("#sheet img");
const unseen = () => { byId("sheet").textContent = "The pictures are too large for a sample sheet."; };
if (sheet?.complete && !sheet.naturalWidth) unseen();
sheet?.addEventListener("error", unseen);
plan();
