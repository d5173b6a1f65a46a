// Shows what a model says of its data: findings, figures, and unusual rows linked with the scores.

import { asked, byId, element, say } from "./api.js";
import { arrange, card } from "./charts.js";
import { forms } from "./operations.js";

const main = byId("main"), id = main.dataset.id, k = Number(main.dataset.components);
const query = new URLSearchParams(location.search);
const FIRST = 50, CLOSE = 120;  // rows of the list; pixels from the top where a part counts as read
const FOLLOWS = { scores: ["x", "y", "color", "shape"], biplot: ["x", "y", "color", "shape"],
  "correlation-circle": ["x", "y"], contours: ["color"], directions: ["color"] };
let rows = [], view = null, summary = "";

for (const link of [byId("report"), byId("results")].filter(Boolean)) link.href += `?${query}`;
if (query.get("data") && byId("results-item") && main.dataset.kind !== "FaceSpace") byId("results-item").hidden = false;
byId("data")?.addEventListener("change", (event) => {
  location.search = event.target.value ? `?data=${event.target.value}` : "";
});

// ------------------------------------------------------------------ parts of the page

const tabs = [...document.querySelectorAll(".tabs a")];
function markTab() {
  const shown = tabs.filter((tab) => !tab.hidden), end = scrollY > 0 && innerHeight + scrollY >= document.body.scrollHeight - 2;
  const read = shown.filter((tab) => byId(tab.hash.slice(1)).getBoundingClientRect().top < CLOSE);
  const here = end ? shown.at(-1) : read.at(-1) ?? shown[0];
  for (const tab of tabs) if (tab === here) tab.setAttribute("aria-current", "true"); else tab.removeAttribute("aria-current");
}
addEventListener("scroll", markTab, { passive: true });

// Sentences in which names are between backticks.
function sentences(place, texts) {
  place.replaceChildren(...texts.join(" ").split("`").map((text, turn) =>
    turn % 2 ? element("code", { dir: "auto" }, text) : text));
}

// ------------------------------------------------------------------ figures

function chooser(words, values, chosen) {
  const id = `choose-${words[0].toLowerCase()}`;
  const select = element("select", { id }, ...values.map(([value, text]) => new Option(text, value, false, value === chosen)));
  return { field: element("div", {}, element("label", { htmlFor: id }, words), select), select };
}

// Lets people choose axes, colour and shape, which several figures follow.
function choosers(cards, { columns, shapes, color, shape, pair }) {
  const axes = Array.from({ length: Math.min(k, 50) }, (_, place) => [String(place + 1), `PC${place + 1}`]);
  const named = (all) => [["", "none"], ...all.map((name) => [name, name])];
  const all = {};
  if (k > 1) Object.assign(all, { x: chooser("X axis", axes, String(pair[0])), y: chooser("Y axis", axes, String(pair[1])) });
  if (columns.length) all.color = chooser("Colour", named(columns), color);
  if (shapes.length) all.shape = chooser("Shape", named(shapes), shape);
  const of = (name) => (FOLLOWS[name] ?? []).filter((option) => all[option]);
  const redraw = (name) => cards[name].redraw(Object.fromEntries(of(name).map((option) => [option, all[option].select.value])));
  for (const [option, { select }] of Object.entries(all)) {
    select.addEventListener("change", () => Object.keys(cards).filter((name) => of(name).includes(option)).forEach(redraw));
  }
  cards.scores?.title.after(element("div", { className: "choosers" }, ...Object.values(all).map(({ field }) => field)));
  return redraw;
}

async function all() {
  const about = await asked(`models/${id}/figures?${query}`), cards = {};
  sentences(byId("findings"), about.findings);
  for (const part of document.querySelectorAll("[data-figures]")) {
    const names = part.dataset.figures.split(" ").filter((name) => about.figures.includes(name)), place = part.querySelector(".cards");
    part.hidden = !names.length;
    tabs.find((tab) => tab.hash === `#${part.querySelector("h2").id}`).hidden = part.hidden;
    for (const name of names) {
      cards[name] = card(place, id, name, about.titles[name], query, name === "scores" ? linked : undefined);
      if (name === "scores" && about.figures.includes("control-chart")) place.append(byId("rows"));
    }
    arrange(place);
  }
  const redraw = choosers(cards, about);
  markTab();
  for (const name of Object.keys(cards)) {
    await redraw(name);
    if (name === "scores" && about.figures.includes("control-chart")) await unusual();
  }
  const { python, methods } = await asked(`models/${id}/code?${query}`);
  byId("code").textContent = python;
  if (methods) {
    byId("methods").textContent = methods;
    byId("methods-box").hidden = false;
  }
}

// ------------------------------------------------------------------ rows

function linked(drawn) {
  view = drawn;
  view?.addSignalListener("chosen", (_, box) => list(chosenRows(box)));
  if (rows.length) list(null);
}

// The points of the figure: all rows in order, or a sample with row names.
const points = () => {
  const state = view.getState({ data: (name) => name.startsWith("data-") || name === "source_0", signals: () => false, recurse: true });
  return Object.values(state.data).find((data) => Array.isArray(data) && data.length && ("row" in data[0] || "name" in data[0])) ?? [];
};

function chosenRows(box) {
  const fields = Object.keys(box ?? {});
  if (!fields.length) return null;
  const inside = points().filter((point) => fields.every((field) => {
    const [low, high] = [Math.min(...box[field]), Math.max(...box[field])];
    return point[field] >= low && point[field] <= high;
  }));
  return new Set(inside.map((point) => String(point.row ?? point.name)));
}

const STATISTICS = ["T2", "SPE"];
const shortNumber = (value) => value && Math.abs(value) < 1e-3 ? value.toExponential(2)
  : value?.toLocaleString("en", { maximumSignificantDigits: 4 }) ?? "";

function list(chosen) {
  const shown = chosen === null ? rows : rows.filter((row) => chosen.has(row.name));
  const numbers = STATISTICS.filter((name) => rows[0]?.[name] !== undefined);
  const labelled = rows.some((row) => row.label != null);
  const heads = ["row", ...(labelled ? ["label"] : []), ...numbers, "unusual", "largest contributions"];
  const top = heads.map((name) => element("th", { scope: "col", className: numbers.includes(name) ? "n" : "" }, name));
  const body = element("tbody");
  byId("rows-table").replaceChildren(element("thead", {}, element("tr", {}, ...top)), body);
  for (const row of shown.slice(0, FIRST)) {
    const line = body.insertRow();
    const cell = (text, kind = "") => Object.assign(line.insertCell(), { textContent: text, className: kind, dir: kind ? "" : "auto" });
    const ariaLabel = `show row ${row.name} in the figure`, onclick = () => markRow(row.name);
    cell("").append(element("button", { className: "plain", type: "button", dir: "auto", ariaLabel, onclick }, row.name));
    if (labelled) cell(row.label);
    for (const name of numbers) cell(shortNumber(row[name]), "n");
    const alarm = cell("");
    if (row.alarm) alarm.append(element("span", { className: "badge bad" }, row.alarm));
    cell([1, 2, 3].map((j) => row[`contributor ${j}`]).filter(Boolean).join(", "));
  }
  const many = `${Math.min(FIRST, shown.length)} of ${rows.length.toLocaleString("en")} rows, the largest T2 or SPE relative to its limit first.`;
  byId("rows-said").textContent = chosen === null ? `${summary} ${many} Click a row to mark it in the figure, or select points there to list only these rows.`
    : `${shown.length.toLocaleString("en")} rows selected${shown.length > FIRST ? `; the ${FIRST} largest relative to their limits are listed` : ""}. Click in the figure to clear the selection.`;
}

// Selects one point of the figure.
function markRow(name) {
  const point = view && points().find((one) => String(one.row ?? one.name) === name);
  if (!point) return say("The figure shows a sample without this row.");
  const fields = Object.keys(point).filter((field) => /^PC\d+$|^position$/.test(field));
  const horizontal = k > 1 ? `PC${byId("choose-x").value}` : "PC1";
  const store = fields.map((field) => ({ field, channel: field === horizontal ? "x" : "y", type: "R" }));
  const values = fields.map((field) => [point[field] - Number.EPSILON, point[field] + Number.EPSILON]);
  view.data("chosen_store", [{ unit: "", fields: store, values }]).run();
  say(`Row ${name} is marked in the figure.`);
  document.querySelector("[data-figure=scores] figure")?.scrollIntoView({ block: "nearest" });
}

// T2 or SPE relative to its limit, the larger one; a limit that is not known is null.
const excess = (row) => Math.max(...STATISTICS.map((name) => row[`${name} limit`] ? row[name] / row[`${name} limit`] : 0));

async function unusual() {
  const table = await asked(`models/${id}/monitor?${query}`, { method: "POST" });
  const more = ["alarm", "contributor 1", "contributor 2", "contributor 3"];
  rows = table.values.map((values, place) => ({ name: String(table.names?.[place] ?? place), label: table.labels?.[place],
    ...Object.fromEntries(table.columns.map((column, j) => [column, values[j]])),
    ...Object.fromEntries(more.map((column) => [column, table[column][place]])) }));
  rows.sort((a, b) => excess(b) - excess(a));
  summary = table.notes.slice(table.notes.findIndex((note) => note.includes("false alarms:"))).join(" ");
  byId("rows").hidden = false;
  list(null);
}

// What has a part of its own on the page, or answers with rows to download.
const OWN = ["transform", "reconstruct", "denoise", "monitor"];

if (main.dataset.kind === "FaceSpace") import("./faces.js");
if (byId("operations")) forms("models", id, OWN, () => query).catch((error) => say(error.message, true));
all().then(() => { main.dataset.ready = "yes"; }, (error) => say(error.message, true));
