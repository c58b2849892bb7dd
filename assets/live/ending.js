// How a run ended: one line that opens to all of its sentences, and a button for each thing to try.
import { element } from "./dom.js";

export class Ending {
  constructor(view) {
    this.view = view;
    this.place = view.root.querySelector(".semf-ending");
    this.text = element("p", { class: "semf-ending-text" });
    this.more = element("button", { type: "button", class: "semf-tool semf-more", "aria-expanded": "false", text: "more" });
    this.tries = element("span", { class: "semf-group", role: "group", "aria-label": "What to try" });
    this.place.append(this.text, this.more, this.tries);
    this.more.addEventListener("click", () => this.open(!this.place.classList.contains("semf-open")));
    new ResizeObserver(() => this.fit()).observe(this.text);
  }

  // { text, tries } or nothing, as long as the run has not ended.
  show(ending) {
    this.place.classList.toggle("semf-unsaid", !ending?.text);
    const seen = JSON.stringify(ending ?? null);
    if (seen === this.seen) return;
    this.seen = seen;
    this.text.textContent = ending?.text ?? "";
    this.tries.replaceChildren(...this.buttons(ending?.tries ?? []));
    this.open(false);
  }

  buttons(tries) {
    if (!this.view.data.tries || !tries.length) return [];
    return [element("span", { text: "Try" }), ...tries.map((title, index) => {
      const button = element("button", { type: "button", class: "semf-tool semf-try", title: `Run the model again with ${title}`, text: title });
      button.addEventListener("click", () => this.view.act({ do: "try", run: this.view.data.run, index }));
      return button;
    })];
  }

  open(on) {
    this.place.classList.toggle("semf-open", on);
    this.more.setAttribute("aria-expanded", String(on));
    this.more.textContent = on ? "less" : "more";
    this.fit();
  }

  // "more" only where there is more than the line has room for.
  fit() {
    const open = this.place.classList.contains("semf-open");
    this.more.hidden = !open && this.text.scrollWidth <= this.text.clientWidth + 1;
  }
}
