// Shows the figures of the server: an .svg, or a specification that Vega draws and that answers the pointer.

import { asked, element } from "./api.js";

const FRAME = 8;  // pixels for labels that are longer than usual
const LARGEST = 640;  // pixels of a figure alone in its row, unless it is a long one
const ENLARGED = 1.25;  // times its own size, at most
const SLACK = 24;  // pixels by which a card changes before its figure is drawn again
const FILES = [["Picture (SVG)", "svg"], ["Picture (PNG)", "png"], ["Data (CSV)", "csv"]];
const BRUSHED = new Set(["scores", "control-chart"]);  // figures in which a box is dragged
const LONG = new Set(["contours", "control-chart", "loadings", "whitening"]);
const NO_FIGURES = "The program that draws figures was not loaded. Check that the server is running, and reload the page.";
let program, last = Promise.resolve();
const loaded = () => program ??= new Promise((resolve, reject) => {
  const onload = () => resolve(globalThis.vegaEmbed), onerror = () => reject(new Error(NO_FIGURES));
  document.head.append(element("script", { src: "/static/vega.js", onload, onerror }));
});
const inTurn = (work) => last = last.then(work, work);  // a page uses one worker at a time

// Replaces a figure at once, when the new one is complete; its title goes to a heading, and its sentences below it.
// One with a brush keeps its size, by which Vega finds the pointer.
export async function draw(place, { title, caption, svg, spec }, words, heading, brush = false) {
  const figure = element("figure", { tabIndex: 0, role: "group", ariaLabel: words }), drawing = element("div");
  const shown = svg ? { view: null } : await vega(drawing, spec, brush && Math.min(place.clientWidth, LARGEST));
  if (svg) drawing.append(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement);
  heading.textContent = title || words;
  figure.append(drawing, element("figcaption", {}, caption));
  const picture = drawing.querySelector("svg"), { width } = picture.viewBox.baseVal;
  picture.setAttribute("aria-hidden", "true");  // the label of the group describes it
  if (!brush) picture.style.maxWidth = `${Math.max(width, Math.min(LARGEST, ENLARGED * width))}px`;
  figure.classList.toggle("brush", brush);
  place.finalize?.();
  place.finalize = shown.finalize;
  place.replaceChildren(figure);
  return shown.view;
}

// The content security policy forbids eval, so Vega interprets its expressions. A width is that of all of the figure.
async function vega(place, spec, width) {
  const embed = await loaded(), { width: planned, height } = spec;
  width = planned && width;  // of several panels the server's
  if (width) Object.assign(spec, { autosize: { type: "fit-x", contains: "padding" }, width });
  const shown = await embed(place, spec, { actions: false, ast: true, renderer: "svg", defaultStyle: false,
    tooltip: { disableDefaultStyle: true } });
  if (width) await shown.view.height(height * shown.view.width() / planned).runAsync();  // units stay equal
  return shown;
}

// Adds a card, which draws its figure when it is asked to, and again when its width changes; `prepare` may change a
// specification before that.
export function card(parent, model, name, words, query, onDrawn = () => {}, prepare = () => {}) {
  const title = element("h3", {}, words), place = element("div", { className: "place" });
  const files = element("ul"), menu = element("details", { className: "menu" }, element("summary", { ariaLabel: `Download: ${words}` }, "Download"), files);
  menu.addEventListener("focusout", (event) => { if (!menu.contains(event.relatedTarget)) menu.open = false; });
  menu.addEventListener("keydown", (event) => { if (event.key === "Escape") menu.open = false; });
  const head = element("div", { className: "card-head" }, title, menu);
  const section = element("section", { className: "card" }, head, place);
  section.dataset.figure = name;
  parent.append(section);
  let options = {}, figure = name, drawn = 0, waiting;
  const redraw = (more = options, other = figure) => inTurn(async () => {
    const quiet = !drawn;  // nobody chose anything yet
    [options, figure, drawn] = [more, other, place.clientWidth];
    // The server draws for this width, because it places the labels.
    const width = Math.max(200, Math.min(LONG.has(name) ? 2000 : LARGEST, Math.floor(drawn) - FRAME));
    const asking = new URLSearchParams([...query, ["width", width], ...Object.entries(more)]), path = `models/${model}/figures/${figure}?${asking}`;
    try {
      const content = await asked(path, { quiet });
      files.replaceChildren(...FILES.map(([text, format]) =>
        element("li", {}, element("a", { href: `/api/v1/${path}&format=${format}`, download: "" }, text))));
      prepare(content.spec);
      onDrawn(await draw(place, content, words, title, BRUSHED.has(name)));
    } catch (error) {
      place.replaceChildren(element("p", { className: "notice bad" }, error.message));
    }
  });
  new ResizeObserver(() => {
    clearTimeout(waiting);
    if (drawn && Math.abs(place.clientWidth - drawn) > SLACK) waiting = setTimeout(() => redraw(), 300);
  }).observe(place);
  return { section, head, redraw };
}

// Gives long figures a row of their own, except one that completes an odd number of others.
export function arrange(cards) {
  const all = [...cards.children], half = all.filter((one) => !LONG.has(one.dataset.figure));
  const spare = all.filter((one) => ["control-chart", "loadings"].includes(one.dataset.figure));
  if (half.length % 2 && spare.length) half.push(...spare);
  for (const one of all) one.classList.toggle("whole", !half.includes(one));
  if (half.length % 2) half.at(-1).classList.add("whole");
}
