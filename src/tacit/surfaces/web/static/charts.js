// Small drawings. Each has a text that says what it shows.

import { percent, svg } from "./dom.js";

const WIDTH = 360;
const HEIGHT = 130;
const LEFT = 46;
const BOTTOM = 18;
const TOP = 8;

const short = (label) => new Date(`${label}`.length === 10 ? `${label}T12:00` : label).toLocaleDateString([], { month: "short", day: "numeric" });
const words = (x, y, text, anchor) => svg("text", { x, y, "text-anchor": anchor }, text);
const level = (share) => HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP);

function frame(kind, label, marks, names) {
  return svg("svg", { class: kind, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label },
    [0, 0.5, 1].map((share) => svg("line", { class: "grid", x1: LEFT, x2: WIDTH, y1: level(share), y2: level(share) })),
    marks,
    names.left.map(([share, text]) => words(LEFT - 6, level(share) + 4, text, "end")),
    names.below.length ? words(LEFT, HEIGHT - 4, names.below[0], "start") : [],
    names.below.length > 1 ? words(WIDTH, HEIGHT - 4, names.below[1], "end") : []);
}

// A curve of shares, 0 to 1, in the band of their intervals; `points`: [{label, value, low, high}].
export function curve(points, label) {
  const x = (at) => (points.length < 2 ? (LEFT + WIDTH) / 2 : LEFT + 4 + (at * (WIDTH - LEFT - 8)) / (points.length - 1));
  const known = points.map((point, at) => ({ ...point, x: x(at) })).filter((point) => point.value !== null && point.value !== undefined);
  const last = known.at(-1);
  const text = last ? `${label}: last ${percent(last.value)}, between ${percent(last.low)} and ${percent(last.high)}` : `${label}: nothing verified yet`;
  const line = (key) => known.map((point) => `${point.x},${level(point[key])}`);
  return frame("curve", text, [
    svg("polygon", { class: "interval", points: [...line("high"), ...line("low").reverse()].join(" ") }),
    known.map((point) => svg("line", { class: "interval", x1: point.x, x2: point.x, y1: level(point.low), y2: level(point.high) })),
    svg("polyline", { class: "line", points: line("value").join(" ") }),
    known.map((point) => svg("circle", { class: "dot", cx: point.x, cy: level(point.value), r: 3 },
      svg("title", {}, `${short(point.label)}: ${percent(point.value)}, between ${percent(point.low)} and ${percent(point.high)}`))),
  ], { left: [[0, "0 %"], [1, "100 %"]], below: ends(points) });
}

// Bars of counts; `bars`: [{label, count, part}], the part is drawn stronger.
export function columns(bars, label) {
  const most = Math.max(1, ...bars.map((bar) => bar.count));
  const step = (WIDTH - LEFT) / Math.max(1, bars.length);
  const sum = bars.reduce((total, bar) => total + bar.count, 0);
  const column = (bar, at, count, kind) => svg("rect", {
    class: kind, x: LEFT + at * step + 3, width: Math.max(1, step - 6), y: level(count / most), height: level(0) - level(count / most), rx: 2,
  }, svg("title", {}, `${short(bar.label)}: ${bar.count}, ${bar.part} followed`));
  return frame("columns", `${label}: ${sum} in all`, bars.map((bar, at) => [column(bar, at, bar.count, "column"), column(bar, at, bar.part, "column part")]),
    { left: [[0, "0"], [1, most]], below: ends(bars) });
}

function ends(rows) {
  return rows.length > 1 ? [short(rows[0].label), short(rows.at(-1).label)] : rows.map((row) => short(row.label));
}
