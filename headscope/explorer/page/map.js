// The whole map of a head: rows look at columns. A cursor walks over it and is told in words.
import { colour, el } from "./dom.js";
import { paintWeights } from "./scale.js";
import { unitRow } from "./units.js";

const LABELLED = 11;

export class AttentionMap {
  constructor(place, { onPoint }) {
    this.onPoint = onPoint;
    this.canvas = el("canvas", { class: "map", tabindex: "0", role: "img", "aria-label": "Attention map; arrow keys walk over its cells" });
    this.scroll = el("div", { class: "map-scroll" }, this.canvas);
    place.replaceChildren(this.scroll);
    this.small = document.createElement("canvas");
    this.at = null;
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => this.move(null));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.scroll);
  }

  show(queries, keys, rows) {
    this.queries = queries;
    this.keys = keys;
    this.weights = queries.map((query) => unitRow(query, keys, (token) => rows.at(token)));
    this.ready = this.weights.every((row) => row);
    if (this.ready) paintWeights(this.small, queries.length, keys.length, (r, c) => this.weights[r][c]);
    this.draw();
  }

  draw() {
    if (!this.ready || !this.queries.length) return;
    const room = Math.max(180, this.scroll.clientWidth - 4);
    const n = Math.max(this.keys.length, this.queries.length);
    let label = 96;
    let cell = Math.min(30, Math.floor((room - label) / n));
    if (cell < LABELLED) {
      label = 0;
      cell = Math.max(1, Math.min(LABELLED - 1, room / n));
    }
    const [width, height] = [label + cell * this.keys.length, label + cell * this.queries.length];
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.ceil(width * ratio);
    this.canvas.height = Math.ceil(height * ratio);
    this.canvas.style.width = `${Math.ceil(width)}px`;
    this.canvas.style.height = `${Math.ceil(height)}px`;
    const pen = this.canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(this.small, label, label, width - label, height - label);
    Object.assign(this, { label, cell });
    pen.strokeStyle = colour("--line");
    pen.strokeRect(label + 0.5, label + 0.5, width - label - 1, height - label - 1);
    if (label) this.labels(pen);
    if (this.at) {
      pen.strokeStyle = colour("--up");
      pen.lineWidth = 2;
      pen.strokeRect(label + this.at[1] * cell, label + this.at[0] * cell, cell, cell);
    }
    this.canvas.dataset.cells = `${this.queries.length}x${this.keys.length}`;
  }

  labels(pen) {
    const { label, cell } = this;
    pen.font = `${Math.min(13, cell)}px ${colour("--font")}`;
    pen.textBaseline = "middle";
    const write = (unit) => {
      pen.fillStyle = colour(unit.special ? "--soft" : "--ink");
      const text = unit.label.length > 13 ? `${unit.label.slice(0, 12)}…` : unit.label;
      pen.fillText(text, 0, 0);
    };
    this.queries.forEach((unit, i) => {
      pen.save();
      pen.textAlign = "right";
      pen.translate(label - 6, label + (i + 0.5) * cell);
      write(unit);
      pen.restore();
    });
    this.keys.forEach((unit, i) => {
      pen.save();
      pen.textAlign = "left";
      pen.translate(label + (i + 0.5) * cell, label - 6);
      pen.rotate(-Math.PI / 2);
      write(unit);
      pen.restore();
    });
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    const [c, r] = [event.clientX - box.left, event.clientY - box.top].map((x) => Math.floor((x - this.label) / this.cell));
    this.move(r >= 0 && c >= 0 && r < this.queries.length && c < this.keys.length ? [r, c] : null);
  }

  key(event) {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (!steps[event.key] || event.altKey || event.ctrlKey || event.metaKey) return;
    const [r, c] = this.at || [0, 0];
    const [dr, dc] = this.at ? steps[event.key] : [0, 0];
    this.move([Math.max(0, Math.min(this.queries.length - 1, r + dr)), Math.max(0, Math.min(this.keys.length - 1, c + dc))]);
    event.preventDefault();
  }

  move(at) {
    if (String(at) === String(this.at)) return;
    this.at = at;
    this.draw();
    this.onPoint(at && { query: this.queries[at[0]], key: this.keys[at[1]], weight: this.weights[at[0]][at[1]] });
  }
}
