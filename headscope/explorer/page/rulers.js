// How far columns and diagonals stand out: bars beside the map, a line where they begin to count.
import { colour } from "./dom.js";

const HEIGHT = 60; // of a bar that reaches the top of the scale, in dots of the canvas
const WIDTH = 8;

const paintBars = (canvas, values, limit) => {
  canvas.width = WIDTH * values.length;
  canvas.height = HEIGHT;
  const pen = canvas.getContext("2d");
  values.forEach((value, i) => {
    if (value === null) return;
    const tall = Math.max(1, HEIGHT * Math.min(1, Math.max(0, value)));
    pen.fillStyle = colour(value >= limit ? "--up" : "--line");
    pen.fillRect(i * WIDTH, HEIGHT - tall, WIDTH, tall);
  });
  pen.fillStyle = colour("--ink");
  pen.fillRect(0, HEIGHT * (1 - limit), canvas.width, 1);
};

// The same scale on both sides of the main diagonal, also where a causal map has one side only.
const bothSides = ({ offsets, diagonals }) => {
  const furthest = Math.max(...offsets.map(Math.abs));
  const found = new Array(2 * furthest + 1).fill(null);
  offsets.forEach((offset, i) => {
    found[offset + furthest] = diagonals[i];
  });
  return found;
};

const listed = (found) => (found.length > 4 ? `${found.slice(0, 3).join(", ")} and ${found.length - 3} more` : found.join(", "));

export const rulersInWords = ({ columns, offsets, diagonals, limit }) => {
  const keys = columns.flatMap((value, i) => (value !== null && value >= limit ? [i + 1] : []));
  const lines = offsets.filter((_, i) => diagonals[i] !== null && diagonals[i] >= limit);
  const signed = lines.map((offset) => (offset > 0 ? `+${offset}` : String(offset).replace("-", "−")));
  return `${keys.length ? `Columns that stand out: ${listed(keys)}` : "No column stands out"}; ${lines.length ? `diagonals: ${listed(signed)}` : "no diagonal does"}.`;
};

export const paintRulers = (above, below, rulers) => {
  paintBars(above, rulers.columns, rulers.limit);
  paintBars(below, bothSides(rulers), rulers.limit);
};
