// One scale for all maps: brightness is the root of the weight, from the page's own background.
import { isDark } from "./mode.js";

const LIGHT = ["#ffffff", "#d3e3ee", "#8cb6d1", "#3d7fab", "#14496f", "#06243c"];
const DARK = ["#171a20", "#1d3c53", "#2b6c95", "#58addf", "#b3ddf5", "#ffffff"];

const channels = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

const ramp = (stops) => {
  const colours = stops.map(channels);
  const table = new Uint32Array(256);
  for (let i = 0; i < 256; i += 1) {
    const at = (i / 255) * (stops.length - 1);
    const low = Math.min(Math.floor(at), stops.length - 2);
    const [r, g, b] = colours[low].map((c, j) => Math.round(c + (colours[low + 1][j] - c) * (at - low)));
    table[i] = (255 << 24) | (b << 16) | (g << 8) | r;
  }
  return table;
};
const ramps = { light: ramp(LIGHT), dark: ramp(DARK) };

const shades = () => ramps[isDark() ? "dark" : "light"];
export const rampStops = () => (isDark() ? DARK : LIGHT);

// Bytes (255 · √weight) or weights as the pixels of a canvas of their size.
export const paintBytes = (canvas, bytes, rows, columns) => {
  const table = shades();
  const image = new ImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < pixels.length; i += 1) pixels[i] = table[bytes[i]];
  canvas.width = columns;
  canvas.height = rows;
  canvas.getContext("2d").putImageData(image, 0, 0);
};

export const paintWeights = (canvas, rows, columns, weightAt) => {
  const bytes = new Uint8Array(rows * columns);
  for (let r = 0; r < rows; r += 1) {
    for (let c = 0; c < columns; c += 1) bytes[r * columns + c] = Math.min(255, 255 * Math.sqrt(weightAt(r, c)));
  }
  paintBytes(canvas, bytes, rows, columns);
};
