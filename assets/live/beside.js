// Two runs side by side under one scrubber; each is the small view of a run, without a scrubber of its own.
import { element } from "./dom.js";
import { View as Run } from "./view.js";

const STEP_MS = 200;
const STEPS = 60;

class Side extends Run {
  take(reply, began) {
    const wait = super.take(reply, began);
    this.told?.();
    return wait;
  }
}

export class View {
  constructor(parent, data, setTriggerValue) {
    this.trigger = setTriggerValue;
    this.at = null; // null: the end of both
    this.slider = element("input", { type: "range", min: 0, max: 0, value: 0, step: 1, "aria-label": "Iteration of both stages" });
    this.button = element("button", { type: "button", class: "semf-replay", text: "Play" });
    this.words = element("output", { class: "semf-iteration" });
    this.places = data.runs.map(() => element("div", { class: "semf-side" }));
    this.root = element(
      "div",
      { class: "semf-beside" },
      element("div", { class: "semf-scrubber" }, this.button, this.slider, this.words),
      element("div", { class: "semf-sides" }, ...this.places),
    );
    parent.querySelector(":scope > .semf-beside")?.remove();
    parent.append(this.root);
    this.root.view = this;
    this.slider.addEventListener("input", () => {
      this.stop();
      this.seek(Number(this.slider.value));
    });
    this.button.addEventListener("click", () => (this.timer ? this.stop() : this.play()));
    this.begin(data);
  }

  begin(data) {
    this.data = data;
    this.sides = data.runs.map((run, i) => new Side(this.places[i], { ...run, compact: true, notify: true }, () => this.trigger("state", String(Date.now()))));
    for (const side of this.sides) side.told = () => this.limits();
  }

  update(data) {
    if (data.runs.every((run, i) => run.run === this.data.runs[i].run)) {
      data.runs.forEach((run, i) => this.sides[i].update({ ...run, compact: true, notify: true }));
      return;
    }
    this.destroy();
    this.at = null;
    this.begin(data);
  }

  destroy() {
    this.stop();
    for (const side of this.sides) side.destroy();
  }

  // -- time ------------------------------------------------------------------------------------

  get last() {
    return Math.max(0, ...this.sides.map((side) => side.iterations ?? 0));
  }

  limits() {
    this.slider.max = this.last;
    this.root.dataset.drawn = this.sides.every((side) => side.iterations !== undefined) ? "yes" : "no";
    this.put();
  }

  put() {
    const at = this.at ?? this.last;
    this.slider.value = at;
    this.words.textContent = `iteration ${at.toLocaleString("en")}`;
    this.slider.setAttribute("aria-valuetext", this.words.textContent);
  }

  // A run that ended before shows its result.
  seek(iteration) {
    this.at = iteration >= this.last ? null : iteration;
    for (const side of this.sides) {
      if (this.at === null || this.at >= (side.iterations ?? 0)) side.follow();
      else side.seek(this.at);
    }
    this.put();
  }

  turnComponents() {
    for (const side of this.sides) side.turnComponents();
  }

  play() {
    const step = Math.max(1, Math.round(this.last / STEPS));
    let at = this.at ?? 0;
    this.button.textContent = "Pause";
    this.timer = setInterval(() => {
      this.seek((at += step));
      if (this.at === null) this.stop();
    }, STEP_MS);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = 0;
    this.button.textContent = "Play";
  }
}
