// The toolbar of a run and the sliders of its penalties. Commands go over HTTP: nothing is redrawn, the focus stays.
import { figure } from "./curves.js";
import { element, icon } from "./dom.js";

const PLAYABLE = new Set(["paused", "stopped", "failed", "interrupted"]);
const MOVING = new Set(["queued", "running"]);
const SPEEDS = [["1", "1 a second"], ["10", "10 a second"], ["100", "100 a second"], ["0", "full speed"]];
const STEPS = 400; // of a slider, over six decades
const DECADES = 6;
const HOLD = "Algorithm 2, which adapts the penalties, rests: they stay as they are, or the same multiples of the factors' size";

const button = (name, glyph, title, primary) => element("button", { type: "button", class: `semf-do${primary ? " semf-primary" : ""}`, "data-do": name, "aria-label": title.split(":")[0], title }, icon(glyph));
const group = (label, ...children) => element("span", { class: "semf-group", role: "group", "aria-label": label }, ...children);

// Play and the like, beside the slider.
export function playing(data) {
  if (!data.bench) return null;
  const back = button("back", "skip_previous", "Step back: ←");
  if (!data.key) return group("Look", back);
  return group("Run", button("play", "play_arrow", "Play: Space", true), back, button("step", "skip_next", "Step: S"), button("restart", "restart_alt", "Start again: R"), button("stop", "stop", "Stop: ends the run with its best factors"), speed());
}

export function toolbar(data) {
  const bench = data.owner ? group("Variants", button("undo", "undo", "Undo: Z"), button("redo", "redo", "Redo: Shift+Z")) : null;
  const view = group("View", button("before", "compare", "Before: hold B to see what it was before the last change"), button("copy", "link", "Copy link: data, model, variant, iteration and component"), button("present", "fullscreen", "Presentation: F"), data.lesson ? null : button("follow", "cast_for_education", "Follow me: Q, a link with which others see what you show"), button("keys", "keyboard", "Keys: ?"));
  return element("span", { class: "semf-toolbar" }, bench, view);
}

function speed() {
  return element("label", { class: "semf-speed" }, element("span", { class: "semf-hidden", text: "Speed" }), element("select", { title: "Iterations a second" }, ...SPEEDS.map(([value, text]) => element("option", { value, text }))));
}

export function penalties(data) {
  const row = (name, sign) => element(
    "div",
    { class: "semf-penalty", role: "group", "aria-label": sign },
    element("span", { class: "semf-sign", "data-word": name, text: sign }),
    element("button", { type: "button", "data-factor": 0.5, "data-of": name, "aria-label": `${sign} divided by 2`, text: "÷2" }),
    element("input", { type: "range", min: 0, max: STEPS, step: 1, "data-of": name, "aria-label": `${sign}, logarithmic` }),
    element("button", { type: "button", "data-factor": 2, "data-of": name, "aria-label": `${sign} times 2`, text: "×2" }),
    element("output", { "data-of": name, text: "–" }),
  );
  const box = (name, text, title) => element("label", { title }, element("input", { type: "checkbox", "data-box": name }), ` ${text}`);
  return element(
    "fieldset",
    { class: "semf-penalties" },
    element("legend", { text: "Penalties from here on" }),
    row("alpha", "α"),
    row("beta", "β"),
    element("div", { class: "semf-boxes" }, box("lock", "lock together", "Moving one moves the other by the same factor"), box("hold", "hold Algorithm 2", HOLD)),
  );
}

export class Controls {
  constructor(view) {
    this.view = view;
    this.root = view.root;
    this.root.addEventListener("click", (event) => {
      const name = event.target.closest("button")?.dataset.do;
      if (name) this.press(name);
    });
    const select = this.root.querySelector(".semf-speed select");
    select?.addEventListener("change", () => {
      this.view.speed = select.value;
      this.send({ do: "pace", rate: Number(select.value) });
      this.view.act({ do: "speed", rate: Number(select.value) });
    });
    this.holdToSee(this.root.querySelector('[data-do="before"]'));
    this.sliders();
  }

  holdToSee(button) {
    if (!button) return;
    for (const [type, on] of [["pointerdown", true], ["pointerup", false], ["pointerleave", false], ["keydown", true], ["keyup", false], ["blur", false]]) {
      button.addEventListener(type, (event) => {
        if (!event.key || event.key === " " || event.key === "Enter") this.view.flick.whole(on);
      });
    }
  }

  // -- commands ----------------------------------------------------------------------------------

  press(name) {
    const { view } = this;
    const button = this.root.querySelector(`[data-do="${name}"]`);
    if (!button || button.disabled) return;
    if (name === "play") this.send({ do: MOVING.has(this.state) ? "pause" : "play" });
    else if (name === "step") view.forward();
    else if (name === "back") view.seekBy(-1);
    else if (name === "restart" || name === "stop") this.send({ do: name });
    else if (name === "undo" || name === "redo") view.act({ do: name });
    else if (name === "copy") this.copy(button);
    else if (name === "keys") view.keys.help();
  }

  // What is set acts on the newest factors: they are shown from then on.
  async send(command) {
    const { data } = this.view;
    if (!data.key) return false;
    if (command.do !== "pace") this.view.follow();
    try {
      const response = await fetch(`${data.control}/${data.run}`, { method: "POST", headers: { "Content-Type": "application/json", "X-SeMF-Key": data.key }, body: JSON.stringify(command) });
      const reply = await response.json();
      this.view.message(response.ok ? "" : reply.message);
      this.view.refresh();
      return response.ok;
    } catch {
      this.view.message("The server did not answer; try again.");
      return false;
    }
  }

  async copy(button) {
    const link = this.view.address().href;
    try {
      await navigator.clipboard.writeText(link);
      this.view.message("The link is copied: whoever has it sees this, and can change nothing.");
    } catch {
      this.view.message(`The browser does not let a page copy; the link is ${link}`);
    }
    button.focus();
  }

  // -- how things stand --------------------------------------------------------------------------

  update(reply) {
    this.state = reply.state;
    const moving = MOVING.has(reply.state);
    const playable = PLAYABLE.has(reply.state);
    this.able("play", moving || playable);
    this.able("step", playable || this.view.at !== null);
    this.able("stop", moving || reply.state === "paused" || reply.state === "interrupted");
    this.able("restart", true);
    this.able("back", reply.iterations > 0);
    this.able("before", Boolean(this.view.data.before));
    const play = this.root.querySelector('[data-do="play"]');
    if (play) {
      const word = moving ? "Pause" : reply.state === "paused" || reply.state === "finished" ? "Play" : "Resume";
      play.setAttribute("aria-label", word);
      play.firstChild.textContent = moving ? "pause" : "play_arrow";
      play.title = `${word}: Space`;
    }
    const select = this.root.querySelector(".semf-speed select");
    if (select && document.activeElement !== select) select.value = String(this.view.speed ?? this.view.data.pace ?? 0);
    this.showPenalties(reply);
  }

  able(name, on) {
    const button = this.root.querySelector(`[data-do="${name}"]`);
    if (button && button.disabled === on) button.disabled = !on;
  }

  undoable(undo, redo) {
    if (!this.root.querySelector('[data-do="undo"]')) return;
    this.able("undo", undo);
    this.able("redo", redo);
  }

  // -- α and β -----------------------------------------------------------------------------------

  sliders() {
    const box = (this.box = this.root.querySelector(".semf-penalties"));
    if (!box) return;
    this.now = {};
    this.middle = {};
    if (!this.view.data.key) box.querySelectorAll("input, button").forEach((e) => (e.disabled = true));
    box.addEventListener("click", (event) => {
      const { factor, of } = event.target.dataset;
      if (factor) this.set(of, this.now[of] * Number(factor));
    });
    box.addEventListener("input", (event) => {
      const { of, box: name } = event.target.dataset;
      if (name === "hold") this.send({ do: "hold", on: event.target.checked });
      if (!of) return;
      this.dragged = performance.now();
      const value = 10 ** (Math.log10(this.middle[of]) + DECADES * (Number(event.target.value) / STEPS - 0.5));
      clearTimeout(this.later);
      this.later = setTimeout(() => this.set(of, value), 120);
    });
  }

  // While it runs the change takes effect at the next iteration.
  set(name, value) {
    if (!(value > 0) || !this.now[name]) return;
    const changed = { [name]: Number(value.toPrecision(4)) };
    const other = name === "alpha" ? "beta" : "alpha";
    if (this.box.querySelector('[data-box="lock"]').checked) changed[other] = Number((this.now[other] * (value / this.now[name])).toPrecision(4));
    this.asked = { ...changed, until: performance.now() + 1500 };
    Object.assign(this.now, changed);
    this.draw();
    this.send({ do: "penalty", ...changed });
  }

  showPenalties(reply) {
    if (!this.box || !reply.penalties) return;
    const fresh = this.asked && performance.now() < this.asked.until; // the answer may be from before the change
    this.now = { alpha: reply.penalties[0], beta: reply.penalties[1], ...(fresh ? this.asked : {}) };
    const hold = this.box.querySelector('[data-box="hold"]');
    const possible = ["adaptive", "fixed"].includes(reply.rule); // an algorithm may have no such choice
    hold.disabled = !this.view.data.key || !possible;
    hold.parentElement.title = possible ? HOLD : "This algorithm, or its rule for the penalties, has no Algorithm 2";
    if (document.activeElement !== hold) hold.checked = reply.rule === "fixed";
    if (!this.dragged || performance.now() - this.dragged > 1000) this.draw();
  }

  draw() {
    for (const name of ["alpha", "beta"]) {
      const value = this.now[name];
      if (!(value > 0)) continue;
      const slider = this.box.querySelector(`input[data-of="${name}"]`);
      const middle = (this.middle[name] ??= value);
      if (Math.abs(Math.log10(value / middle)) > DECADES / 2 - 0.5) this.middle[name] = value;
      slider.value = Math.round(STEPS * (Math.log10(value / this.middle[name]) / DECADES + 0.5));
      slider.setAttribute("aria-valuetext", figure(value));
      this.box.querySelector(`output[data-of="${name}"]`).textContent = figure(value);
    }
  }
}
