// The presenter's view of a page with figures: one at a time, as large as the screen, with words that a hall can read.
import { dressed, element, HALL } from "./dom.js";
import { loadPlotly } from "./plotly.js";

const LOOK_MS = 300;

export class Figures {
  // Of the figures that the page shows now; null if there are none.
  static of(plotly) {
    let heading = "";
    const found = [];
    for (const node of document.querySelectorAll('[data-testid="stMain"] :is(h1, h2, h3, .js-plotly-plot)')) {
      if (!node.offsetParent) continue;
      if (node.matches(".js-plotly-plot")) found.push({ plot: node, title: heading });
      else heading = node.textContent;
    }
    return found.length ? new Figures(found, plotly) : null;
  }

  constructor(found, plotly) {
    this.found = found;
    this.at = 0;
    this.title = element("h2", {});
    this.place = element("div", { class: "semf-figure" });
    this.root = element("section", { class: "semf-hall", "aria-label": "Figures, one at a time" }, this.title, this.place);
    document.body.append(dressed(this.root));
    loadPlotly(plotly).then((Plotly) => {
      this.Plotly = Plotly;
      this.draw();
    });
  }

  turn(steps) {
    this.at = Math.max(0, Math.min(this.found.length - 1, this.at + steps));
    this.draw();
  }

  draw() {
    if (!this.Plotly || this.gone) return;
    const { plot, title } = this.found[this.at];
    this.title.textContent = this.found.length > 1 ? `${title} (${this.at + 1} of ${this.found.length})` : title;
    copy(this.Plotly, plot, this.place, 70);
  }

  close() {
    this.gone = true;
    if (this.Plotly) this.Plotly.purge(this.place);
    this.root.remove();
  }
}

// The drawing of a stage, large in its place, with its sliders above it: what they change is drawn again.
export class Drawing {
  constructor(plotly) {
    this.place = element("div", { class: "semf-drawn" });
    loadPlotly(plotly).then((Plotly) => {
      this.Plotly = Plotly;
      this.timer = this.gone ? 0 : setInterval(() => this.look(), LOOK_MS);
    });
  }

  look() {
    const plot = document.querySelector(".st-key-lesson-figure .js-plotly-plot:not(.semf-drawn)"); // not the chart of a run
    if (!plot?.data || plot.data === this.data) return;
    this.data = plot.data;
    const frame = plot.closest('[data-testid="stElementContainer"]');
    if (this.place.parentElement !== frame) frame.append(this.place);
    this.place.style.height = `${Math.max(0.6 * window.innerHeight, window.innerHeight - frame.getBoundingClientRect().top - 90)}px`;
    copy(this.Plotly, plot, this.place, 20);
  }

  close() {
    this.gone = true;
    clearInterval(this.timer);
    this.place.remove();
  }
}

// A chart as the server made it, in the colours and the type of the place that it stands in.
export function plot(Plotly, { data, layout }, place) {
  const style = getComputedStyle(place);
  const line = `color-mix(in srgb, ${style.color} 18%, transparent)`;
  const probe = element("i", { style: `color: ${line}` });
  place.append(probe);
  const grid = getComputedStyle(probe).color;
  probe.remove();
  const made = { ...layout, template: undefined, width: undefined, autosize: true, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)" };
  made.font = { size: 14, color: style.color, family: style.fontFamily };
  for (const name of ["xaxis", "yaxis"]) made[name] = { ...made[name], gridcolor: grid, zerolinecolor: grid, linecolor: grid, automargin: true };
  return Plotly.react(place, structuredClone(data), made, { displayModeBar: false, responsive: true, staticPlot: true });
}

// The same figure with words that a hall can read.
function copy(Plotly, plot, place, top) {
  const style = getComputedStyle(place);
  const layout = { ...words(structuredClone(plot.layout)), width: undefined, height: undefined, autosize: true, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)" };
  layout.font = { ...layout.font, size: HALL, color: style.color, family: style.fontFamily };
  layout.margin = { l: 20, r: 20, t: top, b: 20 };
  const square = Boolean(layout.yaxis?.scaleanchor); // it has room beside it, not below, and keeps the domain that it was given
  if (square) layout.legend = { x: 1, xanchor: "right", y: 1 };
  for (const name of Object.keys(layout).filter((n) => /^[xy]axis/.test(n))) layout[name] = { ...layout[name], automargin: true, ...(square && { domain: [0, 1] }) };
  Plotly.newPlot(place, plot.data.map(enlarged), layout, { displayModeBar: false, responsive: true });
}

// Every size of words that a figure sets by itself, made large enough, in the colour of the page.
function words(value) {
  if (Array.isArray(value)) return value.map(words);
  if (value === null || typeof value !== "object" || ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, /font$/i.test(name) && one && typeof one === "object" ? { ...one, color: undefined, ...(one.size < HALL ? { size: HALL } : {}) } : words(one)]));
}

function enlarged(trace) {
  const line = trace.line ? { ...trace.line, width: Math.max(3, 1.6 * (trace.line.width ?? 2)) } : undefined;
  const size = trace.marker?.size;
  const marker = trace.marker ? { ...trace.marker, ...(typeof size === "number" ? { size: 1.6 * size } : {}) } : undefined;
  const bar = trace.colorbar ? { ...words(trace.colorbar), tickfont: { ...trace.colorbar.tickfont, size: HALL } } : undefined;
  const text = trace.textfont ? { ...trace.textfont, size: HALL } : undefined;
  return { ...trace, ...(line && { line }), ...(marker && { marker }), ...(bar && { colorbar: bar }), ...(text && { textfont: text }) };
}
