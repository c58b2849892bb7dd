// plotly.js is large: it is fetched once, when a chart needs it.
import { element } from "./dom.js";

let loading = null;

export function loadPlotly(address) {
  loading ??= new Promise((done, failed) => {
    const script = element("script", { src: address, charset: "utf-8" });
    script.onload = () => done(window.Plotly);
    script.onerror = () => ((loading = null), failed(new Error("plotly.js cannot be loaded")));
    document.head.append(script);
  });
  return loading;
}
