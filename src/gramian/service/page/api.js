// Sends requests to the API and shows messages.

export const byId = (id) => document.getElementById(id);
// Creates an element with properties and with what is inside.
export function element(name, about = {}, ...inside) {
  const made = Object.assign(document.createElement(name), about);
  made.append(...inside);
  return made;
}
// Forms need this script, so they are inert until it runs.
for (const one of document.querySelectorAll("[inert]")) one.inert = false;
const BASE = "/api/v1/";
const KINDS = { csv: "text/csv", tsv: "text/csv", txt: "text/csv", json: "application/json", ndjson: "application/x-ndjson",
  parquet: "application/vnd.apache.parquet", npy: "application/x-npy", npz: "application/x-npz", zip: "application/zip",
  png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" };

export function say(text, bad = false) {
  const place = byId("say");
  place.textContent = text;
  place.className = bad ? "bad" : "";
}

// Shows an error below its field and announces it; "" takes it away. Lines after the first one are preformatted.
export function complain(field, text) {
  let place = byId(`${field.id}-error`);
  if (!place) {
    place = element("div", { id: `${field.id}-error`, className: "error", role: "alert" });
    (field.closest(".field") ?? field.parentElement).append(place);
    field.setAttribute("aria-describedby", `${field.getAttribute("aria-describedby") ?? ""} ${place.id}`.trim());
  }
  // An error in an expression repeats it; the field shows it already, and so does the line above the caret.
  const [first, ...more] = text.replace(/^kernel='.*?', column (\d+): /, "Column $1: ").split("\n");
  place.textContent = first;
  if (more.length) place.append(element("pre", {}, more.join("\n")));
  if (text) field.setAttribute("aria-invalid", "true"); else field.removeAttribute("aria-invalid");
}

export async function ask(path, options = {}) {
  if (options.json !== undefined) {
    options = { ...options, method: options.method ?? "POST", body: JSON.stringify(options.json),
      headers: { "Content-Type": "application/json" } };
  }
  let answer;
  try {
    answer = await fetch(BASE + path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server is not responding. Check that it is running.");
  }
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => ({ error: `The server returned status ${answer.status}.` }));
  throw Object.assign(new Error([problem.error, problem.what_to_do].filter(Boolean).join(" ")), { field: problem.field });
}

export const asked = async (path, options) => (await ask(path, options)).json();

export const upload = (path, file, options = {}) => ask(path, { method: "POST", body: file, ...options,
  headers: { "Content-Type": KINDS[file.name.split(".").pop().toLowerCase()] ?? "application/octet-stream" } });

// Runs an action of the user and shows its error.
export async function tried(work, button = null, text = "") {
  if (button) button.disabled = true;
  say(text);
  try {
    await work();
    return true;
  } catch (error) {
    say(error.message, true);
    return false;
  } finally {
    if (button) button.disabled = false;
  }
}
