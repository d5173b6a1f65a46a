import { ask, asked, byId, say, tried, upload } from "./api.js";

byId("login")?.addEventListener("submit", (event) => {
  event.preventDefault();
  tried(async () => {
    await ask("login", { json: { token: byId("token").value } });
    location.reload();
  });
});

byId("upload")?.addEventListener("submit", (event) => {
  event.preventDefault();
  const file = byId("file").files[0];
  tried(async () => {
    if (!file.size) throw new Error(`${file.name} is empty. Choose a file with rows or pictures.`);
    const item = await (await upload(`data?draft=true&name=${encodeURIComponent(file.name)}`, file)).json();
    location.href = `/data/${item.id}`;
  }, event.submitter, `Uploading ${file.name} …`);
});

for (const button of document.querySelectorAll("[data-example]")) {
  button.addEventListener("click", () => tried(async () => {
    const item = await asked(`examples/${button.dataset.example}`, { method: "POST" });
    location.href = `/data/${item.id}`;
  }, button, "Preparing the example …"));
}

for (const button of document.querySelectorAll("[data-remove]")) {
  button.addEventListener("click", () => tried(async () => {
    await ask(button.dataset.remove, { method: "DELETE" });
    const item = button.closest("li");
    const next = (item.nextElementSibling ?? item.previousElementSibling)?.querySelector("button") ?? byId("file");
    item.remove();
    next.focus();
    say("Deleted.");
  }, button));
}
