// The figure of one run in plotly.js: panels of curves on one iteration axis, marks, decisions and a cursor.
// The live view and the report are drawn from it; what changes while a run goes on is in assets/live/charts.js.
import { casePoints } from "./cases.js";
import { boundText, decades, indexAt, inLines, inOneLine, LINES, logRange, markText, readTheme, signOf } from "./curves.js";
import { axisId, axisName, formOf, layoutOf, nested, placesOf } from "./layout.js";
import { tracesOf } from "./traces.js";

const DOUBLE_MS = 600; // two clicks within it may be one double click
const CONFIG = { displaylogo: false, responsive: true, scrollZoom: false, displayModeBar: false };

export class RunFigure {
  // `words` are those of the decisions of Algorithm 2; a compact figure has the residuals alone.
  constructor(root, { words, splits, compact }, onSeek, onTell) {
    Object.assign(this, { root, words, compact, onSeek, onTell, at: null, shade: null, Plotly: null });
    this.plot = root.querySelector(".semf-plot");
    // Without splitting X is U: one residual, no penalties, no gaps.
    this.single = Boolean(compact || !splits);
    this.lines = LINES.filter((line) => (splits ? !compact || line.panel === 1 : line.curve === 1));
    this.panels = [...new Set(this.lines.map((line) => line.panel))];
    this.theme = readTheme(root);
  }

  // A new figure, with the curves up to an iteration if there are any.
  async make(Plotly, history, until = Infinity) {
    this.form = formOf(this.plot);
    const traces = this.traces();
    const layout = nested(layoutOf(this.panels, this.fold, this.form), this.colours());
    if (history) {
      for (const [name, values] of Object.entries(this.series(history, until))) {
        values.forEach((value, i) => value && nested(traces[i], { [name]: value }));
      }
      layout.shapes = this.shapes(history, until);
    }
    const ticks = history?.x.length ? this.ticks() : {};
    this.ticked = JSON.stringify(ticks);
    nested(layout, ticks);
    await Plotly.newPlot(this.plot, traces, nested(layout, this.fixed ?? {}), CONFIG);
    if (this.gone) return;
    this.Plotly = Plotly;
    this.plot.on("plotly_click", (event) => this.clicked(event.points));
    this.plot.on("plotly_doubleclick", () => setTimeout(() => this.onSeek(this.left))); // its clicks meant the zoom, which comes first
    this.plot.on("plotly_relayout", (change) => Object.keys(change).some((name) => /range/.test(name)) && this.retick());
    this.retick(); // the axis of a level curve is wider than its values
  }

  // -- theme -----------------------------------------------------------------------------------

  retheme(theme = readTheme(this.root)) {
    if (theme.text === this.theme.text) return false;
    this.theme = theme;
    if (this.Plotly) {
      const traces = this.traces();
      this.Plotly.update(
        this.plot,
        { "line.color": traces.map((t) => t.line?.color), "marker.color": traces.map((t) => t.marker?.color) },
        this.colours(),
      );
    }
    return true;
  }

  colours() {
    const { text, grid, font, colours } = this.theme;
    const layout = {
      "font.color": text,
      "font.family": font,
      "hoverlabel.bgcolor": colours.box,
      "hoverlabel.bordercolor": grid,
      "hoverlabel.font.color": text,
      shapes: this.shapes(),
    };
    // The first panel has an iteration axis of its own, so that it can be read alone; both are one in a zoom.
    const across = this.single ? ["xaxis"] : ["xaxis", "xaxis2"];
    for (const axis of [...across, ...this.panels.map(axisName)]) {
      layout[`${axis}.gridcolor`] = grid;
      layout[`${axis}.linecolor`] = grid;
    }
    return layout;
  }

  // -- points ----------------------------------------------------------------------------------

  traces() {
    return tracesOf({ lines: this.lines, single: this.single, form: this.form, theme: this.theme, named: (line) => this.named(line) });
  }

  // Values for each trace, in the order of `traces`.
  series(history, until) {
    const count = Number.isFinite(until) ? history.x.filter((x) => x <= until).length : history.x.length;
    this.points = count;
    const x = history.x.slice(0, count);
    const all = this.lines.map((line) => ({ x, y: history.curves[line.curve].slice(0, count), text: null }));
    this.lastHistory = history;
    const marks = this.markPoints(history, until);
    all.push(marks, this.boundPoints());
    const cases = this.single ? [] : [casePoints(this.words, history, 0, count)];
    all.push(...cases);
    const others = this.lines.map(() => undefined);
    const data = { showlegend: [...others, undefined, undefined, ...cases.map(() => undefined), ...this.lines.map((l) => this.named(l))] };
    data["marker.symbol"] = [...others, marks.signs, undefined, ...cases.map((c) => c["marker.symbol"]), ...others];
    data["marker.size"] = [...others, 10, undefined, ...cases.map((c) => c["marker.size"]), ...others];
    all.push(...this.ghostPoints());
    for (const name of ["x", "y", "text"]) data[name] = all.map((trace) => trace[name]);
    return data;
  }

  // One entry of the legend is enough, and in a narrow one the note below the chart says it.
  named(line) {
    return line.curve === 1 && Boolean(this.shade) && this.form === "wide";
  }

  ghostPoints() {
    return this.lines.map((line) => ({ x: this.shade?.x ?? [], y: this.shade?.curves[line.curve] ?? [], text: null }));
  }

  markPoints(history, until) {
    const shown = history.events.filter((e) => e[0] <= until && history.x.length);
    return {
      x: shown.map((e) => e[0]),
      y: shown.map((e) => history.curves[1][indexAt(history.x, e[0])]),
      text: shown.map((e) => inLines(markText(e))),
      signs: shown.map((e) => signOf(e[1]).symbol),
    };
  }

  // The Eckart–Young bound { value, rank }, where it is known; zero has no place on a logarithmic axis.
  boundPoints() {
    if (!(this.best?.value > 0) || !this.points) return { x: [], y: [], text: [] };
    const { value } = this.best;
    const last = this.lastHistory.x[this.points - 1];
    const [low, high] = this.wholeRange("yaxis", this.lastHistory);
    const level = high - low < 0.1; // then the words stand where the axis shows more than the one value
    const below = value / 10 ** (level ? 0.1 : 0.012 * (high - low)); // they are clear of the line
    return { x: [0, last, null, 0], y: [value, value, null, below], text: ["", "", "", boundText(this.best)] };
  }

  // -- axes ------------------------------------------------------------------------------------

  wholeRange(axis, history) {
    if (axis === "xaxis") return [0, history.x.at(-1) ?? 1];
    const lines = this.lines.filter((l) => axisName(l.panel) === axis);
    const [low, high] = logRange([history, this.shade].flatMap((of) => lines.map((l) => of?.curves[l.curve] ?? [])));
    const pad = 0.05 * (high - low) + 0.01;
    return [low - pad, high + pad];
  }

  // Ticks in one size and one way of writing numbers, for what an axis shows.
  ticks(ranges) {
    const change = {};
    for (const panel of this.panels) {
      const axis = axisName(panel);
      const found = decades(...(ranges?.[axis] ?? this.wholeRange(axis, this.lastHistory)), placesOf(this.panels, panel, this.fold ?? this.plot.clientHeight));
      change[`${axis}.tickvals`] = found.map(([power]) => 10 ** power);
      change[`${axis}.ticktext`] = found.map(([, label]) => label);
    }
    return change;
  }

  // What the axes show now, after a zoom or new points.
  retick() {
    if (!this.Plotly || !this.lastHistory?.x.length) return;
    const ranges = Object.fromEntries(this.panels.map((panel) => [axisName(panel), this.plot._fullLayout[axisName(panel)].range]));
    const change = this.ticks(ranges);
    const seen = JSON.stringify(change);
    if (seen === this.ticked) return;
    this.ticked = seen;
    this.Plotly.relayout(this.plot, change);
  }

  // -- marks and cursor ------------------------------------------------------------------------

  shapes(history = this.lastHistory, until = Infinity) {
    this.lastHistory = history;
    const { text, colours } = this.theme;
    // One in each panel: the words between them are not crossed out.
    const lines = (x, style) => this.panels.map((panel) => ({ type: "line", x0: x, x1: x, y0: 0, y1: 1, yref: `${axisId(panel)} domain`, layer: "above", line: style }));
    const marks = (history?.events ?? []).filter((e) => e[0] <= until).slice(-100);
    const shapes = marks.flatMap((e) => lines(e[0], { color: colours.vermilion, width: 1, dash: e[1] === "edit" ? "solid" : "dot" }));
    if (this.at !== null) shapes.push(...lines(this.at, { color: text, width: 2 }));
    const stretch = this.stretch?.();
    if (stretch) shapes.push({ type: "rect", x0: stretch[0], x1: stretch[1], y0: 0, y1: 1, yref: "paper", layer: "below", fillcolor: colours.orange, opacity: 0.18, line: { width: 0 } });
    return shapes;
  }

  cursor(iteration) {
    this.at = iteration;
    if (this.Plotly) this.Plotly.relayout(this.plot, { shapes: this.shapes() });
  }

  // A click shows an iteration; on a mark it is said in words what was decided there.
  clicked(points) {
    const marked = points.find((point) => typeof point.text === "string" && point.text);
    if (!(performance.now() - this.clickedAt < DOUBLE_MS)) this.left = this.at;
    this.clickedAt = performance.now();
    this.onSeek((marked ?? points[0]).x);
    this.onTell?.(marked ? inOneLine(marked.text) : "");
  }
}
