// Several runs side by side: their residuals in one chart, their components in one order.
import { decades, figure, boundText, logRange, readTheme } from "./curves.js";
import { COMPARED, ERROR, LOWEST } from "./description.js";
import { element, HALL, isPresenting } from "./dom.js";
import { hallOf, words as list, someOf } from "./pictures.js";
import { loadPlotly } from "./plotly.js";

const MOVING_MS = 700;
const READABLE = 1e-4; // no picture shows a smaller difference: below it one error is as good as another
const BESIDE = 44; // letters of a name for which there is room beside the chart

export class View {
  constructor(parent, data, setTriggerValue) {
    this.data = data;
    this.trigger = setTriggerValue;
    this.runs = new Map();
    this.axis = "iterations";
    this.slide = this.first = 0; // of the presenter's view: the curves, then one run after another
    this.root = Object.assign(this.build(parent), { view: this });
    this.theme = readTheme(this.root);
    this.root.addEventListener("transitionend", (e) => e.target === this.root && this.retheme());
    this.onVisible = () => document.hidden || this.tick();
    document.addEventListener("visibilitychange", this.onVisible);
    this.onResize = () => this.resized();
    window.addEventListener("resize", this.onResize);
    loadPlotly(data.plotly).then((Plotly) => {
      this.Plotly = Plotly;
      this.draw();
    });
    this.tick();
  }

  build(parent) {
    const name = `semf-axis-${Math.random().toString(36).slice(2)}`;
    const choice = (value, text) => element("label", {}, element("input", { type: "radio", name, value, checked: value === this.axis }), ` ${text}`);
    const axis = element("fieldset", { class: "semf-factor" }, element("legend", { class: "semf-hidden", text: "Horizontal axis" }), choice("iterations", "against iterations"), choice("seconds", "against seconds"));
    const chart = element(
      "figure",
      { class: "semf-charts", "aria-label": "Residuals of the runs" },
      element("figcaption", {}, element("span", { class: "semf-title", text: `Residual ${ERROR} of the feasible factors` }), axis),
      element("label", { class: "semf-words semf-deep", hidden: true }, element("input", { type: "checkbox" }), element("span")),
      element("div", { class: "semf-plot" }),
      element("p", { class: "semf-hidden semf-chart-text" }),
    );
    const root = element("div", { class: "semf-live semf-compare" }, chart, element("p", { class: "semf-title semf-order" }), element("div", { class: "semf-gallery" }));
    axis.addEventListener("change", (event) => {
      this.axis = event.target.value;
      this.draw();
    });
    root.querySelector(".semf-deep input").addEventListener("change", (event) => {
      this.deep = event.target.checked;
      this.draw();
    });
    parent.querySelector(":scope > .semf-live")?.remove(); // Streamlit's own children (the style sheet) stay
    parent.append(root);
    return root;
  }

  update(data) {
    this.data = data;
    this.tick();
  }

  destroy() {
    this.gone = true;
    clearTimeout(this.timer);
    document.removeEventListener("visibilitychange", this.onVisible);
    window.removeEventListener("resize", this.onResize);
    if (this.Plotly) setTimeout(() => this.Plotly.purge(this.root.querySelector(".semf-plot")), 2000);
  }

  retheme() {
    const theme = readTheme(this.root);
    if (theme.text === this.theme.text) return;
    this.theme = theme;
    this.tick();
  }

  // -- asking ----------------------------------------------------------------------------------

  async tick() {
    clearTimeout(this.timer);
    if (this.gone || document.hidden || (this.again = this.asking)) return;
    this.asking = true;
    const asked = this.data;
    let wait = 2000;
    try {
      const have = [...this.runs.values()].map((run) => run.token).join(",");
      const query = new URLSearchParams({ runs: asked.runs.join(","), have, theme: this.theme.dark ? "dark" : "light", hall: this.hall() });
      const reply = await (await fetch(`${asked.feed}?${query}`)).json();
      if (this.gone) return;
      if (reply.runs) wait = this.take(reply);
    } catch {
      wait = 4000; // the server is busy or restarts
    } finally {
      this.asking = false;
    }
    if (asked !== this.data || this.again) wait = 0;
    if (Number.isFinite(wait)) this.timer = setTimeout(() => this.tick(), wait);
  }

  take(reply) {
    const known = this.runs;
    this.runs = new Map(reply.runs.map((run) => [run.id, run.title ? run : known.get(run.id)]));
    this.lower_bound = reply.lower_bound;
    this.truth = reply.truth;
    this.count = reply.count;
    this.draw();
    this.gallery();
    this.root.dataset.refreshes = Number(this.root.dataset.refreshes || 0) + 1;
    if (!reply.moving && this.data.moving) this.trigger("state", String(Date.now()));
    return reply.moving ? MOVING_MS : Infinity;
  }

  // -- drawing ---------------------------------------------------------------------------------

  draw() {
    const runs = [...this.runs.values()];
    if (!this.Plotly || !runs.length) return;
    const { text, grid, font, dark, colours } = this.theme;
    const traces = runs.map((run) => ({
      type: "scatter", mode: "lines", name: run.title.replaceAll("<", "‹"), x: run[this.axis], y: run.error.map(drawable), customdata: run.error, line: { color: lighter(run.colour, dark), dash: run.dash, width: this.presenting ? 4 : 2.2 },
      hovertemplate: `%{customdata:.4g}<extra>${run.title.replaceAll("<", "‹")}</extra>`,
    }));
    const narrow = this.root.clientWidth < 620;
    const size = this.presenting ? HALL : narrow ? 12 : 14;
    const axis = { gridcolor: grid, linecolor: grid, zeroline: false, type: "log", tickangle: 0 };
    const ranges = { xaxis: padded(logRange(runs.map((run) => run[this.axis])), 0.01), yaxis: this.errorRange(runs) };
    const layout = {
      uirevision: `${this.axis} ${this.deep}`, margin: this.presenting ? { l: 120, r: 10, t: 8, b: 90 } : { l: 60, r: 10, t: 8, b: 56 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", hovermode: "closest",
      font: { color: text, family: font, size }, hoverlabel: { bgcolor: colours.box, bordercolor: grid, font: { color: text } },
      xaxis: { ...axis, ...ticks(ranges.xaxis), range: ranges.xaxis, title: { text: COMPARED[this.axis], standoff: 8, font: { size } } },
      yaxis: { ...axis, ...ticks(ranges.yaxis), range: ranges.yaxis }, showlegend: true,
      // What was put out of sight there stays so when the axis is another.
      legend: { uirevision: true, ...(narrow || runs.some((run) => run.title.length > BESIDE) ? { orientation: "h", y: -0.22 } : { x: 1.01, y: 1 }) }, shapes: [], annotations: [],
    };
    if (this.lower_bound) {
      const y = this.lower_bound.value;
      const label = { text: boundText(this.lower_bound), textposition: "start", yanchor: "bottom", font: { size: this.presenting ? HALL : 11, color: text } };
      layout.shapes.push({ type: "line", xref: "paper", x0: 0, x1: 1, y0: y, y1: y, layer: "below", label, line: { color: text, width: 1, dash: "dash" } });
    }
    const plot = this.root.querySelector(".semf-plot");
    this.Plotly.react(plot, traces, layout, { displaylogo: false, responsive: true, displayModeBar: false });
    if (!this.listening) {
      this.listening = true;
      plot.on("plotly_relayout", (change) => Object.keys(change).some((name) => /range/.test(name)) && this.retick(plot));
    }
    const words = runs.map((run) => `${run.title}: ${run.error.length ? figure(run.error.at(-1)) : "not begun"} after ${run.iterations.at(-1) ?? 0} iterations`);
    this.root.querySelector(".semf-chart-text").textContent = `Logarithmic curves. ${words.join("; ")}.`;
    this.root.dataset.drawn = "yes";
  }

  // Errors that anybody can tell apart; all of them at the switch, which is there if that makes a difference.
  errorRange(runs) {
    const [low, high] = logRange([...runs.map((run) => run.error.map(drawable)), this.lower_bound ? [this.lower_bound.value] : []]);
    const bottom = Math.log10(READABLE);
    const cut = low < bottom && runs.some((run) => run.error.at(-1) > READABLE);
    const box = this.root.querySelector(".semf-deep");
    box.hidden = !cut;
    box.lastChild.textContent = ` Down to the smallest error, ${figure(10 ** low, 1)}; what is below ${figure(READABLE)} is rounding to the eye.`;
    return padded([cut && !this.deep ? bottom : low, high], 0.05);
  }

  // Ticks for what a zoom shows.
  retick(plot) {
    const change = {};
    for (const axis of ["xaxis", "yaxis"]) for (const [name, value] of Object.entries(ticks(plot._fullLayout[axis].range))) change[`${axis}.${name}`] = value;
    this.Plotly.relayout(plot, change);
  }

  gallery() {
    const place = this.root.querySelector(".semf-gallery");
    const runs = [...this.runs.values()];
    const cards = runs.map((run) => this.card(place, run.id, run, `${run.title}`, run.words));
    if (this.truth) cards.unshift(this.card(place, "truth", { montage: this.truth, matched: [], mixed: [] }, "Ground truth", "what there is to be found"));
    place.replaceChildren(...cards);
    this.part();
    const dashed = runs.some((run) => run.mixed?.length) ? ", dashed: with something else beside it" : "";
    this.root.querySelector(".semf-order").textContent = this.truth
      ? `Components, in the order of the true parts; framed where they are one${dashed}. Those that match nothing come last.`
      : "Components, in the order of the first run's.";
  }

  // A card is kept as long as its run is there; only what changed is put in.
  card(place, id, run, title, words) {
    const key = `semf-card-${id}`;
    const card = place.querySelector(`[data-card="${key}"]`) ?? element(
      "figure",
      { class: "semf-card", "data-card": key },
      element("figcaption", {}, element("span", { class: "semf-title" }), element("span", { class: "semf-words" }), element("span", { class: "semf-words" })),
      element("div", { class: "semf-montage" }, element("img", { class: "semf-pixels", alt: "" })),
    );
    const [name, state, named] = card.querySelectorAll("figcaption span");
    named.textContent = run.ranked ? "" : (run.names ?? []).flatMap((text, slot) => (text ? [`${slot + 1} ${text}`] : [])).join("; ");
    name.textContent = title;
    name.style.borderLeft = run.colour ? `0.5rem solid ${lighter(run.colour, this.theme.dark)}` : "0";
    state.textContent = words + (run.montage ? someOf(run.montage, this.count) : "");
    const image = card.querySelector("img");
    const { montage } = run;
    if (montage && (image.src !== montage.url || card.dataset.names !== String(run.names))) {
      image.src = montage.url;
      card.dataset.names = String(run.names);
      image.alt = `${title}: ${montage.tiles.length} components, ${run.matched.length} of them a component of the reference`;
      card.querySelector(".semf-montage").style.setProperty("--ratio", montage.size[0] / montage.size[1]);
      this.frames(card.querySelector(".semf-montage"), run);
    }
    return card;
  }

  // -- the presenter's view ----------------------------------------------------------------------

  resized() {
    const on = isPresenting();
    if (on === this.presenting) return;
    this.presenting = on;
    this.slide = this.first = 0;
    this.tick();
    this.part();
    this.draw();
  }

  // The pixels that one run has beside another.
  hall() {
    return isPresenting() ? hallOf((this.root.clientWidth - 32) / 2, window.innerHeight - 180, this.first) : "";
  }

  // The next components of all runs, if a hall cannot see all of them at once.
  turnComponents() {
    const shown = this.root.querySelectorAll(".semf-card:not([hidden]) .semf-montage")[0]?.querySelectorAll(".semf-tile").length ?? 0;
    this.first = this.first + shown < this.count ? this.first + shown : 0;
    this.tick();
  }

  turn(steps) {
    const last = Math.max(1, this.root.querySelectorAll(".semf-card").length - 1);
    this.slide = Math.max(0, Math.min(last, this.slide + steps));
    this.part();
  }

  // The curves alone, or the truth (the first run, where none is known) beside one of the others.
  part() {
    const on = this.presenting;
    this.root.querySelector(".semf-charts").hidden = Boolean(on && this.slide);
    this.root.querySelector(".semf-order").hidden = Boolean(on);
    this.root.querySelectorAll(".semf-card").forEach((card, i) => (card.hidden = Boolean(on && !(this.slide && (i === 0 || i === this.slide)))));
  }

  frames(place, run) {
    place.querySelectorAll(".semf-tile").forEach((tile) => tile.remove());
    const [matched, mixed] = [run.matched, run.mixed].map((places) => new Set(places));
    place.classList.toggle("semf-lists", Boolean(run.ranked));
    run.montage.tiles.forEach(([slot, left, top, width, height]) => {
      const style = `left:${left}%;top:${top}%;width:${width}%;height:${height}%`;
      const column = run.columns?.[slot];
      const name = run.names?.[slot];
      const title = `${name || `Component ${slot + 1}`}${column === undefined ? "" : column < 0 ? ": none" : ` (column ${column + 1} of U)`}`;
      const label = run.ranked ? element("span", { class: "semf-number", text: `${slot + 1} ${name ?? ""}` }) : null;
      const tile = element("span", { class: `semf-tile${matched.has(slot) ? " semf-matched" : ""}${mixed.has(slot) ? " semf-nearly" : ""}`, style, title, "aria-hidden": label ? null : "true" }, label);
      list(tile, run.ranked?.[slot]);
      place.append(tile);
    });
  }
}

function padded([low, high], share) {
  const pad = share * (high - low) + 0.02;
  return [low - pad, high + pad];
}

// In one size and one way of writing numbers.
function ticks(range) {
  const found = decades(...range);
  return { tickmode: "array", tickvals: found.map(([power]) => 10 ** power), ticktext: found.map(([, label]) => label) };
}

function drawable(error) {
  return error < LOWEST ? LOWEST : error;
}

// Colours are chosen for light ground; on dark ground they are mixed with white.
function lighter(colour, dark) {
  if (!dark) return colour;
  const parts = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
  return `rgb(${parts.map((v) => Math.round(v + 0.4 * (255 - v))).join(",")})`;
}
