// The live view of one run: asks the server for what it lacks, and hands it to charts and pictures.
import { Charts } from "./charts.js";
import { build, decodeBytes, decodeFloats } from "./dom.js";
import { Pictures } from "./pictures.js";
import { Scrubber } from "./scrubber.js";
import { SmallChart } from "./small.js";

const RUNNING_MS = 210;
const WAITING_MS = 1500;
const RESTING_MS = 5000;
const REPLAY_MS = 260;
const EAGER_MS = 60;
const EAGER_FOR_MS = 3000;
// Nothing moves by itself, but the owner may resume it; only what has an end costs nothing.
const RESUMABLE = new Set(["interrupted", "failed"]);

export class View {
  constructor(parent, data, setTriggerValue) {
    this.data = data;
    this.trigger = setTriggerValue;
    this.root = build(parent, data);
    this.pictures = new Pictures(this.root, data, () => this.refresh());
    this.scrubber = new Scrubber(this.root, {
      seek: (iteration) => this.seek(iteration),
      follow: () => this.follow(),
      replay: () => this.toggleReplay(),
    });
    const Chart = data.compact ? SmallChart : Charts;
    this.charts = new Chart(this.root, data, (iteration) => this.scrubber.seekNear(iteration));
    this.onVisible = () => document.hidden || this.refresh();
    document.addEventListener("visibilitychange", this.onVisible);
    this.root.addEventListener("transitionend", (e) => e.target === this.root && this.themeChanged());
    this.forget();
    this.refresh();
  }

  // -- what is known ---------------------------------------------------------------------------

  forget() {
    this.has = { since: 0, stride: 0, tail: -1, events: 0, floor: 0 };
    this.charts.floor(null);
    this.history = { x: [], curves: [[], [], [], [], [], []], cases: [], events: [] };
    this.at = null; // null follows the newest frame
    this.frames = new Map();
    this.failures = 0;
    this.begun = performance.now();
    this.first = true;
    this.replayed = false;
  }

  update(data) {
    const other = data.run !== this.data.run;
    this.data = data;
    if (other) {
      this.stopReplay();
      this.forget();
      this.charts.show(this.history);
    }
    this.reported = null;
    this.refresh();
  }

  destroy() {
    this.gone = true;
    clearTimeout(this.timer);
    this.stopReplay();
    document.removeEventListener("visibilitychange", this.onVisible);
    this.charts.destroy();
  }

  // -- asking ----------------------------------------------------------------------------------

  query(at) {
    const shown = this.pictures;
    return new URLSearchParams({
      ...this.has,
      at: at ?? "",
      picture: shown.token,
      factor: shown.factor,
      theme: this.charts.theme.dark ? "dark" : "light",
      samples: shown.samples.join(","),
      compact: this.data.compact ? 1 : 0,
    });
  }

  async ask(at) {
    const response = await fetch(`${this.data.live}/${this.data.run}?${this.query(at)}`);
    const reply = await response.json();
    if (!response.ok) throw Object.assign(new Error(reply.message), { final: response.status === 404 });
    return reply;
  }

  refresh() {
    clearTimeout(this.timer);
    if (this.asking) this.again = true;
    else this.tick();
  }

  async tick() {
    if (this.gone || document.hidden) return;
    const began = performance.now();
    const run = this.data.run;
    this.asking = true;
    let wait = WAITING_MS;
    try {
      const reply = await this.ask(this.at);
      if (this.gone) return;
      if (run === this.data.run) {
        wait = this.take(reply, began);
        this.failures = 0;
      }
    } catch (problem) {
      this.failures += 1;
      wait = problem.final ? Infinity : Math.min(8000, 500 * 2 ** this.failures);
      if (problem.final || this.failures > 1) this.say(problem.final ? problem.message : "Connection lost, trying again …", "failed");
    } finally {
      this.asking = false;
    }
    if (this.again) {
      this.again = false;
      wait = 0;
    }
    if (Number.isFinite(wait)) this.timer = setTimeout(() => this.tick(), wait);
  }

  // The answer goes to the charts, the pictures and the head; the result is the time to the next question.
  take(reply, began) {
    const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    // A run that was over before anybody could follow it is shown once more, slowly.
    const young = this.first || performance.now() - this.begun < EAGER_FOR_MS;
    const replay = young && !this.replayed && this.data.autoplay && !reply.live && !calm && reply.keyframes.length > 1;
    this.first = false;
    this.replayed ||= replay;
    this.takePoints(reply, replay);
    this.takeEvents(reply);
    if (reply.floor) this.charts.floor(reply.floor);
    this.has.floor ||= reply.floor ? 1 : 0;
    this.scrubber.state(reply.state, reply.live);
    this.scrubber.frames(reply.keyframes, this.at);
    if (reply.picture && !replay && !this.replaying) this.pictures.show(reply.picture);
    if (!this.replaying) this.say(reply.words, reply.state);
    this.describe();
    this.root.dataset.refreshes = Number(this.root.dataset.refreshes || 0) + 1;
    this.report(reply.state);
    if (replay) this.startReplay();
    return this.pause(reply, began);
  }

  pause(reply, began) {
    const now = performance.now();
    if (!reply.live) return RESUMABLE.has(reply.state) ? RESTING_MS : Infinity;
    if (reply.state === "paused") return WAITING_MS;
    if (!this.history.x.length && now - this.begun < EAGER_FOR_MS) return EAGER_MS;
    return reply.state === "queued" ? WAITING_MS / 5 : Math.max(20, RUNNING_MS - (now - began));
  }

  takePoints(reply, replay) {
    const h = this.history;
    if (reply.reset && this.has.since > 0) {
      if (reply.from === 0 && (reply.since < this.has.since || reply.stride === this.has.stride)) this.begunAfresh();
      h.x = [];
      h.curves = h.curves.map(() => []);
      h.cases = [];
    }
    const count = reply.count;
    if (count) {
      const values = decodeFloats(reply.curves);
      const cases = decodeBytes(reply.cases);
      for (let i = 0; i < count; i++) h.x.push(reply.from + (i + 1) * reply.stride);
      h.curves.forEach((curve, c) => {
        for (let i = 0; i < count; i++) curve.push(values[c * count + i]);
      });
      for (let i = 0; i < count; i++) h.cases.push(cases[i]);
    }
    Object.assign(this.has, { since: reply.since, stride: reply.stride, tail: reply.tail });
    if (this.replaying) return;
    if (reply.reset) this.charts.show(h, replay ? 0 : Infinity);
    else if (count) this.charts.extend(h, count);
  }

  begunAfresh() {
    this.history.events = [];
    this.has.events = 0;
    this.frames.clear();
    this.at = null;
  }

  takeEvents(reply) {
    if (reply.reset) this.history.events = [];
    if (!reply.events.length && !reply.reset) return;
    this.history.events.push(...reply.events);
    this.has.events = reply.event_count;
    this.charts.marks(this.history);
  }

  report(state) {
    if (!this.data.notify || state === this.data.state || state === this.reported) return;
    this.reported = state;
    this.trigger("state", state);
  }

  // -- head ------------------------------------------------------------------------------------

  say(words, state) {
    const place = this.root.querySelector(".semf-state");
    if (place.textContent !== words) place.textContent = words;
    place.dataset.state = state;
  }

  describe() {
    const h = this.history;
    const n = h.x.length;
    const seen = this.at ?? this.has.since;
    this.root.querySelector(".semf-iteration").textContent = n ? `iteration ${seen.toLocaleString("en")}` : "";
    if (n) this.charts.describe(h);
  }

  // -- time travel -----------------------------------------------------------------------------

  seek(iteration) {
    this.stopReplay();
    this.at = iteration;
    this.charts.cursor(iteration);
    this.describe();
    this.refresh();
  }

  follow() {
    this.stopReplay();
    this.at = null;
    this.charts.cursor(null);
    this.describe();
    this.refresh();
  }

  toggleReplay() {
    if (this.replaying) {
      this.stopReplay();
      this.refresh();
    } else this.startReplay();
  }

  async startReplay() {
    const keyframes = this.scrubber.keyframes;
    if (keyframes.length < 2) return;
    const mine = (this.replaying = {});
    this.scrubber.replaying(true);
    this.charts.hold(true, this.history);
    this.say("Replay of a finished run", "replay");
    // At most five a second for twelve seconds: a long recording is shown in larger steps.
    const step = Math.max(1, Math.ceil(keyframes.length / 60));
    // A curve needs a few points before it can be seen to move.
    const first = Math.max(0, keyframes.findIndex((k) => k >= 4));
    for (let i = first; i < keyframes.length && this.replaying === mine; i += step) {
      const at = keyframes[i];
      const began = performance.now();
      this.at = at;
      this.charts.show(this.history, at);
      this.scrubber.frames(keyframes, at);
      this.root.querySelector(".semf-iteration").textContent = `iteration ${at.toLocaleString("en")}`;
      const frame = await this.frameAt(at);
      if (this.replaying !== mine || this.gone) return;
      if (frame) this.pictures.show(frame);
      await new Promise((done) => setTimeout(done, Math.max(0, REPLAY_MS - (performance.now() - began))));
    }
    if (this.replaying === mine) this.follow();
  }

  stopReplay() {
    if (!this.replaying) return;
    this.replaying = null;
    this.scrubber.replaying(false);
    this.charts.hold(false, this.history);
    this.charts.show(this.history);
  }

  // A frame that was fetched once is never fetched again.
  async frameAt(at) {
    const key = [at, this.pictures.factor, this.charts.theme.dark, this.pictures.samples].join("|");
    if (!this.frames.has(key)) {
      const reply = await this.ask(at).catch(() => null);
      if (!reply?.picture) return null;
      this.frames.set(key, reply.picture);
      if (this.frames.size > 200) this.frames.delete(this.frames.keys().next().value);
    }
    return this.frames.get(key);
  }

  themeChanged() {
    if (this.charts.retheme()) this.refresh();
  }
}
