// The decisions of Algorithm 2 and other marks, as signs in the chart and in words below it.
import { figure, LINES, signOf } from "./curves.js";
import { SIGNS as CASES } from "./description.js";
import { element } from "./dom.js";
import { explainable } from "./words.js";

// "Nothing changes" is marked as long as every iteration is on show; in a thinned curve it would be everywhere.
export function casePoints(words, history, first, end) {
  const found = { x: [], y: [], text: [], "marker.symbol": [], "marker.size": [] };
  for (let i = first; i < end; i++) {
    const which = CASES[history.cases[i]];
    if (!which || (which.quiet && history.x[0] > 1)) continue;
    found.x.push(history.x[i]);
    found.y.push(history.curves[LINES.find((line) => line.word === which.column).curve][i]);
    found.text.push(decision(words, history, i));
    found["marker.symbol"].push(which.symbol);
    found["marker.size"].push(which.quiet ? 4 : 9);
  }
  return found;
}

// iteration 160: X stalls, α raised (equation 12); α 4 → 8
function decision(words, history, i) {
  const which = history.cases[i];
  const [, , alpha, beta] = history.curves;
  const moved = [["α", alpha], ["β", beta]].filter(([, curve]) => i + 1 < curve.length && curve[i + 1] !== curve[i]);
  const values = moved.map(([sign, curve]) => `${sign} ${figure(curve[i])} → ${figure(curve[i + 1])}`).join(", ");
  return `iteration ${history.x[i]}: ${words[which]} (equation ${CASES[which].equation})${values ? `; ${values}` : ""}`;
}

// The list below the chart names the cases and the events that have occurred, with their signs.
export function listCases(root, words, single, history) {
  const list = root.querySelector(".semf-cases");
  if (!list) return;
  const seen = [...new Set(history.cases)].filter((c) => c > 0 && !(CASES[c].quiet && history.x[0] > 1)).sort();
  const kinds = [...new Set(history.events.map((e) => e[1]))];
  if (list.dataset.seen === `${seen}|${kinds}`) return;
  list.dataset.seen = `${seen}|${kinds}`;
  const entry = (glyph, text, word, mark) => element("li", {}, element("span", { "aria-hidden": "true", class: mark ? "semf-mark" : null, text: glyph }), " ", element("span", { "data-word": word, text }));
  list.replaceChildren(...kinds.map((kind) => entry(signOf(kind).glyph, signOf(kind).label, kind, true)), ...(single ? [] : seen.map((c) => entry(CASES[c].glyph, words[c], `case_${c}`))));
  explainable(root);
}
