// The Components-v2 entry of a sketch; the drawing itself is that of lessons to take home, which stands before this.
const places = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  let entry = places.get(parentElement);
  if (entry) {
    clearTimeout(entry.ending);
    entry.data = data;
    entry.sketch.update(data);
  } else {
    const place = document.createElement("div");
    place.className = "semf-sketch";
    parentElement.querySelector(":scope > .semf-sketch")?.remove(); // Streamlit's own children stay
    parentElement.append(place);
    place.addEventListener("transitionend", (event) => event.target === place && theme(place));
    theme(place);
    entry = { data };
    entry.sketch = new Sketch(place, data, (curve) => setTriggerValue("drawn", { name: entry.data.name, curve }));
    places.set(parentElement, entry);
  }
  // Streamlit may call this between two updates of the same element: wait and see.
  return () => {
    entry.ending = setTimeout(() => {
      entry.sketch.destroy();
      places.delete(parentElement);
    }, 400);
  };
}

function theme(place) {
  const [r, g, b] = (getComputedStyle(place).color.match(/[\d.]+/g) ?? [0, 0, 0]).map(Number);
  place.dataset.theme = 0.3 * r + 0.6 * g + 0.1 * b > 128 ? "dark" : "light";
}
