// Forms of operations, made of what the server says of their options, and their results.

import { asked, byId, complain, element, parameterIn, say, tried } from "./api.js";
import { draw } from "./charts.js";

const WIDTH = 560;  // pixels of a figure
const KINDS = { model: "models", data: "data", meta: "data" };  // what an input is chosen from

// What people ask; the others are asked by their summary.
const QUESTIONS = { "choose-components": "How many components are enough?", stability: "How stable are the components?", rotate: "Which columns go together?",
  describe: "What do groups and metadata have to do with the components?", compare: "Did the result change against another model?",
  relations: "Which equations hold in all rows?", select: "Which columns tell the groups apart?", "choose-kernel": "Which kernel suits the data?" };

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

// Adds the questions about a model or data that `wanted` takes; `query` returns for a name the data, how they are read, and options.
// Those that need no further choice are answered when they are opened, if that is wanted.
export async function forms(kind, id, wanted, query, atOnce = false, place = byId("operations")) {
  for (const one of await asked("operations")) {
    if (one.on === kind && wanted(one.name)) await form(place, `${kind}/${id}`, one, query, atOnce);
  }
}

async function form(parent, path, { name, on, summary, inputs, options }, query, atOnce) {
  const takesData = inputs.some((one) => one.name === "data"), fields = new Map();
  for (const one of inputs) if (one.name !== "data") fields.set(one.name, await chooser(`${name}-${one.name}`, one));
  for (const one of options) fields.set(one.name, field(`${name}-${one.name}`, one));
  const asks = atOnce && name in QUESTIONS && !inputs.some((one) => one.required && one.name !== "data");
  const button = element("button", {}, "Run"), result = element("div", { role: "status" });
  const ask = element("form", {}, element("div", { className: "fields" }, ...[...fields.values()].map(({ place }) => place), button));
  ask.addEventListener("submit", (event) => {
    event.preventDefault();
    result.replaceChildren();
    tried(async () => {
      if (takesData && !query().get("data")) throw new Error("Choose the data to plot, at the top.");
      if (asks) result.textContent = "Computing …";
      const given = new URLSearchParams(takesData || on === "data" ? query(name) : []);
      for (const [option, { value }] of fields) {
        if (value()) given.set(option, value());
        complain(byId(`${name}-${option}`), "");
      }
      given.set("draw", WIDTH);
      try {
        const answer = await asked(`${path}/${name}?${given}`, { method: "POST" });
        result.replaceChildren();
        await show(result, answer);
        say("");
      } catch (error) {
        result.replaceChildren();
        const wrong = byId(`${name}-${parameterIn(error.message, options.map((one) => one.name))}`);
        if (!wrong) throw error;
        complain(wrong, error.message);
        say("");
      }
    }, button, asks ? "" : "Computing …");
  });
  const parts = asks ? [result, element("details", {}, element("summary", {}, "Options"), ask)] : [ask, result];
  const question = element("details", { className: "card", id: `operation-${name}` }, element("summary", {}, QUESTIONS[name] ?? summary), ...parts);
  if (asks) question.addEventListener("toggle", () => question.open && !result.childElementCount && !button.disabled && ask.requestSubmit());
  parent.append(question);
}

// Shows the answer in sentences and figures first, and all numbers behind a click.
async function show(place, { text, notes, figures, facts: { sentences = [] } = {} }) {
  const numbers = element("pre", { tabIndex: 0 }, text), said = sentences.filter(Boolean);
  place.append(...said.map((one) => element("p", {}, one)), ...notes.map((note) => element("p", { className: "soft" }, note)));
  for (const [name, content] of Object.entries(figures)) {
    const title = element("h3", {}, name), figure = element("div", { className: "place" });
    place.append(title, figure);
    await draw(figure, content, name, title);
  }
  place.append(said.length ? element("details", {}, element("summary", {}, "All numbers"), numbers) : numbers);
}
