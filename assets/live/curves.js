// What both charts share: the curves, their colours, and their text for who cannot see them.

export const LINES = [
  { curve: 0, panel: 1, name: "‖M−XY‖ free", colour: "sky", dash: "dot" },
  { curve: 1, panel: 1, name: "‖M−UV‖ feasible", colour: "blue", width: 2.5 },
  { curve: 2, panel: 2, name: "α", colour: "orange" },
  { curve: 3, panel: 2, name: "β", colour: "purple", dash: "dash" },
  { curve: 4, panel: 3, name: "‖X−U‖", colour: "green" },
  { curve: 5, panel: 3, name: "‖Y−V‖", colour: "vermilion", dash: "dash" },
];
export const TITLES = { 1: "Residual (units of M)", 2: "Penalties α, β", 3: "Feasibility gap (units of the factors)" };
const MARKS = { kick: "Kick", restart: "New start", edit: "Change", polish: "Polish" };
// Okabe and Ito's colours, a little lighter on dark ground.
const LIGHT = { blue: "#0072B2", sky: "#3A93C8", orange: "#B86E00", purple: "#A8508A", green: "#00805E", vermilion: "#C04A00" };
const DARK = { blue: "#56B4E9", sky: "#9AD3F5", orange: "#F0B040", purple: "#E59CC4", green: "#3CC79B", vermilion: "#FF8A4C" };

export function readTheme(root) {
  const style = getComputedStyle(root);
  const text = style.color;
  const [r, g, b] = (text.match(/[\d.]+/g) ?? [0, 0, 0]).map(Number);
  const dark = 0.3 * r + 0.6 * g + 0.1 * b > 128;
  root.dataset.theme = dark ? "dark" : "light";
  return { text, dark, grid: dark ? "rgba(255,255,255,0.13)" : "rgba(0,0,0,0.11)", font: style.fontFamily, colours: dark ? DARK : LIGHT };
}

export function logRange(curves) {
  let low = Infinity;
  let high = -Infinity;
  for (const curve of curves) {
    for (const value of curve) {
      if (!(value > 0 && value < Infinity)) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  return low <= high ? [Math.log10(low), Math.log10(high)] : [0, 1];
}

// The last point at or before an iteration.
export function indexAt(x, iteration) {
  let low = 0;
  let high = x.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (x[middle] <= iteration) low = middle;
    else high = middle - 1;
  }
  return low;
}

export function markText([, kind, text]) {
  return `${MARKS[kind] ?? kind}: ${text}`;
}

// The Eckart–Young bound { value, rank } in words.
export function floorWords(floor) {
  return `best possible at rank ${floor.rank} (Eckart–Young)`;
}

export function chartText(lines, history, floor) {
  const last = history.x.length - 1;
  const values = lines.map((l) => `${l.name} ${history.curves[l.curve][last].toPrecision(3)}`).join(", ");
  const mark = history.events.at(-1);
  const kinds = mark ? ` Marks: ${history.events.length}, the last one ${MARKS[mark[1]] ?? ""} at iteration ${mark[0]}.` : "";
  const bound = floor ? ` The ${floorWords(floor)}: ${floor.value.toPrecision(3)}.` : "";
  return `Curves over ${history.x[last]} iterations, logarithmic. Now: ${values}.${kinds}${bound}`;
}

// Says what the curves show, but not so often that a screen reader never comes to its end.
export class Caption {
  constructor(root, lines) {
    this.place = root.querySelector(".semf-chart-text");
    this.lines = lines;
    this.said = -Infinity;
  }

  say(history, floor) {
    const now = performance.now();
    if (now - this.said < 3000) return;
    this.said = now;
    this.place.textContent = chartText(this.lines, history, floor);
  }
}
