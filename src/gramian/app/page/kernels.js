// Checks an expression, and shows how lines of equal score follow the parameter of a kernel.

import { asked, byId, complain, element, say } from "./api.js";
import { NO_FIGURES, draw } from "./charts.js";

// ------------------------------------------------------------------ check

const VERDICTS = { proven: ["a kernel", "good"], refuted: ["not a kernel", "bad"] };
const MOST_POINTS = 5;  // of a counterexample whose matrix is written out
let turn = 0;

async function check() {
  const mine = ++turn, field = byId("expression");
  complain(field, "");
  byId("found").hidden = true;  // the result of an earlier expression
  say("Searching for a proof or a counterexample …");
  let result;
  try {
    result = await asked("kernels", { json: { expression: field.value } });
  } catch (error) {
    if (mine !== turn) return;
    complain(field, error.message);
    field.focus();
    return say("");
  }
  if (mine !== turn) return;
  const [words, kind] = result.witness ? VERDICTS.refuted : result.valid ? VERDICTS.proven : ["not decided", ""];
  byId("badge").textContent = words;
  byId("badge").className = `badge ${kind}`;
  byId("verdict").textContent = result.kernel;
  byId("undecided").textContent = kind ? "" : `Verdict: ${result.verdict}.`;
  byId("formula").textContent = result.formula;
  byId("steps").replaceChildren(...result.steps.map((step) => {
    const [mark, kind] = { proven: ["kernel", "good"], refuted: ["no kernel", "bad"], unknown: ["no proof", ""] }[step.status];
    return element("li", {}, element("code", {}, step.expression), " ", element("span", { className: `badge ${kind}` }, mark), element("br"), step.reason);
  }));
  byId("proof-title").textContent = result.valid ? "Proof" : "What is known of its parts";
  byId("counterexample").hidden = !result.witness;
  byId("proof").classList.toggle("whole", !result.witness);
  byId("text").textContent = result.text;
  byId("figure").replaceChildren();
  const { eigenvalue, bound, values, vector, gram, quadratic_form: sum } = result.witness ?? {};
  const few = (numbers) => `[${numbers.map((one) => Array.isArray(one) ? few(one) : Number(one.toPrecision(3))).join(", ")}]`;
  byId("sum").textContent = gram && gram.length <= MOST_POINTS
    ? `v.T K v = ${sum.toPrecision(3)} < 0 with v = ${few(vector)} and K = ${few(gram)}` : "";
  byId("eigenvalue").textContent = eigenvalue !== undefined
    ? `The smallest eigenvalue of K is ${eigenvalue.toPrecision(4)}. Rounding explains at most ${bound.toPrecision(2)}.`
    : values ? `k(x1, x2) is ${values[0]}, but k(x2, x1) is ${values[1]}.` : "";
  byId("found").hidden = false;
  say(result.witness && !result.figure ? NO_FIGURES : "");
  if (result.figure) await draw(byId("figure"), result.figure, "Counterexample", byId("figure-title"));
  byId("verdict").focus();
}

byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  check();
});
for (const button of document.querySelectorAll("[data-try]")) {
  button.addEventListener("click", () => {
    byId("expression").value = button.dataset.try;
    check();
  });
}

// ------------------------------------------------------------------ playground

const slider = byId("slider"), SVG = "http://www.w3.org/2000/svg", SIDE = 200, COLOURS = 3;
let busy = false, again = false;
const chosen = () => byId("kernel").selectedOptions[0].dataset;
const number = () => chosen().step === "1" ? slider.value : Number((10 ** Number(slider.value)).toPrecision(3));
const expression = () => chosen().expression.replace("*", number());

function begin() {
  const { what, low, high, step, start } = chosen();
  byId("what").textContent = what;
  Object.assign(slider, { min: low, max: high, step, value: start });
  slider.value = start;
}

function drawn(name, about) {
  const one = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(about)) one.setAttribute(key, value);
  return one;
}

const at = (value) => (SIDE * value).toFixed(1), up = (value) => (SIDE * (1 - value)).toFixed(1);
function panel({ title, lines }, points) {
  const picture = drawn("svg", { viewBox: `0 0 ${SIDE} ${SIDE}`, "aria-hidden": "true" });
  for (const [level, pieces] of lines) {
    const path = pieces.map(([x, y, x2, y2]) => `M${at(x)} ${up(y)}L${at(x2)} ${up(y2)}`).join("");
    picture.append(drawn("path", { d: path, class: level < 0 ? "below" : "above", "stroke-opacity": 0.3 + 0.7 * Math.abs(level) }));
  }
  for (const [x, y, kind] of points) picture.append(drawn("circle", { cx: at(x), cy: up(y), r: 2.4, class: `kind-${kind % COLOURS}` }));
  return element("figure", {}, picture, element("figcaption", {}, title));
}

// One request at a time; the next one takes the latest position of the slider.
async function play() {
  byId("own").textContent = expression();
  if (busy) { again = true; return; }
  busy = true;
  try {
    const result = await asked("kernels/contours", { json: { expression: expression(), points: byId("points").value } });
    byId("play-formula").textContent = result.formula;
    byId("panels").replaceChildren(...result.panels.map((one) => panel(one, result.points)));
    complain(slider, "");
  } catch (error) {
    complain(slider, error.message);
  }
  busy = false;
  if (again) { again = false; play(); }
}

slider.addEventListener("input", play);
byId("points").addEventListener("change", play);
byId("kernel").addEventListener("change", () => { begin(); play(); });
begin();
play();
