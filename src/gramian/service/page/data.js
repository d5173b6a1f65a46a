// Select columns and a method, show the plan, run and cancel the fit.

import { ask, asked, byId, complain, say, tried } from "./api.js";
import { forms } from "./operations.js";
import { watch } from "./run.js";

const main = byId("main"), form = byId("fit"), id = main.dataset.id;
const value = (name) => byId(name)?.value ?? "";
const method = () => form.querySelector("[name=method]:checked").value;
let median = null, job = null, turn = 0;

const boxes = [...form.querySelectorAll("[name=use]")];
const wanted = new Map(boxes.map((box) => [box.value, box.checked]));
const ROLES = { "row-names": "row names", label: "groups", weights: "weights" };

// A column that names, groups or weighs the rows is no column of numbers: its box says so, and comes back later.
function roles() {
  for (const box of boxes) {
    const role = Object.keys(ROLES).find((name) => value(name) === box.value);
    const text = box.dataset.kind === "text";
    box.disabled = Boolean(role) || text;
    box.checked = !box.disabled && wanted.get(box.value);
    const further = !role && "groups" in box.dataset && value("label");
    box.hidden = Boolean(role || further);
    box.nextElementSibling.textContent = role ? ROLES[role] : further ? "further groups" : "";
  }
}

// What a proposal stands for: where it is chosen, and how to read and change that.
const CONTROLS = { id: "row-names", label: "label", missing: "missing", scale: "scale" };
function control(option, name) {
  if (option === "drop") {
    const box = boxes.find((one) => one.value === name);
    return { applied: () => !box.checked, apply: (on) => { wanted.set(name, !on); roles(); }, place: box };
  }
  const place = byId(CONTROLS[option]);
  return { applied: () => place.value === name, apply: (on) => { place.value = on ? name : ""; }, place };
}

const proposed = [...form.querySelectorAll("[data-option]")].map((line) => {
  const { option, value: name } = line.dataset, button = line.querySelector("button"), chosen = control(option, name);
  button.addEventListener("click", () => {
    chosen.apply(!chosen.applied());
    chosen.place.dispatchEvent(new Event("input", { bubbles: true }));
  });
  return () => {
    const on = chosen.applied();
    line.classList.toggle("off", !on);
    button.firstChild.textContent = on ? "Undo" : "Apply";
  };
});

// The reading options, as for gramian.scan.
function reading() {
  const found = {};
  if (!byId("label")) return found;
  // Further groups may set colour and shape on the page of the model.
  const further = boxes.filter((box) => "groups" in box.dataset && box.value !== value("row-names")).map((box) => box.value);
  if (value("label")) found.label = [...new Set([value("label"), ...further])];
  if (value("row-names")) found.id = value("row-names");
  if (value("weights")) found.weights = value("weights");
  if (value("missing")) found.missing = value("missing");
  if (byId("transpose").checked) found.transpose = true;
  const others = new Set([...(found.label ?? []), found.id, found.weights]), automatic = main.dataset.names;
  const ticked = boxes.filter((box) => box.checked).map((box) => box.value);
  // A column that would name the rows unasked is used as numbers only where all columns are listed.
  if (ticked.includes(automatic)) found.columns = ticked;
  else {
    const drop = boxes.filter((box) => !box.checked && !others.has(box.value)).map((box) => box.value);
    if (drop.length) found.drop = drop;
  }
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
  median = (await asked(`data/${id}/width?${chosen()}`)).median;
}

function layout() {
  for (const part of form.querySelectorAll("[data-for]")) {
    part.hidden = part.dataset.for !== method() || (part.dataset.kernel ?? value("kernel")) !== value("kernel");
  }
  byId("degree-is").value = value("degree");
  for (const show of proposed) show();
}

// The field that an error of the plan is about.
const FIELDS = { n_components: "components", kernel: "expression", missing: "missing", id: "row-names", label: "label",
  weights: "weights", scale: "scale", columns: "drop", drop: "drop" };
function wrong(error) {
  for (const name of [...Object.values(FIELDS), "plan-summary"]) if (byId(`${name}-error`)) complain(byId(name), "");
  if (!error) return;
  const field = byId(FIELDS[error.field]), there = field && !field.closest("[hidden]");
  byId("plan-summary").textContent = there ? "No plan yet: correct the field with the error." : "";
  complain(there ? field : byId("plan-summary"), error.message);
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
    byId("used").textContent = `Used: ${result.used}.`;
    byId("plan").textContent = result.text;
    wrong(null);
    byId("run").disabled = job !== null;
  } catch (error) {
    if (mine !== turn) return;
    byId("used").textContent = "";
    wrong(error);
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
byId("components").value = usual[method()];
form.addEventListener("input", (event) => {
  edited ||= event.target.id === "components";
  if (event.target.name === "method" && !edited) byId("components").value = usual[method()];
  if (["label", "row-names", "weights", "missing", "transpose"].includes(event.target.id) || event.target.name === "use") median = null;
  if (event.target.name === "use") wanted.set(event.target.value, event.target.checked);
  roles();
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
roles();
plan();

// What answers with rows to download.
const OWN = ["whiten"];
function chosen() {
  const made = query(reading());
  made.delete("data");
  return made;
}
byId("further")?.addEventListener("click", () => tried(async () => {
  await forms("data", id, OWN, chosen);
  say("");
  byId("further").hidden = true;
  document.querySelector("#operations summary").focus();
}, byId("further")));
