// The scrubber over the recorded frames of one run: it drives pictures, cursor and numbers inside its root.
const STEP_MS = 130;
const TALLEST = 27; // rem, of the basis images: the coefficients below them stay in sight

function unpack(text, Kind) {
  return Array.from(new Kind(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer));
}

// A tall picture becomes narrower instead of pushing everything else away.
function limit(element, image, tallest) {
  element.style.maxWidth = `${(tallest * image.getAttribute("width")) / image.getAttribute("height")}rem`;
}

class Player {
  constructor(root, data) {
    this.root = root;
    this.data = data;
    this.dark = window.matchMedia("(prefers-color-scheme: dark)");
    this.frames = data.frames;
    this.factor = "U";
    this.shown = this.frames.length - 1;
    this.timer = 0;
    if (data.curves) {
      const x = unpack(data.x, Uint32Array);
      const curves = LINES.map((line) => (line.word in data.curves ? unpack(data.curves[line.word], data.double ? Float64Array : Float32Array) : []));
      const cases = x.map(() => 0);
      for (const [index, decided] of data.cases) cases[index] = decided;
      this.history = { ...data, x, curves, cases };
      this.charts = new ReportChart(root, this.history, (iteration) => this.seek(iteration ?? Infinity));
    }
    this.dark.addEventListener("change", () => this.paint());
    window.addEventListener("beforeprint", () => this.paint(true));
    window.addEventListener("afterprint", () => this.paint());
    if (this.frames.length) this.listen();
    this.paint();
  }

  listen() {
    this.slider = this.root.querySelector(".position");
    this.slider.addEventListener("input", () => {
      this.stop();
      this.show(Number(this.slider.value));
    });
    this.button = this.root.querySelector(".play");
    this.button.addEventListener("click", () => (this.timer ? this.stop() : this.play()));
    for (const radio of this.root.querySelectorAll("fieldset input")) {
      radio.addEventListener("change", () => {
        this.factor = radio.value;
        this.paint();
      });
    }
    this.numberTiles();
    this.show(this.shown);
  }

  numberTiles() {
    const place = this.root.querySelector(".montage");
    limit(place, place.querySelector("img"), TALLEST);
    for (const image of this.root.querySelectorAll(".samples:not(.strips) img")) limit(image, image, TALLEST / 2);
    for (const [column, left, top, width, height] of this.data.tiles) {
      const label = document.createElement("span");
      label.className = "tile";
      label.setAttribute("aria-hidden", "true");
      label.textContent = column + 1; // counted from 1, as in the formulas
      Object.assign(label.style, { left: `${left}%`, top: `${top}%`, width: `${width}%`, height: `${height}%` });
      place.append(label);
    }
  }

  // -- time ----------------------------------------------------------------------------------

  seek(iteration) {
    this.stop();
    let index = 0;
    while (index + 1 < this.frames.length && this.frames[index + 1].at <= iteration) index++;
    if (this.frames.length) this.show(index);
  }

  play() {
    if (this.shown === this.frames.length - 1) this.show(0);
    this.button.textContent = "Stop";
    this.timer = setInterval(() => {
      if (this.shown === this.frames.length - 1) this.stop();
      else this.show(this.shown + 1);
    }, STEP_MS);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = 0;
    this.button.textContent = "Play";
  }

  show(index) {
    const frame = this.frames[(this.shown = index)];
    this.slider.value = index;
    this.slider.setAttribute("aria-valuetext", frame.words);
    this.root.querySelector(".where").textContent = frame.words;
    this.charts?.cursor(frame.at);
    this.numbers(frame);
    this.paint();
  }

  // The value of every curve at the frame on show, for those who do not hover.
  numbers(frame) {
    const place = this.root.querySelector(".numbers");
    if (!this.history || !place) return;
    const index = indexAt(this.history.x, frame.at);
    for (const cell of place.querySelectorAll("dd")) {
      const { curve } = LINES.find((line) => line.word === cell.dataset.column);
      cell.textContent = frame.at ? figure(this.history.curves[curve][index], 4) : "–";
    }
  }

  // -- pictures ------------------------------------------------------------------------------

  // A PNG is kept without its palette, which is the same in all of them: the theme puts its own in.
  address([head, tail], light) {
    return `data:image/png;base64,${head}${this.data.palettes[this.dark.matches && !light ? "dark" : "light"]}${tail}`;
  }

  paint(light = false) {
    this.charts?.retheme(readTheme(this.root, light ? "rgb(0, 0, 0)" : undefined));
    for (const image of this.root.querySelectorAll("img[data-still]")) image.src = this.address(this.data.stills[image.dataset.still], light);
    const frame = this.frames[this.shown];
    if (!frame) return;
    const [left, right] = this.factor === "X" ? ["X", "Y"] : ["U", "V"];
    const words = frame.words;
    this.put(".basis img", frame[left], light, `The ${this.data.rank} columns of ${left} as images, ${words}`);
    this.put(".map img", frame[right], light, `Coefficients ${right}, a row for each component and a column for each sample, ${words}`);
    for (const place of this.root.querySelectorAll("[data-names]")) place.textContent = place.dataset.names === "left" ? left : right;
  }

  put(selector, picture, light, words) {
    const image = this.root.querySelector(selector);
    image.src = this.address(picture, light);
    image.alt = words;
  }
}

// A text that can be copied.
function copying(button) {
  const source = document.getElementById(button.dataset.copies);
  button.hidden = false;
  button.addEventListener("click", async () => {
    getSelection().selectAllChildren(source);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Selected: press Ctrl+C";
    }
    setTimeout(() => (button.textContent = "Copy"), 2500);
  });
}
