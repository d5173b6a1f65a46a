// Draws the figures of the server with Vega.

import { asked } from "./api.js";

let program;
const loaded = () => program ??= new Promise((resolve, reject) => {
  const script = document.createElement("script");
  script.src = "/static/vega.js";
  script.onload = () => resolve(globalThis.vegaEmbed);
  script.onerror = () => reject(new Error('Figures are not available. The administrator can install them: pip install "gramian[plots]"'));
  document.head.append(script);
});

// Fits a figure into a narrow page: panels and legend below each other, caption in shorter lines.
function narrowed(spec, room) {
  if (room >= 640) return spec;
  const wrap = (lines) => [lines].flat().join(" ").split(" ").reduce((made, word) => {
    if (made.length && made[made.length - 1].length + word.length < room / 6.5) made[made.length - 1] += ` ${word}`;
    else made.push(word);
    return made;
  }, []);
  const change = (part) => {
    if (typeof part.width === "number" && part.width > room - 120) part.width = room - 120;
    if (part.title?.subtitle) part.title.subtitle = wrap(part.title.subtitle);
    if (part.hconcat) [part.vconcat, part.hconcat] = [part.hconcat, undefined];
    if (part.concat) part.columns = 1;
    for (const inner of [part.vconcat, part.hconcat, part.concat, part.layer].flat()) if (inner) change(inner);
  };
  change(spec);
  spec.config = { ...spec.config, axis: { ...spec.config?.axis, labelSeparation: 6 },
    legend: { ...spec.config?.legend, orient: "bottom", columns: 3 } };
  return spec;
}

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
  const { view } = await embed(figure, narrowed(content.spec, place.clientWidth), { actions: false, ast: true, renderer: "svg", defaultStyle: false,
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
  const redraw = async (more = {}) => draw(place, await asked(
    `models/${model}/figures/${name}?${new URLSearchParams([...query, ...Object.entries(more)])}`), words);
  return { section, title, redraw };
}
