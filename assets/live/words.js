// Words in place: whatever has data-word is explained on hover, and at length on a press; all from one glossary.
import { element } from "./dom.js";

let glossary = null;
let asked = null;

// The glossary is fetched once for a page; what it explains is marked as soon as it is there.
export function loadWords(root, data) {
  root.addEventListener("click", (event) => press(event, root, data));
  root.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") press(event, root, data);
  });
  asked ??= fetch(data.words)
    .then((response) => response.json())
    .then((words) => (glossary = words))
    .catch(() => (asked = null)); // without it nothing is explained
  asked.then(() => explainable(root));
}

export function explainable(root) {
  if (!glossary) return;
  for (const place of root.querySelectorAll("[data-word]:not([role])")) {
    const word = glossary[place.dataset.word];
    if (!word) continue;
    place.title = word.short;
    place.tabIndex = 0;
    place.setAttribute("role", "button");
    place.classList.add("semf-word");
  }
}

function press(event, root, data) {
  const place = event.target.closest("[data-word]");
  const word = place && glossary?.[place.dataset.word];
  if (!word) return;
  event.preventDefault();
  event.stopPropagation();
  const close = element("button", { type: "button", class: "semf-tool", text: "Close" });
  const drawing = element("div", { class: "semf-drawing" });
  drawing.innerHTML = word.drawing; // of the package's own files
  const more = element("p", {}, element("strong", { text: word.sign }), ` ${word.short} ${word.more}`);
  const source = word.equation ? element("p", { class: "semf-scale", text: `Equation: ${word.equation}` }) : null;
  const lesson = element("a", { class: "semf-tool", href: `${data.learn}?lesson=${word.lesson}`, text: "The lesson that shows it" });
  const box = element("dialog", { class: "semf-keys", "aria-label": word.sign }, drawing, more, source, element("p", {}, lesson, " ", close));
  close.addEventListener("click", () => box.close());
  box.addEventListener("close", () => {
    box.remove();
    place.focus();
  });
  root.append(box);
  box.showModal();
}
