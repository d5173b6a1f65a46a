// Reads a file as its owner wants, selects columns and a method, shows the plan, and runs the fit.

import { asked, byId, complain, parameterIn, say, tried } from "./api.js";
import { forms } from "./operations.js";
import { follow, query } from "./run.js";

const main = byId("main"), form = byId("fit"), id = main.dataset.id, given = JSON.parse(main.dataset.reading);
const value = (name) => byId(name)?.value.trim() ?? "";
const method = () => form.querySelector("[name=method]:checked").value;
const lines = [...document.querySelectorAll("[data-option]")];
const changed = (field) => field.dispatchEvent(new Event("input", { bubbles: true }));
let planned = false, running = 0, turn = 0;
byId("plan-title").after(byId("say"));  // messages are beside Run, which is always in sight

// ------------------------------------------------------------------ how the file is read

const READ = ["na_values", "slips", "answers", "pivot"];  // proposals by which the file is read

// Reads the file again with other options; "" is the usual of one.
function reread(changes) {
  const all = Object.entries({ ...given, method: method(), ...changes });
  location.search = new URLSearchParams(all.filter(([name, one]) => one !== "" || READ.includes(name)).flatMap(([name, one]) => [one].flat().map((entry) => [name, entry])));
}
byId("reading")?.addEventListener("submit", (event) => {
  event.preventDefault();
  const chosen = Object.fromEntries(["sheet", "skip_footer", "skip_after_header", "below_limit", "slips"].filter(byId).map((name) => [name, value(name)]));
  if (byId("na_values")) chosen.na_values = value("na_values").split(",").map((one) => one.trim()).filter((one, place) => one || !place);
  reread(chosen);
});
for (const button of document.querySelectorAll("#reading [name=header]")) {
  button.addEventListener("click", () => reread({ header: button.value }));
}

// ------------------------------------------------------------------ columns, and what is proposed

const uses = [...form.querySelectorAll("[name=use]")], shows = [...form.querySelectorAll("[name=show]")];
const wanted = new Map([...uses, ...shows].map((box) => [box, box.checked]));
const ROLES = { "row-names": "row names", label: "groups", weights: "weights" };

// A column that names, groups or weighs the rows is no column of numbers: its boxes say so, and come back later.
function roles() {
  for (const [place, use] of uses.entries()) {
    const role = Object.keys(ROLES).find((name) => value(name) === use.value), show = shows[place];
    use.hidden = show.hidden = Boolean(role);
    use.disabled = Boolean(role) || !["number", "constant"].includes(use.dataset.kind);
    use.checked = !use.disabled && wanted.get(use);
    show.disabled = Boolean(role) || use.checked;
    show.checked = !show.disabled && wanted.get(show);
    show.nextElementSibling.textContent = role ? ROLES[role] : "";
  }
}

// Where an option is chosen, what holds without a proposal, and how the page shows a value that is proposed.
const CONTROLS = { id: "row-names", label: "label", missing: "missing", transform: "transform", scale: "scale",
  n_components: "components", kernel: "kernel", transpose: "transpose", exclude: "exclude" };
const usual = (option) => option === "kernel" ? "rbf" : "";
const read = (option) => option === "transpose" ? String(byId("transpose").checked || "") : value(CONTROLS[option]);
function write(option, text) {
  if (option === "transpose") byId("transpose").checked = text !== "";
  else if (byId(CONTROLS[option])) byId(CONTROLS[option]).value = text;
}
const proposal = (option, chosen) => lines.find(({ dataset: its }) => its.option === option && its.for.split(" ").includes(chosen))?.dataset.value;
const choice = (option, chosen) => proposal(option, chosen) ?? usual(option);

const marks = lines.filter((line) => line.querySelector("button")).map((line) => {
  const { option, value: name } = line.dataset, button = line.querySelector("button");
  const box = option === "drop" ? uses.find((one) => one.value === name) : null;
  const applied = () => READ.includes(option) ? Boolean(given[option]?.length) : box ? !box.checked : read(option) === name.toLowerCase() || read(option) === name;
  button.addEventListener("click", () => {
    const on = !applied();
    if (READ.includes(option)) return reread({ [option]: !on ? "" : option === "slips" ? name : JSON.parse(name) });
    if (box) wanted.set(box, !on); else write(option, on ? name : usual(option));
    roles();
    changed(box ?? byId(CONTROLS[option]));
  });
  return () => {
    line.classList.toggle("off", !applied());
    button.firstChild.textContent = applied() ? "Undo" : "Apply";
  };
});

// What was not changed by hand follows the proposals for the method.
let last = method();
function follows() {
  for (const option of Object.keys(CONTROLS)) {
    if (byId(CONTROLS[option]) && read(option) === choice(option, last)) write(option, choice(option, method()));
  }
  last = method();
}

// ------------------------------------------------------------------ what is asked for

// The reading options, as for gramian.scan.
function reading() {
  const found = { ...given };
  for (const option of READ) if (!found[option]?.length) delete found[option];
  if (!byId("label")) return found;
  const names = (boxes) => boxes.filter((box) => box.checked).map((box) => box.value), shown = names(shows);
  const others = new Set([value("row-names"), value("weights"), value("label"), ...shown]);
  if (value("label") || shown.length) found.label = [value("label"), ...shown].filter(Boolean);
  for (const [option, name] of Object.entries({ id: "row-names", weights: "weights", missing: "missing", transform: "transform" })) {
    if (value(name)) found[option] = value(name);
  }
  for (const name of ["exclude", "corrections"]) {
    const entries = (value(name).match(/"[^"]*"|[^,]+/g) ?? []).map((one) => one.trim().replace(/^"(.*)"$/, "$1")).filter(Boolean);
    if (entries.length) found[name] = entries;
  }
  if (byId("transpose").checked) found.transpose = true;
  const ticked = names(uses.toSorted((one, other) => one.dataset.place - other.dataset.place));
  // A column that would name the rows unasked is used as numbers only where all columns are listed.
  if (ticked.includes(main.dataset.names)) found.columns = ticked;
  else {
    const drop = uses.filter((box) => !box.checked && !others.has(box.value)).map((box) => box.value);
    if (drop.length) found.drop = drop;
  }
  return found;
}

function parameters() {
  const asked = value("components"), found = {};
  if (asked) found.n_components = /^\d+$/.test(asked) ? parseInt(asked, 10) : /^[\d.]+$/.test(asked) ? parseFloat(asked) : asked;
  if (value("scale")) found.scale = value("scale");
  if (method() !== "KernelPCA") return found;
  const rbf = value("sigma") ? { kernel: `rbf(sigma=${value("sigma")})` } : { kernel: "rbf", gamma: "median" };
  return { ...found, ...{ rbf, poly: { kernel: `poly(degree=${value("degree")})` }, cosine: { kernel: "cosine" }, own: { kernel: value("expression") } }[value("kernel")] };
}

const WORDS = { PCA: "PCA", KernelPCA: "Kernel PCA" };
const order = () => ({ data: id, estimator: method(), parameters: parameters(), reading: reading(),
  name: `${WORDS[method()]} of ${document.querySelector("h1").textContent}`.slice(0, 200) });
// Questions are about one label: further columns that are shown are left out. Kernels and numbers of components are of scaled columns.
const chosen = (name) => {
  const { label = [], ...read } = reading(), [group, ...others] = value("label") ? label : ["", ...label];
  if (group) read.label = group;
  if (others.length && !read.columns) read.drop = [...read.drop ?? [], ...others];
  const made = query(id, read);
  made.delete("data");
  if (name.startsWith("choose-") && value("scale")) made.append("scale", value("scale"));
  return made;
};

// ------------------------------------------------------------------ the plan

function layout() {
  for (const part of document.querySelectorAll("[data-for]")) {
    part.hidden = !part.dataset.for.split(" ").includes(method()) || (part.dataset.kernel ?? value("kernel")) !== value("kernel");
  }
  byId("degree-is").value = value("degree");
  for (const show of marks) show();
}

// Only a fit with a plan of what the page shows may run.
function ready(now = planned) {
  planned = now;
  byId("run").disabled = !planned || running > 0;
}
const busy = (on) => byId("run-card").setAttribute("aria-busy", String(on));

// The field that an error of the plan is about.
const FIELDS = { ...CONTROLS, kernel: "expression", weights: "weights", columns: "drop", drop: "drop", corrections: "corrections",
  gamma: "sigma", skip_footer: "skip_footer", skip_after_header: "skip_after_header", header: "lines" };
function wrong(error) {
  for (const name of [...Object.values(FIELDS), "plan-summary"]) if (byId(`${name}-error`)) complain(byId(name), "");
  if (!error) return;
  const field = byId(FIELDS[parameterIn(error.message, Object.keys(FIELDS))]), there = field && !field.closest("[hidden]");
  byId("plan-summary").textContent = there ? "No plan yet: correct the field with the error." : "";
  complain(there ? field : byId("plan-summary"), error.message);
}

async function plan() {
  const mine = ++turn;
  layout();
  ready(false);
  busy(true);
  try {
    const result = await asked("plans", { json: order() });
    if (mine !== turn) return;
    const [summary, why] = result.text.split("\n");
    byId("plan-summary").textContent = [summary, why].filter(Boolean).join("\n").replace("Why: ", "");
    byId("used").textContent = `Used: ${result.used}.`;
    byId("plan").textContent = result.text;
    wrong(null);
    busy(false);
    ready(true);
  } catch (error) {
    if (mine !== turn) return;
    byId("used").textContent = "";
    busy(false);
    wrong(error);
    byId("plan").textContent = "";
  }
}

for (const button of form.querySelectorAll("[data-missing]")) {
  button.addEventListener("click", () => {
    byId("missing").value = button.dataset.missing;
    changed(byId("missing"));
  });
}

let waiting;
form.addEventListener("input", ({ target }) => {
  if (target.id === "degree-is") return;
  ready(false);
  busy(true);
  if (wanted.has(target)) wanted.set(target, target.checked);
  if (target.name === "method") follows();
  roles();
  layout();
  clearTimeout(waiting);
  turn += 1;
  waiting = setTimeout(plan, 250);
});

// ------------------------------------------------------------------ the fit

const started = follow(id, (count) => { running = count; ready(); }, ({ state, error }) => {
  byId("run").focus();
  if (state === "failed") say(error, true);
});

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (byId("run").disabled) return;
  running = 1;
  ready();
  tried(async () => {
    await started(await asked("jobs", { json: order() }));
    say("");
  }, null, "Starting …").then((well) => { if (!well) { running = 0; ready(); } });
});

// Shows the settings of a model that was fitted to these data.
async function restore(model) {
  const { parameters: { n_components, scale, kernel }, reading: read } = (await asked(`models/${model}`)).facts.fit;
  const [label = "", ...shown] = [read.label ?? []].flat(), degree = /^poly\(degree=(\d+)\)$/.exec(kernel), width = /^rbf\(sigma=([\d.e-]+)\)$/.exec(kernel);
  const own = kernel && !degree && !width && !["rbf", "cosine"].includes(kernel);
  const [exclude, corrections] = [read.exclude, read.corrections].map((some) => [some ?? []].flat().map((one) => /[,"]/.test(one) ? `"${one}"` : one).join(", "));
  const fields = { components: n_components, scale, kernel: own ? "own" : degree ? "poly" : width ? "rbf" : kernel ?? "rbf", sigma: width?.[1], degree: degree?.[1] ?? 2,
    "row-names": read.id, label, exclude, corrections, missing: read.missing, weights: read.weights, transform: read.transform };
  if (own) fields.expression = kernel;
  for (const [name, one] of Object.entries(fields)) if (byId(name)) byId(name).value = one ?? "";
  if (byId("transpose")) byId("transpose").checked = Boolean(read.transpose);
  for (const box of uses) wanted.set(box, read.columns ? read.columns.includes(box.value) : !read.drop?.includes(box.value));
  for (const box of shows) wanted.set(box, shown.includes(box.value));
}

const model = new URLSearchParams(location.search).get("model");
tried(() => model ? restore(model) : null).then(() => { roles(); plan(); });

const OWN = ["whiten"];  // what answers with rows to download
byId("further")?.addEventListener("click", () => tried(async () => {
  await forms("data", id, (name) => !OWN.includes(name), chosen);
  say("");
  byId("further").hidden = true;
  document.querySelector("#operations summary").focus();
}, byId("further")));
