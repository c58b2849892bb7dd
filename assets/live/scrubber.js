// The slider over iterations: it stays at the iteration where the user put it while others arrive.

const NEWEST = { failed: "Last recorded factors", interrupted: "Last recorded factors" };
const MANY = 10; // iterations at a press with Shift

export class Scrubber {
  constructor(root, actions) {
    this.actions = actions;
    this.keyframes = [];
    this.last = 0;
    this.slider = root.querySelector(".semf-scrubber input[type=range]");
    this.box = root.querySelector(".semf-follow input");
    this.button = root.querySelector(".semf-replay");
    this.label = root.querySelector(".semf-follow");
    this.slider.addEventListener("input", () => this.seek(Number(this.slider.value)));
    this.slider.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -MANY, ArrowDown: -MANY, ArrowRight: MANY, ArrowUp: MANY }[event.key];
      if (!step || !event.shiftKey) return;
      event.preventDefault();
      this.seek(Number(this.slider.value) + step);
    });
    this.box.addEventListener("change", () => {
      if (this.box.checked) actions.follow();
      else actions.seek(this.last);
    });
    this.button.addEventListener("click", () => actions.replay());
  }

  // What the newest frame is depends on how the run stands.
  state(state, live) {
    this.live = live;
    this.label.lastChild.textContent = ` ${live ? "Follow live" : (NEWEST[state] ?? "Final factors")}`;
  }

  // Show so many iterations, with the thumb at one of them (null: at the newest).
  frames(keyframes, iterations, at) {
    this.keyframes = keyframes;
    this.last = iterations;
    this.slider.max = iterations;
    this.slider.disabled = iterations < 1;
    this.button.hidden = this.live || keyframes.length < 2;
    this.box.checked = at === null;
    this.put(at ?? iterations);
  }

  put(iteration) {
    if (Number(this.slider.value) !== iteration) this.slider.value = iteration;
    this.slider.setAttribute("aria-valuetext", `iteration ${iteration}`);
  }

  // Any iteration: the server shows what was recorded last before it, or computes it again.
  seek(wanted) {
    const iteration = Math.max(0, Math.min(this.last, Math.round(wanted)));
    this.box.checked = false;
    this.put(iteration);
    this.actions.seek(iteration);
  }

  replaying(state) {
    this.button.textContent = { on: "Pause replay", held: "Go on with the replay" }[state] ?? "Replay";
    if (state === "on") this.box.checked = false;
  }
}
