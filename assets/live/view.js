// The live view of one run: asks the server for what it lacks, and hands it to charts and pictures.
import { Charts } from "./charts.js";
import { Controls } from "./controls.js";
import { build, decodeBytes, decodeFloats } from "./dom.js";
import { Ending } from "./ending.js";
import { Flick } from "./flick.js";
import { Keys } from "./keys.js";
import { Pictures } from "./pictures.js";
import { Replay } from "./replay.js";
import { Scrubber } from "./scrubber.js";
import { Strip } from "./strip.js";
import { loadWords } from "./words.js";

const RUNNING_MS = 210;
const WAITING_MS = 1500;
const RESTING_MS = 5000;
const EAGER_MS = 60;
const EAGER_FOR_MS = 3000;
const EXACT_MS = 250; // after the slider has come to rest
const COMPUTING_MS = 300; // the server has waited a while itself
const HEARD_MS = 3000; // a page that is busy may miss a press: it is asked again
const MOST_ASKED = 5;
// Nothing moves by itself, but the owner may resume it; only what has an end costs nothing.
const RESUMABLE = new Set(["interrupted", "failed"]);

export class View {
  constructor(parent, data, setTriggerValue) {
    this.data = data;
    this.trigger = setTriggerValue;
    this.root = Object.assign(build(parent, data), { view: this });
    this.pictures = new Pictures(this.root, data, () => {
      this.keepAddress();
      this.refresh();
    });
    Object.assign(this.pictures, { wanted: () => this.at, lit: () => this.data.highlight?.components ?? [] });
    this.scrubber = new Scrubber(this.root, {
      seek: (iteration) => this.seek(iteration),
      follow: () => this.follow(),
      replay: () => this.replay.toggle(),
    });
    this.charts = new Charts(this.root, data, (iteration) => (iteration === null ? this.follow() : this.scrubber.seek(iteration)), (words) => this.message(words));
    this.charts.stretch = () => this.data.highlight?.iterations ?? null;
    this.onVisible = () => document.hidden || this.refresh();
    document.addEventListener("visibilitychange", this.onVisible);
    this.root.addEventListener("transitionend", (e) => e.target === this.root && this.themeChanged());
    Object.assign(this, { replay: new Replay(this), ending: new Ending(this) });
    this.forget();
    if (!data.compact) loadWords(this.root, data);
    if (data.bench) this.furnish();
    this.refresh();
  }

  // What only the workbench has.
  furnish() {
    this.flick = this.pictures.flick = new Flick(this);
    this.controls = new Controls(this);
    this.keys = new Keys(this);
    this.strip = new Strip(this);
    const query = new URLSearchParams(location.search);
    const at = Number.parseInt(query.get("at"), 10);
    if (at >= 0) Object.assign(this, { at, exact: true });
    this.charts.at = this.at;
    this.pictures.choose(query.get("view") ?? this.data.highlight?.factor, Number.parseInt(query.get("component"), 10) - 1);
    this.ghost();
  }

  // -- what is known ---------------------------------------------------------------------------

  forget() {
    clearTimeout(this.untold);
    this.replay.forget();
    this.has = { since: 0, stride: 0, tail: -1, events: 0, lower_bound: 0 };
    this.charts.renew(null);
    this.empty = false;
    this.ending.show(null);
    this.history = { x: [], curves: [[], [], [], [], [], []], cases: [], events: [] };
    this.at = this.charts.at = null; // null follows the newest frame
    this.failures = 0;
    this.begun = performance.now();
    this.first = true;
    this.replayed = false;
  }

  update(data) {
    const other = data.run !== this.data.run;
    const otherBefore = data.before !== this.data.before;
    // What was on show is what was before, if it had come to its end.
    const left = data.before && data.before === this.data.run && !this.scrubber.live && this.history.x.length ? this.history : null;
    this.data = other ? data : { ...data, autoplay: data.autoplay || this.data.autoplay };
    this.imposed(data.imposed);
    if (other) {
      this.replay.stop();
      this.forget();
      this.charts.renew(left);
      this.pictures.choose(data.highlight?.factor);
      this.message("");
      this.keepAddress();
    }
    if (other || otherBefore) {
      this.flick?.forget();
      if (!left || !other) this.ghost();
    }
    this.reported = null;
    this.refresh();
    this.strip?.refresh();
    setTimeout(() => this.keys?.restoreFocus(), 150);
  }

  imposed(words) {
    const place = this.root.querySelector(".semf-imposed");
    if (place) place.textContent = words ?? "";
  }

  // The curves of the variant before, in grey.
  async ghost() {
    const { before, run } = this.data;
    this.charts.ghost(null);
    if (!before) return;
    try {
      const query = new URLSearchParams({ compact: 1, lower_bound: 1 });
      const reply = await (await fetch(`${this.data.live}/${before}?${query}`)).json();
      if (run !== this.data.run || before !== this.data.before || !reply.count) return;
      this.charts.ghost({ x: Array.from({ length: reply.count }, (_, i) => reply.from + (i + 1) * reply.stride), curves: unpacked(reply) });
    } catch {} // without it the chart is only poorer
  }

  destroy() {
    this.gone = true;
    clearTimeout(this.timer);
    clearTimeout(this.unheard);
    this.replay.stop();
    document.removeEventListener("visibilitychange", this.onVisible);
    this.charts.destroy();
    this.keys?.destroy();
    this.strip?.destroy();
  }

  // -- asking ----------------------------------------------------------------------------------

  query(at) {
    const shown = this.pictures;
    return new URLSearchParams({
      ...this.has,
      at: at ?? "",
      exact: this.exact ? 1 : 0,
      picture: shown.token,
      factor: shown.factor,
      theme: this.charts.theme.dark ? "dark" : "light",
      samples: shown.samples.join(","),
      compact: this.data.compact ? 1 : 0,
      hall: shown.room,
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
        if (!this.replay.on) this.charts.begin();
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
    this.iterations = reply.iterations; // the curve may be thinned and end before
    this.takePoints(reply, replay);
    this.takeEvents(reply);
    if (reply.lower_bound) this.charts.lower_bound(reply.lower_bound);
    this.has.lower_bound ||= reply.lower_bound ? 1 : 0;
    this.scrubber.state(reply.state, reply.live);
    this.scrubber.frames(reply.keyframes, reply.iterations, this.at);
    this.controls?.update(reply);
    if (reply.picture && !replay && !this.replay.on) this.pictures.show(reply.picture);
    this.pictures.titled(reply.computing);
    if (!this.replay.shown) this.say(reply.words, reply.state);
    this.ending.show(replay || this.replay.shown ? null : reply.ending); // a replay is not at its end
    this.describe();
    this.root.dataset.refreshes = Number(this.root.dataset.refreshes || 0) + 1;
    this.report(reply.state);
    if (replay) this.replay.start();
    return this.pause(reply, began);
  }

  pause(reply, began) {
    const now = performance.now();
    if (reply.computing) return COMPUTING_MS;
    // The owner's page knows of a restart; who only looks on asks now and then.
    if (!reply.live) return RESUMABLE.has(reply.state) || this.data.onlooker ? RESTING_MS : Infinity;
    if (reply.state === "paused") return WAITING_MS;
    if (!this.history.x.length && now - this.begun < EAGER_FOR_MS) return EAGER_MS;
    return reply.state === "queued" ? WAITING_MS / 5 : Math.max(20, (this.data.every ?? RUNNING_MS) - (now - began));
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
      const cases = decodeBytes(reply.cases);
      for (let i = 0; i < count; i++) h.x.push(reply.from + (i + 1) * reply.stride);
      unpacked(reply).forEach((values, c) => h.curves[c].push(...values));
      for (let i = 0; i < count; i++) h.cases.push(cases[i]);
    }
    Object.assign(this.has, { since: reply.since, stride: reply.stride, tail: reply.tail });
    if (this.replay.on) return;
    this.charts.going = reply.state === "running";
    if (reply.reset && (count || !this.empty)) this.charts.show(h, replay ? 0 : Infinity); // nothing is drawn once, not at every question
    else if (count) this.charts.extend(h, count);
    else if (!this.charts.going) this.charts.complete(h);
    this.empty = !h.x.length;
  }

  begunAfresh() {
    this.history.events = [];
    this.has.events = 0;
    this.replay.forget();
    this.at = this.charts.at = null;
  }

  takeEvents(reply) {
    if (reply.reset) this.history.events = [];
    if (!reply.events.length && !reply.reset) return;
    this.history.events.push(...reply.events);
    this.has.events = reply.event_count;
    this.charts.marks(this.history);
  }

  // The page is told once more until it has heard: else a busy one would take the run to go on for ever.
  report(state, times = 1) {
    if (this.gone || !this.data.notify || state === this.data.state || (times === 1 && state === this.reported)) return;
    clearTimeout(this.untold);
    this.reported = state;
    this.trigger("state", state);
    if (times < MOST_ASKED) this.untold = setTimeout(() => this.report(state, times + 1), HEARD_MS);
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
    const seen = this.at ?? this.iterations;
    this.root.dataset.run = this.data.run;
    this.root.querySelector(".semf-iteration").textContent = n ? `iteration ${seen.toLocaleString("en")}` : "";
    if (n) this.charts.describe({ ...h, at: seen });
  }

  // What changed and what it did.
  line = (words) => this.put(".semf-line", words?.replaceAll(" %", "\u00a0%")); // a number is not parted from its unit

  message = (words) => this.put(".semf-message", words);

  put(selector, words) {
    const place = this.root.querySelector(selector);
    if (!place) return;
    place.hidden = !words;
    if (place.textContent !== words) place.textContent = words ?? "";
  }

  // What the page has to do: the model or the variant changes, so everything else follows.
  act(command) {
    this.press({ ...command, number: Date.now() }, 1);
  }

  press(command, times) {
    clearTimeout(this.unheard);
    this.trigger("act", command);
    if (times < MOST_ASKED) this.unheard = setTimeout(() => this.data.acted !== command.number && this.press(command, times + 1), HEARD_MS);
  }

  // The address of what is seen.
  address() {
    const link = new URL(location.href);
    link.hash = "";
    const place = this.data.place ?? { bench: this.data.strip, run: this.data.run };
    const values = { ...place, at: this.at, component: this.pictures.pinned === null ? null : this.pictures.pinned + 1, view: this.pictures.factor === "X" ? "X" : null };
    for (const [name, value] of Object.entries(values)) {
      if (value === null || value === undefined || value === "") link.searchParams.delete(name);
      else link.searchParams.set(name, value);
    }
    link.searchParams.delete("key");
    return link;
  }

  keepAddress() {
    if (!this.data.bench) return;
    const link = this.address();
    if (link.href !== location.href) history.replaceState(history.state, "", link);
  }

  // -- time travel -----------------------------------------------------------------------------

  seek(iteration) {
    this.replay.stop();
    this.show(iteration);
  }

  // Recorded factors at once; those of the iteration itself when the slider has come to rest.
  show(iteration) {
    this.at = iteration;
    this.exact = false;
    this.charts.cursor(iteration);
    this.describe();
    this.refresh();
    clearTimeout(this.settling);
    this.settling = setTimeout(() => {
      this.exact = true;
      this.keepAddress();
      this.refresh();
    }, EXACT_MS);
  }

  turnComponents = () => this.pictures.turn();

  seekBy(steps) {
    this.scrubber.seek((this.at ?? this.scrubber.last) + steps);
  }

  // One iteration on: the next that there is, or a new one.
  forward() {
    if (this.at !== null && this.at < this.scrubber.last) this.seekBy(1);
    else this.controls.send({ do: "step" });
  }

  follow() {
    this.replay.stop();
    this.at = null;
    this.exact = false;
    clearTimeout(this.settling);
    this.charts.cursor(null);
    this.scrubber.put(this.scrubber.last);
    this.scrubber.box.checked = true;
    this.keepAddress();
    this.describe();
    this.refresh();
  }

  themeChanged() {
    if (!this.charts.retheme()) return;
    this.flick?.forget();
    this.refresh();
    this.strip?.refresh();
  }
}

// The curves of an answer, one after the other.
function unpacked(reply) {
  const values = decodeFloats(reply.curves, reply.double);
  return Array.from({ length: values.length / reply.count }, (_, c) => Array.from(values.subarray(c * reply.count, (c + 1) * reply.count)));
}
