// The figure of a run that goes on, extended in place: zoom, legend and hover stay.
import { listCases } from "./case_list.js";
import { casePoints } from "./cases.js";
import { Caption } from "./curves.js";
import { axisName, domains, foldOf, formOf, heightOf, legendName } from "./layout.js";
import { loadPlotly } from "./plotly.js";
import { RunFigure } from "./run_figure.js";
import { AHEAD, Tail } from "./tail.js";

const ROOM = "xaxis.autorangeoptions.include";

export class Charts extends RunFigure {
  constructor(root, data, onSeek, onTell) {
    super(root, { words: data.cases, splits: data.splits, compact: data.compact }, onSeek, onTell);
    this.onResize = () => {
      clearTimeout(this.resting);
      this.resting = setTimeout(() => this.resize(), 60); // when the page has come to rest
    };
    window.addEventListener("resize", this.onResize);
    // What is said above the chart takes its room, and so does the panel when it is opened.
    this.sized = new ResizeObserver(this.onResize);
    this.sized.observe(root.querySelector(".semf-top"));
    this.sized.observe(this.plot);
    this.caption = new Caption(root, this.lines);
    this.pending = null;
    this.size();
    this.going = false; // whether more iterations come by themselves
    this.tail = new Tail(this.plot, this.lines);
    this.address = data.plotly;
  }

  // plotly.js keeps the browser busy for a third of a second: words and pictures come first, then one drawing of what is known.
  begin() {
    this.loading ??= loadPlotly(this.address).then((Plotly) => this.draw(Plotly));
  }

  // Plotly may still be at work on the plot: let it finish before its listeners are taken away.
  destroy() {
    const Plotly = this.Plotly;
    this.Plotly = null;
    this.gone = true;
    window.removeEventListener("resize", this.onResize);
    this.sized.disconnect();
    this.tail.destroy();
    if (Plotly) setTimeout(() => Plotly.purge(this.plot), 2000);
  }

  // -- size ------------------------------------------------------------------------------------

  // The residual and the basis stand side by side above the fold, also on a low screen; the other panels follow below.
  size() {
    if (this.compact) return; // as high as the style sheet has it
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
      this.pending ??= this.lastHistory && { history: this.lastHistory, until: Infinity };
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

  // -- the figure ------------------------------------------------------------------------------

  // One drawing with everything that is known by now.
  async draw(Plotly) {
    if (this.gone) return;
    const held = this.pending;
    await this.make(Plotly, held?.history, held?.until);
    if (this.gone) return;
    const drawn = held ? this.points : 0;
    if (held) this.list(held.history);
    this.plot.on("plotly_hover", (event) => (this.hovered = event.points[0]?.x));
    this.plot.on("plotly_unhover", () => (this.hovered = null));
    this.plot.on("plotly_afterplot", () => this.tail.placed());
    this.tail.begin(drawn);
    const later = this.pending;
    this.pending = null;
    if (later && (later !== held || later.history.x.length !== drawn)) this.show(later.history, later.until);
    this.root.dataset.drawn = "yes";
    this.onResize(); // the room may have changed while it was drawn
  }

  list(history) {
    listCases(this.root, this.words, this.single, history);
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

  named(line) {
    const note = this.root.querySelector(".semf-grey");
    if (note) note.hidden = !this.shade || this.form === "wide";
    return super.named(line);
  }

  // -- data ------------------------------------------------------------------------------------

  // The whole history (up to an iteration): new arrays for the same traces, so the view of them stays.
  show(history, until = Infinity) {
    if (!this.Plotly) {
      this.pending = { history, until };
      return;
    }
    this.Plotly.update(this.plot, this.series(history, until), { shapes: this.shapes(history, until), [ROOM]: this.room(history) });
    this.tail.begin(this.points);
    this.list(history);
    this.retick();
    this.rehover();
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
    this.list(history);
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
    this.list(history);
  }

  lower_bound(best) {
    this.best = best;
    const line = this.boundPoints();
    if (!this.Plotly) return;
    this.Plotly.restyle(this.plot, { x: [line.x], y: [line.y], text: [line.text] }, [this.lines.length + 1]);
    this.retick();
  }

  // While a recording is replayed the axes stay as wide as all of it, unless the user has zoomed in; small ones grow with it.
  hold(on, history) {
    if (this.compact) return;
    const change = {};
    for (const axis of ["xaxis", ...this.panels.map(axisName)]) { // the lower iteration axis follows the upper
      const free = this.Plotly ? this.plot._fullLayout[axis].autorange : true;
      if (on && free) change[`${axis}.range`] = this.wholeRange(axis, history);
      else if (!on && this.fixed?.[`${axis}.range`]) change[`${axis}.autorange`] = true;
    }
    this.fixed = on ? change : null;
    if (this.Plotly && Object.keys(change).length) this.Plotly.relayout(this.plot, change);
  }

  rehover() {
    if (this.hovered != null) this.Plotly.Fx.hover(this.plot, { xval: this.hovered }, ["xy"]);
  }

  describe(history) {
    this.caption.say(history, this.best);
  }
}
