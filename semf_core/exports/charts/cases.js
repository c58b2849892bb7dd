// The decisions of Algorithm 2 as signs in the chart.
import { figure, LINES } from "./curves.js";
import { SIGNS } from "./description.js";

// "Nothing changes" is marked as long as every iteration is on show; in a thinned curve it would be everywhere.
export function casePoints(words, history, first, end) {
  const found = { x: [], y: [], text: [], "marker.symbol": [], "marker.size": [] };
  for (let i = first; i < end; i++) {
    const which = SIGNS[history.cases[i]];
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
  return `iteration ${history.x[i]}: ${words[which]} (equation ${SIGNS[which].equation})${values ? `; ${values}` : ""}`;
}
