// The keyboard: single keys for what is done most often, wherever the focus is, unless somebody writes.
import { element } from "./dom.js";

const LIST = [
  ["Space", "play or pause; a finished run is replayed"],
  ["← →", "one iteration back or forth, with Shift ten"],
  ["S", "step: one iteration on"],
  ["R", "start again"],
  ["Z", "undo the last change, with Shift redo it"],
  ["B", "hold: the components before the last change"],
  ["L", "the newest factors again (follow live)"],
  ["D", "hold: dim all components but the one under the pointer"],
  ["M", "while presenting: the next components, where they are too many for the screen"],
  ["F", "presentation: only the result, full screen; Escape leaves it"],
  ["Q", "follow me: a link and its code, with which others see what you show"],
  ["?", "this list"],
];
const LESSON = [["N P", "the next stage, the one before; while presenting Page Down and Page Up as well"], ["↑ ↓", "while presenting: words that are longer than the screen"]];
const WRITING = "input:not([type=range]):not([type=checkbox]):not([type=radio]):not([type=button]), textarea, select, [contenteditable=true], [role=combobox], [role=listbox], [role=dialog]";

export class Keys {
  constructor(view) {
    this.view = view;
    this.down = (event) => this.pressed(event);
    this.up = (event) => {
      const key = event.key.toLowerCase();
      if (key === "b") this.view.flick.whole(false);
      if (key === "d") this.view.pictures.laser(false);
    };
    document.addEventListener("keydown", this.down);
    document.addEventListener("keyup", this.up);
    this.focused = (event) => (this.last = markOf(event.target));
    document.addEventListener("focusin", this.focused);
    // Who leaves a field that stays there has left it; a field that is taken away or switched off was lost.
    this.left = ({ target }) => setTimeout(() => target.isConnected && !target.disabled && document.activeElement === document.body && (this.last = null));
    document.addEventListener("focusout", this.left);
  }

  destroy() {
    document.removeEventListener("keydown", this.down);
    document.removeEventListener("keyup", this.up);
    document.removeEventListener("focusin", this.focused);
    document.removeEventListener("focusout", this.left);
  }

  pressed(event) {
    const { target } = event;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (this.view.root.querySelector("dialog") && key !== "?") return; // it has keys of its own
    const undo = (event.ctrlKey || event.metaKey) && key === "z" && !event.altKey;
    if (undo && !target.closest("textarea, input[type=text]")) return this.take(event, () => this.press(event.shiftKey ? "redo" : "undo"));
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest(WRITING)) return;
    if (key === " " && target.closest("button, a, summary, input, [role=button], [role=tab], [role=switch]")) return;
    if (key.startsWith("Arrow") && target.closest("input, [role=slider], [role=tab], .semf-tile, [role=radio]")) return;
    const steps = event.shiftKey ? 10 : 1;
    const action = {
      " ": () => this.toggle(),
      ArrowLeft: () => this.view.seekBy(-steps),
      ArrowRight: () => this.view.seekBy(steps),
      s: () => this.press("step"),
      r: () => this.press("restart"),
      z: () => this.press(event.shiftKey ? "redo" : "undo"),
      l: () => this.view.follow(),
      "?": () => this.help(),
      b: () => event.repeat || this.view.flick.whole(true),
      d: () => event.repeat || this.view.pictures.laser(true),
    }[key];
    if (action) this.take(event, action);
  }

  // Play or pause, or the replay where there is nothing to play.
  toggle() {
    const { root, scrubber, replay } = this.view;
    const play = root.querySelector('[data-do="play"]');
    if (play && !play.disabled) this.press("play");
    else if (!scrubber.button.hidden) replay.toggle();
  }

  // Streamlit has keys of its own (R runs the script again): they must not hear of this one.
  take(event, action) {
    event.preventDefault();
    event.stopImmediatePropagation();
    action();
  }

  press(name) {
    this.view.controls.press(name);
  }

  help() {
    const open = this.view.root.querySelector("dialog");
    if (open) return open.close();
    const list = this.view.data.lesson ? [...LESSON, ...LIST] : LIST;
    const rows = list.flatMap(([key, words]) => [element("dt", {}, element("kbd", { text: key })), element("dd", { text: words })]);
    const close = element("button", { type: "button", class: "semf-tool", text: "Close" });
    const box = element("dialog", { class: "semf-keys", "aria-label": "Keys" }, element("h2", { text: "Keys" }), element("dl", {}, ...rows), close);
    const before = document.activeElement;
    close.addEventListener("click", () => box.close());
    box.addEventListener("close", () => {
      box.remove();
      before?.focus?.();
    });
    this.view.root.append(box);
    box.showModal();
  }

  // A change of the model may replace the field that had the focus: its successor gets it.
  restoreFocus() {
    if (document.activeElement !== document.body || !this.last) return;
    const found = [...document.querySelectorAll(this.last.tag)].find((e) => e.offsetParent && markOf(e).text === this.last.text);
    found?.focus({ preventScroll: true });
  }
}

function markOf(node) {
  const block = node.closest?.("[class*=st-key-]")?.className.match(/st-key-[A-Za-z_]+/)?.[0] ?? "";
  return { tag: node.tagName, text: [block, node.getAttribute?.("aria-label") ?? "", node.dataset?.do ?? "", node.id && !/\d/.test(node.id) ? node.id : ""].join("|") };
}
