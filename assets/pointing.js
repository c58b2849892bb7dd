// The Components-v2 entry of a chart that is drawn on: a stroke of the pointer or a finger sets the heights of its bars,
// or moves its point. Until the page has drawn it anew, the stroke itself is shown. Works on the presenter's copy too.
const CHART = ".st-key-lesson-figure .js-plotly-plot, .semf-drawn";
const SVG = "http://www.w3.org/2000/svg";
let entry = null; // one such chart is on a page at a time
let stroke = null;

export default function ({ data, setTriggerValue }) {
  const mine = { data, send: (values) => setTriggerValue("drawn", values) };
  if (!entry) listen(true);
  entry = mine;
  stroke?.overlay.remove(); // the page has drawn what was sent
  stroke = null;
  document.body.dataset.pointing = data.kind;
  return () => {
    if (entry !== mine) return;
    listen(false);
    entry = null;
    delete document.body.dataset.pointing;
  };
}

function listen(on) {
  const act = on ? "addEventListener" : "removeEventListener";
  document[act]("pointerdown", begin, true);
  document[act]("pointermove", go, true);
  for (const name of ["pointerup", "pointercancel"]) document[act](name, finish, true);
}

function begin(event) {
  const chart = event.target.closest?.(CHART);
  const plane = chart?.querySelector(".nsewdrag");
  if (!plane || event.button !== 0 || event.target !== plane) return;
  event.preventDefault();
  stroke?.overlay.remove();
  const overlay = document.createElementNS(SVG, "svg");
  overlay.setAttribute("class", "semf-stroke");
  chart.append(overlay);
  stroke = { chart, overlay, box: plane.getBoundingClientRect(), values: [...entry.data.values], before: null, open: true };
  plane.setPointerCapture(event.pointerId);
  go(event);
}

function go(event) {
  if (!stroke?.open) return;
  const { xaxis, yaxis } = stroke.chart._fullLayout;
  const [x, y] = [event.clientX - stroke.box.left, event.clientY - stroke.box.top];
  if (entry.data.kind === "point") stroke.values = [xaxis.p2d(x), yaxis.p2d(y)].map(inside);
  else {
    const { values } = stroke;
    const at = Math.max(0, Math.min(values.length - 1, Math.floor((x / stroke.box.width) * values.length)));
    const height = inside(yaxis.p2d(y));
    const [from, low] = stroke.before ?? [at, height];
    const steps = Math.max(1, Math.abs(at - from));
    for (let i = 0; i <= steps; i++) values[Math.round(from + ((at - from) * i) / steps)] = inside(low + ((height - low) * i) / steps);
    stroke.before = [at, height];
  }
  draw(xaxis, yaxis);
}

function finish() {
  if (!stroke?.open) return;
  stroke.open = false;
  entry.data.values = stroke.values;
  entry.send(stroke.values);
}

function inside(value) {
  const { most, step } = entry.data;
  return Math.max(-most, Math.min(most, Number((Math.round(value / step) * step).toFixed(6))));
}

function draw(xaxis, yaxis) {
  const { overlay, box, chart, values } = stroke;
  const outer = chart.getBoundingClientRect();
  overlay.style.cssText = `left:${box.left - outer.left}px;top:${box.top - outer.top}px;width:${box.width}px;height:${box.height}px`;
  const marks = entry.data.kind === "point" ? [mark("circle", { cx: xaxis.d2p(values[0]), cy: yaxis.d2p(values[1]), r: 9 })] : values.map((value, i) => bar(i, value, yaxis));
  overlay.replaceChildren(...marks);
}

function bar(i, value, yaxis) {
  const wide = stroke.box.width / stroke.values.length;
  const [top, foot] = [yaxis.d2p(Math.max(0, value)), yaxis.d2p(Math.min(0, value))];
  return mark("rect", { x: (i + 0.1) * wide, y: top - 1, width: 0.8 * wide, height: foot - top + 2 });
}

function mark(tag, attributes) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}
