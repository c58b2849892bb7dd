// Several runs side by side: their residuals in one chart, their components in one order.
import { floorWords, logRange, readTheme } from "./curves.js";
import { element } from "./dom.js";
import { loadPlotly } from "./plotly.js";

const MOVING_MS = 700;
const LOWEST = 1e-16; // ‖M−UV‖/‖M‖ below is rounding, and a logarithmic axis has no zero
const AXES = { iterations: "iteration", seconds: "time (s)" };

export class View {
  constructor(parent, data, setTriggerValue) {
    this.data = data;
    this.trigger = setTriggerValue;
    this.runs = new Map();
    this.axis = "iterations";
    this.root = this.build(parent);
    this.theme = readTheme(this.root);
    this.root.addEventListener("transitionend", (e) => e.target === this.root && this.retheme());
    this.onVisible = () => document.hidden || this.tick();
    document.addEventListener("visibilitychange", this.onVisible);
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
      element("figcaption", {}, element("span", { class: "semf-title", text: "Residual ‖M−UV‖ / ‖M‖ of the feasible factors" }), axis),
      element("p", { class: "semf-words semf-clamped", hidden: true, text: `What is below ${LOWEST} is drawn at ${LOWEST}.` }),
      element("div", { class: "semf-plot" }),
      element("p", { class: "semf-hidden semf-chart-text" }),
    );
    const root = element("div", { class: "semf-live semf-compare" }, chart, element("p", { class: "semf-title semf-order" }), element("div", { class: "semf-gallery" }));
    axis.addEventListener("change", (event) => {
      this.axis = event.target.value;
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
    if (this.gone || document.hidden || this.asking) return;
    this.asking = true;
    const asked = this.data;
    let wait = 2000;
    try {
      const have = [...this.runs.values()].map((run) => run.token).join(",");
      const query = new URLSearchParams({ runs: asked.runs.join(","), have, theme: this.theme.dark ? "dark" : "light" });
      const reply = await (await fetch(`${asked.feed}?${query}`)).json();
      if (this.gone) return;
      if (reply.runs) wait = this.take(reply);
    } catch {
      wait = 4000; // the server is busy or restarts
    } finally {
      this.asking = false;
    }
    if (asked !== this.data) wait = 0;
    if (Number.isFinite(wait)) this.timer = setTimeout(() => this.tick(), wait);
  }

  take(reply) {
    const known = this.runs;
    this.runs = new Map(reply.runs.map((run) => [run.id, run.title ? run : known.get(run.id)]));
    this.floor = reply.floor;
    this.truth = reply.truth;
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
    const { text, grid, font, dark } = this.theme;
    const traces = runs.map((run) => ({
      type: "scatter", mode: "lines", name: run.title.replaceAll("<", "‹"), x: run[this.axis], y: run.error.map(drawable), customdata: run.error, line: { color: lighter(run.colour, dark), dash: run.dash, width: 2.2 },
      hovertemplate: `%{customdata:.4g}<extra>${run.title.replaceAll("<", "‹")}</extra>`,
    }));
    const narrow = this.root.clientWidth < 620;
    const axis = { gridcolor: grid, linecolor: grid, zeroline: false, type: "log", exponentformat: "power" };
    const layout = {
      uirevision: this.axis, margin: { l: 60, r: 10, t: 8, b: 56 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", hovermode: "closest",
      font: { color: text, family: font, size: narrow ? 12 : 14 }, hoverlabel: { bgcolor: dark ? "#22262e" : "#ffffff", bordercolor: grid, font: { color: text } },
      xaxis: { ...axis, title: { text: AXES[this.axis], standoff: 14 } }, yaxis: { ...axis, nticks: 6, range: errorRange(runs, this.floor) }, showlegend: true,
      legend: narrow ? { orientation: "h", y: -0.22 } : { x: 1.01, y: 1 }, shapes: [], annotations: [],
    };
    if (this.floor) {
      const y = this.floor.value;
      const label = { text: floorWords(this.floor), textposition: "start", yanchor: "bottom", font: { size: 11, color: text } };
      layout.shapes.push({ type: "line", xref: "paper", x0: 0, x1: 1, y0: y, y1: y, layer: "below", label, line: { color: text, width: 1, dash: "dash" } });
    }
    this.Plotly.react(this.root.querySelector(".semf-plot"), traces, layout, { displaylogo: false, responsive: true, displayModeBar: false });
    this.root.querySelector(".semf-clamped").hidden = !runs.some((run) => run.error.some((error) => error !== drawable(error)));
    const words = runs.map((run) => `${run.title}: ${run.error.length ? run.error.at(-1).toPrecision(3) : "not begun"} after ${run.iterations.at(-1) ?? 0} iterations`);
    this.root.querySelector(".semf-chart-text").textContent = `Logarithmic curves. ${words.join("; ")}.`;
    this.root.dataset.drawn = "yes";
  }

  gallery() {
    const place = this.root.querySelector(".semf-gallery");
    const runs = [...this.runs.values()];
    const cards = runs.map((run) => this.card(place, run.id, run, `${run.title}`, run.words));
    if (this.truth) cards.unshift(this.card(place, "truth", { montage: this.truth, matched: [] }, "Ground truth", "what there is to be found"));
    place.replaceChildren(...cards);
    this.root.querySelector(".semf-order").textContent = this.truth
      ? "Components, in the order of the true parts; framed where they are one. Those that match nothing come last."
      : "Components, in the order of the first run's.";
  }

  // A card is kept as long as its run is there; only what changed is put in.
  card(place, id, run, title, words) {
    const key = `semf-card-${id}`;
    const card = place.querySelector(`[data-card="${key}"]`) ?? element(
      "figure",
      { class: "semf-card", "data-card": key },
      element("figcaption", {}, element("span", { class: "semf-title" }), element("span", { class: "semf-words" })),
      element("div", { class: "semf-montage" }, element("img", { class: "semf-pixels", alt: "" })),
    );
    const [name, state] = card.querySelectorAll("figcaption span");
    name.textContent = title;
    name.style.borderLeft = run.colour ? `0.5rem solid ${lighter(run.colour, this.theme.dark)}` : "0";
    state.textContent = words;
    const image = card.querySelector("img");
    const { montage } = run;
    if (montage && image.src !== montage.url) {
      image.src = montage.url;
      image.alt = `${title}: ${montage.tiles.length} components, ${run.matched.length} of them a component of the reference`;
      this.frames(card.querySelector(".semf-montage"), run);
    }
    card.hidden = false;
    return card;
  }

  frames(place, run) {
    place.querySelectorAll(".semf-tile").forEach((tile) => tile.remove());
    const matched = new Set(run.matched);
    run.montage.tiles.forEach(([slot, left, top, width, height]) => {
      const style = `left:${left}%;top:${top}%;width:${width}%;height:${height}%`;
      const column = run.columns?.[slot];
      const title = `Component ${slot + 1}${column === undefined ? "" : column < 0 ? ": none" : ` (column ${column + 1} of U)`}`;
      place.append(element("span", { class: `semf-tile${matched.has(slot) ? " semf-matched" : ""}`, style, title, "aria-hidden": "true" }));
    });
  }
}

// The axis goes down as far as the data does.
function errorRange(runs, floor) {
  const [low, high] = logRange([...runs.map((run) => run.error.map(drawable)), floor ? [floor.value] : []]);
  const pad = 0.05 * (high - low) + 0.02;
  return [low - pad, high + pad];
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
