// The learning curves: one line and one band for each agent.

import { COLOURS, colour, short } from "./words.js";

const LINES = [[], [8, 4], [2, 4]];
let plot = null;
let shape = "";
let marked = null;

export function drawCurves(place, picture, step) {
  marked = step;
  const data = curveData(picture);
  const now = `${picture.columns.length} ${place.clientWidth} ${colour("--ink")}`;
  if (plot && shape === now) {
    plot.setData(data);
    return;
  }
  plot?.destroy();
  shape = now;
  plot = new window.uPlot(options(place.clientWidth, picture.columns.length), data, place);
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", "Learning curves; the table below has their ends.");
}

export function markStep(step) {
  marked = step;
  plot?.redraw(false, false);
}

function curveData({ marks, columns, arrays }) {
  const lines = [[0, ...marks]];
  columns.forEach((_, i) => {
    for (const name of ["mean", "high", "low"]) {
      lines.push([0, ...Array.from(arrays[name + i], (y) => (Number.isNaN(y) ? null : y))]);
    }
  });
  return lines;
}

function options(width, count) {
  const series = [{}];
  const bands = [];
  for (let i = 0; i < count; i++) {
    const stroke = colour(COLOURS[i]);
    series.push({ stroke, width: 2, dash: LINES[i], points: { show: false } });
    for (let k = 0; k < 2; k++) series.push({ stroke: "transparent", points: { show: false } });
    bands.push({ series: [3 * i + 2, 3 * i + 3], fill: `${stroke}38` });
  }
  const axis = {
    stroke: colour("--ink"),
    grid: { stroke: colour("--grid"), width: 1 },
    ticks: { stroke: colour("--line"), width: 1 },
    labelSize: 22,
    labelFont: "13px system-ui, sans-serif",
    font: "12px system-ui, sans-serif",
    values: (_, ticks) => ticks.map(short),
  };
  return {
    width,
    height: 230,
    scales: { x: { time: false } },
    legend: { show: false },
    cursor: { show: false },
    series,
    bands,
    axes: [
      { ...axis, label: "steps of a run", size: 34 },
      { ...axis, label: "reward so far", size: 58 },
    ],
    hooks: { draw: [drawMark] },
  };
}

function drawMark(u) {
  if (marked === null) return;
  const { ctx, bbox } = u;
  const x = Math.round(u.valToPos(marked, "x", true)) + 0.5;
  ctx.save();
  ctx.strokeStyle = colour("--soft");
  ctx.setLineDash([4, 4]);
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
}
