// What all charts share: the curves, their colours, and their text for who cannot see them.

// They are described in semf_core/exports/curves.py, for the report and the figures too; the server makes a module of it.
import { BOUND, COLOURS, EVENTS, PANELS } from "./description.js";

const DASHES = { dotted: "dot", dashed: "dash" };
export const LINES = PANELS.flatMap((panel, i) =>
  panel.lines.map((line) => ({ panel: i + 1, name: line.label, word: line.column, colour: line.colour, dash: DASHES[line.dash], width: line.main ? 2.5 : undefined })),
).map((line, curve) => ({ ...line, curve }));
export const TITLES = Object.fromEntries(PANELS.map((panel, i) => [i + 1, panel.unit ? `${panel.title} (${panel.unit})` : panel.title]));

// The name of an event, its sign in the chart and the same as a character.
export function signOf(kind) {
  return EVENTS[kind] ?? { ...EVENTS.unlisted, label: kind };
}

export function readTheme(root, text = getComputedStyle(root).color) {
  const [r, g, b] = (text.match(/[\d.]+/g) ?? [0, 0, 0]).map(Number);
  const dark = 0.3 * r + 0.6 * g + 0.1 * b > 128;
  root.dataset.theme = dark ? "dark" : "light";
  return { text, dark, grid: dark ? "rgba(255,255,255,0.13)" : "rgba(0,0,0,0.11)", font: getComputedStyle(root).fontFamily, colours: COLOURS[dark ? "dark" : "light"] };
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

export function markText([iteration, kind, text]) {
  return `iteration ${iteration}: ${signOf(kind).label} (${text})`;
}

// Text as plotly.js takes it: short lines, and no tags of its own.
const LETTERS = 42; // of a line that a phone has room for

export function inLines(text) {
  let line = "";
  return text.replaceAll("<", "&lt;").split(" ").reduce((all, word) => {
    const fits = `${line} ${word}`.length <= LETTERS;
    line = fits ? `${line} ${word}` : word;
    return all ? `${all}${fits ? " " : "<br>"}${word}` : word;
  }, "");
}

export function inOneLine(text) {
  return text.replaceAll("<br>", " ").replaceAll("&lt;", "<");
}

// The Eckart–Young bound { value, rank } in words.
export function boundText(lower_bound) {
  return BOUND.replace("{rank}", lower_bound.rank);
}

function chartText(lines, history, lower_bound) {
  const shown = indexAt(history.x, history.at);
  const values = lines.map((l) => `${l.name} ${figure(history.curves[l.curve][shown])}`).join(", ");
  const mark = history.events.at(-1);
  const kinds = mark ? ` Marks: ${history.events.length}, the last one ${signOf(mark[1]).label} at iteration ${mark[0]}.` : "";
  const bound = lower_bound ? ` The ${boundText(lower_bound)}: ${figure(lower_bound.value)}.` : "";
  return `Curves over ${history.x.at(-1)} iterations, logarithmic. At iteration ${history.x[shown]}: ${values}.${kinds}${bound}`;
}

// Says what the curves show, but not so often that a screen reader never comes to its end.
export class Caption {
  constructor(root, lines) {
    this.place = root.querySelector(".semf-chart-text");
    this.lines = lines;
    this.said = -Infinity;
  }

  say(history, lower_bound) {
    clearTimeout(this.later);
    const wait = this.said + 3000 - performance.now();
    if (wait > 0) return void (this.later = setTimeout(() => this.say(history, lower_bound), wait));
    this.said = performance.now();
    this.place.textContent = chartText(this.lines, history, lower_bound);
  }
}

// Powers of ten, about so many of them; within one decade also 2 and 5, and within less of it equal steps.
export function decades(low, high, places = 5) {
  const every = Math.max(1, Math.ceil((high - low) / places));
  const powers = [];
  for (let power = Math.ceil(low); power <= high; power++) if (power % every === 0) powers.push(power);
  const plain = powers.every((power) => power >= -4 && power <= 4); // one axis writes its numbers in one way
  const found = powers.map((power) => [power, plain ? Number((10 ** power).toPrecision(1)).toLocaleString("en", { maximumFractionDigits: 4 }) : `10${raised(power)}`]);
  if (found.length > 1) return found;
  for (let power = Math.floor(low); power <= high; power++) {
    for (const digit of [1, 2, 5]) {
      const place = power + Math.log10(digit);
      if (place >= low && place <= high && !found.some((f) => f[0] === place)) found.push([place, String(Number((digit * 10 ** power).toPrecision(1)))]);
    }
  }
  const all = found.length > 1 ? found : evenly(10 ** low, 10 ** high);
  const step = places < 5 ? Math.ceil(all.length / (places + 1)) : 1;
  return all.filter((_, i) => i % step === 0);
}

// Three or four round numbers between two others, with the places of their logarithms.
function evenly(low, high) {
  const rough = (high - low) / 3;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = size * ([1, 2, 5].findLast((factor) => factor * size <= rough) ?? 1);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high && found.length < 8; value += step) found.push([Math.log10(value), String(Number(value.toPrecision(5)))]);
  return found;
}

function raised(power) {
  return [...String(power)].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("");
}

// A number for people, as the server writes it too: 0.0213, 5,390, 4.7·10⁻¹⁵.
export function figure(value, digits = 3) {
  const rounded = Number(value.toPrecision(digits));
  const size = Math.abs(rounded);
  if (!Number.isFinite(rounded)) return String(value);
  if (size === 0 || (size >= 1e-4 && size < 1e5)) return rounded.toLocaleString("en", { maximumSignificantDigits: digits }).replace("-", "−");
  const [mantissa, power] = rounded.toExponential().split("e");
  return `${mantissa.replace("-", "−")}·10${raised(Number(power))}`;
}
