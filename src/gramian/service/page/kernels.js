import { asked, byId, say, tried } from "./api.js";
import { draw } from "./charts.js";

async function check(button) {
  byId("found").hidden = true;  // the result of an earlier expression
  await tried(async () => {
    const result = await asked("kernels", { json: { expression: byId("expression").value } });
    byId("found").hidden = false;
    byId("verdict").textContent = `${result.kernel}: ${result.verdict}`;
    byId("text").textContent = result.text;
    byId("figure").replaceChildren();
    if (result.figure) await draw(byId("figure"), { spec: result.figure }, "Counterexample");
    say(result.witness && !result.figure ? 'Figures are not available. The administrator can install them: pip install "gramian[plots]"' : "");
  }, button, "Searching for a proof or a counterexample …");
}

byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  check(event.submitter);
});
for (const button of document.querySelectorAll("[data-try]")) {
  button.addEventListener("click", () => {
    byId("expression").value = button.dataset.try;
    check(button);
  });
}
