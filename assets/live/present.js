// The presenter's view of a page: it stays from stage to stage, whether a stage has a run or not.
import { isPresenting } from "./dom.js";
import { Drawing, Figures } from "./figures.js";
import { showCode, tellPage } from "./following.js";

const WRITING = "input:not([type=range]):not([type=checkbox]):not([type=radio]):not([type=button]), textarea, select, [contenteditable=true], [role=combobox], [role=listbox], [role=dialog], dialog";
const STEPS = { arrowright: 1, arrowleft: -1 };
const LINES = { arrowdown: 1, arrowup: -1 }; // of words that do not fit
let page = null; // what the page on show has said of itself
let ending = 0;
let full = false; // the browser has given the whole screen
let figures = null; // where a page has no view of its own to enlarge
let drawing = null; // of a stage that has no run

export function arrive(data) {
  clearTimeout(ending);
  if (!page) listen(true);
  page = data;
  document.body.dataset.page = data.page;
  tellPage(data);
}

// Streamlit may call this between two stages: wait and see.
export function leave() {
  clearTimeout(ending);
  ending = setTimeout(() => {
    present(false);
    listen(false);
    page = null;
    delete document.body.dataset.page;
    tellPage(null);
  }, 400);
}

export function present(on) {
  if (on === isPresenting()) return;
  if (on && page.page === "studies") {
    figures = Figures.of(page.plotly);
    if (!figures) return; // nothing to show
  }
  if (on && page.page === "learn") drawing = new Drawing(page.plotly);
  if (!on) {
    figures?.close();
    drawing?.close();
    figures = drawing = null;
  }
  document.body.classList.toggle("semf-presenting", on);
  if (on) document.querySelector('[data-testid="stMain"]')?.scrollTo(0, 0);
  if (on) document.documentElement.requestFullscreen?.().then(() => (full = true)).catch(() => {});
  else if (document.fullscreenElement) document.exitFullscreen?.();
  if (!on) full = false;
  window.dispatchEvent(new Event("resize"));
}

function listen(on) {
  const act = on ? "addEventListener" : "removeEventListener";
  document[act]("keydown", pressed, true);
  document[act]("click", clicked);
  document[act]("fullscreenchange", resized);
}

// The browser takes Escape for itself when it leaves the full screen.
function resized() {
  if (full && !document.fullscreenElement) present(false);
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.(WRITING)) return;
  const key = event.key.toLowerCase();
  const turning = { pagedown: 1, pageup: -1 }[key]; // what a clicker sends
  if (key === "f") take(event, () => present(!isPresenting()));
  else if (key === "q") take(event, () => showCode());
  else if (!isPresenting()) return;
  else if (key === "escape") take(event, () => present(false));
  else if (turning) take(event, () => turn(turning));
  else if (key === "m") take(event, () => document.querySelector(".semf-live, .semf-beside")?.view.turnComponents());
  else if (LINES[key] && page.page === "learn" && !event.target.closest?.("input, .semf-tile")) take(event, () => scroll(LINES[key]));
  else if (STEPS[key] && !["learn", "workbench"].includes(page.page)) take(event, () => turn(STEPS[key])); // there they are iterations
}

function take(event, action) {
  event.preventDefault();
  event.stopImmediatePropagation();
  action();
}

function clicked(event) {
  // To Streamlit this page is open already: it would stay at the stage.
  const link = event.target.closest?.('[data-testid$="NavLink"]');
  if (link?.pathname === location.pathname) document.querySelector(".st-key-learn-all button")?.click();
  if (event.target.closest?.('[class*="st-key-"][class*="-present"], [data-do="present"]')) present(!isPresenting());
  else if (event.target.closest?.('[class*="st-key-"][class*="-follow"], [data-do="follow"]')) showCode();
}

function scroll(steps) {
  document.querySelector('[data-testid="stColumn"]:has(.st-key-lesson-words)')?.scrollBy({ top: steps * 120, behavior: "smooth" });
}

// The next stage, figure or pair of components, or the one before.
function turn(steps) {
  if (figures) figures.turn(steps);
  else if (page.page === "compare") document.querySelector(".semf-compare")?.view?.turn(steps);
  else document.querySelector(`.st-key-learn-${steps > 0 ? "next" : "back"} button`)?.click();
}
