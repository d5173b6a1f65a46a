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

let said = 0;  // messages so far
export function say(text, bad = false) {
  const place = byId("say");
  said += 1;
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

// An error that was there before goes with an answer, unless this is asked without the user: `quiet`.
export async function ask(path, options = {}) {
  if (options.json !== undefined) {
    options = { ...options, method: options.method ?? "POST", body: JSON.stringify(options.json),
      headers: { "Content-Type": "application/json" } };
  }
  const before = said;
  let answer;
  try {
    answer = await fetch(BASE + path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server is not responding. Check that it is running.");
  }
  if (answer.ok && !options.quiet && said === before && byId("say").className) say("");
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => ({ error: `The server returned status ${answer.status}.` }));
  throw new Error(problem.error);
}

export const asked = async (path, options) => (await ask(path, options)).json();

// Uploads data, whose name says of what kind they are.
export const upload = (file) => asked(`data?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file,
  headers: { "Content-Type": "application/octet-stream" } });

// Returns the parameter that a message is about: it begins the message, or comes first with a value.
export function parameterIn(message, names) {
  const at = (name) => message.search(new RegExp(`^${name}\\b|(?<!\\w)${name}=`));
  return names.filter((name) => at(name) >= 0).sort((one, other) => at(one) - at(other))[0];
}

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
