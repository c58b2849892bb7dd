// The residual's panel on a canvas: Home's chart, drawn before plotly.js could even be compiled,
// and what the workbench shows for the moments until that is ready.
import { Caption, decades, figure, boundText, indexAt, LINES, logRange, markText, readTheme, TITLES } from "./curves.js";

const SHOWN = LINES.filter((line) => line.panel === 1);
const EDGE = { left: 56, right: 14, top: 30, bottom: 44 };
const DASHES = { dot: [2, 4], dash: [7, 4] };
const GLIDE_MS = 260;
const FRAME_MS = 30;
const FEWEST = 20; // iterations on the axis, however few have been made

// -- painting ------------------------------------------------------------------------------------

// The whole panel, with the curves up to an iteration on axes as wide as they are.
export function paint(canvas, history, { until = Infinity, at = null, hovered = null, theme, lower_bound = null, lines = SHOWN }) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
  if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  const narrow = width < 520;
  const last = history.x.at(-1) ?? 0;
  const scale = scales(width, height, Math.max(FEWEST, Math.min(until, last)), rangeOf(history, until, lines));
  const style = { pen, theme, narrow, scale, width, lines };
  pen.font = `${narrow ? 12 : 14}px ${theme.font}`;
  axes(style);
  heading(style);
  for (const event of history.events) if (event[0] <= until) upright(style, event[0], theme.colours.vermilion, event[1] === "edit" ? [] : [1, 3]);
  bottom(style, lower_bound);
  for (const line of lines) curve(style, history, line, until);
  marks(style, history, until);
  if (at !== null) upright(style, at, theme.text, [], 2);
  if (hovered !== null && last) reading(style, history, indexAt(history.x, Math.min(hovered, until, last)));
  return scale;
}

function rangeOf(history, until, lines) {
  const end = until === Infinity ? undefined : indexAt(history.x, until) + 1;
  const [low, high] = logRange(lines.map((line) => history.curves[line.curve].slice(0, end)));
  const pad = 0.05 * (high - low) + 0.02;
  return [low - pad, high + pad];
}

function scales(width, height, end, [low, high]) {
  const inner = { left: EDGE.left, right: width - EDGE.right, top: EDGE.top, bottom: height - EDGE.bottom };
  return {
    ...inner, end, low, high,
    x: (iteration) => inner.left + ((inner.right - inner.left) * iteration) / end,
    y: (value) => inner.bottom - ((inner.bottom - inner.top) * (Math.log10(value) - low)) / (high - low),
    iteration: (x) => (end * (x - inner.left)) / (inner.right - inner.left),
  };
}

function axes({ pen, theme, scale }) {
  pen.strokeStyle = theme.grid;
  pen.fillStyle = theme.text;
  pen.lineWidth = 1;
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  for (const [power, label] of decades(scale.low, scale.high)) {
    const y = scale.y(10 ** power);
    stroke(pen, [[scale.left, y], [scale.right, y]]);
    pen.fillText(label, scale.left - 6, y);
  }
  pen.textAlign = "center";
  pen.textBaseline = "top";
  const step = roundStep(scale.end / Math.max(2, (scale.right - scale.left) / 90));
  for (let value = 0; value <= scale.end; value += step) {
    stroke(pen, [[scale.x(value), scale.top], [scale.x(value), scale.bottom]]);
    pen.fillText(value.toLocaleString("en"), scale.x(value), scale.bottom + 6);
  }
  pen.fillText("iteration", (scale.left + scale.right) / 2, scale.bottom + 24);
}

function roundStep(rough) {
  const size = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  return size * ([1, 2, 5].find((factor) => factor * size >= rough) ?? 10);
}

// Title at the left, legend at the right.
function heading({ pen, theme, narrow, scale, lines }) {
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  pen.font = `${narrow ? 11 : 13}px ${theme.font}`;
  let right = scale.right;
  for (const line of lines.toReversed()) {
    pen.fillStyle = theme.text;
    pen.fillText(line.name, right, 14);
    right -= pen.measureText(line.name).width + 6;
    lineStyle(pen, line, theme);
    stroke(pen, [[right - 22, 14], [right, 14]]);
    right -= 36;
  }
  const size = narrow ? 12 : 14;
  pen.setLineDash([]);
  pen.font = `600 ${size}px ${theme.font}`;
  pen.fillStyle = theme.text;
  pen.textAlign = "left";
  const title = narrow ? TITLES[1].replace(/ \(.*/, "") : TITLES[1];
  const left = narrow ? 4 : scale.left;
  if (left + pen.measureText(title).width < right) pen.fillText(title, left, 14);
  pen.font = `${size}px ${theme.font}`;
}

function lineStyle(pen, line, theme) {
  pen.strokeStyle = theme.colours[line.colour];
  pen.lineWidth = line.width ?? 2;
  pen.setLineDash(DASHES[line.dash] ?? []);
}

// The part between two points is drawn as far as `until` reaches into it.
function curve({ pen, theme, scale }, history, line, until) {
  const values = history.curves[line.curve];
  const points = [];
  for (let i = 0; i < values.length; i++) {
    const x = history.x[i];
    if (!(values[i] > 0)) continue;
    if (x > until) {
      const before = points.at(-1);
      const whole = scale.x(x) - (before?.[0] ?? 0);
      const share = before ? (scale.x(until) - before[0]) / whole : 0;
      if (share > 0) points.push([scale.x(until), before[1] + share * (scale.y(values[i]) - before[1])]);
      break;
    }
    points.push([scale.x(x), scale.y(values[i])]);
  }
  lineStyle(pen, line, theme);
  pen.lineJoin = "round";
  if (points.length > 1) stroke(pen, points);
  else if (points.length) disc(pen, points[0], theme.colours[line.colour], 2);
  pen.setLineDash([]);
}

function marks({ pen, theme, scale }, history, until) {
  for (const [iteration] of history.events) {
    if (iteration > until || !history.x.length) continue;
    const value = history.curves[1][indexAt(history.x, iteration)];
    const [x, y] = [scale.x(iteration), scale.y(value)];
    pen.fillStyle = theme.colours.vermilion;
    pen.beginPath();
    [[x - 5, y - 9], [x + 5, y - 9], [x, y]].forEach((corner) => pen.lineTo(...corner));
    pen.fill();
  }
}

// The Eckart–Young bound, where it is within the axes.
function bottom({ pen, theme, scale }, lower_bound) {
  if (!(lower_bound?.value > 10 ** scale.low && lower_bound.value < 10 ** scale.high)) return;
  pen.strokeStyle = pen.fillStyle = theme.text;
  pen.lineWidth = 1;
  pen.setLineDash(DASHES.dash);
  const y = scale.y(lower_bound.value);
  stroke(pen, [[scale.left, y], [scale.right, y]]);
  pen.setLineDash([]);
  pen.textAlign = "left";
  pen.textBaseline = "bottom";
  pen.fillText(boundText(lower_bound), scale.left + 4, y - 2);
}

function upright({ pen, scale }, iteration, colour, dash, width = 1) {
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.setLineDash(dash);
  stroke(pen, [[scale.x(iteration), scale.top], [scale.x(iteration), scale.bottom]]);
  pen.setLineDash([]);
}

// The values at an iteration, in a box beside it.
function reading(style, history, index) {
  const { pen, theme, scale, lines } = style;
  const x = scale.x(history.x[index]);
  upright(style, history.x[index], theme.text, [1, 3]);
  const near = history.events.filter((e) => Math.abs(scale.x(e[0]) - x) < 6).slice(-2);
  const words = [`iteration ${history.x[index].toLocaleString("en")}`, ...lines.map((l) => `${l.name} ${figure(history.curves[l.curve][index], 4)}`), ...near.map(markText)];
  for (const line of lines) disc(pen, [x, scale.y(history.curves[line.curve][index])], theme.colours[line.colour], 4);
  const width = Math.min(Math.max(...words.map((w) => pen.measureText(w).width)) + 16, style.width - 8);
  const left = Math.max(4, x + 12 + width < scale.right ? x + 12 : x - 12 - width);
  pen.fillStyle = theme.colours.box;
  pen.strokeStyle = theme.text;
  pen.beginPath();
  pen.roundRect(left, scale.top + 6, width, 20 * words.length + 10, 4);
  pen.fill();
  pen.stroke();
  pen.fillStyle = theme.text;
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  words.forEach((text, i) => pen.fillText(text, left + 8, scale.top + 21 + 20 * i, width - 16));
}

function stroke(pen, points) {
  pen.beginPath();
  for (const point of points) pen.lineTo(...point);
  pen.stroke();
}

function disc(pen, [x, y], colour, radius) {
  pen.fillStyle = colour;
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fill();
}

export function canvasIn(plot) {
  const canvas = document.createElement("canvas");
  canvas.className = "semf-canvas";
  canvas.setAttribute("aria-hidden", "true"); // the figure's caption says it in words
  plot.before(canvas);
  canvas.style.width = `${plot.clientWidth}px`;
  canvas.style.height = `${plot.clientHeight}px`;
  return canvas;
}

// -- the chart on Home ---------------------------------------------------------------------------

export class SmallChart {
  constructor(root, data, onSeek) {
    this.root = root;
    this.theme = readTheme(root);
    this.plot = root.querySelector(".semf-plot");
    this.canvas = canvasIn(this.plot);
    this.caption = new Caption(root, SHOWN);
    this.history = { x: [], curves: [[], []], events: [] };
    this.until = this.drawn = Infinity;
    this.at = this.hovered = null;
    this.sized = new ResizeObserver(() => this.resize());
    this.sized.observe(this.plot);
    this.canvas.addEventListener("pointermove", (event) => this.point(event.offsetX));
    this.canvas.addEventListener("pointerleave", () => this.point(null));
    this.canvas.addEventListener("click", (event) => onSeek(Math.round(this.scale.iteration(event.offsetX))));
  }

  destroy() {
    this.sized.disconnect();
    cancelAnimationFrame(this.frame);
    this.gone = true;
  }

  resize() {
    this.canvas.style.width = `${this.plot.clientWidth}px`;
    this.canvas.style.height = `${this.plot.clientHeight}px`;
    this.draw();
  }

  retheme() {
    const theme = readTheme(this.root);
    if (theme.text === this.theme.text) return false;
    this.theme = theme;
    this.draw();
    return true;
  }

  // -- data --------------------------------------------------------------------------------------

  // Everything up to an iteration. A replay goes from one to the next in small steps.
  show(history, until = Infinity) {
    this.history = history;
    const from = Number.isFinite(this.until) ? this.drawn : 0;
    this.until = until;
    cancelAnimationFrame(this.frame);
    if (this.replaying && until > from && Number.isFinite(until)) this.glide(from, performance.now(), 0);
    else this.drawAt(until);
  }

  extend(history) {
    this.show(history);
  }

  marks(history) {
    this.history = history;
    this.draw();
  }

  glide(from, began, last) {
    const now = performance.now();
    const share = Math.min(1, (now - began) / GLIDE_MS);
    if (now - last >= FRAME_MS || share === 1) {
      this.drawAt(from + share * (this.until - from));
      last = now;
    }
    if (share < 1 && !this.gone) this.frame = requestAnimationFrame(() => this.glide(from, began, last));
  }

  drawAt(until) {
    this.drawn = until;
    this.draw();
  }

  draw() {
    const { theme, hovered } = this;
    this.scale = paint(this.canvas, this.history, { until: this.drawn, at: this.replaying ? null : this.at, hovered, theme, lower_bound: this.best });
    if (this.history.x.length) this.root.dataset.drawn = "yes";
  }

  // -- marks and cursor --------------------------------------------------------------------------

  renew() {
    this.best = null;
  }

  lower_bound(best) {
    this.best = best;
    this.draw();
  }

  cursor(iteration) {
    this.at = iteration;
    this.draw();
  }

  point(x) {
    this.hovered = x === null ? null : Math.max(0, this.scale.iteration(x));
    this.draw();
  }

  // A recording is replayed as it once went: the axes grow with it.
  hold(on) {
    this.replaying = on;
    if (on) this.until = this.drawn = 0;
  }

  describe(history) {
    this.caption.say(history, this.best);
  }
}
