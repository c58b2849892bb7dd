// A plain drawing of the first panel for the moments until plotly.js is ready.

export function logRange(curves) {
  let low = Infinity;
  let high = -Infinity;
  for (const curve of curves) {
    for (const value of curve) {
      if (!(value > 0 && value < Infinity)) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  return low <= high ? [Math.log10(low), Math.log10(high)] : [0, 1];
}

export function sketch(plot, history, until, theme) {
  const canvas = plot.parentElement.querySelector(".semf-sketch") ?? document.createElement("canvas");
  if (!canvas.isConnected) {
    canvas.className = "semf-sketch";
    canvas.setAttribute("aria-hidden", "true");
    plot.before(canvas);
    canvas.width = plot.clientWidth;
    canvas.height = plot.clientHeight;
  }
  const pen = canvas.getContext("2d");
  const { width, height } = canvas;
  pen.clearRect(0, 0, width, height);
  const shown = history.curves.slice(0, 2);
  const [low, high] = logRange(shown);
  const end = history.x.at(-1) ?? 1;
  shown.forEach((curve, c) => {
    pen.beginPath();
    pen.lineWidth = 2;
    pen.strokeStyle = c ? theme.colours.blue : theme.colours.sky;
    for (let i = 0; i < curve.length && history.x[i] <= until; i++) {
      pen.lineTo(56 + ((width - 68) * history.x[i]) / end, 30 + ((height - 70) * (high - Math.log10(curve[i]))) / (high - low || 1));
    }
    pen.stroke();
  });
}
