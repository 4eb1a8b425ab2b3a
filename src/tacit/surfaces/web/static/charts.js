// Small drawings. Each has a text that says what it shows.

import { percent, svg } from "./dom.js";

const WIDTH = 280;
const HEIGHT = 72;

// A curve of shares, 0 to 1, each with its interval as a bar; `points`: [{label, value, low, high}].
export function curve(points, label) {
  const known = points.filter((point) => point.value !== null && point.value !== undefined);
  const last = known.at(-1);
  const text = last ? `${label}: last ${percent(last.value)}, between ${percent(last.low)} and ${percent(last.high)}` : `${label}: nothing verified yet`;
  const x = (at) => (points.length < 2 ? WIDTH / 2 : 8 + (at * (WIDTH - 16)) / (points.length - 1));
  const y = (share) => HEIGHT - 6 - share * (HEIGHT - 12);
  const marks = points.flatMap((point, at) => {
    if (point.value === null || point.value === undefined) return [];
    return [
      svg("line", { class: "interval", x1: x(at), x2: x(at), y1: y(point.low), y2: y(point.high) }),
      svg("circle", { class: "dot", cx: x(at), cy: y(point.value), r: 2.5 }, svg("title", {}, `${point.label}: ${percent(point.value)}`)),
    ];
  });
  const path = points.map((point, at) => (point.value === null || point.value === undefined ? "" : `${x(at)},${y(point.value)}`)).filter(Boolean);
  return svg("svg", { class: "curve", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": text },
    [0, 0.5, 1].map((share) => svg("line", { class: "grid", x1: 0, x2: WIDTH, y1: y(share), y2: y(share) })),
    svg("polyline", { class: "line", points: path.join(" ") }), marks);
}

// Bars of counts; `bars`: [{label, count, part}], the part is drawn stronger.
export function columns(bars, label) {
  const most = Math.max(1, ...bars.map((bar) => bar.count));
  const step = WIDTH / Math.max(1, bars.length);
  const sum = bars.reduce((total, bar) => total + bar.count, 0);
  const height = (count) => (count * (HEIGHT - 8)) / most;
  const column = (bar, at, count, kind) => svg("rect", {
    class: kind, x: at * step + 2, width: Math.max(1, step - 4), y: HEIGHT - height(count), height: height(count), rx: 2,
  }, svg("title", {}, `${bar.label}: ${bar.count}, ${bar.part} followed`));
  return svg("svg", { class: "columns", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${label}: ${sum} in all` },
    svg("line", { class: "grid", x1: 0, x2: WIDTH, y1: HEIGHT - 0.5, y2: HEIGHT - 0.5 }),
    bars.map((bar, at) => [column(bar, at, bar.count, "column"), column(bar, at, bar.part, "column part")]));
}
