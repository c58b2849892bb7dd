// Three stacked plotly panels on one iteration axis, extended in place: zoom, legend and hover stay.
import { Caption, floorWords, indexAt, LINES, logRange, markText, readTheme, TITLES } from "./curves.js";
import { element } from "./dom.js";
import { loadPlotly } from "./plotly.js";
import { canvasIn, paint } from "./small.js";

// A shape for each case, with the same shape as a character for the list below the chart; 4 marks β, the others α.
const CASES = {
  1: { symbol: "circle-open", glyph: "○", on: 2, quiet: true },
  2: { symbol: "triangle-down", glyph: "▼", on: 2 },
  3: { symbol: "triangle-up", glyph: "▲", on: 2 },
  4: { symbol: "triangle-up-open", glyph: "△", on: 3 },
  5: { symbol: "diamond", glyph: "◆", on: 2 },
  6: { symbol: "square", glyph: "■", on: 2 },
  7: { symbol: "star", glyph: "★", on: 2 },
};

export class Charts {
  constructor(root, data, onSeek) {
    this.root = root;
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
    loadPlotly(data.plotly).then((Plotly) => this.draw(Plotly));
  }

  // Plotly may still be at work on the plot: let it finish before its listeners are taken away.
  destroy() {
    const Plotly = this.Plotly;
    this.Plotly = null;
    this.gone = true;
    if (Plotly) setTimeout(() => Plotly.purge(this.plot), 2000);
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
    const { text, grid, dark, font } = this.theme;
    const layout = {
      "font.color": text,
      "font.family": font,
      "hoverlabel.bgcolor": dark ? "#22262e" : "#ffffff",
      "hoverlabel.bordercolor": grid,
      "hoverlabel.font.color": text,
      shapes: this.shapes(),
    };
    for (const axis of ["xaxis", ...this.panels.map(axisName)]) {
      layout[`${axis}.gridcolor`] = grid;
      layout[`${axis}.linecolor`] = grid;
    }
    return layout;
  }

  // -- the figure ------------------------------------------------------------------------------

  traces() {
    const colours = this.theme.colours;
    const lines = this.lines.map((l) => ({
      type: "scatter", mode: "lines", name: l.name, x: [], y: [], yaxis: `y${l.panel === 1 ? "" : l.panel}`,
      legend: `legend${l.panel === 1 ? "" : l.panel}`, line: { color: colours[l.colour], width: l.width ?? 2, dash: l.dash ?? "solid" },
      hovertemplate: `%{y:.4g}<extra>${l.name}</extra>`,
    }));
    const events = {
      type: "scatter", mode: "markers", name: "Marks", x: [], y: [], text: [], showlegend: false,
      marker: { color: colours.vermilion, size: 10, symbol: "triangle-down" }, hovertemplate: "%{text}<extra></extra>",
    };
    const floor = {
      type: "scatter", mode: "lines+text", name: "Floor", x: [], y: [], text: [], showlegend: false, hoverinfo: "skip",
      textposition: "top right", textfont: { size: 12, color: this.theme.text }, line: { color: this.theme.text, width: 1, dash: "dash" },
    };
    if (this.single) return [...lines, events, floor];
    const cases = {
      type: "scatter", mode: "markers", name: "Algorithm 2", x: [], y: [], text: [], yaxis: "y2", showlegend: false,
      marker: { symbol: [], size: [], color: colours.orange }, hovertemplate: "%{text}<extra></extra>",
    };
    return [...lines, events, floor, cases];
  }

  layout() {
    const narrow = this.plot.clientWidth < 520;
    const share = 1 / this.panels.length;
    const gap = this.single ? 0 : 0.045;
    const layout = {
      margin: { l: narrow ? 46 : 56, r: 12, t: 30, b: 40 }, hovermode: "x", dragmode: narrow ? false : "zoom",
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { size: narrow ? 12 : 14 }, hoverlabel: {}, annotations: [],
      xaxis: { title: { text: "iteration", standoff: 6 }, anchor: axisId(this.panels.at(-1)), zeroline: false, showspikes: true, spikemode: "across", spikethickness: 1, spikedash: "dot", rangemode: "nonnegative", ticklabeloverflow: "allow" },
    };
    this.panels.forEach((panel, i) => {
      const top = 1 - i * share - (i ? gap : 0);
      const bottom = 1 - (i + 1) * share + (i + 1 < this.panels.length ? gap / 3 : 0);
      layout[axisName(panel)] = { type: "log", domain: [bottom, top], zeroline: false, exponentformat: "power", nticks: 3, ticklabeloverflow: "allow" };
      layout[panel === 1 ? "legend" : `legend${panel}`] = { orientation: "h", x: 1, xanchor: "right", y: top, yanchor: "bottom", bgcolor: "rgba(0,0,0,0)", font: { size: narrow ? 11 : 13 } };
      layout.annotations.push({ text: `<b>${narrow ? TITLES[panel].replace(/ \(.*/, "") : TITLES[panel]}</b>`, x: 0, xref: "paper", xanchor: "left", y: top, yref: "paper", yanchor: "bottom", showarrow: false });
    });
    return layout;
  }

  // One drawing with everything that is known by now.
  async draw(Plotly) {
    if (this.gone) return;
    const held = this.pending;
    const traces = this.traces();
    const layout = nested(nested(this.layout(), this.colours()), this.fixed ?? {});
    if (held) {
      for (const [name, values] of Object.entries(this.series(held.history, held.until))) {
        values.forEach((value, i) => value && nested(traces[i], { [name]: value }));
      }
      layout.shapes = this.shapes(held.history, held.until);
      this.listCases(held.history);
    }
    const drawn = this.points;
    await Plotly.newPlot(this.plot, traces, layout, { displaylogo: false, responsive: true, scrollZoom: false, displayModeBar: false });
    if (this.gone) return;
    this.Plotly = Plotly;
    this.canvas?.remove();
    this.canvas = null;
    this.plot.on("plotly_click", (event) => this.onSeek(event.points[0].x));
    this.plot.on("plotly_hover", (event) => (this.hovered = event.points[0]?.x));
    this.plot.on("plotly_unhover", () => (this.hovered = null));
    const later = this.pending;
    this.pending = null;
    if (later && (later !== held || later.history.x.length !== drawn)) this.show(later.history, later.until);
    this.root.dataset.drawn = "yes";
  }

  // -- data ------------------------------------------------------------------------------------

  // The whole history (up to an iteration): new arrays for the same traces, so the view of them stays.
  show(history, until = Infinity) {
    if (!this.Plotly) {
      this.pending = { history, until };
      this.sketch(history, until);
      return;
    }
    this.Plotly.update(this.plot, this.series(history, until), { shapes: this.shapes(history, until) });
    this.listCases(history);
    this.rehover();
  }

  // The first panel, until plotly.js is there.
  sketch(history, until) {
    this.canvas ??= canvasIn(this.plot);
    paint(this.canvas, history, { until, at: this.at, theme: this.theme, floor: this.best, lines: this.lines.filter((l) => l.panel === 1) });
  }

  // Values for each trace, in the order of `traces`.
  series(history, until) {
    const count = Number.isFinite(until) ? history.x.filter((x) => x <= until).length : history.x.length;
    this.points = count;
    const x = history.x.slice(0, count);
    const all = this.lines.map((line) => ({ x, y: history.curves[line.curve].slice(0, count), text: null }));
    this.lastHistory = history;
    all.push(this.markPoints(history, until), this.floorPoints());
    const data = {};
    if (!this.single) {
      const found = this.casePoints(history, 0, count);
      all.push(found);
      const before = this.lines.map(() => undefined);
      data["marker.symbol"] = [...before, "triangle-down", undefined, found["marker.symbol"]];
      data["marker.size"] = [...before, 10, undefined, found["marker.size"]];
    }
    for (const name of ["x", "y", "text"]) data[name] = all.map((trace) => trace[name]);
    return data;
  }

  // The last `count` points are new.
  extend(history, count) {
    if (!this.Plotly || this.points + count !== history.x.length) {
      this.show(history);
      return;
    }
    const first = history.x.length - count;
    const x = history.x.slice(first);
    const add = { x: this.lines.map(() => x), y: this.lines.map((line) => history.curves[line.curve].slice(first)) };
    this.points = history.x.length;
    const found = this.casePoints(history, first, history.x.length);
    if (!this.single && found.x.length) {
      const trace = this.plot.data.at(-1); // its arrays grow in place; the curves' redraw draws them
      for (const name of ["x", "y", "text"]) trace[name] = trace[name].concat(found[name]);
      for (const name of ["symbol", "size"]) trace.marker[name] = trace.marker[name].concat(found[`marker.${name}`]);
    }
    this.lastHistory = history;
    Object.assign(this.plot.data[this.lines.length + 1], this.floorPoints());
    this.Plotly.extendTraces(this.plot, add, this.lines.map((_, i) => i));
    this.listCases(history);
    this.rehover();
  }

  marks(history) {
    if (!this.Plotly) return;
    const marks = this.markPoints(history, Infinity);
    this.lastHistory = history;
    this.Plotly.update(this.plot, { x: [marks.x], y: [marks.y], text: [marks.text] }, { shapes: this.shapes(history) }, [this.lines.length]);
  }

  markPoints(history, until) {
    const shown = history.events.filter((e) => e[0] <= until && history.x.length);
    return {
      x: shown.map((e) => e[0]),
      y: shown.map((e) => history.curves[1][indexAt(history.x, e[0])]),
      text: shown.map((e) => markText(e).replaceAll("<", "&lt;")), // Plotly would take it for a tag
    };
  }

  // "Nothing changes" is marked as long as every iteration is on show; in a thinned curve it would be everywhere.
  casePoints(history, first, end) {
    const found = { x: [], y: [], text: [], "marker.symbol": [], "marker.size": [] };
    for (let i = first; i < end; i++) {
      const which = CASES[history.cases[i]];
      if (!which || (which.quiet && history.x[0] > 1)) continue;
      found.x.push(history.x[i]);
      found.y.push(history.curves[which.on][i]);
      found.text.push(this.words[history.cases[i]]);
      found["marker.symbol"].push(which.symbol);
      found["marker.size"].push(which.quiet ? 4 : 9);
    }
    return found;
  }

  // The list below the chart names the cases that have occurred, with their signs.
  listCases(history) {
    const list = this.root.querySelector(".semf-cases");
    if (!list) return;
    const seen = [...new Set(history.cases)].filter((c) => c > 0 && !(CASES[c].quiet && history.x[0] > 1)).sort();
    if (list.dataset.seen === String(seen)) return;
    list.dataset.seen = String(seen);
    list.replaceChildren(...seen.map((c) => element("li", {}, element("span", { "aria-hidden": "true", text: CASES[c].glyph }), ` ${this.words[c]}`)));
  }

  // -- marks and cursor ------------------------------------------------------------------------

  shapes(history = this.lastHistory, until = Infinity) {
    this.lastHistory = history;
    const { text, colours } = this.theme;
    const line = (x, style) => ({ type: "line", x0: x, x1: x, y0: 0, y1: 1, yref: "paper", layer: "above", line: style });
    const marks = (history?.events ?? []).filter((e) => e[0] <= until).slice(-100);
    const shapes = marks.map((e) => line(e[0], { color: colours.vermilion, width: 1, dash: e[1] === "edit" ? "solid" : "dot" }));
    if (this.at !== null) shapes.push(line(this.at, { color: text, width: 2 }));
    return shapes;
  }

  // The Eckart–Young bound { value, rank }, or null where it is not known; zero has no place on a logarithmic axis.
  floor(best) {
    this.best = best;
    const line = this.floorPoints();
    if (this.Plotly) this.Plotly.restyle(this.plot, { x: [line.x], y: [line.y], text: [line.text] }, [this.lines.length + 1]);
  }

  floorPoints() {
    if (!(this.best?.value > 0) || !this.points) return { x: [], y: [], text: [] };
    const { value } = this.best;
    return { x: [0, this.lastHistory.x[this.points - 1]], y: [value, value], text: [floorWords(this.best), ""] };
  }

  cursor(iteration) {
    this.at = iteration;
    if (this.Plotly) this.Plotly.relayout(this.plot, { shapes: this.shapes() });
  }

  // While a recording is replayed the axes stay as wide as all of it, unless the user has zoomed in.
  hold(on, history) {
    const change = {};
    for (const axis of ["xaxis", ...this.panels.map(axisName)]) {
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
    const [low, high] = logRange(curves);
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

// Sets values whose names are paths (a.b.c) inside an object.
function nested(target, values) {
  for (const [path, value] of Object.entries(values)) {
    const names = path.split(".");
    const last = names.pop();
    let place = target;
    for (const name of names) place = place[name] ??= {};
    place[last] = value;
  }
  return target;
}

function axisName(panel) {
  return panel === 1 ? "yaxis" : `yaxis${panel}`;
}

function axisId(panel) {
  return panel === 1 ? "y" : `y${panel}`;
}
