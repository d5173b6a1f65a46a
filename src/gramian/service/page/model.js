// Shows the figures of a model, and its unusual rows linked with its scores.

import { asked, byId, say } from "./api.js";
import { show } from "./charts.js";

const main = byId("main"), id = main.dataset.id, k = Number(main.dataset.components);
const query = new URLSearchParams(location.search);
const FIRST = 25;
let rows = [], view = null, summary = "";

for (const link of [byId("report"), byId("results")].filter(Boolean)) link.href += `?${query}`;
if (query.get("data") && byId("results-item") && main.dataset.kind !== "FaceSpace") byId("results-item").hidden = false;
byId("data")?.addEventListener("change", (event) => {
  location.search = event.target.value ? `?data=${event.target.value}` : "";
});

function chooser(words, values, chosen, changed) {
  const label = document.createElement("label"), select = document.createElement("select");
  label.append(`${words} `, select);
  for (const [value, text] of values) select.add(new Option(text, value, false, value === chosen));
  select.addEventListener("change", changed);
  return { label, select };
}

async function scores(parent, title, columns, pair, why) {
  const figure = await show(parent, id, "scores", title, query);
  const names = Array.from({ length: Math.min(k, 50) }, (_, place) => [String(place + 1), `PC${place + 1}`]);
  const redraw = async () => {
    try {
      const more = k > 1 ? { x: x.select.value, y: y.select.value } : {};
      if (color.select.value) more.color = color.select.value;
      view = await figure.redraw(more);
      view?.addSignalListener("chosen", (_, box) => list(chosenRows(box)));
      list(null);
      say("");
    } catch (error) {
      say(error.message, true);
    }
  };
  const x = chooser("X axis", names, String(pair[0]), redraw), y = chooser("Y axis", names, String(pair[1]), redraw);
  const color = chooser("Colour", [["", "labels"], ...columns.map((name) => [name, name])], "", redraw);
  const bar = document.createElement("div");
  bar.className = "fields";
  bar.append(...(k > 1 ? [x.label, y.label] : []), ...(columns.length ? [color.label] : []));
  figure.title.after(bar);
  if (why) bar.after(Object.assign(document.createElement("p"), { className: "soft", id: "pair", textContent: why }));
  await redraw();
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
  : value.toLocaleString("en", { maximumSignificantDigits: 4 });

function list(chosen) {
  const shown = chosen === null ? rows : rows.filter((row) => chosen.has(row.name));
  const there = STATISTICS.filter((name) => rows[0]?.[name] !== undefined);
  const head = ["row", ...there, "alarm", "largest contributions", ""];
  const table = byId("rows-table");
  table.replaceChildren();
  const top = table.createTHead().insertRow();
  for (const name of head) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = name;
    cell.className = there.includes(name) ? "n" : "";
    if (!name) cell.innerHTML = '<span class="hidden">show in the figure</span>';
    top.append(cell);
  }
  const body = table.createTBody();
  for (const row of shown.slice(0, FIRST)) {
    const line = body.insertRow();
    line.insertCell().textContent = row.name;
    for (const name of there) {
      const cell = line.insertCell();
      cell.className = "n";
      cell.textContent = shortNumber(row[name]);
    }
    line.insertCell().textContent = row.alarm;
    line.insertCell().textContent = [1, 2, 3].map((j) => row[`contributor ${j}`]).filter(Boolean).join(", ");
    const button = document.createElement("button");
    button.className = "quiet";
    button.type = "button";
    button.append("show");
    button.setAttribute("aria-label", `show row ${row.name} in the figure`);
    button.addEventListener("click", () => mark(row.name));
    line.insertCell().append(button);
  }
  byId("rows-said").textContent = chosen === null
    ? `${summary} The ${Math.min(FIRST, shown.length)} of ${rows.length.toLocaleString("en")} rows with the largest T2 or SPE, relative to its limit.`
      + " Select points in the figure to list only these rows."
    : `${shown.length.toLocaleString("en")} rows selected${shown.length > FIRST ? `; the ${FIRST} largest relative to their limits are listed` : ""}. Click in the figure to clear the selection.`;
}

// Selects one point of the figure.
function mark(name) {
  const point = points().find((one) => String(one.row ?? one.name) === name);
  if (!point || !view) return say("The figure shows a sample without this row.");
  const fields = Object.keys(point).filter((field) => /^PC\d+$|^position$/.test(field));
  const horizontal = k > 1 ? `PC${document.querySelector("#figures select").value}` : "PC1";
  const store = fields.map((field) => ({ field, channel: field === horizontal ? "x" : "y", type: "R" }));
  const values = fields.map((field) => [point[field] - Number.EPSILON, point[field] + Number.EPSILON]);
  view.data("chosen_store", [{ unit: "", fields: store, values }]).run();
  say(`Row ${name} is marked in the figure.`);
  document.querySelector("#figures figure")?.scrollIntoView({ block: "nearest" });
}

// T2 or SPE relative to its limit, the larger one; a limit that is not known is null.
const excess = (row) => Math.max(...STATISTICS.map((name) => row[`${name} limit`] ? row[name] / row[`${name} limit`] : 0));

async function unusual() {
  const table = await asked(`models/${id}/monitor?${query}`, { method: "POST" });
  const more = ["alarm", "contributor 1", "contributor 2", "contributor 3"];
  rows = table.values.map((values, place) => ({ name: String(table.names?.[place] ?? place),
    ...Object.fromEntries(table.columns.map((column, j) => [column, values[j]])),
    ...Object.fromEntries(more.map((column) => [column, table[column][place]])) }));
  rows.sort((a, b) => excess(b) - excess(a));
  summary = table.notes.slice(table.notes.findIndex((note) => note.includes("false alarms:"))).join(" ");
  byId("rows").hidden = false;
  list(null);
}

async function all() {
  const parent = byId("figures");
  const { figures, titles, columns, pair, why } = await asked(`models/${id}/figures?${query}`);
  for (const name of figures) {
    try {
      if (name === "scores") {
        await scores(parent, titles[name], columns, pair ?? [1, 2], why);
        parent.after(byId("rows"));
        await unusual();
        parent.children[0].after(byId("rows"));
      } else await (await show(parent, id, name, titles[name], query)).redraw();
    } catch (error) {
      say(error.message, true);
    }
  }
  byId("code").textContent = (await asked(`models/${id}/code?${query}`)).python;
}

if (main.dataset.kind === "FaceSpace") import("./faces.js");
all().then(() => { main.dataset.ready = "yes"; }, (error) => say(error.message, true));
