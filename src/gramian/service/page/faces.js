// A face rebuilt from r components as the slider moves, and who it is.

import { ask, asked, byId, say, tried } from "./api.js";

const main = byId("main"), id = main.dataset.id;
const [height, width] = main.dataset.shape.split(",").map(Number);
const data = new URLSearchParams(location.search).get("data");
let picture = null, busy = false, again = false;

function paint(canvas, values) {
  canvas.width = width;
  canvas.height = height;
  const image = new ImageData(width, height);
  values.forEach((value, place) => image.data.set([value, value, value, 255], 4 * place));
  canvas.getContext("2d").putImageData(image, 0, 0);
}

const rebuilt = (r) => asked(`models/${id}/reconstruct?components=${r}`, { method: "POST", body: picture,
  headers: { "Content-Type": picture.type } });

// One request at a time: the next begins with where the slider is then.
async function rebuild() {
  byId("r-is").value = byId("r").value;
  if (!picture) return;
  if (busy) { again = true; return; }
  busy = true;
  try {
    const told = await rebuilt(byId("r").value);
    paint(byId("rebuilt"), told.values[0]);
    byId("rebuilt-is").textContent = `from ${byId("r").value} components, error ${told.error[0].toPrecision(3)}`;
    say("");
  } catch (error) {
    say(error.message, true);
  }
  busy = false;
  if (again) { again = false; rebuild(); }
}

async function take(file) {
  const bitmap = await createImageBitmap(file).catch(() => { throw new Error("This is no picture that can be shown. Give a PNG or a JPEG."); });
  const canvas = byId("original");
  canvas.width = width;
  canvas.height = height;
  canvas.getContext("2d").drawImage(bitmap, 0, 0, width, height);
  picture = file;
  byId("identify").disabled = false;
  byId("answer").textContent = "";
  await rebuild();
}

byId("r").addEventListener("input", rebuild);
byId("picture").addEventListener("change", (event) => event.target.files[0] && tried(() => take(event.target.files[0])));
for (const button of document.querySelectorAll("[data-door]")) {
  button.addEventListener("click", () => tried(async () =>
    take(await (await ask(`examples/door/${button.dataset.door}`)).blob()), button));
}

byId("agreed").addEventListener("change", (event) => { byId("enroll").disabled = !event.target.checked || !data; });
byId("enroll").addEventListener("click", (event) => tried(async () => {
  const item = await asked(`faces/${id}/enroll?data=${data}&agreed=true`, { method: "POST" });
  byId("gallery").add(new Option(`${item.name} (${item.facts.people.length})`, item.id, true, true));
  byId("enroll-box").hidden = true;
  byId("who").hidden = false;
  byId("gallery").focus();
}, event.target, "Enrolling …"));

const SAID = {
  person: (one) => `This is ${one.person}: likeness ${one.score.toFixed(3)}, and ${one.threshold.toFixed(3)} is enough.`,
  unknown: (one) => `Nobody who is known: the most alike is ${one.runner_up}, with ${one.score.toFixed(3)} of the ${one.threshold.toFixed(3)} that it takes.`,
  "not-a-face": (one) => `This looks like no face: ${one.face_score.toPrecision(3)} away, and faces stay below ${one.face_threshold.toPrecision(3)}.`,
};
byId("identify").addEventListener("click", (event) => tried(async () => {
  const how = new URLSearchParams({ gallery: byId("gallery").value });
  if (byId("far").value) how.set("far", byId("far").value);
  const told = await asked(`faces/${id}/identify?${how}`, { method: "POST", body: picture, headers: { "Content-Type": picture.type } });
  const one = told.answers[0];
  byId("answer").textContent = one ? SAID[one.kind](one) : told.skipped[0].why;
}, event.target));

asked(`models/${id}/components?count=1`).then((told) => {
  const shown = told.values[0], low = Math.min(...shown), high = Math.max(...shown);
  paint(byId("mean"), shown.map((value) => 255 * (value - low) / (high - low || 1)));
});
if (data) asked(`data/${data}`).then((item) => { byId("door").hidden = item.name !== "drawn-faces.zip"; });
if (data && byId("door")) tried(async () => take(await (await ask("examples/door/known")).blob()).catch(() => {}));
