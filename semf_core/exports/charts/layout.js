// How the figure of a run is laid out: its height, its panels, their titles and legends.
import { TITLES } from "./curves.js";

// Large words and pictures for a hall, and nothing else.
export const isPresenting = () => document.body.classList.contains("semf-presenting");
export const HALL = 24; // pixels of its words at least

const LOWER = 150; // pixels of each panel below the first
const STRIP = 106; // and of the strip of variants, with the air above it, before it is there
const AIR = 6;
const BESIDE = 470; // from this width on, as in the style sheet, the basis is beside the chart
const LARGE = { l: 84, r: 26, t: 44, b: 76 }; // margins for large words
const NARROW = 520;
const PLACES = 5; // of numbers on an axis
const SLIM = 330; // below, a title has no room beside its legend

// Pixels of the first panel: the residual and the basis stand side by side above the fold; the other panels follow below.
export function foldOf(root, plot) {
  const presenting = isPresenting();
  const beside = root.clientWidth >= BESIDE; // else the pictures come first, and the chart has no fold
  const above = plot.getBoundingClientRect().top + (root.closest('[data-testid="stMain"]')?.scrollTop ?? 0);
  const foot = Math.max(STRIP, (root.querySelector(".semf-foot")?.offsetHeight ?? 0) + AIR);
  const room = beside ? window.innerHeight - above - (presenting ? 8 : foot) : 300;
  return Math.round(Math.max(200, Math.min(room, presenting ? 1600 : Math.max(440, 0.52 * window.innerHeight))));
}

// In the presenter's view all panels are above the fold.
export function heightOf(panels, fold) {
  return isPresenting() ? fold : fold + (panels.length - 1) * LOWER;
}

// Titles and legends differ with the width: with another form the figure is made anew.
export function formOf(plot) {
  const width = plot.clientWidth;
  if (isPresenting()) return "hall";
  return width < SLIM ? "slim" : width < NARROW ? "narrow" : "wide";
}

// Shares of the figure's height: the first panel has the room above the fold, its axis included.
export function domains(panels, fold) {
  if (panels.length === 1) return { "yaxis.domain": [0, 1] };
  const inner = heightOf(panels, fold) - (isPresenting() ? LARGE.t + LARGE.b : 68);
  if (isPresenting()) return sharesOf(inner);
  const first = 1 - (fold - 78) / inner;
  const gap = 36 / inner;
  const half = (first - 2 * gap) / 2;
  return { "yaxis.domain": [first, 1], "yaxis2.domain": [half + gap / 2, first - 1.6 * gap], "yaxis3.domain": [0, half - gap / 2] };
}

// Half of it for the residual, above its axis and the words of the next panel; the rest for the two others.
function sharesOf(inner) {
  const [below, between] = [90 / inner, 52 / inner];
  const half = (0.5 - below - between) / 2;
  return { "yaxis.domain": [0.5, 1], "yaxis2.domain": [half + between, 0.5 - below], "yaxis3.domain": [0, half] };
}

// For how many numbers a panel's axis has room: a low panel with large words for two.
export function placesOf(panels, panel, fold) {
  if (!isPresenting()) return PLACES;
  const [low, high] = domains(panels, fold)[`${axisName(panel)}.domain`];
  const room = (high - low) * (heightOf(panels, fold) - LARGE.t - LARGE.b);
  return Math.max(2, Math.min(PLACES, Math.floor(room / (1.5 * HALL))));
}

export function layoutOf(panels, fold, form) {
  const narrow = form !== "wide";
  const shares = domains(panels, fold);
  const hall = form === "hall";
  const small = hall && fold === undefined; // one of two side by side: their scrubber names the iteration
  const size = hall ? HALL : narrow ? 12 : 14;
  const title = { text: "iteration", standoff: 4, font: { size } };
  const across = { zeroline: false, showspikes: true, spikemode: "across", spikethickness: 1, spikedash: "dot", rangemode: "nonnegative", separatethousands: true, nticks: narrow ? 4 : 8, tickangle: 0 };
  const layout = {
    margin: hall ? { ...LARGE, ...(small && { b: LARGE.t }) } : { l: narrow ? 50 : 60, r: 26, t: 30, b: 38 }, hovermode: "x", dragmode: narrow ? false : "zoom",
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { size }, hoverlabel: {}, annotations: [],
    xaxis: { ...across, anchor: "y", title: hall && (small || panels.length > 1) ? {} : title },
  };
  if (panels.length > 1) Object.assign(layout, { xaxis2: { ...across, anchor: "y3", matches: "x", title } });
  panels.forEach((panel) => {
    const domain = shares[`${axisName(panel)}.domain`];
    layout[axisName(panel)] = { type: "log", domain, zeroline: false, ticklabeloverflow: "allow", tickmode: "array", tickvals: [], ticktext: [] };
    layout[legendName(panel)] = { orientation: "h", x: 1, xanchor: "right", y: domain[1], yanchor: "bottom", bgcolor: "rgba(0,0,0,0)", font: { size: hall ? HALL : narrow ? 11 : 13 } };
    const words = form === "slim" && panel === 1 ? "" : narrow ? TITLES[panel].replace(/ \(.*/, "") : TITLES[panel];
    layout.annotations.push({ text: words, font: { weight: 600 }, x: 0, xref: "paper", xanchor: "left", y: domain[1], yref: "paper", yanchor: "bottom", showarrow: false });
  });
  return layout;
}

// Sets values whose names are paths (a.b.c) inside an object.
export function nested(target, values) {
  for (const [path, value] of Object.entries(values)) {
    const names = path.split(".");
    const last = names.pop();
    let place = target;
    for (const name of names) place = place[name] ??= {};
    place[last] = value;
  }
  return target;
}

const numbered = (word) => (panel) => (panel === 1 ? word : `${word}${panel}`);
export const [axisName, legendName, axisId] = ["yaxis", "legend", "y"].map(numbered);
