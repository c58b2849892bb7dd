// Basis montage, coefficient map and samples: each is one PNG whose src is swapped; buttons lie over the tiles.
import { counted, element, HINT, isPresenting } from "./dom.js";
import { explainable } from "./words.js";

export class Pictures {
  constructor(root, data, changed) {
    this.root = root;
    this.compact = data.compact;
    this.changed = changed;
    this.token = "";
    this.factor = "U";
    this.samples = [];
    this.pinned = null;
    for (const radio of root.querySelectorAll(".semf-factor input")) {
      radio.addEventListener("change", () => {
        this.factor = radio.value;
        changed();
      });
    }
    this.first = 0; // of the components that a hall can see at once
    this.room = this.hall();
    const sized = new ResizeObserver(() => {
      this.fitNumbers();
      this.refit();
    });
    for (const place of [".semf-basis", ".semf-plot"]) sized.observe(root.querySelector(place)); // the fold is known by the chart
  }

  show(picture) {
    this.token = picture.token;
    this.picture = picture;
    this.badges(picture.badges);
    this.basis(picture);
    if (this.compact) return;
    this.map(picture);
    this.sampleRows(picture.samples);
    if (this.toPin !== undefined && this.toPin < picture.use.length) {
      this.pinned = this.toPin;
      this.samples = picture.use[this.toPin][1].map((s) => s[0]);
      this.toPin = undefined;
      this.changed();
    }
    if (this.pinned !== null && this.pinned >= picture.use.length) this.pinned = null;
    this.inspect(this.hovered ?? this.pinned);
  }

  badges(badges) {
    const place = this.root.querySelector(".semf-badges");
    const text = badges.map((b) => b.text).join("|");
    if (place.dataset.text === text) return;
    place.dataset.text = text;
    place.replaceChildren(...badges.map((b) => element("span", { class: `semf-badge${b.done ? " semf-done" : ""}`, "data-word": b.word }, ...shortened(b.text))));
    explainable(this.root);
  }

  // -- basis -----------------------------------------------------------------------------------

  basis(picture) {
    const figure = this.root.querySelector(".semf-basis");
    const { basis, factor, grouped, iteration } = picture;
    const image = figure.querySelector("img");
    swap(image, basis);
    const rows = grouped ? ", one group a row" : "";
    image.alt = `${basis.tiles.length} columns of ${factor} as images${rows}, iteration ${iteration}` + (picture.badges.length ? `: ${picture.badges.map((b) => b.text).join(", ")}` : "");
    const { ranked } = picture;
    this.titled();
    scale(figure, basis, this.framed(), "largest of each, up to");
    figure.querySelector(".semf-scale").hidden = Boolean(ranked);
    this.tiles(figure.querySelector(".semf-montage"), basis.tiles);
    figure.querySelector(".semf-montage").classList.toggle("semf-lists", Boolean(ranked));
    const use = picture.use;
    const lit = new Set(this.lit?.() ?? []);
    for (const button of figure.querySelectorAll(".semf-tile")) {
      const column = Number(button.dataset.column);
      const known = this.truth(column);
      button.classList.toggle("semf-matched", Boolean(known));
      button.classList.toggle("semf-lit", lit.has(column));
      button.classList.toggle("semf-nearly", known.includes("%"));
      const listed = ranked ? `: ${ranked[column].map(([word]) => word).join(", ")}` : "";
      button.setAttribute("aria-label", `${this.name(column)}${known}${use ? `, used by ${use[column][0]} samples` : ""}${listed}`);
      const typed = picture.names?.[column];
      put(button.querySelector(".semf-number"), typed ? `${counted(column)} ${typed}` : String(counted(column)));
      words(button, ranked?.[column]);
    }
  }

  // The pixels that a hall has for the components; nothing on a page.
  hall() {
    const place = this.root.querySelector(".semf-basis");
    return isPresenting() ? hallOf(place.clientWidth, (this.compact ? 0.6 * window.innerHeight : parseFloat(getComputedStyle(place).getPropertyValue("--fold")) - 52), this.first) : "";
  }

  // The next components, if a hall cannot see all of them at once; after the last ones the first.
  turn() {
    const next = this.first + this.picture?.basis.tiles.length;
    this.first = next < this.picture?.count ? next : 0;
    this.refit();
  }

  // Another room is another picture; on a page all components are shown.
  refit() {
    if (!isPresenting()) this.first = 0;
    if (this.room !== (this.room = this.hall())) this.changed();
  }

  // What is on show, and of which iteration where it is another than the wanted one.
  titled(computing = false) {
    if (!this.picture) return;
    const { basis, count, factor, grouped, iteration, ranked, ranked_title } = this.picture;
    this.root.querySelector(".semf-basis").classList.toggle("semf-some", basis.tiles.length < count);
    const what = ranked ? `: the strongest ${ranked_title} of each component` : grouped ? ", one group a row" : someOf(basis, count);
    const wanted = this.wanted?.() ?? null;
    const soon = computing ? `; ${wanted} is being computed` : "";
    const other = wanted !== null && wanted !== iteration ? `, iteration ${iteration} (recorded last before ${wanted}${soon})` : "";
    put(this.root.querySelector(".semf-basis .semf-title"), `Basis ${factor}${what}${other}`);
  }

  // What the frames on show mean.
  framed() {
    const { matched, remainders } = this.picture;
    const dashed = remainders.length ? "dashed: with something else beside it" : "";
    return matched.length ? ["framed: a true part", dashed].filter(Boolean).join(", ") : "";
  }

  // Whether a component is a true part, in words: what its frame says.
  truth(column) {
    if (!this.picture.matched.includes(column)) return "";
    const rest = this.picture.remainders.find(([other]) => other === column)?.[1];
    return rest === undefined ? ", a true part" : `, a true part with ${rest} % of something else`;
  }

  // What somebody has called it, or its number.
  name(column) {
    return this.picture?.names?.[column] || `Component ${counted(column)}`;
  }

  tiles(place, tiles) {
    const layout = JSON.stringify(tiles);
    if (place.dataset.layout === layout) return;
    place.dataset.layout = layout;
    place.querySelectorAll(".semf-tile").forEach((b) => b.remove());
    tiles.forEach(([column, left, top, width, height], i) => {
      const style = `left:${left}%;top:${top}%;width:${width}%;height:${height}%`;
      const tag = this.compact ? "span" : "button";
      const button = element(tag, { class: "semf-tile", style, "data-column": column, role: this.compact ? "img" : null, type: this.compact ? null : "button", tabindex: this.compact || i ? null : 0 }, element("span", { class: "semf-number", "aria-hidden": "true", text: counted(column) }));
      if (!this.compact) this.listen(button, i);
      place.append(button);
    });
    this.fitNumbers();
  }

  listen(button, index) {
    const column = Number(button.dataset.column);
    button.tabIndex = index ? -1 : 0;
    const look = () => {
      this.inspect((this.hovered = column));
      this.flick?.tile(button);
    };
    const leave = () => {
      this.hovered = null;
      this.inspect(this.pinned);
      this.flick?.leave();
    };
    button.addEventListener("mouseenter", look);
    button.addEventListener("focus", look);
    button.addEventListener("mouseleave", leave);
    button.addEventListener("blur", leave);
    button.addEventListener("click", () => this.pin(column));
    button.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const all = [...button.parentElement.querySelectorAll(".semf-tile")];
      const next = all[(all.indexOf(button) + step + all.length) % all.length];
      button.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
  }

  pin(column) {
    this.pinned = this.pinned === column ? null : column;
    this.samples = this.pinned === null ? [] : this.picture.use[column][1].map((s) => s[0]);
    this.inspect(this.pinned);
    this.changed();
  }

  // What an address says: a factor, and a component that is chosen.
  choose(factor, column) {
    if (factor === "X" || factor === "U") {
      this.factor = factor;
      for (const radio of this.root.querySelectorAll(".semf-factor input")) radio.checked = radio.value === factor;
    }
    if (Number.isInteger(column) && column >= 0) this.toPin = column;
  }

  // What somebody else points at: the component that is chosen, and the one that stands out.
  point(column, spot) {
    if (!this.picture) this.toPin = column ?? undefined;
    else if (column !== this.pinned && (column === null || column < this.picture.use.length)) this.pin(column ?? this.pinned);
    this.laser(spot !== null);
    this.inspect(spot ?? this.pinned);
  }

  // The others are dimmed as long as it is on.
  laser(on) {
    this.root.querySelector(".semf-basis .semf-montage").classList.toggle("semf-laser", on);
  }

  fitNumbers() {
    const tile = this.root.querySelector(".semf-tile");
    if (!tile) return;
    tile.parentElement.classList.toggle("semf-tiny", tile.clientWidth < 24);
    tile.parentElement.classList.toggle("semf-slight", tile.clientWidth < 64); // a number may not cover a part
  }

  // -- one component ---------------------------------------------------------------------------

  inspect(column) {
    const place = this.root.querySelector(".semf-inspect");
    const bar = this.root.querySelector(".semf-row");
    this.root.querySelector(".semf-basis .semf-montage").classList.toggle("semf-pinned", this.pinned !== null);
    for (const b of this.root.querySelectorAll(".semf-tile")) b.classList.toggle("semf-chosen", Number(b.dataset.column) === column);
    const use = column === null || column === undefined ? null : this.picture?.use?.[column];
    bar.hidden = !use;
    if (!use) {
      put(place, HINT);
      return;
    }
    const [count, top] = use;
    const most = top.map(([sample, value, label]) => `${label ?? counted(sample)} (${value ?? "too large"})`).join(", ");
    put(place, `${this.name(column)}${this.truth(column)}: used by ${count} of ${this.picture.sample_count} samples` + (most ? `, most by ${most}.` : "."));
    const rows = this.picture.use.length;
    const box = this.picture.coefficients.tiles.find(([k]) => k === column) ?? [column, 0, (100 * column) / rows, 100, 100 / rows];
    ["left", "top", "width", "height"].forEach((side, i) => (bar.style[side] = `${box[i + 1]}%`));
  }

  map(picture) {
    const figure = this.root.querySelector(".semf-map");
    const image = figure.querySelector("img");
    const name = picture.factor === "X" ? "Y" : "V";
    swap(image, picture.coefficients);
    image.alt = `Coefficients ${name}: ${picture.use.length} components by ${picture.sample_count} samples, iteration ${picture.iteration}`;
    const curves = picture.sample_axis && !picture.as_maps;
    figure.classList.toggle("semf-maps", picture.as_maps);
    image.style.height = picture.as_maps ? "auto" : `${Math.max(90, Math.min(curves ? 420 : 260, picture.use.length * (curves ? 34 : 9)))}px`;
    const drawn = picture.as_maps ? "a map for each component" : curves ? `a curve for each component over ${picture.sample_axis}` : "a row for each component, a column for each sample";
    put(figure.querySelector(".semf-title"), `Coefficients ${name}: ${drawn}`);
    scale(figure, picture.coefficients, "", picture.coefficients.tiles.length ? "largest of each, up to" : "");
  }

  sampleRows(samples) {
    const figure = this.root.querySelector(".semf-samples");
    figure.hidden = !samples; // a snapshot whose data is not here
    if (!samples) return;
    const image = figure.querySelector("img");
    const chosen = samples.labels.join(", ");
    swap(image, samples);
    const rows = ["M", "fit", "M − fit"];
    image.alt = `Samples ${chosen}: data, reconstruction and difference, one below the other`;
    put(figure.querySelector(".semf-title"), `Samples ${chosen}`);
    const list = figure.querySelector(".semf-sample-rows");
    if (!list.children.length) list.replaceChildren(...rows.map((r) => element("li", { text: r })));
    scale(figure, samples, "difference: blue above, orange below zero");
  }
}

// The room of a hall as the server reads it, in steps: a pixel more makes no new picture.
export function hallOf(width, height, first) {
  return [width, height].map((side) => Math.max(110, 10 * Math.floor(side / 10))).join("x") + `x${first}`;
}

// Which of the components are on show, where that is not all of them.
export function someOf({ tiles }, count) {
  return tiles.length < count ? `: ${counted(tiles[0][0])} to ${counted(tiles.at(-1)[0])} of ${count}, others: M` : "";
}

// "17 of 17 parts found": the last word says nothing that is not clear without it.
function shortened(text) {
  const [short, rest] = text.split(/(?= (?:found|right)$)/);
  return [short, rest && element("span", { class: "semf-rest", text: rest })];
}

function put(place, text) {
  if (place.textContent !== text) place.textContent = text;
}

// The strongest rows of a component, below its number.
export function words(place, list) {
  const old = place.querySelector("ol");
  const text = JSON.stringify(list ?? null);
  if ((old?.dataset.text ?? "null") === text) return;
  old?.remove();
  if (!list) return;
  const lines = list.map(([word, score]) => element("li", {}, element("span", { text: String(score) }), word));
  place.append(element("ol", { class: "semf-ranked", "data-text": text }, ...(lines.length ? lines : [element("li", { text: "all zero" })])));
}

function swap(image, picture) {
  if (image.src !== picture.url) image.src = picture.url;
  const [width, height] = picture.size;
  image.style.aspectRatio = `${width} / ${height}`;
  image.parentElement.style.setProperty("--ratio", width / height);
}

function scale(figure, picture, more, most = "") {
  const note = [more, picture.missing && "hatched: missing"].filter(Boolean).join("; ");
  const place = figure.querySelector(".semf-scale");
  const [low, high] = picture.range;
  const text = `${picture.signed ? -high : Math.min(low, 0)}|${high}|${note}|${most}`;
  if (place.dataset.text === text) return;
  place.dataset.text = text;
  const bar = element("span", { class: `semf-bar${picture.signed ? " semf-signed" : ""}`, "aria-hidden": "true" });
  const ends = element("span", { class: "semf-ends" }, String(picture.signed ? -high : 0), bar, `${most} ${high}`.trim());
  place.replaceChildren(ends, element("span", { text: ["square-root scale", note].filter(Boolean).join("; ") }));
}
