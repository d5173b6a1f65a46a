import { asked, byId, say, tried } from "./api.js";
import { draw } from "./charts.js";

async function look(button) {
  byId("found").hidden = true;  // what was found of another expression says nothing of this one
  await tried(async () => {
    const told = await asked("kernels", { json: { expression: byId("expression").value } });
    byId("found").hidden = false;
    byId("verdict").textContent = `${told.kernel}: ${told.verdict}`;
    byId("text").textContent = told.text;
    byId("figure").replaceChildren();
    if (told.figure) await draw(byId("figure"), { spec: told.figure }, "Points that refute the kernel");
    say(told.witness && !told.figure ? 'Figures need: pip install "gramian[plots]"' : "");
  }, button, "Searching for a proof or a counterexample …");
}

byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  look(event.submitter);
});
for (const button of document.querySelectorAll("[data-try]")) {
  button.addEventListener("click", () => {
    byId("expression").value = button.dataset.try;
    look(button);
  });
}
