// Follow me: begins a presentation, shows its link and code, and tells the server what is on show.
import { dressed, element, isPresenting } from "./dom.js";

const KEPT = "semf-presentation"; // in this tab, so that a second one of the same lecturer does not interfere
const LEFT = "semf-following"; // a presentation that was left to try something oneself
const SAMPLE_MS = 200;
const ALIVE_MS = 8000;
const RETRY_MS = 2000;
const LOCAL = /^(localhost|127\..*|\[::1\])$/;
let page = null;
let session = stored(KEPT);
let sent = { text: "", at: 0 };
let sending = false;
let replayFrom = null;

export function tellPage(data) {
  page = data;
  pill();
  wayBack();
}

setInterval(() => session && page && !sending && publish(), SAMPLE_MS);

// -- what is on show ---------------------------------------------------------------------------

function shown() {
  const known = ["learn", "workbench"].includes(page.page);
  if (!known) return { page: "" };
  const pair = document.querySelector(".semf-beside")?.view; // two stages: their iteration, and nothing of one of them
  return { page: page.page, ...page.shown, ...(pair ? { at: pair.at, replay: false } : seen(document.querySelector(".semf-live")?.view)) };
}

function seen(view) {
  if (!view || view.gone || !view.root.isConnected) return {};
  const { pictures, replay } = view;
  replayFrom = replay.on ? (replayFrom ?? view.at ?? 0) : null;
  const laser = view.root.querySelector(".semf-laser") || (isPresenting() && pictures.pinned !== null);
  return { run: view.data.run, at: replayFrom ?? view.at, replay: Boolean(replay.on), factor: pictures.factor, component: pictures.pinned, spot: laser ? (pictures.hovered ?? pictures.pinned) : null };
}

async function publish() {
  const text = JSON.stringify(shown());
  if (text === sent.text && performance.now() - sent.at < ALIVE_MS) return;
  sending = true;
  try {
    const response = await post(session.id, text);
    const reply = await response.json();
    if (response.ok) {
      sent = { text, at: performance.now() };
      session.followers = reply.followers;
    } else if (response.status === 409) forget(reply.message);
    else await pause();
  } catch {
    await pause(); // the server is busy or restarts
  }
  sending = false;
  pill();
}

function post(id, body) {
  return fetch(id ? `${page.presentations}/${id}` : page.presentations, { method: "POST", headers: { "Content-Type": "application/json", "X-SeMF-Key": session?.key ?? "new" }, body });
}

const pause = () => new Promise((done) => setTimeout(done, RETRY_MS));

function stored(name) {
  try {
    return JSON.parse(sessionStorage.getItem(name));
  } catch {
    return null;
  }
}

function forget(words) {
  session = null;
  sessionStorage.removeItem(KEPT);
  document.querySelector(".semf-code")?.remove();
  pill();
  if (words) say(words);
}

// -- link and code -----------------------------------------------------------------------------

export async function showCode() {
  const open = document.querySelector(".semf-code");
  if (open) return open.close();
  if (page.off) return say("This server shows results only, so it has no presentations that others can follow.");
  if (!session) {
    try {
      const response = await post("", JSON.stringify({ origin: location.origin }));
      const reply = await response.json();
      if (!response.ok) return say(reply.message);
      session = { ...reply, followers: 0 };
      sent = { text: "", at: 0 };
      sessionStorage.setItem(KEPT, JSON.stringify(session));
    } catch {
      return say("The server did not answer; try again.");
    }
  }
  pill();
  dialog();
}

function dialog() {
  const image = element("img", { class: "semf-qr", src: session.code, alt: "QR code of the link to follow" });
  const link = element("p", { class: "semf-code-link", text: session.link });
  const said = element("p", { class: "semf-code-said", role: "status", text: LOCAL.test(location.hostname) ? "This link works on this computer only: open the Studio under an address that others can reach." : "Whoever opens this link sees what you show, and can change nothing." });
  const tool = (text, action) => {
    const button = element("button", { type: "button", class: "semf-tool", text });
    button.addEventListener("click", () => action(button));
    return button;
  };
  const close = tool("Close", () => box.close());
  const phone = tool("Notes on the phone", (button) => {
    const secret = image.dataset.secret !== "yes";
    image.dataset.secret = secret ? "yes" : "no";
    image.src = secret ? session.notesCode : session.code;
    image.alt = secret ? "QR code of the speaker notes" : "QR code of the link to follow";
    link.hidden = secret;
    said.textContent = secret ? "For your own phone only: it opens the speaker notes." : "";
    button.textContent = secret ? "The link to follow" : "Notes on the phone";
  });
  const tools = element("div", { class: "semf-code-tools" },
    tool("Copy link", () => navigator.clipboard.writeText(session.link).then(() => (said.textContent = "The link is copied."), () => (said.textContent = "The browser does not let a page copy: select the link."))),
    tool("Notes window", () => window.open(session.notes, "semf-notes", "popup,width=560,height=720")),
    phone,
    tool("End", () => post(session.id, JSON.stringify({ end: true })).finally(() => (box.close(), forget()))),
    close);
  const box = element("dialog", { class: "semf-code", "aria-label": "Follow me" }, element("h2", { text: "Follow me" }), image, link, said, tools);
  box.addEventListener("close", () => box.remove());
  box.addEventListener("keydown", (event) => event.key.toLowerCase() === "q" && box.close());
  document.body.append(dressed(box));
  box.showModal();
  close.focus();
}

// How many follow; a press shows the code again.
function pill() {
  const place = document.querySelector(".semf-pill.semf-on-air");
  if (!session || !page) return place?.remove();
  const words = `${session.followers ?? 0} follow`;
  if (place) return void (place.textContent !== words && (place.textContent = words));
  const made = element("button", { type: "button", class: "semf-pill semf-on-air", title: "Link and code: Q", text: words });
  made.addEventListener("click", () => showCode());
  document.body.append(dressed(made));
}

function say(words) {
  document.querySelector(".semf-said")?.remove();
  const place = element("p", { class: "semf-pill semf-said", role: "alert", text: words });
  document.body.append(dressed(place));
  setTimeout(() => place.remove(), 8000);
}

// -- who has left a presentation ---------------------------------------------------------------

function wayBack() {
  const id = stored(LEFT);
  const place = document.querySelector(".semf-back");
  if (!id || !page) return place?.remove();
  if (place) return;
  const off = element("button", { type: "button", "aria-label": "Do not go back", text: "✕" });
  const made = element("p", { class: "semf-pill semf-back" }, element("a", { href: `${page.follow}/${id}`, text: "Back to the lecturer" }), off);
  off.addEventListener("click", () => {
    sessionStorage.removeItem(LEFT);
    made.remove();
  });
  document.body.append(dressed(made));
}
