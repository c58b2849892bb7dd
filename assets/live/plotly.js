// plotly.js is large: each of its bundles is fetched once, when a chart needs it. A bundle leaves itself in the window.
const bundles = new Map();

export function loadPlotly(address) {
  if (!bundles.has(address)) bundles.set(address, import(address).then(() => window.Plotly));
  return bundles.get(address);
}
