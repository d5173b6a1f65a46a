// Reconstructs a face from r components while the slider moves, and identifies it.

import { ask, asked, byId, say, tried } from "./api.js";

const main = byId("main"), id = main.dataset.id;
const [height, width] = main.dataset.shape.split(",").map(Number);
const data = new URLSearchParams(location.search).get("data");
let picture = null, busy = false, again = false;

// Draws numbers from black, the least, to white: after a correction of the light they are no grey values.
function paint(canvas, values) {
  canvas.width = width;
  canvas.height = height;
  const image = new ImageData(width, height), low = Math.min(...values), high = Math.max(...values);
  values.forEach((value, place) => {
    const grey = 255 * (value - low) / (high - low || 1);
    image.data.set([grey, grey, grey, 255], 4 * place);
  });
  canvas.getContext("2d").putImageData(image, 0, 0);
}

const rebuilt = (r) => asked(`models/${id}/reconstruct?n_components=${r}`, { method: "POST", body: picture,
  headers: { "Content-Type": picture.type } });

// One request at a time; the next one takes the latest position of the slider.
async function rebuild() {
  byId("r-is").value = byId("r").value;
  if (!picture) return;
  if (busy) { again = true; return; }
  busy = true;
  try {
    const answer = await rebuilt(byId("r").value);
    paint(byId("rebuilt"), answer.values[0]);
    byId("rebuilt-is").textContent = `${byId("r").value} components, relative error ${answer.error[0].toPrecision(3)}`;
    say("");
  } catch (error) {
    say(error.message, true);
  }
  busy = false;
  if (again) { again = false; rebuild(); }
}

async function take(file) {
  const bitmap = await createImageBitmap(file).catch(() => { throw new Error("This file cannot be displayed. Choose a PNG or a JPEG picture."); });
  const canvas = byId("original");
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(bitmap, 0, 0, width, height);
  const { data: colours } = context.getImageData(0, 0, width, height);
  paint(canvas, Array.from({ length: width * height }, (_, place) =>
    0.299 * colours[4 * place] + 0.587 * colours[4 * place + 1] + 0.114 * colours[4 * place + 2]));
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

const ANSWERS = {
  person: (one) => `This is ${one.person} (similarity ${one.score.toFixed(3)}; threshold ${one.threshold.toFixed(3)}).`,
  unknown: (one) => `Unknown person. The most similar is ${one.runner_up} (similarity ${one.score.toFixed(3)}; threshold ${one.threshold.toFixed(3)}).`,
  "not-a-face": (one) => `Not recognised as a face (distance ${one.face_score.toPrecision(3)}; limit ${one.face_threshold.toPrecision(2)}).`,
};
byId("identify").addEventListener("click", (event) => tried(async () => {
  const how = new URLSearchParams({ gallery: byId("gallery").value });
  if (byId("far").value) how.set("far", byId("far").value);
  const result = await asked(`faces/${id}/identify?${how}`, { method: "POST", body: picture, headers: { "Content-Type": picture.type } });
  const one = result.answers[0];
  byId("answer").textContent = one ? ANSWERS[one.kind](one) : result.skipped[0].why;
}, event.target));

if (data) asked(`data/${data}`).then((item) => { byId("door").hidden = item.name !== "drawn-faces.zip"; });
if (data && byId("door")) tried(async () => take(await (await ask("examples/door/known")).blob()).catch(() => {}));
