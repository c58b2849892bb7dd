// A curve that the reader draws on an empty chart, by pointer, finger or keys; then the run's own is laid over it.
const SVG = "http://www.w3.org/2000/svg";
const COLUMNS_DRAWN = 48;
const KNOTS = 7; // sliders for who draws by keys
const SKETCH_MARGIN = { left: 54, right: 16, top: 24, bottom: 36 };

function node(tag, attributes = {}, text = null) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== null) made.textContent = text;
  return made;
}

class Sketch {
  // `data`: label, colour, last iteration, low and high (powers of ten), start; drawn and truth once there is an answer.
  // `finish(drawn)` is called with the powers of ten of the curve that was drawn.
  constructor(place, data, finish) {
    this.place = place;
    this.finish = finish;
    this.svg = node("svg", { role: "img", class: "sketch-chart" });
    this.said = document.createElement("p");
    this.said.className = "sketch-said";
    this.said.setAttribute("role", "status");
    place.replaceChildren(this.svg, this.controls(), this.said);
    this.listen();
    this.sized = new ResizeObserver(() => this.draw());
    this.sized.observe(place);
    this.update(data);
  }

  update(data) {
    const other = !this.data || this.data.name !== data.name;
    this.data = data;
    if (other || data.drawn) this.drawn = data.drawn ? [...data.drawn] : new Array(COLUMNS_DRAWN).fill(null);
    this.box.hidden = Boolean(data.truth);
    this.svg.classList.toggle("open", !data.truth);
    if (other) this.sliders();
    this.tell();
    this.draw();
  }

  destroy() {
    this.sized.disconnect();
  }

  // -- the chart -------------------------------------------------------------------------------

  draw() {
    if (!this.data || !this.place.clientWidth) return;
    const { low, high, last, truth, start } = this.data;
    const hall = document.body.classList.contains("semf-presenting");
    const width = Math.max(220, this.place.clientWidth);
    const height = Math.round(hall && !truth ? 0.62 * innerHeight : Math.max(210, Math.min(width * 0.52, this.data.tallest ?? 420)));
    this.scale = hall ? 2 : 1; // words that a hall can read
    const margin = (this.margin = Object.fromEntries(Object.entries(SKETCH_MARGIN).map(([side, size]) => [side, this.scale * size])));
    const [across, down] = [width - margin.left - margin.right, height - margin.top - margin.bottom];
    this.px = (iteration) => margin.left + (across * iteration) / last;
    this.py = (power) => margin.top + (down * (high - power)) / (high - low);
    this.columnAt = (x) => Math.max(0, Math.min(COLUMNS_DRAWN - 1, Math.round(((x - margin.left) / across) * (COLUMNS_DRAWN - 1))));
    this.powerAt = (y) => Math.max(low, Math.min(high, high - ((y - margin.top) / down) * (high - low)));
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("height", height);
    const parts = [this.axes(width, height)];
    const drawn = this.path(this.drawn.map((power, i) => (power === null ? null : [this.px(this.iterationOf(i)), this.py(power)])), "sketch-drawn");
    if (truth) {
      const curve = this.path(truth.x.map((x, i) => (truth.y[i] > 0 ? [this.px(x), this.py(Math.max(low, Math.log10(truth.y[i])))] : null)), "sketch-truth");
      curve.style.stroke = `var(--${this.data.colour})`;
      parts.push(curve);
    }
    parts.push(drawn);
    if (start > 0) parts.push(node("circle", { class: "sketch-start", cx: this.px(1), cy: this.py(Math.log10(start)), r: 5 }));
    this.svg.replaceChildren(...parts);
  }

  axes(width, height) {
    const { margin, scale } = this;
    const group = node("g", { class: "axes" });
    const foot = height - margin.bottom;
    const rough = this.data.last / (width < 500 * scale ? 4 : 8);
    const step = Math.max(1, [1, 2, 5, 10].map((factor) => factor * 10 ** Math.floor(Math.log10(rough))).find((size) => size >= rough));
    for (let value = 0; value <= this.data.last; value += step) {
      const x = this.px(value);
      group.append(node("line", { x1: x, x2: x, y1: margin.top, y2: foot }), node("text", { x, y: foot + 16 * scale, "text-anchor": "middle" }, value.toLocaleString("en")));
    }
    for (const [power, label] of decades(this.data.low, this.data.high)) {
      const y = this.py(power);
      group.append(node("line", { x1: margin.left, x2: width - margin.right, y1: y, y2: y }), node("text", { x: margin.left - 6, y: y + 4 * scale, "text-anchor": "end" }, label));
    }
    group.append(node("text", { x: width - margin.right, y: height - 3, "text-anchor": "end" }, "iteration"));
    group.append(node("text", { x: margin.left, y: 14 * scale }, this.data.label));
    return group;
  }

  path(points, name) {
    let pen = "M";
    const steps = [];
    for (const point of points) {
      if (!point) pen = "M";
      else {
        steps.push(`${pen}${point[0].toFixed(1)} ${point[1].toFixed(1)}`);
        pen = "L";
      }
    }
    return node("path", { d: steps.join(""), fill: "none", class: name });
  }

  iterationOf(column) {
    return (this.data.last * column) / (COLUMNS_DRAWN - 1);
  }

  // -- drawing ---------------------------------------------------------------------------------

  listen() {
    let before = null;
    const stroke = (event) => {
      const box = this.svg.getBoundingClientRect();
      const column = this.columnAt(event.clientX - box.left);
      const power = this.powerAt(event.clientY - box.top);
      const [from, height] = before ?? [column, power];
      const steps = Math.max(1, Math.abs(column - from));
      for (let i = 0; i <= steps; i++) this.drawn[Math.round(from + ((column - from) * i) / steps)] = height + ((power - height) * i) / steps;
      before = [column, power];
      this.changed();
    };
    this.svg.addEventListener("pointerdown", (event) => {
      if (this.data.truth) return;
      this.svg.setPointerCapture(event.pointerId);
      before = null;
      stroke(event);
    });
    this.svg.addEventListener("pointermove", (event) => before && stroke(event));
    for (const end of ["pointerup", "pointercancel"]) this.svg.addEventListener(end, () => (before = null));
  }

  changed() {
    this.done.disabled = !this.drawn.some((power) => power !== null);
    this.draw();
  }

  controls() {
    this.box = document.createElement("div");
    this.box.className = "sketch-controls";
    this.done = document.createElement("button");
    this.done.type = "button";
    this.done.className = "sketch-done";
    this.done.textContent = "That is my curve";
    this.done.addEventListener("click", () => this.finish(this.whole()));
    const again = document.createElement("button");
    again.type = "button";
    again.textContent = "Again";
    again.addEventListener("click", () => {
      this.drawn.fill(null);
      this.changed();
    });
    this.keys = document.createElement("details");
    const summary = document.createElement("summary");
    summary.textContent = "Draw with sliders";
    this.range = document.createElement("div");
    this.range.className = "sketch-sliders";
    this.keys.append(summary, this.range);
    this.box.append(this.done, again, this.keys);
    return this.box;
  }

  // A slider for the height at some iterations; straight lines between them.
  sliders() {
    const { low, high, start } = this.data;
    const first = start > 0 ? Math.log10(start) : (low + high) / 2;
    const made = Array.from({ length: KNOTS }, (_, k) => {
      const column = Math.round(((COLUMNS_DRAWN - 1) * k) / (KNOTS - 1));
      const label = document.createElement("label");
      const slider = document.createElement("input");
      Object.assign(slider, { type: "range", min: low, max: high, step: 0.05, value: first });
      label.append(`iteration ${Math.round(this.iterationOf(column)).toLocaleString("en")}`, slider);
      slider.setAttribute("aria-valuetext", figure(10 ** first));
      slider.addEventListener("input", () => this.join(made));
      return { column, slider, label };
    });
    this.range.replaceChildren(...made.map((knot) => knot.label));
    this.changed();
  }

  join(knots) {
    for (const { slider } of knots) slider.setAttribute("aria-valuetext", figure(10 ** Number(slider.value)));
    knots.slice(1).forEach((knot, i) => {
      const [from, to] = [knots[i], knot];
      for (let c = from.column; c <= to.column; c++) {
        const share = (c - from.column) / (to.column - from.column);
        this.drawn[c] = (1 - share) * Number(from.slider.value) + share * Number(to.slider.value);
      }
    });
    this.changed();
  }

  // What was left open is filled from its neighbours.
  whole() {
    const known = this.drawn.flatMap((power, i) => (power === null ? [] : [i]));
    return this.drawn.map((power, i) => {
      if (power !== null) return power;
      const after = known.find((k) => k > i);
      const before = known.findLast((k) => k < i);
      if (before === undefined || after === undefined) return this.drawn[before ?? after];
      return this.drawn[before] + ((this.drawn[after] - this.drawn[before]) * (i - before)) / (after - before);
    });
  }

  // -- words -----------------------------------------------------------------------------------

  tell() {
    const { truth, label, start } = this.data;
    this.svg.setAttribute("aria-label", truth ? `${label}: your curve and that of the run` : `An empty chart for ${label}; it starts at ${figure(start)}`);
    this.said.textContent = truth ? `Dashed: yours. Your curve is off by a factor of ${figure(Number((10 ** this.distance()).toPrecision(2)))} on average.` : `Draw with the pointer or a finger. The dot is where ${label} starts.`;
  }

  // Mean distance of the two curves, in powers of ten.
  distance() {
    const { truth } = this.data;
    const gaps = this.drawn.flatMap((power, i) => {
      const at = indexAt(truth.x, this.iterationOf(i));
      return power !== null && truth.y[at] > 0 ? [Math.abs(power - Math.log10(truth.y[at]))] : [];
    });
    return gaps.reduce((sum, gap) => sum + gap, 0) / Math.max(1, gaps.length);
  }
}
