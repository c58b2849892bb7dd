// The decisions of Algorithm 2 as signs in the chart.
import { figure, inLines, LINES } from "./curves.js";
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
  // Where the decision leaves them alone, penalties may still follow the size of the factors: that is not its doing.
  const moved = SIGNS[which].quiet ? [] : [["α", alpha], ["β", beta]].map(([sign, curve]) => [sign, ...curve.slice(i, i + 2).map((value) => figure(value))]);
  const values = moved.filter(([, from, to]) => to && from !== to).map(([sign, from, to]) => `${sign} ${from} → ${to}`).join(", ");
  return inLines(`iteration ${history.x[i]}: ${words[which]} (equation ${SIGNS[which].equation})${values ? `; ${values}` : ""}`);
}
