// Forms of operations, made of what the server says of their options, and their results.

import { asked, byId, complain, element, parameterIn, say, tried } from "./api.js";
import { draw } from "./charts.js";

const WIDTH = 560;  // pixels of a figure
const KINDS = { model: "models", data: "data", meta: "data" };  // what an input is chosen from

// Returns the field of an option, and a function that returns its value as text, empty for the default.
function field(id, { name, kind, choices, suggestions, default: first, usual, help }) {
  const about = `${id}-help`, shown = { id, ariaDescribedBy: about }, text = element("label", { htmlFor: id }, name);
  let input;
  if (kind === "flag") {
    input = element("input", { ...shown, type: "checkbox" });
    text.prepend(input, " ");
  } else if (kind === "choice") {
    const none = first === null ? [new Option(usual || "none", "")] : [];
    input = element("select", shown, ...none, ...choices.map((one) => new Option(one, one, false, one === first)));
  } else {
    const numeric = { integer: "numeric", number: "decimal" }[kind] ?? "text";
    input = element("input", { ...shown, inputMode: numeric, value: first ?? "", size: 12 });
    if (suggestions?.length) {
      input.setAttribute("list", `${id}-values`);
      text.append(element("datalist", { id: `${id}-values` }, ...suggestions.map((one) => new Option(one))));
    }
  }
  input.setAttribute("aria-describedby", about);
  const place = element("div", {}, text, ...(kind === "flag" ? [] : [input]), element("p", { className: "soft", id: about }, help));
  return { place, value: () => kind === "flag" ? (input.checked ? "true" : "") : input.value.trim() };
}

async function chooser(id, { kind, required, help }) {
  const items = await asked(KINDS[kind]), none = required ? [] : [new Option("none", "")];
  const input = element("select", { id, required }, ...none, ...items.map((one) => new Option(one.name, one.id)));
  return { place: element("div", {}, element("label", { htmlFor: id }, help), input), value: () => input.value };
}

// Adds the forms of the operations on a model or on data, but for those that have a part of their own on the page;
// `query` returns the data and how they are read.
export async function forms(kind, id, own, query) {
  for (const one of await asked("operations")) {
    if (one.on === kind && !own.includes(one.name)) await form(byId("operations"), `${kind}/${id}`, one, query);
  }
}

async function form(parent, path, { name, on, summary, inputs, options }, query) {
  const takesData = inputs.some((one) => one.name === "data"), fields = new Map();
  for (const one of inputs) if (one.name !== "data") fields.set(one.name, await chooser(`${name}-${one.name}`, one));
  for (const one of options) fields.set(one.name, field(`${name}-${one.name}`, one));
  const button = element("button", {}, "Run"), result = element("div", { role: "status" });
  const ask = element("form", {}, element("div", { className: "fields" }, ...[...fields.values()].map(({ place }) => place), button));
  ask.addEventListener("submit", (event) => {
    event.preventDefault();
    result.replaceChildren();
    tried(async () => {
      if (takesData && !query().get("data")) throw new Error("Choose the data to plot, at the top.");
      const given = new URLSearchParams(takesData || on === "data" ? query() : []);
      for (const [option, { value }] of fields) {
        if (value()) given.set(option, value());
        complain(byId(`${name}-${option}`), "");
      }
      given.set("draw", WIDTH);
      try {
        await show(result, await asked(`${path}/${name}?${given}`, { method: "POST" }));
        say("");
      } catch (error) {
        const wrong = byId(`${name}-${parameterIn(error.message, options.map((one) => one.name))}`);
        if (!wrong) throw error;
        complain(wrong, error.message);
        say("");
      }
    }, button, "Computing …");
  });
  parent.append(element("details", { className: "card", id: `operation-${name}` }, element("summary", {}, summary), ask, result));
}

async function show(place, { text, notes, figures }) {
  place.append(...notes.map((note) => element("p", { className: "soft" }, note)), element("pre", { tabIndex: 0 }, text));
  for (const [name, content] of Object.entries(figures)) {
    const title = element("h3", {}, name), figure = element("div", { className: "place" });
    place.append(title, figure);
    await draw(figure, content, name, title);
  }
}
