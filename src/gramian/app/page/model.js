// Shows what a model says of its data: findings, figures, and rows that are selected, marked and left out of a refit.

import { asked, byId, complain, element, say, tried } from "./api.js";
import { arrange, card } from "./charts.js";
import { forms } from "./operations.js";
import { follow, query as queryOf } from "./run.js";

const main = byId("main"), id = main.dataset.id, k = Number(main.dataset.components), columns = Number(main.dataset.columns);
const fit = JSON.parse(main.dataset.fit);  // the order of the fit, if its data are here
const asking = new URLSearchParams(location.search), shown = new URLSearchParams(asking);
for (const name of ["components", "hue", "style", "arrows", "selected", "group", "why", "reference"]) asking.delete(name);  // of the view alone
const own = fit && asking.get("data") === fit.data;
const query = own ? queryOf(fit.data, fit.reading) : asking;  // the rows of the fit are read as the fit has read them
const CLOSE = 120, LISTED = 200, NAMED = 5, FEW = 12, MOST = 1000, LONGEST = 6000;  // pixels from the top of a part that counts as read; rows of the list; named rows; columns with arrows at first; rows of one refit; characters of an address
const FOLLOWS = { scores: ["components", "hue", "style"], "correlation-circle": ["components"], loadings: ["components"], contours: ["hue"], directions: ["hue"] };
const counted = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;


if (query.get("data") && byId("results-item") && main.dataset.kind !== "FaceSpace") {
  for (const link of [byId("report"), byId("results")]) link.href += `?${query}`;
  byId("results-item").hidden = false;
}
byId("data")?.addEventListener("change", (event) => {
  location.search = event.target.value ? `?data=${event.target.value}` : "";
});

// ------------------------------------------------------------------ the view is its address

let address = location.search, restored = false;
// Writes what is shown into the address, so that a reload and another browser show the same; null takes it away.
function remember(changes) {
  const url = new URL(location);
  for (const [name, one] of Object.entries(changes)) {
    url.searchParams.delete(name);
    for (const entry of [one ?? []].flat()) url.searchParams.append(name, entry);
  }
  if (url.search.length > LONGEST) url.searchParams.delete("selected");
  address = url.search;
  history.replaceState(null, "", url);
}
addEventListener("popstate", () => location.search === address || location.reload());

// Shows the selection, its explanation and the part of the page that the address names.
function restore() {
  restored = true;
  const known = new Set(order.length ? order : points().map(drawnKey)), kind = shown.get("group");
  const keys = shown.getAll("selected").filter((key) => known.has(key));
  if (keys.length) select(new Set(keys), null, false);
  else if (kind) Object.assign(byId("group"), { value: kind }).dispatchEvent(new Event("change"));
  if (chosen && shown.get("why")) byId("why").click();
  else if (location.hash && !scrollY) byId(location.hash.slice(1))?.scrollIntoView();
}

// ------------------------------------------------------------------ parts of the page

const tabs = [...document.querySelectorAll(".tabs a")];
function markTab() {
  const shown = tabs.filter((tab) => !tab.hidden), end = scrollY > 0 && innerHeight + scrollY >= document.body.scrollHeight - 2;
  const read = shown.filter((tab) => byId(tab.hash.slice(1)).getBoundingClientRect().top < CLOSE);
  const here = end ? shown.at(-1) : read.at(-1) ?? shown[0];
  for (const tab of tabs) if (tab === here) tab.setAttribute("aria-current", "true"); else tab.removeAttribute("aria-current");
}
addEventListener("scroll", markTab, { passive: true });

// Sentences in which names are between backticks, those with a backtick between two.
function sentences(place, texts) {
  place.replaceChildren(...texts.join(" ").split(/(``|`)(.+?)\1/).map((text, turn) =>
    turn % 3 === 2 ? element("code", { dir: "auto" }, text) : turn % 3 ? "" : text));
}

// ------------------------------------------------------------------ figures

function chooser(words, values, chosen) {
  const id = `choose-${words[0].toLowerCase()}`;
  const select = element("select", { id }, ...values.map(([value, text]) => new Option(text, value, false, value === chosen)));
  const [first, rest = ""] = words.split("|");
  return { field: element("div", {}, element("label", { htmlFor: id }, first, element("span", { className: "hidden" }, rest)), select), select };
}

// Lets people choose axes, colour and shape, which several figures follow, and the arrows of the columns.
function choosers(cards, { columns: named, groups, hue, figures }) {
  const axes = Array.from({ length: Math.min(k, 50) }, (_, place) => [String(place + 1), `PC${place + 1}`]);
  const none = (all) => [["", "none"], ...all.map((name) => [name, name])];
  const asked = shown.get("components") ?? "1,2", pair = asked.toUpperCase().replaceAll("PC", "").split(",").map((one) => one.trim());
  const known = pair.length === 2 && pair.every((one) => axes.some(([value]) => value === one)), [x, y] = known ? pair : ["1", "2"];
  const all = {}, arrows = element("input", { type: "checkbox", id: "arrows", checked: shown.has("arrows") ? shown.get("arrows") === "yes" : columns <= FEW });
  if (k > 1) all.components = [chooser("X| axis", axes, x), chooser("Y| axis", axes, y)];
  if (named.length) all.hue = [chooser("Colour", none(named), shown.get("hue") ?? hue)];
  if (Object.keys(groups).length) all.style = [chooser("Shape", none(Object.keys(groups)), shown.get("style") ?? "")];
  const follows = (name) => (FOLLOWS[name] ?? []).filter((option) => all[option]);
  const redraw = (name) => {
    if (name === "control-chart") return cards[name].redraw(period());
    const options = Object.fromEntries(follows(name).map((option) => [option, all[option].map(({ select }) => select.value).join(",")]));
    if (name === "loadings" && options.components === "1,2") delete options.components;  // of the first three
    return cards[name].redraw(options, name === "scores" && figures.includes("biplot") && arrows.checked ? "biplot" : name);
  };
  for (const [option, chosen] of Object.entries(all)) {
    for (const { select } of chosen) select.addEventListener("change", () => {
      if (select.ariaInvalid) complain(select, "");
      remember({ [option]: chosen.map(({ select: one }) => one.value).join(",") });
      Object.keys(cards).filter((name) => follows(name).includes(option)).forEach(redraw);
    });
  }
  const fields = Object.values(all).flat().map(({ field }) => field);
  if (figures.includes("biplot")) fields.push(element("div", {}, element("label", { title: "A biplot: an arrow for each column, in the direction in which it rises" }, arrows, " Arrows")));
  arrows.addEventListener("change", () => {
    remember({ arrows: arrows.checked ? "yes" : "no" });
    redraw("scores");
  });
  if (!known && all.components) complain(all.components[0].select, `components=${asked} in the address are not two of the components 1 to ${axes.length}, such as 1,3.`);
  cards.scores?.head.after(element("div", { className: "choosers" }, ...fields));
  const regroup = () => offerGroups(all.hue?.[0].select.value, groups);
  all.hue?.[0].select.addEventListener("change", regroup);
  regroup();
  return redraw;
}

// Leads to the scores of two other components.
function linkTo(words, pair) {
  const link = element("a", { href: "#rows-title" });
  sentences(link, [words]);
  link.addEventListener("click", () => pair.forEach((component, place) => {
    const select = byId(`choose-${"xy"[place]}`);
    select.value = String(component);
    select.dispatchEvent(new Event("change"));
  }));
  return link;
}

async function all() {
  const about = await asked(`models/${id}/figures?${query}`), cards = {}, watched = about.figures.includes("control-chart");
  const telling = about.pair[0] === 1 ? null : about.findings.shift();
  sentences(byId("findings"), about.findings);
  if (telling) byId("findings").append(" ", linkTo(telling, about.pair));
  for (const part of document.querySelectorAll("[data-figures]")) {
    const names = part.dataset.figures.split(" ").filter((name) => about.figures.includes(name) && (about.ordered || name !== "control-chart")), place = part.querySelector(".cards");
    names.sort((one, other) => (other === about.figure) - (one === about.figure));  // what shows the headline comes first
    part.hidden = !names.length;
    tabs.find((tab) => tab.hash === `#${part.querySelector("h2").id}`).hidden = part.hidden;
    for (const name of names) {
      cards[name] = card(place, id, name, about.titles[name], query, { scores: linked, "control-chart": dragged }[name], name === "control-chart" ? markPeriod : undefined);
      if (name === "control-chart") cards[name].section.append(byId("reference"));
      if (name !== "scores") continue;
      cards[name].section.append(byId("selection"));
      cards[name].section.append(byId("explanation"));
      byId("selection").hidden = false;
      if (watched) place.append(byId("rows"));
    }
    arrange(place);
  }
  if (!reference.length && !shown.has("reference")) reference = about.reference;
  const redraw = choosers(cards, about);
  limit = () => Promise.all([redraw("control-chart"), unusual()]);
  select(null);
  markTab();
  for (const name of Object.keys(cards)) {
    if (name === "control-chart" && !rows.length) await unusual();  // by which its period is marked
    await redraw(name);
    if (name === "scores" && watched && !rows.length) await unusual();
  }
  restore();
  const { python, methods } = await asked(`models/${id}/code?${query}`, { quiet: true });
  byId("code").textContent = python;
  if (methods) {
    byId("methods").textContent = methods;
    byId("methods-box").hidden = false;
  }
}

// ------------------------------------------------------------------ rows that are selected

let rows = [], order = [], view = null, chosen = null, listed = null, group = null, down = [0, 0];
const drawnKey = (point) => String(point.name ?? point.row);

// The points of the figure: all rows in order, or a sample.
const points = () => view?.data("rows") ?? [];

// The points with the keys of their rows: a figure escapes names that would harm it.
function keyed() {
  const all = points(), whole = all.length === order.length;
  return all.map((point, place) => ({ point, key: whole ? order[place] : drawnKey(point) }));
}

function linked(drawn) {
  view = drawn;
  if (!view) return;
  view.addSignalListener("chosen", (_, box) => {
    const fields = Object.keys(box ?? {});
    if (!fields.length) return;
    const inside = keyed().filter(({ point }) => fields.every((field) => point[field] >= Math.min(...box[field]) && point[field] <= Math.max(...box[field])));
    select(new Set(inside.map(({ key }) => key)));
  });
  view.addEventListener("pointerdown", (event) => { down = [event.clientX, event.clientY]; });
  view.addEventListener("click", (event, item) => {
    if (Math.hypot(event.clientX - down[0], event.clientY - down[1]) > 4) return;  // the end of a box
    const hit = item?.datum && keyed().find(({ point }) => drawnKey(point) === drawnKey(item.datum));
    if (hit) toggle(hit.key); else select(null);
  });
  mark();
}

function toggle(key) {
  const next = new Set(group ? [] : chosen);
  if (!next.delete(key)) next.add(key);
  select(next, null, false);
}

// Shows the selection in the figure, whose own box is cleared unless it made the selection.
function mark(boxed = false) {
  if (!view) return;
  if (!boxed) view.data("chosen_store", []);
  view.signal("picked", chosen && Object.fromEntries(keyed().filter(({ key }) => chosen.has(key)).map(({ point }) => [`r${drawnKey(point)}`, 1]))).runAsync();
}

// Selects rows by their keys, or a group; a box in the figure and a group also list only their rows.
function select(keys, ofGroup = null, narrow = true) {
  chosen = keys?.size || ofGroup ? keys : null;
  group = ofGroup;
  if (narrow || !chosen) listed = chosen;
  if (byId("group").value !== (group?.[1] ?? "")) byId("group").value = group?.[1] ?? "";
  mark(narrow && chosen && !group);
  list();
  const names = chosen && !group ? [...chosen].slice(0, NAMED).join(", ") + (chosen.size > NAMED ? ", …" : "") : "";
  const sampled = points().length < order.length, partial = sampled && narrow && !group;  // a box around some of its rows
  byId("selected").textContent = !chosen ? "Click points or rows to select them, or drag a box around points."
    : group ? `Group ${group[1]} is selected.` : `${counted(chosen.size, "row")}${partial ? " of the drawn sample" : ""} selected: ${names}`;
  if (restored) remember({ selected: group ? null : chosen && [...chosen], group: group?.[1], why: null });
  for (const button of [byId("without"), byId("only")]) button.hidden = !chosen || !own || partial;
  byId("clear").hidden = !chosen;
  byId("why").hidden = !chosen || !EXPLAINED.has(main.dataset.kind) || (!group && chosen.size > EXPLAINABLE);
  byId("explanation").hidden = true;
  if (!chosen) return;
  byId("why").textContent = group ? `What tells ${group[1]} from the others?` : chosen.size === 1 ? "Why is it there?" : "What do they have in common?";
  const what = group ? group[1] : chosen.size === 1 ? "the selected row" : `the selected rows (${chosen.size.toLocaleString("en")})`;
  byId("without").textContent = `Refit without ${what}`;
  byId("only").textContent = `Refit with only ${group ? what : chosen.size === 1 ? "it" : "them"}`;
}

// ------------------------------------------------------------------ why rows are where they are

const EXPLAINED = new Set(["PCA", "KernelPCA", "Monitor"]), EXPLAINABLE = 50;  // rows that an address can name
const OF_ROW = { value: "value", low: "5 % of others", median: "median", high: "95 %", contribution: "contribution" };
const OF_GROUP = { mean: "mean", mean_of_others: "mean of others", difference_low: "difference from", difference_high: "to", contribution: "contribution" };

byId("why").addEventListener("click", ({ target }) => tried(async () => {
  const asking = new URLSearchParams(query);
  for (const one of group ? [`${group[0]}=${group[1]}`] : chosen) asking.append("subset", quoted(one));
  const { text, facts, notes } = await asked(`models/${id}/explain?${asking}`, { method: "POST" });
  const heads = Object.entries("value" in facts.columns[0] ? OF_ROW : OF_GROUP), body = element("tbody");
  for (const column of facts.columns.slice(0, LISTED)) {
    const line = body.insertRow();
    line.append(element("th", { scope: "row", dir: "auto" }, column.column));
    for (const [name] of heads) line.append(element("td", { className: "n" }, shortNumber(column[name])));
  }
  byId("explanation-title").textContent = text.split("\n")[0];
  byId("causes").replaceChildren(...facts.causes.map(({ column, value, why }) => element("li", {}, column ? `${column} = ${shortNumber(value)} ${why}.` : `The row ${why}.`)),
    ...[...facts.notes, ...notes].map((note) => element("li", { className: "soft" }, note)));
  byId("explanation-table").replaceChildren(element("thead", {}, element("tr", {}, ...["column", ...heads.map(([, head]) => head)].map((head, place) =>
    element("th", { scope: "col", className: place ? "n" : "" }, head)))), body);
  remember({ why: "yes" });
  offerMends(facts);
  byId("explanation").hidden = false;
  byId("explanation-title").focus();
  say("");
}, target, "Explaining …"));

function offerGroups(column, groups) {
  const kinds = groups[column] ?? [];
  byId("group-box").hidden = kinds.length < 2;
  byId("group").replaceChildren(new Option("none", ""), ...kinds.map((kind) => new Option(kind, kind)));
  byId("group").onchange = ({ target }) => {
    const members = keyed().filter(({ point }) => String(point.group) === target.value).map(({ key }) => key);
    if (target.value) select(new Set(members), [column, target.value, kinds]); else select(null);
  };
}

// ------------------------------------------------------------------ another fit

const started = follow(id, () => {}, ({ state, error }) => state === "failed" && say(error, true));

// Fits the same data again with some changes, and opens the new model.
const refit = (words, changes, button) => tried(async () => {
  const name = `${document.querySelector("h1").textContent} ${words}`.slice(0, 200);
  const json = { data: fit.data, estimator: fit.estimator, name, parameters: { ...fit.parameters, ...changes.parameters }, reading: { ...fit.reading, ...changes.reading } };
  await started(await asked("jobs", { json }));
  say("");
}, button, "Starting …");

const without = (entries) => ({ reading: { exclude: [...[fit.reading.exclude ?? []].flat(), ...entries] } });
function leaveOut(entries, words, button) {
  if (entries.length > MOST) return say(`At most ${counted(MOST, "row")} can be left out by name. Name a group in a column of the file instead.`, true);
  return refit(words, without(entries), button);
}
byId("without").addEventListener("click", ({ target }) => leaveOut(group ? [`${group[0]}=${group[1]}`] : [...chosen],
  `without ${group ? group[1] : counted(chosen.size, "row")}`, target));
byId("only").addEventListener("click", ({ target }) => {
  const others = group ? group[2].filter((kind) => kind !== group[1]).map((kind) => `${group[0]}=${kind}`)
    : (order.length ? order : points().map(drawnKey)).filter((key) => !chosen.has(key));
  return leaveOut(others, `of ${group ? group[1] : counted(chosen.size, "row")}`, target);
});
byId("clear").addEventListener("click", () => select(null));

// Corrects the cell that is the likely cause, or another one of the row, or leaves the row out.
let mended = {};
function offerMends({ rows: [row], causes, columns: cells }) {
  byId("mend").hidden = !own || group || chosen.size > 1;
  if (!own) return;
  byId("cell").hidden = Boolean(main.dataset.shape);
  mended = { row, cells, causes: Object.fromEntries(causes.map((cause) => [cause.column, cause])) };
  byId("mend-column").replaceChildren(...cells.slice(0, LISTED).map(({ column }) => new Option(column, column)));
  if (causes[0]?.column) byId("mend-column").value = causes[0].column;
  offerValue();
}
const plainNumber = (value) => value == null ? "" : String(Number(value.toPrecision(12)));
function offerValue() {
  const column = byId("mend-column").value, { partner, reading } = mended.causes[column] ?? {};
  // Numbers of a transformed table are not those of the file.
  byId("mend-value").value = fit.reading.transform ? "" : plainNumber(reading ?? mended.cells.find((cell) => cell.column === column).value);
  byId("mend-cell").textContent = partner ? `Swap with ${partner}` : "Correct";
}
byId("mend-column").addEventListener("change", offerValue);
function correct(values, words, button) {
  const entries = Object.entries(values).map(([column, value]) => [`${mended.row}:${column}=`, value]);
  const before = [fit.reading.corrections ?? []].flat().filter((one) => !entries.some(([cell]) => one.startsWith(cell)));
  const holes = entries.some(([, value]) => !value) && [undefined, "error"].includes(fit.reading.missing);
  const missing = holes ? { missing: fit.estimator === "PCA" ? "em" : "mean" } : {};
  return refit(words, { reading: { corrections: [...before, ...entries.map((entry) => entry.join(""))], ...missing } }, button);
}
byId("mend").addEventListener("submit", (event) => {
  event.preventDefault();
  const column = byId("mend-column").value, value = byId("mend-value").value.trim(), { partner, value: was } = mended.causes[column] ?? {};
  if (!value) return say("Give the value of the cell, or set it to missing.", true);
  correct({ [column]: value, ...(partner ? { [partner]: plainNumber(was) } : {}) }, `with ${column} of ${mended.row} corrected`, byId("mend-cell"));
});
byId("mend-missing").addEventListener("click", ({ target }) =>
  correct({ [byId("mend-column").value]: "" }, `with ${byId("mend-column").value} of ${mended.row} missing`, target));
byId("mend-row").addEventListener("click", ({ target }) => leaveOut([mended.row], `without ${mended.row}`, target));

// The step that mends a serious finding, where it is another fit.
const REMEDIES = {
  "scale-dominates": () => ["with columns of unit variance", { parameters: { scale: "unit" } }],
  "kernel-narrow": () => ["with the median width", { parameters: { kernel: "rbf", gamma: "median" } }],
  "one-row": ({ place }) => order[place] && [`without row ${order[place]}`, without([order[place]])],
  identifier: ({ column }) => [`without ${column}`, { reading: { drop: [...[fit.reading.drop ?? []].flat(), column], columns: undefined } }],
};
REMEDIES["kernel-wide"] = REMEDIES["kernel-narrow"];
async function offerRemedies() {
  const { facts } = await asked(`models/${id}`);
  facts.diagnosis.filter(({ severity }) => severity === "serious").forEach(({ code, evidence }, place) => {
    const remedy = REMEDIES[code]?.(evidence);
    if (!remedy) return;
    const button = element("button", { type: "button", className: "quiet" }, `Refit ${remedy[0]}`);
    button.addEventListener("click", () => refit(...remedy, button));
    byId(`finding-${place}`).append(" ", button);
  });
}

// ------------------------------------------------------------------ the list of rows

const STATISTICS = { T2: "far out", SPE: "breaks the pattern" };
const ALARMS = { T2: "far out", SPE: "breaks", "T2 and SPE": "both" };
const shortNumber = (value) => value && Math.abs(value) < 1e-3 ? value.toExponential(2)
  : value?.toLocaleString("en", { maximumSignificantDigits: 4 }) ?? "";

function list() {
  if (!rows.length) return;
  const shown = listed === null ? rows : rows.filter((row) => listed.has(row.key));
  const numbers = Object.keys(STATISTICS).filter((name) => rows[0][name] !== undefined);
  const labelled = rows.some((row) => row.label != null);
  const heads = ["row", ...(labelled ? ["label"] : []), ...numbers.map((name) => STATISTICS[name]), "unusual", "largest contributions"];
  const top = heads.map((name) => element("th", { scope: "col", className: Object.values(STATISTICS).includes(name) ? "n" : "" }, name));
  const body = element("tbody"), table = byId("rows-table"), scrolled = table.parentElement.scrollTop;
  for (const row of shown.slice(0, LISTED)) {
    const line = body.insertRow(), selected = Boolean(chosen?.has(row.key));
    const cell = (text, kind = "") => Object.assign(line.insertCell(), { textContent: text, className: kind, dir: kind ? "" : "auto", title: kind ? "" : text });
    line.className = selected ? "marked" : "";
    const button = element("button", { className: "plain", type: "button", dir: "auto", ariaLabel: `select row ${row.key}`, ariaPressed: String(selected) }, row.key);
    cell("").append(button);
    line.onclick = () => {
      toggle(row.key);
      [...table.tBodies[0].rows].find((one) => one.title === row.key)?.querySelector("button").focus({ preventScroll: true });
    };
    line.title = row.key;
    if (labelled) cell(row.label);
    for (const name of numbers) cell(shortNumber(row[name]), "n");
    const alarm = cell("");
    if (row.alarm) alarm.append(element("span", { className: "badge bad", title: row.alarm }, ALARMS[row.alarm]));
    cell([1, 2, 3].map((j) => row[`contributor ${j}`]).filter(Boolean).join(", "));
  }
  table.replaceChildren(element("thead", {}, element("tr", {}, ...top)), body);
  table.parentElement.scrollTop = scrolled;
  const many = `${Math.min(LISTED, shown.length) < shown.length ? `${LISTED} of ` : ""}${counted(shown.length, "row")}`;
  byId("rows-said").textContent = listed === null ? `${many}, the most unusual first.` : `${many} of the selection.`;
}

async function unusual() {
  const asking = new URLSearchParams([...query, ["consecutive", RUN], ...Object.entries(period())]);
  const table = await asked(`models/${id}/monitor?${asking}`, { method: "POST" });
  const more = ["alarm", "contributor 1", "contributor 2", "contributor 3"];
  rows = table.values.map((values, place) => ({ key: String(table.names?.[place] ?? table.numbers?.[place] ?? place), label: table.labels?.[place],
    ...Object.fromEntries(table.columns.map((column, j) => [column, values[j]])),
    ...Object.fromEntries(more.map((column) => [column, table[column][place]])) }));
  order = rows.map(({ key }) => key);
  rows.sort((a, b) => b.excess - a.excess);
  byId("limits").textContent = table.notes.slice(table.notes.findIndex((note) => note.includes("false alarms:"))).join(" ");
  byId("rows").hidden = false;
  byId("rows-table").parentElement.style.setProperty("--needed", `${1.45 * rows.length + 4.5}rem`);  // no gap below a few rows
  list();
  listEvents(table.events, table.notes.filter((note) => note.includes("is it frozen?")));
}

// ------------------------------------------------------------------ a reference period, and events

const RUN = 5, EVENTS = 50;  // alarms in a row that begin an event; events that are listed
const DRAGGED = 500;  // milliseconds after which a period that is dragged counts
let reference = shown.getAll("reference").filter(Boolean), limit = () => {}, waiting;
const quoted = (one) => /[,"]/.test(one) ? `"${one.replaceAll('"', '""')}"` : one;
const period = () => reference.length ? { reference: reference.map(quoted).join(",") } : {};

function listEvents(events, frozen) {
  if (!byId("reference").closest("[data-figure]")) return;  // rows in no order
  byId("reference").hidden = false;
  [byId("from").value, byId("until").value] = reference.length ? reference : [order[0], order.at(-1)];
  byId("no-reference").hidden = !reference.length;
  const of = reference.length ? ` by the limits of rows ${reference.join(" to ")}` : "", many = events.length > EVENTS ? ` The first ${EVENTS} are listed.` : "";
  byId("events-said").textContent = [`${counted(events.length, "event")}${of}: at least ${RUN} alarms in a row.${many}`, ...frozen].join(" ");
  const heads = ["begin", "end", "rows", "times its limit", "first columns"], body = element("tbody");
  for (const one of events.slice(0, EVENTS)) {
    const line = body.insertRow(), columns = [1, 2, 3].map((j) => one[`variable ${j}`]).filter(Boolean).join(", ");
    for (const text of [one.start, one.end, one.length, shortNumber(one.excess), columns]) line.append(element("td", { dir: "auto" }, String(text)));
  }
  byId("events").replaceChildren(...(events.length ? [element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))), body] : []));
}

const setReference = (ends) => tried(async () => {
  const before = reference;
  reference = ends;
  try {
    await limit();
  } catch (error) {
    reference = before;
    throw error;
  }
  remember({ reference: ends.length ? ends : "" });
  say("");
}, null, "Computing limits …");
byId("reference").addEventListener("submit", (event) => {
  event.preventDefault();
  setReference([byId("from").value.trim(), byId("until").value.trim()]);
});
byId("no-reference").addEventListener("click", () => setReference([]));

// Marks the period in the chart, whose positions count all rows.
function markPeriod(spec) {
  const ends = [order.findIndex((key) => key.startsWith(reference[0])), order.findLastIndex((key) => key.startsWith(reference[1]))];
  if (ends.includes(-1)) return;
  for (const panel of spec?.vconcat ?? []) for (const { params } of panel.layer) if (params) params[0].value = { x: ends };
}

function dragged(view) {
  for (const name of Object.keys(view?.getState().signals ?? {}).filter((one) => /^period_\w+$/.test(one))) {
    view.addSignalListener(name, (_, box) => {
      clearTimeout(waiting);
      const ends = box.position?.map((place) => order[Math.min(order.length - 1, Math.max(0, Math.round(place)))]);
      if (ends && ends[0] !== ends[1]) waiting = setTimeout(() => setReference(ends), DRAGGED);
    });
  }
}

// What has a part of its own on the page, or answers with rows to download.
const OWN = ["transform", "reconstruct", "denoise", "monitor", "explain", "diagnose"];
const OF_PCA = ["stability", "rotate", "compare"];  // questions that neither kernel PCA nor whitening answers
const IMPUTED = ["em", "iterative"];  // these choose their number by cross-validation, and no rows are drawn again
const QUICK = 200_000;  // numbers whose rules are asked at once

// Says how many components are enough: first of all at their part.
async function count() {
  if (!own || fit.estimator !== "PCA" || IMPUTED.includes(fit.reading.missing) || !byId("enough")) return;
  const asking = () => {
    const made = new URLSearchParams([...query, ...Object.entries(fit.parameters).filter(([name]) => ["scale", "center"].includes(name))]);
    made.delete("data");
    return made;
  };
  await forms("data", fit.data, (name) => name === "choose-components", asking, true, byId("enough"));
  byId("operation-choose-components").open = order.length * columns <= QUICK;
}

if (byId("operations")) forms("models", id, (name) => !OWN.includes(name) && !(OF_PCA.includes(name) && ["KernelPCA", "Whitener"].includes(main.dataset.kind)) && !(name === "stability" && IMPUTED.includes(fit.reading.missing)), () => query, true).catch((error) => say(error.message, true));
all().then(() => own && document.querySelector(".finding") && offerRemedies()).then(count)
  .then(() => { main.dataset.ready = "yes"; }, (error) => say(error.message, true));
