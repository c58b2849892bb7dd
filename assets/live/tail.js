// The newest points of the curves, drawn over the figure until plotly.js draws it anew: that costs fifty times as much,
// and a computer that shows a run often computes it too.

const SVG = "http://www.w3.org/2000/svg";
const LEFT_MS = 400; // at least after a drawing, if the curves have left the axes
const WITHIN_MS = 2000; // if they have not
const SHARE = 3; // a slow browser rests so many times as long as it took to draw
export const AHEAD = 1.2; // of the iterations are on the axis of a run that goes on

export class Tail {
  constructor(plot, lines) {
    Object.assign(this, { plot, lines, first: 0, count: 0, drawn: -Infinity, cost: 0, history: null });
    this.svg = document.createElementNS(SVG, "svg");
    this.svg.setAttribute("class", "semf-tail");
    this.svg.setAttribute("aria-hidden", "true"); // the figure's caption says it in words
    this.paths = lines.map(() => this.svg.appendChild(document.createElementNS(SVG, "path")));
    plot.after(this.svg);
  }

  // The figure has just been drawn with so many points: nothing hangs over.
  begin(points) {
    Object.assign(this, { first: points, count: 0, drawn: performance.now(), history: null });
    Object.assign(this.svg.style, { left: `${this.plot.offsetLeft}px`, top: `${this.plot.offsetTop}px` });
    this.draw();
  }

  // Takes further points, if the figure can stay as it is for a moment.
  take(history, count) {
    Object.assign(this, { history, count: this.count + count });
    const since = performance.now() - this.drawn;
    const rest = Math.min(WITHIN_MS, Math.max(LEFT_MS, SHARE * this.cost));
    if (since > WITHIN_MS || (since > rest && this.lines.some((_, i) => this.leaves(i)))) return false;
    this.draw();
    return true;
  }

  // The trace of a line as plotly.js has it, its axes, and its points since the figure was drawn, from the last one there.
  of(i) {
    const { _fullData: traces, _fullLayout: layout } = this.plot;
    const [x, y] = ["xaxis", "yaxis"].map((axis) => layout[axis + traces[i][axis].slice(1)]);
    const from = Math.max(0, this.first - 1);
    const values = this.history?.curves[this.lines[i].curve].slice(from) ?? [];
    return { trace: traces[i], x, y, values, iterations: this.history?.x.slice(from) ?? [] };
  }

  leaves(i) {
    const { trace, x, y, values, iterations } = this.of(i);
    if (trace.visible !== true) return false;
    const beyond = (axis, value) => value < axis.range[0] || value > axis.range[1];
    return (x.autorange && iterations.at(-1) > x.range[1]) || (y.autorange && values.some((v) => v > 0 && beyond(y, Math.log10(v))));
  }

  // plotly.js has come to its end; after a zoom or at another size the points lie elsewhere.
  placed() {
    if (!this.history) this.cost = performance.now() - this.drawn;
    this.draw();
  }

  draw() {
    this.paths.forEach((path, i) => {
      if (!this.history) return path.removeAttribute("d");
      const { trace, x, y, values, iterations } = this.of(i);
      const inside = (axis, value) => axis._offset + Math.max(0, Math.min(axis._length, axis.d2p(value)));
      const points = trace.visible !== true ? [] : iterations.map((n, k) => [n, values[k]]).filter(([n, v]) => v > 0 && x.d2p(n) >= 0 && x.d2p(n) <= x._length);
      path.setAttribute("d", points.map(([n, v], k) => `${k ? "L" : "M"}${inside(x, n).toFixed(1)},${inside(y, v).toFixed(1)}`).join(""));
      path.setAttribute("stroke", trace.line.color);
      path.setAttribute("stroke-width", trace.line.width);
      const dash = Math.max(3, trace.line.width); // as plotly.js has it
      path.setAttribute("stroke-dasharray", { dot: dash, dash: 3 * dash }[trace.line.dash] ?? "none");
    });
  }

  destroy() {
    this.svg.remove();
  }
}
