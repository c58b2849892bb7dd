// Basis montage, coefficient map and samples: each is one PNG whose src is swapped; buttons lie over the tiles.
import { counted, element, HINT } from "./dom.js";

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
    const sized = new ResizeObserver(() => this.fitNumbers());
    sized.observe(root.querySelector(".semf-basis"));
  }

  show(picture) {
    this.token = picture.token;
    this.picture = picture;
    this.badges(picture.badges);
    this.basis(picture);
    if (this.compact) return;
    this.map(picture);
    this.sampleRows(picture.samples);
    this.inspect(this.hovered ?? this.pinned);
  }

  badges(badges) {
    const place = this.root.querySelector(".semf-badges");
    const text = badges.map((b) => b.text).join("|");
    if (place.dataset.text === text) return;
    place.dataset.text = text;
    place.replaceChildren(...badges.map((b) => element("span", { class: `semf-badge${b.done ? " semf-done" : ""}`, text: b.text })));
  }

  // -- basis -----------------------------------------------------------------------------------

  basis(picture) {
    const figure = this.root.querySelector(".semf-basis");
    const { basis, factor, grouped, iteration } = picture;
    const image = figure.querySelector("img");
    swap(image, basis);
    const rows = grouped ? ", one group a row" : "";
    image.alt = `${basis.tiles.length} columns of ${factor} as images${rows}, iteration ${iteration}` + (picture.badges.length ? `: ${picture.badges.map((b) => b.text).join(", ")}` : "");
    figure.querySelector(".semf-title").textContent = `Basis ${factor}${grouped ? ", one group a row" : ""}`;
    scale(figure, basis, "each image scaled to its own largest value");
    this.tiles(figure.querySelector(".semf-montage"), basis.tiles);
    const matched = new Set(picture.matched);
    const use = picture.use;
    for (const button of figure.querySelectorAll(".semf-tile")) {
      const column = Number(button.dataset.column);
      button.classList.toggle("semf-matched", matched.has(column));
      const known = matched.has(column) ? ", a true part" : "";
      button.setAttribute("aria-label", `Component ${counted(column)}${known}${use ? `, used by ${use[column][0]} samples` : ""}`);
    }
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
    const look = () => this.inspect((this.hovered = column));
    const leave = () => ((this.hovered = null), this.inspect(this.pinned));
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

  fitNumbers() {
    const tile = this.root.querySelector(".semf-tile");
    if (tile) tile.parentElement.classList.toggle("semf-tiny", tile.clientWidth < 24);
  }

  // -- one component ---------------------------------------------------------------------------

  inspect(column) {
    const place = this.root.querySelector(".semf-inspect");
    const bar = this.root.querySelector(".semf-row");
    for (const b of this.root.querySelectorAll(".semf-tile")) b.classList.toggle("semf-chosen", Number(b.dataset.column) === column);
    const use = column === null || column === undefined ? null : this.picture?.use?.[column];
    bar.hidden = !use;
    if (!use) {
      place.textContent = HINT;
      return;
    }
    const [count, top] = use;
    const most = top.map(([sample, value]) => `${counted(sample)} (${value})`).join(", ");
    place.textContent = `Component ${counted(column)}: used by ${count} of ${this.picture.sample_count} samples` + (most ? `, most by ${most}.` : ".");
    const rows = this.picture.use.length;
    bar.style.top = `${(100 * column) / rows}%`;
    bar.style.height = `${100 / rows}%`;
  }

  map(picture) {
    const figure = this.root.querySelector(".semf-map");
    const image = figure.querySelector("img");
    const name = picture.factor === "X" ? "Y" : "V";
    swap(image, picture.coefficients);
    image.alt = `Coefficients ${name}: ${picture.use.length} components by ${picture.sample_count} samples, iteration ${picture.iteration}`;
    image.style.height = `${Math.max(90, Math.min(260, picture.use.length * 9))}px`;
    figure.querySelector(".semf-title").textContent = `Coefficients ${name}: a row for each component, a column for each sample`;
    scale(figure, picture.coefficients, "");
  }

  sampleRows(samples) {
    const figure = this.root.querySelector(".semf-samples");
    figure.hidden = !samples; // a snapshot whose data is not here
    if (!samples) return;
    const image = figure.querySelector("img");
    const chosen = samples.chosen.map(counted).join(", ");
    swap(image, samples);
    const rows = ["M", "fit", "M − fit"];
    image.alt = `Samples ${chosen}: data, reconstruction and difference, one below the other`;
    figure.querySelector(".semf-title").textContent = `Samples ${chosen}`;
    const list = figure.querySelector(".semf-sample-rows");
    if (!list.children.length) list.replaceChildren(...rows.map((r) => element("li", { text: r })));
    scale(figure, samples, "difference: blue above, orange below zero");
  }
}

function swap(image, picture) {
  if (image.src !== picture.url) image.src = picture.url;
  const [width, height] = picture.size;
  image.style.aspectRatio = `${width} / ${height}`;
  image.parentElement.style.setProperty("--ratio", width / height);
}

function scale(figure, picture, note) {
  const place = figure.querySelector(".semf-scale");
  const [low, high] = picture.range;
  const text = `${picture.signed ? -high : Math.min(low, 0)}|${high}|${note}`;
  if (place.dataset.text === text) return;
  place.dataset.text = text;
  const bar = element("span", { class: `semf-bar${picture.signed ? " semf-signed" : ""}`, "aria-hidden": "true" });
  place.replaceChildren(String(picture.signed ? -high : 0), bar, `${high}, square-root scale${note ? `; ${note}` : ""}`);
}
