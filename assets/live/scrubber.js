// The slider over recorded frames: it stays at the iteration where the user put it while frames arrive.

const NEWEST = { failed: "Last recorded factors", interrupted: "Last recorded factors" };

export class Scrubber {
  constructor(root, actions) {
    this.actions = actions;
    this.keyframes = [];
    this.slider = root.querySelector(".semf-scrubber input[type=range]");
    this.box = root.querySelector(".semf-follow input");
    this.button = root.querySelector(".semf-replay");
    this.label = root.querySelector(".semf-follow");
    this.slider.addEventListener("input", () => {
      this.box.checked = false;
      this.put(Number(this.slider.value));
      actions.seek(this.keyframes[Number(this.slider.value)]);
    });
    this.box.addEventListener("change", () => {
      if (this.box.checked) actions.follow();
      else actions.seek(this.keyframes.at(-1) ?? 0);
    });
    this.button.addEventListener("click", () => actions.replay());
  }

  // What the newest frame is depends on how the run stands.
  state(state, live) {
    this.live = live;
    this.label.lastChild.textContent = ` ${live ? "Follow live" : (NEWEST[state] ?? "Final factors")}`;
  }

  // Show these frames, with the thumb at an iteration (null: at the newest).
  frames(keyframes, at) {
    this.keyframes = keyframes;
    const last = Math.max(0, keyframes.length - 1);
    this.slider.max = last;
    this.slider.disabled = keyframes.length < 2;
    this.button.hidden = this.live || keyframes.length < 2;
    this.box.checked = at === null;
    this.put(at === null ? last : this.indexOf(at));
  }

  put(index) {
    if (Number(this.slider.value) !== index) this.slider.value = index;
    const iteration = this.keyframes[index];
    if (iteration !== undefined) this.slider.setAttribute("aria-valuetext", `iteration ${iteration}`);
  }

  // The last frame at or before an iteration: what the server shows for it.
  indexOf(iteration) {
    let index = 0;
    while (index + 1 < this.keyframes.length && this.keyframes[index + 1] <= iteration) index++;
    return index;
  }

  seekNear(iteration) {
    if (!this.keyframes.length) return;
    const index = this.indexOf(iteration);
    this.box.checked = false;
    this.put(index);
    this.actions.seek(this.keyframes[index]);
  }

  replaying(on) {
    this.button.textContent = on ? "Stop replay" : "Replay";
    if (on) this.box.checked = false;
  }
}
