// Draws the figures of the server with Vega.

import { asked } from "./api.js";

const FRAME = 34;  // pixels of the border and the padding of a figure, and of labels that are longer than usual
let program;
const loaded = () => program ??= new Promise((resolve, reject) => {
  const script = document.createElement("script");
  script.src = "/static/vega.js";
  script.onload = () => resolve(globalThis.vegaEmbed);
  script.onerror = () => reject(new Error('Figures are not available. The administrator can install them: pip install "gramian[plots]"'));
  document.head.append(script);
});

export async function draw(place, content, words) {
  const figure = document.createElement("figure");
  figure.tabIndex = 0;
  figure.setAttribute("role", "group");
  figure.setAttribute("aria-label", words);
  place.replaceChildren(figure);
  if (content.png) {
    const picture = new Image();
    picture.alt = words;
    picture.src = `data:image/png;base64,${content.png}`;
    figure.append(picture);
    return null;
  }
  const embed = await loaded();
  // The content security policy forbids eval, so Vega interprets its expressions.
  const { view } = await embed(figure, content.spec, { actions: false, ast: true, renderer: "svg", defaultStyle: false,
    tooltip: { disableDefaultStyle: true } });
  figure.querySelector("svg").setAttribute("aria-hidden", "true");  // the label of the group describes it
  return view;
}

export async function show(parent, model, name, words, query) {
  const section = document.createElement("section");
  section.dataset.figure = name;
  const title = document.createElement("h2");
  title.textContent = words;
  const place = document.createElement("div");
  section.append(title, place);
  parent.append(section);
  // The server draws for this width, because it places the labels.
  const width = () => ["width", Math.max(200, Math.min(2000, Math.floor(place.clientWidth) - FRAME))];
  const redraw = async (more = {}) => draw(place, await asked(
    `models/${model}/figures/${name}?${new URLSearchParams([...query, width(), ...Object.entries(more)])}`), words);
  return { section, title, redraw };
}
