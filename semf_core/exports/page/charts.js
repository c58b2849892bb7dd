// The chart of a run in a report: legends that keys reach, buttons to zoom, a linear scale.
const FOLD = 270; // pixels of the first panel

class ReportChart extends RunFigure {
  // `root` holds the place of the chart and the buttons below it.
  constructor(root, history, onSeek) {
    super(root, { words: history.words, splits: history.splits }, onSeek);
    Object.assign(this, { history, fold: FOLD, fixed: { showlegend: false } });
    this.plot.style.height = `${heightOf(this.panels, FOLD)}px`;
    this.legends = root.querySelector(".legends");
    new ResizeObserver(() => this.form !== formOf(this.plot) && this.draw()).observe(this.plot);
    this.draw();
    root.querySelector(".log").addEventListener("change", (event) => this.scale(event.target.checked));
    root.querySelector(".zoom-in").addEventListener("click", () => this.zoomBy(0.5));
    root.querySelector(".zoom-out").addEventListener("click", () => this.zoomBy(2));
    root.querySelector(".zoom-all").addEventListener("click", () => this.zoom(null));
  }

  // The legends stand beside the title of each panel, in place of those of plotly.js.
  draw() {
    this.make(Plotly, this.history);
    const places = this.panels.map((panel) => {
      const place = document.createElement("div");
      place.style.bottom = `${100 * domains(this.panels, FOLD)[`${axisName(panel)}.domain`][1]}%`;
      this.lines.forEach((line, i) => line.panel === panel && place.append(this.legend(line, i)));
      return place;
    });
    this.legends.replaceChildren(...places);
  }

  legend(line, trace) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "legend";
    button.style.setProperty("--line", `var(--${line.colour})`);
    button.dataset.dash = line.dash ?? "solid";
    button.setAttribute("aria-pressed", "true");
    button.title = "Show or hide this curve";
    button.textContent = this.plot.data[trace].name;
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") === "false";
      button.setAttribute("aria-pressed", String(shown));
      this.Plotly.restyle(this.plot, { visible: shown }, [trace]);
    });
    return button;
  }

  scale(logarithmic) {
    const change = {};
    for (const axis of this.panels.map(axisName)) Object.assign(change, { [`${axis}.type`]: logarithmic ? "log" : "linear", [`${axis}.tickmode`]: logarithmic ? "array" : "auto", [`${axis}.autorange`]: true });
    this.linear = !logarithmic;
    this.Plotly.relayout(this.plot, change);
  }

  retick() {
    if (!this.linear) super.retick();
  }

  zoomBy(factor) {
    const [low, high] = this.plot._fullLayout.xaxis.range;
    const middle = this.at !== null && this.at >= low && this.at <= high ? this.at : (low + high) / 2;
    const half = Math.max(2, ((high - low) * factor) / 2);
    this.zoom([middle - half, middle + half]);
  }

  // Iterations, or everything.
  zoom(range) {
    const [first, last] = this.wholeRange("xaxis", this.history);
    const clipped = range && [Math.max(first, range[0]), Math.min(last, range[1])];
    if (clipped && clipped[1] - clipped[0] < last - first) this.Plotly.relayout(this.plot, { "xaxis.range": clipped });
    else this.Plotly.relayout(this.plot, Object.fromEntries(["xaxis", ...this.panels.map(axisName)].map((axis) => [`${axis}.autorange`, true])));
  }
}
