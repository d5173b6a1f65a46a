// Takes a file, shows how it begins, and uploads it; opens examples.

import { ask, asked, byId, complain, element, say, tried, upload } from "./api.js";
import { follow } from "./run.js";

const LINES = 6, READ = 65536;  // of a text file, and bytes of it
const TEXT = /\.(csv|tsv|txt|json)$/i;
const file = byId("file");

const size = (bytes) => bytes < 1e3 ? `${bytes} bytes` : bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;

async function preview() {
  const [chosen] = file.files, place = byId("preview");
  complain(file, "");
  place.replaceChildren();
  if (!chosen) return;
  place.append(element("p", {}, element("b", {}, chosen.name), ` ${size(chosen.size)}`));
  if (!chosen.size) return complain(file, `${chosen.name} is empty. Choose a file with rows or pictures.`);
  if (!TEXT.test(chosen.name)) return;
  const lines = (await chosen.slice(0, READ).text()).split(/\r?\n/).slice(0, LINES);
  place.append(element("pre", { tabIndex: 0, ariaLabel: `First lines of ${chosen.name}` }, lines.join("\n")));
}

file?.addEventListener("change", preview);

if (file) follow();

const zone = document.querySelector(".drop");
for (const name of ["dragenter", "dragover"]) {
  zone?.addEventListener(name, (event) => { event.preventDefault(); zone.classList.add("over"); });
}
zone?.addEventListener("dragleave", () => zone.classList.remove("over"));
zone?.addEventListener("drop", (event) => {
  event.preventDefault();
  zone.classList.remove("over");
  const { files } = event.dataTransfer;
  if (files.length > 1) return complain(file, "One file at a time: put several pictures into a .zip.");
  file.files = files;
  preview();
});

byId("upload")?.addEventListener("submit", (event) => {
  event.preventDefault();
  const [chosen] = file.files;
  tried(async () => {
    complain(file, "");
    try {
      if (!chosen.size) throw new Error(`${chosen.name} is empty. Choose a file with rows or pictures.`);
      const item = await upload(chosen);
      location.href = `/data/${item.id}`;
    } catch (error) {
      complain(file, error.message);
      file.focus();
      say("");
    }
  }, event.submitter, `Uploading ${chosen.name} …`);
});

for (const button of document.querySelectorAll("[data-example]")) {
  button.addEventListener("click", () => tried(async () => {
    const item = await asked(`examples/${button.dataset.example}`, { method: "POST" });
    location.href = `/data/${item.id}?method=${button.dataset.method}`;
  }, button, "Preparing the example …"));
}

for (const button of document.querySelectorAll("[data-remove]")) {
  button.addEventListener("click", () => tried(async () => {
    await ask(button.dataset.remove, { method: "DELETE" });
    const item = button.closest("li");
    const next = (item.nextElementSibling ?? item.previousElementSibling)?.querySelector("button") ?? file;
    item.remove();
    next.focus();
    say("Deleted.");
  }, button));
}
