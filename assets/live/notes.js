// The speaker notes: those of the stage on show, what comes next, and how long it has been.
import { element } from "./dom.js";
import { asked, greet, visible } from "./presentation.js";

const { presentation } = document.body.dataset;
const place = `semf-notes-${presentation}`;
const title = element("h1", {});
const where = element("p", { class: "place" });
const words = element("div", { class: "words notes" });
const next = element("p", { class: "next" });
const timer = element("span", { class: "timer", role: "timer" });
const again = element("button", { type: "button", class: "semf-tool", text: "Start the time again" });
let since = Date.now();

// The key stands behind the # of the link, which browsers send to nobody; it is taken out of the address.
function key() {
  const given = new URLSearchParams(location.hash.slice(1)).get("key");
  try {
    if (given) {
      sessionStorage.setItem(place, given);
      history.replaceState(null, "", location.pathname);
    }
    return given ?? sessionStorage.getItem(place) ?? "";
  } catch {
    return given ?? "";
  }
}

function tick() {
  const seconds = Math.max(0, Math.floor((Date.now() - since) / 1000));
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60].map((n) => String(n).padStart(2, "0"));
  timer.textContent = (parts[0] === "00" ? parts.slice(1) : parts).join(":");
}

again.addEventListener("click", () => {
  since = Date.now();
  tick();
});

async function go() {
  const mine = { "X-SeMF-Key": key() };
  await greet();
  document.querySelector("main").replaceChildren(element("header", {}, title, where), words, next, element("footer", {}, timer, again));
  setInterval(tick, 500);
  let revision = "";
  let content = "";
  let first = true;
  for (;;) {
    await visible();
    try {
      if (!first) {
        const news = await asked(`?revision=${revision}`);
        revision = news.revision;
        if (news.content === content) continue;
      }
      const reply = await asked("/notes", mine);
      if (first) since = reply.began * 1000;
      first = false;
      content = reply.content;
      title.textContent = reply.title;
      where.textContent = reply.place;
      words.innerHTML = reply.html || "<p>This stage has no notes.</p>"; // made by the server from Markdown, in which HTML is text
      next.textContent = reply.next ? `Next: ${reply.next}` : "";
    } catch (problem) {
      if (problem.final) return void words.replaceChildren(element("p", { text: problem.message }));
      await new Promise((done) => setTimeout(done, 3000));
    }
  }
}

go();
