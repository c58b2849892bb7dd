// A finished run shown once more, frame by frame; it can be paused, looked at, and go on where it was.

const STEP_MS = 260;
const MOST_FRAMES = 200;

export class Replay {
  constructor(view) {
    this.view = view;
    this.on = null;
    this.frames = new Map();
  }

  // It goes on, or is held somewhere.
  get shown() {
    return Boolean(this.on) || this.held !== undefined;
  }

  forget() {
    this.frames.clear();
    this.held = undefined;
  }

  toggle() {
    const { view } = this;
    if (this.on) {
      const held = view.at;
      this.stop();
      this.held = held;
      view.scrubber.replaying("held");
      view.show(held);
    } else this.start(this.held !== undefined && this.held === view.at ? this.held : 0);
  }

  async start(from = 0) {
    const { view } = this;
    const { keyframes } = view.scrubber;
    if (keyframes.length < 2) return;
    const mine = (this.on = {});
    this.held = undefined;
    view.exact = false;
    view.scrubber.replaying("on");
    view.charts.hold(true, view.history);
    view.say("Replay of a finished run", "replay");
    view.ending.show(null);
    // At most five a second for twelve seconds: a long recording is shown in larger steps.
    const step = Math.max(1, Math.ceil(keyframes.length / 60));
    // A curve needs a few points before it can be seen to move.
    const first = Math.max(0, keyframes.findIndex((k) => k >= Math.max(4, from)));
    for (let i = first; i < keyframes.length && this.on === mine; i += step) {
      const began = performance.now();
      view.at = keyframes[i];
      view.charts.show(view.history, view.at);
      view.scrubber.frames(keyframes, view.scrubber.last, view.at);
      view.describe();
      const frame = await this.frameAt(view.at);
      if (this.on !== mine || view.gone) return;
      if (frame) view.pictures.show(frame);
      if (i <= first + step) await painted(view.root.querySelector(".semf-basis img"));
      if (i > first) view.charts.begin(); // it has moved, and pauses
      const pause = i === first ? 0 : STEP_MS; // it moves as soon as it is there
      await new Promise((done) => setTimeout(done, Math.max(0, pause - (performance.now() - began))));
    }
    if (this.on === mine) view.follow();
  }

  stop() {
    const { view } = this;
    this.held = undefined;
    view.scrubber.replaying("off");
    if (!this.on) return;
    this.on = null;
    view.charts.begin();
    view.charts.hold(false, view.history);
    view.charts.show(view.history);
  }

  // A frame that was fetched once is never fetched again.
  async frameAt(at) {
    const { view } = this;
    const key = [at, view.pictures.factor, view.charts.theme.dark, view.pictures.samples, view.pictures.room].join("|");
    if (!this.frames.has(key)) {
      const reply = await view.ask(at).catch(() => null);
      if (!reply?.picture) return null;
      this.frames.set(key, reply.picture);
      if (this.frames.size > MOST_FRAMES) this.frames.delete(this.frames.keys().next().value);
    }
    return this.frames.get(key);
  }
}

// Once the browser draws what is on show with this image.
async function painted(image) {
  await image.decode().catch(() => null);
  await new Promise((done) => requestAnimationFrame(done));
}
