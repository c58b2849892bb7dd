// The decisions of Algorithm 2 and other marks in words.
import { signOf } from "./curves.js";
import { SIGNS } from "./description.js";
import { element } from "./dom.js";
import { explainable } from "./words.js";

// The list below the chart names the cases and the events that have occurred, with their signs.
export function listCases(root, words, single, history) {
  const list = root.querySelector(".semf-cases");
  if (!list) return;
  const seen = [...new Set(history.cases)].filter((c) => c > 0 && !(SIGNS[c].quiet && history.x[0] > 1)).sort();
  const kinds = [...new Set(history.events.map((e) => e[1]))];
  if (list.dataset.seen === `${seen}|${kinds}`) return;
  list.dataset.seen = `${seen}|${kinds}`;
  const entry = (glyph, text, word, mark) => element("li", {}, element("span", { "aria-hidden": "true", class: mark ? "semf-mark" : "semf-decision", text: glyph }), " ", element("span", { "data-word": word, text }));
  list.replaceChildren(...kinds.map((kind) => entry(signOf(kind).glyph, signOf(kind).label, kind, true)), ...(single ? [] : seen.map((c) => entry(SIGNS[c].glyph, words[c], `case_${c}`))));
  explainable(root);
}
