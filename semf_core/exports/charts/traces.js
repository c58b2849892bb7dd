// The traces of a run's figure, still without their points: curves, marks, the bound, decisions, the variant before.
import { axisId, HALL, legendName } from "./layout.js";

export function tracesOf({ lines, single, form, theme, named }) {
  const colours = theme.colours;
  const narrow = form !== "wide";
  const curves = lines.map((l) => ({
    type: "scatter", mode: "lines", name: narrow ? l.name.replace(/,? \w+$/, "") : l.name, x: [], y: [], yaxis: axisId(l.panel), xaxis: l.panel === 1 ? "x" : "x2",
    legend: legendName(l.panel), line: { color: colours[l.colour], width: (l.width ?? 2) * (form === "hall" ? 1.6 : 1), dash: l.dash ?? "solid" },
    hovertemplate: `%{y:.4g}<extra>${l.name}</extra>`,
  }));
  const events = {
    type: "scatter", mode: "markers", name: "Marks", x: [], y: [], text: [], showlegend: false,
    marker: { color: colours.vermilion, size: 10, symbol: "triangle-down" }, hovertemplate: "%{text}<extra></extra>",
  };
  const lower_bound = {
    type: "scatter", mode: "lines+text", name: "Floor", x: [], y: [], text: [], showlegend: false, hoverinfo: "skip",
    textposition: "bottom right", textfont: { size: form === "hall" ? HALL : 12, color: theme.text }, line: { color: theme.text, width: 1, dash: "dash" }, cliponaxis: false,
  };
  const ghosts = lines.map((l) => ({
    type: "scatter", mode: "lines", name: "before", x: [], y: [], yaxis: axisId(l.panel), xaxis: l.panel === 1 ? "x" : "x2", zorder: -1,
    legend: "legend", showlegend: named(l), hoverinfo: "skip", line: { color: colours.grey, width: l.width ?? 1.6, dash: l.dash ?? "solid" },
  }));
  if (single) return [...curves, events, lower_bound, ...ghosts];
  const cases = {
    type: "scatter", mode: "markers", name: "Algorithm 2", x: [], y: [], text: [], yaxis: "y2", xaxis: "x2", showlegend: false,
    marker: { symbol: [], size: [], color: colours.orange }, hovertemplate: "%{text}<extra></extra>",
  };
  return [...curves, events, lower_bound, cases, ...ghosts];
}
