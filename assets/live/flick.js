// Before and after: the components as they were before the last change lie over those of now and flick in and out.
import { element } from "./dom.js";

const FLICK_MS = 650;

export class Flick {
  constructor(view) {
    this.view = view;
    this.place = view.root.querySelector(".semf-basis .semf-montage");
    this.image = element("img", { class: "semf-pixels semf-before", alt: "The components before the last change", hidden: true });
    this.label = element("span", { class: "semf-when", hidden: true });
    this.place.append(this.image, this.label);
    this.token = "";
  }

  // The picture belongs to two runs and a state of each; it is fetched when somebody looks.
  async fetch() {
    const { data, pictures, charts } = this.view;
    if (!data.before || !pictures.picture) return false;
    const token = [data.run, data.before, pictures.token, pictures.factor, charts.theme.dark].join("|");
    if (token === this.token) return this.ready;
    this.token = token;
    this.ready = false;
    const query = new URLSearchParams({ before: data.before, factor: pictures.factor, theme: charts.theme.dark ? "dark" : "light", hall: pictures.room });
    try {
      const response = await fetch(`${data.beforeFeed}/${data.run}?${query}`);
      if (!response.ok) return false;
      const picture = await response.json();
      if (token !== this.token) return false;
      this.image.src = picture.url;
      this.cosines = picture.cosines;
      this.ready = true;
    } catch {
      this.token = "";
    }
    return this.ready;
  }

  forget() {
    this.token = "";
    this.ready = false;
    this.hide();
  }

  // All components, as long as the key or the button is held.
  async whole(on) {
    clearInterval(this.timer);
    if (!on || !(await this.fetch())) return this.hide();
    this.image.style.clipPath = "none";
    this.reveal(true);
  }

  // One component, in and out while the pointer is on it.
  async tile(button) {
    clearInterval(this.timer);
    this.hide();
    if (!button || window.matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const mine = (this.hovering = {});
    if (!(await this.fetch()) || this.hovering !== mine) return;
    const { left, top, width, height } = button.style;
    const [l, t, w, h] = [left, top, width, height].map(parseFloat);
    this.image.style.clipPath = `inset(${t}% ${100 - l - w}% ${100 - t - h}% ${l}%)`;
    this.timer = setInterval(() => this.reveal(this.image.hidden), FLICK_MS);
  }

  leave() {
    this.hovering = null;
    clearInterval(this.timer);
    this.hide();
  }

  reveal(on) {
    this.image.hidden = this.label.hidden = !on;
    this.label.textContent = "before";
    this.view.root.dataset.when = on ? "before" : "after";
  }

  hide() {
    this.reveal(false);
  }
}
