// Line charts of the run on one iteration axis, as SVG: hover, zoom by dragging, click to look at an iteration.
const SVG = "http://www.w3.org/2000/svg";
const SUPERSCRIPT = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
const DASHES = { solid: "", dotted: "2 4", dashed: "7 4" };
const MARGIN = { left: 54, right: 22, top: 10, bottom: 30 };
const CLICK = 5; // pixels of movement that are still a click
let drawings = 0; // clip paths of several runs in one file have names of their own

function node(tag, attributes = {}, text = null) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== null) made.textContent = text;
  return made;
}

function raised(exponent) {
  return "10" + [...String(exponent)].map((c) => SUPERSCRIPT[c]).join("");
}

function short(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size === 0 || (size >= 1e-3 && size < 1e5)) return String(Number(value.toPrecision(4)));
  const [digits, exponent] = value.toExponential(2).split("e");
  return `${digits}·${raised(Number(exponent))}`;
}

function power(exponent) {
  return exponent >= -2 && exponent <= 3 ? String(Number(`1e${exponent}`)) : raised(exponent);
}

// Round numbers inside [low, high], about `count` of them.
function niceTicks(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((f) => f * unit).find((s) => s >= rough) ?? rough;
  const ticks = [];
  for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step; k++) ticks.push(Number((k * step).toPrecision(12)));
  return ticks;
}

// Positions (in decades) and labels of a logarithmic axis.
function logTicks(low, high, count) {
  const first = Math.ceil(low - 1e-9);
  const last = Math.floor(high + 1e-9);
  if (last - first < 1) {
    const fine = niceTicks(10 ** low, 10 ** high, count).filter((v) => v > 0);
    return fine.map((v) => [Math.log10(v), short(v)]);
  }
  const step = Math.max(1, Math.ceil((last - first) / count));
  const ticks = [];
  for (let e = Math.ceil(first / step) * step; e <= last; e += step) ticks.push([e, power(e)]);
  return ticks;
}

function nearest(x, iteration) {
  let low = 0;
  let high = x.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle] < iteration) low = middle + 1;
    else high = middle;
  }
  return low > 0 && iteration - x[low - 1] < x[low] - iteration ? low - 1 : low;
}

class Charts {
  // `root` holds the place of the charts (.charts) and the buttons below them.
  constructor(root, data, onSeek) {
    const place = root.querySelector(".charts");
    this.name = `clip-${(drawings += 1)}`;
    this.data = data;
    this.onSeek = onSeek;
    this.range = null;
    this.logarithmic = true;
    this.at = null;
    this.hidden = new Set();
    this.panels = data.panels.map((panel) => this.build(place, panel));
    new ResizeObserver(() => this.draw()).observe(place);
    root.querySelector(".log").addEventListener("change", (event) => {
      this.logarithmic = event.target.checked;
      this.draw();
    });
    root.querySelector(".zoom-in").addEventListener("click", () => this.zoomBy(0.5));
    root.querySelector(".zoom-out").addEventListener("click", () => this.zoomBy(2));
    root.querySelector(".zoom-all").addEventListener("click", () => this.zoom(null));
  }

  build(place, panel) {
    const figure = document.createElement("figure");
    figure.className = "chart";
    const caption = document.createElement("figcaption");
    const title = document.createElement("strong");
    title.textContent = panel.title;
    caption.append(title, panel.unit ? ` (${panel.unit}) ` : " ");
    for (const line of panel.lines) caption.append(this.legend(line));
    const svg = node("svg", { role: "img", "aria-label": panel.description });
    const tip = document.createElement("div");
    tip.className = "tip";
    tip.hidden = true;
    figure.append(caption, svg, tip);
    place.append(figure);
    const built = { ...panel, figure, svg, tip };
    this.listen(built);
    return built;
  }

  legend(line) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "legend";
    button.setAttribute("aria-pressed", "true");
    button.title = "Show or hide this curve";
    const swatch = node("svg", { width: 26, height: 10, "aria-hidden": "true" });
    const stroke = node("line", { x1: 0, x2: 26, y1: 5, y2: 5, "stroke-width": 2.5, "stroke-dasharray": DASHES[line.dash] });
    stroke.style.stroke = `var(--${line.colour})`;
    swatch.append(stroke);
    button.append(swatch, ` ${line.label}`);
    button.addEventListener("click", () => {
      const hide = !this.hidden.delete(line.column);
      if (hide) this.hidden.add(line.column);
      button.setAttribute("aria-pressed", String(!hide));
      this.draw();
    });
    return button;
  }

  // -- what is seen --------------------------------------------------------------------------

  get whole() {
    return [0, Math.max(1, this.data.x.at(-1))];
  }

  zoom(range) {
    const [first, last] = this.whole;
    const clipped = range && [Math.max(first, range[0]), Math.min(last, range[1])];
    this.range = clipped && clipped[1] - clipped[0] < last - first ? clipped : null;
    this.draw();
  }

  zoomBy(factor) {
    const [low, high] = this.range ?? this.whole;
    const middle = this.at !== null && this.at >= low && this.at <= high ? this.at : (low + high) / 2;
    const half = Math.max(2, ((high - low) * factor) / 2);
    this.zoom([middle - half, middle + half]);
  }

  cursor(iteration) {
    this.at = iteration;
    for (const panel of this.panels) this.placeCursor(panel);
  }

  // -- drawing -------------------------------------------------------------------------------

  draw() {
    for (const panel of this.panels) this.drawPanel(panel);
  }

  scales(panel) {
    const width = Math.max(200, panel.figure.clientWidth);
    const height = width < 500 ? 190 : 220;
    const [low, high] = this.range ?? this.whole;
    const x = this.data.x;
    const first = Math.max(0, nearest(x, low) - 1);
    const last = Math.min(x.length - 1, nearest(x, high) + 1);
    const shown = panel.lines.filter((line) => !this.hidden.has(line.column));
    const measure = this.logarithmic ? (v) => (v > 0 ? Math.log10(v) : NaN) : (v) => v;
    let [bottom, top] = [Infinity, -Infinity];
    for (const line of shown) {
      const values = this.data.curves[line.column];
      for (let i = first; i <= last; i++) {
        const v = measure(values[i]);
        if (!Number.isFinite(v)) continue;
        bottom = Math.min(bottom, v);
        top = Math.max(top, v);
      }
    }
    if (bottom > top) [bottom, top] = [0, 1];
    const pad = 0.06 * (top - bottom) || (this.logarithmic ? 0.3 : Math.abs(top) * 0.1 || 1);
    [bottom, top] = [bottom - pad, top + pad];
    const across = width - MARGIN.left - MARGIN.right;
    const down = height - MARGIN.top - MARGIN.bottom;
    return {
      width, height, low, high, bottom, top, first, last, shown, measure,
      px: (v) => MARGIN.left + (across * (v - low)) / (high - low),
      py: (v) => MARGIN.top + (down * (top - v)) / (top - bottom),
      back: (pixel) => low + ((pixel - MARGIN.left) * (high - low)) / across,
    };
  }

  drawPanel(panel) {
    const s = (panel.scales = this.scales(panel));
    const { svg } = panel;
    svg.setAttribute("viewBox", `0 0 ${s.width} ${s.height}`);
    svg.setAttribute("height", s.height);
    const clip = `${this.name}-${panel.name}`;
    const defs = node("defs");
    const clipping = node("clipPath", { id: clip });
    clipping.append(node("rect", { x: MARGIN.left, y: 0, width: s.width - MARGIN.left - MARGIN.right, height: s.height - MARGIN.bottom }));
    defs.append(clipping);
    const inside = node("g", { "clip-path": `url(#${clip})` });
    inside.append(...this.events(s), ...this.lines(s), ...this.cases(panel, s));
    panel.mark = node("line", { class: "cursor", y1: MARGIN.top, y2: s.height - MARGIN.bottom });
    panel.hover = node("line", { class: "hover", y1: MARGIN.top, y2: s.height - MARGIN.bottom, visibility: "hidden" });
    panel.box = node("rect", { class: "box", y: MARGIN.top, height: s.height - MARGIN.top - MARGIN.bottom, visibility: "hidden" });
    inside.append(panel.mark, panel.hover, panel.box);
    svg.replaceChildren(defs, this.axes(s), inside);
    this.placeCursor(panel);
  }

  axes(s) {
    const group = node("g", { class: "axes" });
    const foot = s.height - MARGIN.bottom;
    const across = niceTicks(s.low, s.high, s.width < 500 ? 4 : 8).filter((v) => Number.isInteger(v));
    for (const value of across) {
      const x = s.px(value);
      group.append(node("line", { x1: x, x2: x, y1: MARGIN.top, y2: foot }));
      group.append(node("text", { x, y: foot + 16, "text-anchor": "middle" }, value.toLocaleString("en")));
    }
    const up = this.logarithmic ? logTicks(s.bottom, s.top, 5) : niceTicks(s.bottom, s.top, 4).map((v) => [v, short(v)]);
    for (const [value, label] of up) {
      const y = s.py(value);
      group.append(node("line", { x1: MARGIN.left, x2: s.width - MARGIN.right, y1: y, y2: y }));
      group.append(node("text", { x: MARGIN.left - 6, y: y + 4, "text-anchor": "end" }, label));
    }
    group.append(node("text", { x: s.width - MARGIN.right, y: s.height - 1, "text-anchor": "end", class: "axis-name" }, "iteration"));
    return group;
  }

  lines(s) {
    return s.shown.map((line) => {
      const values = this.data.curves[line.column];
      const steps = [];
      let pen = "M";
      for (let i = s.first; i <= s.last; i++) {
        const v = s.measure(values[i]);
        if (!Number.isFinite(v)) {
          pen = "M";
          continue;
        }
        steps.push(`${pen}${s.px(this.data.x[i]).toFixed(1)} ${s.py(v).toFixed(1)}`);
        pen = "L";
      }
      const path = node("path", { d: steps.join(""), fill: "none", "stroke-width": line.dash === "solid" ? 2 : 1.8, "stroke-dasharray": DASHES[line.dash], "data-column": line.column });
      path.style.stroke = `var(--${line.colour})`;
      return path;
    });
  }

  events(s) {
    return this.data.events.map(([iteration, word, text]) => {
      const x = s.px(iteration);
      const group = node("g");
      group.append(node("title", {}, `${word} at iteration ${iteration}: ${text}`), node("line", { class: "event", x1: x, x2: x, y1: MARGIN.top, y2: s.height - MARGIN.bottom }));
      return group;
    });
  }

  // The decisions of Algorithm 2 that changed a penalty, on the curve they changed.
  cases(panel, s) {
    const marks = [];
    for (const [index, number] of this.data.cases) {
      const sign = this.data.signs[number];
      const line = s.shown.find((l) => l.column === sign?.column);
      if (!line || index < s.first || index > s.last) continue;
      const y = s.py(s.measure(this.data.curves[line.column][index]));
      if (!Number.isFinite(y)) continue;
      const mark = node("text", { class: "case", x: s.px(this.data.x[index]), y: y + 4, "text-anchor": "middle" }, sign.glyph);
      mark.style.fill = `var(--${line.colour})`;
      marks.push(mark);
    }
    return marks;
  }

  placeCursor(panel) {
    const { mark, scales } = panel;
    if (!mark) return;
    mark.setAttribute("visibility", this.at === null ? "hidden" : "visible");
    if (this.at !== null) {
      mark.setAttribute("x1", scales.px(this.at));
      mark.setAttribute("x2", scales.px(this.at));
    }
  }

  // -- pointing ------------------------------------------------------------------------------

  listen(panel) {
    const { svg } = panel;
    let start = null;
    const pixel = (event) => event.clientX - svg.getBoundingClientRect().left;
    svg.addEventListener("pointerdown", (event) => {
      start = pixel(event);
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", (event) => {
      this.pointAt(panel.scales.back(pixel(event)));
      if (start !== null) this.select(panel, start, pixel(event));
    });
    svg.addEventListener("pointerup", (event) => {
      const end = pixel(event);
      if (start !== null && Math.abs(end - start) > CLICK) {
        const ends = [start, end].sort((a, b) => a - b).map(panel.scales.back);
        if (ends[1] - ends[0] >= 2) this.zoom(ends);
        else this.draw();
      } else if (start !== null) {
        this.onSeek(panel.scales.back(end));
      }
      start = null;
    });
    svg.addEventListener("pointercancel", () => (start = null));
    svg.addEventListener("pointerleave", () => this.pointAt(null));
    svg.addEventListener("dblclick", () => this.zoom(null));
  }

  select(panel, start, end) {
    panel.box.setAttribute("x", Math.min(start, end));
    panel.box.setAttribute("width", Math.abs(end - start));
    panel.box.setAttribute("visibility", Math.abs(end - start) > CLICK ? "visible" : "hidden");
  }

  // Values below the pointer, in all panels at once.
  pointAt(iteration) {
    const inside = iteration !== null && iteration >= 0;
    const index = inside ? nearest(this.data.x, iteration) : -1;
    for (const panel of this.panels) {
      panel.tip.hidden = !inside;
      panel.hover.setAttribute("visibility", inside ? "visible" : "hidden");
      if (!inside) continue;
      const x = panel.scales.px(this.data.x[index]);
      panel.hover.setAttribute("x1", x);
      panel.hover.setAttribute("x2", x);
      const rows = panel.scales.shown.map((line) => `${line.label.split(",")[0]} = ${short(this.data.curves[line.column][index])}`);
      const decision = panel.name === "penalties" ? this.data.cases.find(([i]) => i === index) : null;
      if (decision) rows.push(this.data.words[decision[1]]);
      panel.tip.textContent = [`iteration ${this.data.x[index].toLocaleString("en")}`, ...rows].join("\n");
      const right = x > panel.scales.width / 2;
      panel.tip.style.left = right ? "auto" : `${x + 10}px`;
      panel.tip.style.right = right ? `${panel.scales.width - x + 10}px` : "auto";
    }
  }
}
