// Checks an expression: a proof in steps, or a counterexample.

import { asked, byId, complain, element, say } from "./api.js";

const VERDICTS = { proven: ["a kernel", "good"], refuted: ["not a kernel", "bad"] };
const MOST_POINTS = 5;  // of a counterexample whose matrix is written out
let turn = 0;

async function check() {
  const mine = ++turn, field = byId("expression");
  complain(field, "");
  byId("found").hidden = true;  // the result of an earlier expression
  say("Searching for a proof or a counterexample …");
  let result, text;
  try {
    ({ facts: result, text } = await asked("kernels", { json: { kernel: field.value } }));
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
  byId("text").textContent = text;
  const { eigenvalue, bound, values, vector, gram, quadratic_form: sum } = result.witness ?? {};
  const few = (numbers) => `[${numbers.map((one) => Array.isArray(one) ? few(one) : Number(one.toPrecision(3))).join(", ")}]`;
  byId("sum").textContent = gram && gram.length <= MOST_POINTS
    ? `v.T K v = ${sum.toPrecision(3)} < 0 with v = ${few(vector)} and K = ${few(gram)}` : "";
  byId("eigenvalue").textContent = eigenvalue !== undefined
    ? `The smallest eigenvalue of K is ${eigenvalue.toPrecision(4)}. Rounding explains at most ${bound.toPrecision(2)}.`
    : values ? `k(x1, x2) is ${values[0]}, but k(x2, x1) is ${values[1]}.` : "";
  byId("found").hidden = false;
  say("");
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
