// Three stacked plotly panels on one iteration axis, extended in place: zoom, legend and hover stay.
import { casePoints, listCases } from "./cases.js";
import { Caption, decades, boundText, indexAt, LINES, logRange, markText, readTheme, signOf } from "./curves.js";
import { axisName, domains, foldOf, formOf, heightOf, layoutOf, legendName, nested } from "./layout.js";
import { loadPlotly } from "./plotly.js";
import { canvasIn, paint } from "./small.js";
import { AHEAD, Tail } from "./tail.js";
import { tracesOf } from "./traces.js";

const PATIENCE_MS = 2500; // without anything to draw
const SKETCHED_MS = 700;
const ROOM = "xaxis.autorangeoptions.include";
const NOTHING = { x: [], curves: [[], [], [], [], [], []], cases: [], events: [] };

export class Charts {
  constructor(root, data, onSeek, onTell) {
    this.root = root;
    this.onTell = onTell;
    this.onResize = () => {
      clearTimeout(this.resting);
      this.resting = setTimeout(() => this.resize(), 60); // when the page has come to rest
    };
    window.addEventListener("resize", this.onResize);
    // What is said above the chart takes its room, and so does the panel when it is opened.
    this.sized = new ResizeObserver(this.onResize);
    this.sized.observe(root.querySelector(".semf-top"));
    this.sized.observe(root.querySelector(".semf-plot"));
    this.words = data.cases;
    this.onSeek = onSeek;
    this.plot = root.querySelector(".semf-plot");
    // Without splitting X is U: one residual, no penalties, no gaps.
    this.single = !data.splits;
    this.lines = this.single ? LINES.filter((l) => l.curve === 1) : LINES;
    this.panels = this.single ? [1] : [1, 2, 3];
    this.theme = readTheme(root);
    this.caption = new Caption(root, this.lines);
    this.at = null;
    this.pending = null;
    this.shade = null;
    this.size();
    this.address = data.plotly;
    this.going = false; // whether more iterations come by themselves
    this.tail = new Tail(this.plot, this.lines);
    this.loading = setTimeout(() => this.load(), window.Plotly ? 0 : PATIENCE_MS);
  }

  // Compiling plotly.js stops everything else for a moment: the first panel is drawn without it, and has moved by then.
  load() {
    if (!this.gone) loadPlotly(this.address).then((Plotly) => this.draw(Plotly));
  }

  // Plotly may still be at work on the plot: let it finish before its listeners are taken away.
  destroy() {
    const Plotly = this.Plotly;
    this.Plotly = null;
    this.gone = true;
    clearTimeout(this.loading);
    window.removeEventListener("resize", this.onResize);
    this.sized.disconnect();
    this.tail.destroy();
    if (Plotly) setTimeout(() => Plotly.purge(this.plot), 2000);
  }

  // -- size ------------------------------------------------------------------------------------

  // The residual and the basis stand side by side above the fold, also on a low screen; the other panels follow below.
  size() {
    this.fold = foldOf(this.root, this.plot);
    this.root.style.setProperty("--fold", `${this.fold}px`);
    this.plot.style.height = `${heightOf(this.panels, this.fold)}px`;
  }

  resize() {
    if (this.gone || !this.plot.clientWidth) return; // gone, or behind the panel of a phone
    const before = this.fold;
    this.size();
    if (!this.Plotly) return;
    if (this.form !== formOf(this.plot)) {
      const { Plotly } = this;
      this.Plotly = null;
      this.pending ??= { history: this.lastHistory ?? NOTHING, until: Infinity };
      this.draw(Plotly);
      return;
    }
    if (before === this.fold) {
      if (Math.abs(this.plot._fullLayout.width - this.plot.clientWidth) > 1) this.Plotly.relayout(this.plot, { autosize: true });
      return;
    }
    const change = { ...domains(this.panels, this.fold), autosize: true };
    this.panels.forEach((panel, i) => {
      const top = change[`${axisName(panel)}.domain`][1];
      change[`annotations[${i}].y`] = top;
      change[`${legendName(panel)}.y`] = top;
    });
    this.Plotly.relayout(this.plot, change);
  }

  // -- theme -----------------------------------------------------------------------------------

  retheme() {
    const theme = readTheme(this.root);
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
    for (const axis of [...this.xAxes(), ...this.panels.map(axisName)]) {
      layout[`${axis}.gridcolor`] = grid;
      layout[`${axis}.linecolor`] = grid;
    }
    return layout;
  }

  // The first panel has an iteration axis of its own, so that it can be read alone; both are one in a zoom.
  xAxes() {
    return this.single ? ["xaxis"] : ["xaxis", "xaxis2"];
  }

  // -- the figure ------------------------------------------------------------------------------

  traces() {
    return tracesOf({ lines: this.lines, single: this.single, form: this.form, theme: this.theme, named: (line) => this.named(line) });
  }

  // Ticks in one size and one way of writing numbers, for what an axis shows.
  ticks(ranges) {
    const change = {};
    for (const panel of this.panels) {
      const axis = axisName(panel);
      const found = decades(...(ranges?.[axis] ?? this.wholeRange(axis, this.lastHistory)));
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

  // One drawing with everything that is known by now.
  async draw(Plotly) {
    if (this.gone) return;
    this.form = formOf(this.plot);
    const held = this.pending;
    const traces = this.traces();
    const layout = nested(nested(layoutOf(this.panels, this.fold, this.form), this.colours()), this.fixed ?? {});
    if (held) {
      nested(layout, { [ROOM]: this.room(held.history) });
      for (const [name, values] of Object.entries(this.series(held.history, held.until))) {
        values.forEach((value, i) => value && nested(traces[i], { [name]: value }));
      }
      layout.shapes = this.shapes(held.history, held.until);
      if (held.history.x.length) nested(layout, this.ticks());
      listCases(this.root, this.words, this.single, held.history);
    }
    const drawn = this.points;
    await Plotly.newPlot(this.plot, traces, layout, { displaylogo: false, responsive: true, scrollZoom: false, displayModeBar: false });
    if (this.gone) return;
    this.Plotly = Plotly;
    this.canvas?.remove();
    this.canvas = null;
    this.plot.on("plotly_click", (event) => this.clicked(event.points));
    this.plot.on("plotly_relayout", (change) => Object.keys(change).some((name) => /range/.test(name)) && this.retick());
    this.plot.on("plotly_hover", (event) => (this.hovered = event.points[0]?.x));
    this.plot.on("plotly_unhover", () => (this.hovered = null));
    this.plot.on("plotly_afterplot", () => this.tail.placed());
    this.tail.begin(drawn ?? 0);
    const later = this.pending;
    this.pending = null;
    if (later && (later !== held || later.history.x.length !== drawn)) this.show(later.history, later.until);
    this.root.dataset.drawn = "yes";
    this.onResize(); // the room may have changed while it was drawn
  }

  // A click shows an iteration; on a mark it is said in words what was decided there.
  clicked(points) {
    const marked = points.find((point) => typeof point.text === "string" && point.text);
    this.onSeek((marked ?? points[0]).x);
    this.onTell?.(marked ? marked.text.replaceAll("&lt;", "<") : "");
  }

  // Another run, whose first answer draws everything at once; with the curves of the variant before, if they are known.
  renew(shade) {
    Object.assign(this, { best: null, shade });
    this.tail.begin(this.points ?? 0);
  }

  // The curves of the variant before, or none.
  ghost(shade) {
    this.shade = shade;
    if (!this.Plotly) return;
    const first = this.lines.length + (this.single ? 2 : 3);
    const values = this.ghostPoints();
    this.Plotly.restyle(this.plot, { x: values.map((v) => v.x), y: values.map((v) => v.y), showlegend: this.lines.map((l) => this.named(l)) }, values.map((_, i) => first + i));
    this.retick();
  }

  // One entry of the legend is enough, and in a narrow one the note below the chart says it.
  named(line) {
    const narrow = this.form !== "wide";
    this.root.querySelector(".semf-grey").hidden = !this.shade || !narrow;
    return line.curve === 1 && Boolean(this.shade) && !narrow;
  }

  ghostPoints() {
    return this.lines.map((line) => ({ x: this.shade?.x ?? [], y: this.shade?.curves[line.curve] ?? [], text: null }));
  }

  // -- data ------------------------------------------------------------------------------------

  // The whole history (up to an iteration): new arrays for the same traces, so the view of them stays.
  show(history, until = Infinity) {
    if (!this.Plotly) {
      this.pending = { history, until };
      this.sketch(history, until);
      return;
    }
    this.Plotly.update(this.plot, this.series(history, until), { shapes: this.shapes(history, until), [ROOM]: this.room(history) });
    this.tail.begin(this.points);
    listCases(this.root, this.words, this.single, history);
    this.retick();
    this.rehover();
  }

  // The first panel, until plotly.js is there.
  sketch(history, until) {
    if (!this.canvas && !window.Plotly) {
      clearTimeout(this.loading);
      this.loading = setTimeout(() => this.load(), SKETCHED_MS);
    }
    this.canvas ??= canvasIn(this.plot);
    paint(this.canvas, history, { until, at: this.at, theme: this.theme, lower_bound: this.best, lines: this.lines.filter((l) => l.panel === 1) });
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

  // The last `count` points are new.
  extend(history, count) {
    if (!this.Plotly || this.points + this.tail.count + count !== history.x.length) this.show(history);
    else if (!this.going || !this.tail.take(history, count)) this.redraw(history);
  }

  // No more points come by themselves: the figure has them all, and its axis ends with them.
  complete(history) {
    if (this.Plotly && (this.tail.count || this.plot.layout.xaxis.autorangeoptions?.include)) this.redraw(history);
  }

  // The figure with the points that it does not have yet.
  redraw(history) {
    const first = this.points;
    const x = history.x.slice(first);
    const add = { x: this.lines.map(() => x), y: this.lines.map((line) => history.curves[line.curve].slice(first)) };
    this.points = history.x.length;
    const found = casePoints(this.words, history, first, history.x.length);
    if (!this.single && found.x.length) {
      const trace = this.plot.data[this.lines.length + 2]; // its arrays grow in place; the curves' redraw draws them
      for (const name of ["x", "y", "text"]) trace[name] = trace[name].concat(found[name]);
      for (const name of ["symbol", "size"]) trace.marker[name] = trace.marker[name].concat(found[`marker.${name}`]);
    }
    this.lastHistory = history;
    Object.assign(this.plot.data[this.lines.length + 1], this.boundPoints());
    this.plot.layout.xaxis.autorangeoptions = { include: this.room(history) };
    this.tail.begin(this.points);
    this.Plotly.extendTraces(this.plot, add, this.lines.map((_, i) => i));
    listCases(this.root, this.words, this.single, history);
    this.retick();
    this.rehover();
  }

  // While a run goes on its axis has room for more: the figure need not be drawn at every answer.
  room(history) {
    return this.going ? AHEAD * (history.x.at(-1) ?? 0) : null;
  }

  marks(history) {
    if (!this.Plotly) return;
    const marks = this.markPoints(history, Infinity);
    this.lastHistory = history;
    this.Plotly.update(this.plot, { x: [marks.x], y: [marks.y], text: [marks.text], "marker.symbol": [marks.signs] }, { shapes: this.shapes(history) }, [this.lines.length]);
    listCases(this.root, this.words, this.single, history);
  }

  markPoints(history, until) {
    const shown = history.events.filter((e) => e[0] <= until && history.x.length);
    return {
      x: shown.map((e) => e[0]),
      y: shown.map((e) => history.curves[1][indexAt(history.x, e[0])]),
      text: shown.map((e) => markText(e).replaceAll("<", "&lt;")), // Plotly would take it for a tag
      signs: shown.map((e) => signOf(e[1]).symbol),
    };
  }

  // -- marks and cursor ------------------------------------------------------------------------

  shapes(history = this.lastHistory, until = Infinity) {
    this.lastHistory = history;
    const { text, colours } = this.theme;
    const line = (x, style) => ({ type: "line", x0: x, x1: x, y0: 0, y1: 1, yref: "paper", layer: "above", line: style });
    const marks = (history?.events ?? []).filter((e) => e[0] <= until).slice(-100);
    const shapes = marks.map((e) => line(e[0], { color: colours.vermilion, width: 1, dash: e[1] === "edit" ? "solid" : "dot" }));
    if (this.at !== null) shapes.push(line(this.at, { color: text, width: 2 }));
    const stretch = this.stretch?.();
    if (stretch) shapes.push({ type: "rect", x0: stretch[0], x1: stretch[1], y0: 0, y1: 1, yref: "paper", layer: "below", fillcolor: colours.orange, opacity: 0.18, line: { width: 0 } });
    return shapes;
  }

  // The Eckart–Young bound { value, rank }, or null where it is not known; zero has no place on a logarithmic axis.
  lower_bound(best) {
    this.best = best;
    const line = this.boundPoints();
    if (this.Plotly) this.Plotly.restyle(this.plot, { x: [line.x], y: [line.y], text: [line.text] }, [this.lines.length + 1]);
  }

  boundPoints() {
    if (!(this.best?.value > 0) || !this.points) return { x: [], y: [], text: [] };
    const { value } = this.best;
    const last = this.lastHistory.x[this.points - 1];
    const [low, high] = this.wholeRange("yaxis", this.lastHistory);
    const below = value / 10 ** (0.012 * (high - low)); // the words are clear of the line
    return { x: [0, last, null, 0], y: [value, value, null, below], text: ["", "", "", boundText(this.best)] };
  }

  cursor(iteration) {
    this.at = iteration;
    if (this.Plotly) this.Plotly.relayout(this.plot, { shapes: this.shapes() });
  }

  // While a recording is replayed the axes stay as wide as all of it, unless the user has zoomed in.
  hold(on, history) {
    const change = {};
    for (const axis of ["xaxis", ...this.panels.map(axisName)]) { // the lower iteration axis follows the upper
      const free = this.Plotly ? this.plot._fullLayout[axis].autorange : true;
      if (on && free) change[`${axis}.range`] = this.wholeRange(axis, history);
      else if (!on && this.fixed?.[`${axis}.range`]) change[`${axis}.autorange`] = true;
    }
    this.fixed = on ? change : null;
    if (this.Plotly && Object.keys(change).length) this.Plotly.relayout(this.plot, change);
  }

  wholeRange(axis, history) {
    if (axis === "xaxis") return [0, history.x.at(-1) ?? 1];
    const curves = this.lines.filter((l) => axisName(l.panel) === axis).map((l) => history.curves[l.curve]);
    const ghosts = this.lines.filter((l) => axisName(l.panel) === axis).map((l) => this.shade?.curves[l.curve] ?? []);
    const [low, high] = logRange([...curves, ...ghosts]);
    const pad = 0.05 * (high - low) + 0.01;
    return [low - pad, high + pad];
  }

  rehover() {
    if (this.hovered != null) this.Plotly.Fx.hover(this.plot, { xval: this.hovered }, ["xy"]);
  }

  describe(history) {
    this.caption.say(history, this.best);
  }
}
