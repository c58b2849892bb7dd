// The skeleton of the view, and decoding of packed numbers.
import { penalties, playing, toolbar } from "./controls.js";
import { LINES } from "./curves.js";

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") made.textContent = value;
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter(Boolean));
  return made;
}

// A sign of the font that Streamlit brings; what it means stands in the label of the button around it.
export function icon(name) {
  return element("span", { class: "semf-icon", "aria-hidden": "true", text: name });
}

export function build(parent, data) {
  const compact = data.compact;
  const head = element(
    "div",
    { class: "semf-head" },
    element("span", { class: "semf-state", role: "status", text: "Loading …" }),
    element("span", { class: "semf-iteration" }),
    element("span", { class: "semf-badges", "aria-live": "polite" }),
    data.bench ? toolbar(data) : null,
  );
  const charts = element(
    "figure",
    { class: "semf-charts", "aria-label": "Curves of the run" },
    element("div", { class: "semf-plot" }),
    element("figcaption", { class: "semf-hidden semf-chart-text" }),
    compact ? null : element("p", { class: "semf-scale" }, element("span", { class: "semf-grey", hidden: true, text: "Grey: before the last change." }), "Drag to zoom, double-click for everything, click to look at an iteration."),
    compact ? null : curveWords(data),
    compact ? null : element("ul", { class: "semf-cases", "aria-label": "Marks in the chart" }),
    data.bench && data.splits && !data.still ? penalties(data) : null,
  );
  const root = element("div", { class: `semf-live${compact ? " semf-compact" : ""}${data.splits ? "" : " semf-single"}`, "data-run": data.run });
  const { basis, note, map, samples } = pictures(data);
  // The samples stand in the shorter column: three panels of curves are long, one is short.
  const left = element("div", { class: "semf-column" }, charts, data.splits ? null : samples);
  const right = element("div", { class: "semf-column" }, basis, note, map, data.splits ? samples : null);
  const said = compact ? [] : [element("p", { class: "semf-line", "aria-live": "polite", hidden: true }), element("p", { class: "semf-message", role: "status", hidden: true })];
  const top = element("div", { class: "semf-top" }, head, scrubber(data), ...said, element("div", { class: "semf-ending semf-unsaid" }));
  root.append(top, element("div", { class: "semf-body" }, left, right));
  parent.querySelector(":scope > .semf-live")?.remove(); // Streamlit's own children (the style sheet) stay
  parent.append(root);
  return root;
}

// What the curves are, a press each.
function curveWords(data) {
  const lines = data.splits ? LINES : LINES.filter((l) => l.curve === 1);
  return element("p", { class: "semf-scale" }, "What is ", ...lines.map((l) => element("span", { "data-word": l.word, text: l.name.split(/,? /)[0] })), "?");
}

function scrubber(data) {
  const id = `semf-${Math.random().toString(36).slice(2)}`;
  return element(
    "div",
    { class: "semf-scrubber", role: data.bench ? "toolbar" : null, "aria-label": data.bench ? "Controls of the run" : null },
    playing(data),
    element("button", { type: "button", class: "semf-replay", title: data.bench ? "Shows the run once more: Space" : null, text: "Replay" }),
    element("label", { for: id, class: "semf-hidden", text: "Iteration on show" }),
    element("input", { id, type: "range", min: 0, max: 0, value: 0, step: 1, disabled: true }),
    element("label", { class: "semf-follow" }, element("input", { type: "checkbox", checked: true }), " Follow live"),
  );
}

// Until there is a picture, its place says so.
function montage(empty, ...over) {
  return element("div", { class: "semf-montage", "data-empty": empty }, element("img", { alt: empty, class: "semf-pixels" }), ...over);
}

function pictures({ compact, splits, imposed }) {
  const name = `semf-factor-${Math.random().toString(36).slice(2)}`;
  const choice = element(
    "fieldset",
    { class: "semf-factor" },
    element("legend", { class: "semf-hidden", text: "Which factor" }),
    element("label", {}, element("input", { type: "radio", name, value: "U", checked: true }), " U, feasible"),
    element("label", {}, element("input", { type: "radio", name, value: "X" }), " X, free"),
  );
  const basis = element(
    "figure",
    { class: "semf-basis" },
    element("figcaption", {}, element("span", { class: "semf-title", text: "Basis images" }), compact || !splits ? null : choice),
    montage("Basis images are not recorded yet"),
    imposed ? element("p", { class: "semf-imposed", text: imposed }) : null,
    element("p", { class: "semf-scale" }),
  );
  if (compact) return { basis };
  const map = element(
    "figure",
    { class: "semf-map" },
    element("figcaption", {}, element("span", { class: "semf-title", text: "Coefficients V" })),
    montage("Coefficients are not recorded yet", element("span", { class: "semf-row", hidden: true })),
    element("p", { class: "semf-scale" }),
  );
  const samples = element(
    "figure",
    { class: "semf-samples" },
    element("figcaption", {}, element("span", { class: "semf-title", text: "Samples and their fit" })),
    element("div", { class: "semf-sample-grid" }, element("ol", { class: "semf-sample-rows" }), montage("Samples are not shown yet")),
    element("p", { class: "semf-scale" }),
  );
  return { basis, map, samples, note: element("p", { class: "semf-inspect", role: "note", text: HINT }) };
}

// What stands outside of Streamlit's elements, in the colours of its theme.
export function dressed(made) {
  const style = getComputedStyle(document.querySelector(".stApp") ?? document.body);
  made.style.setProperty("--st-background-color", style.backgroundColor);
  made.style.setProperty("--st-text-color", style.color);
  made.style.setProperty("--line", `color-mix(in srgb, ${style.color} 30%, transparent)`);
  made.style.fontFamily = style.fontFamily;
  return made;
}

export { HALL, isPresenting } from "./layout.js";

export const HINT = "Point at a basis image to see which samples use it; click to show them. Components and samples are counted from 1.";

// The run counts components and samples from 0; people, like the formulas, from 1.
export const counted = (index) => index + 1;

function bytes(packed) {
  return Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
}

export function decodeBytes(packed) {
  return bytes(packed);
}

export function decodeFloats(packed, double) {
  return new (double ? Float64Array : Float32Array)(bytes(packed).buffer);
}
