// All heads as small pictures, layer by layer; a layer is asked for when it comes into view.
import { el, percent } from "./dom.js";
import { paintBytes } from "./scale.js";

export class Pictures {
  constructor(place, { onHead }) {
    this.place = place;
    this.onHead = onHead;
    this.rows = [];
    this.cells = new Map();
    this.at = [0, 0];
    this.place.addEventListener("click", (event) => {
      const cell = event.target.closest("[data-id]");
      if (cell) this.go(cell.dataset.id, false);
    });
    this.place.addEventListener("keydown", (event) => this.key(event));
  }

  // `layers` are numbers from 1.
  build(stack, layers) {
    this.stack = stack;
    this.observer?.disconnect();
    const name = (layer, head) => `${stack.stack === "self" ? "" : `${stack.stack}:`}${layer}-${head}`;
    const most = Math.max(...layers.map((layer) => stack.n_heads[layer - 1]));
    this.cells.clear();
    this.rows = layers.map((layer) => {
      const cells = Array.from({ length: stack.n_heads[layer - 1] }, (_, i) => {
        const id = name(layer, i + 1);
        const cell = el("button", { type: "button", class: "picture", role: "gridcell", tabindex: "-1", "data-id": id, "aria-label": `Head ${id}`, "aria-selected": "false", title: `Head ${id}` }, el("canvas", { width: 1, height: 1, "aria-hidden": "true" }), el("span", { class: "moved", "aria-hidden": "true" }));
        this.cells.set(id, cell);
        return cell;
      });
      const row = el("div", { role: "row", class: "layer", "data-layer": layer }, el("span", { role: "rowheader", class: "name" }, String(layer)), ...cells);
      return { layer, row, cells };
    });
    const grid = el("div", { role: "grid", class: layers.length === 1 ? "pictures one" : "pictures", "aria-label": `Heads of ${stack.title} as pictures of their attention` }, ...this.rows.map(({ row }) => row));
    grid.style.setProperty("--n", most);
    this.place.replaceChildren(grid);
    this.first = null;
  }

  show(source, pass, chosen) {
    this.source = source;
    this.pass = pass;
    this.chosen = chosen;
    this.got = new Map();
    this.observer?.disconnect();
    this.observer = new IntersectionObserver((entries) => {
      for (const entry of entries) if (entry.isIntersecting) this.fetch(Number(entry.target.dataset.layer));
    }, { rootMargin: "120px" });
    for (const { row } of this.rows) this.observer.observe(row);
    this.choose(chosen);
  }

  async fetch(layer) {
    if (this.got.has(layer)) return;
    const { pass } = this;
    this.got.set(layer, null);
    try {
      const found = await this.source.pictures(pass, this.stack.stack, layer);
      if (pass !== this.pass) return;
      this.got.set(layer, found);
      this.paint(layer);
    } catch {
      this.got.delete(layer);
    }
  }

  paint(layer) {
    const found = this.got.get(layer);
    const mine = this.rows.find((one) => one.layer === layer);
    if (!found || !mine) return;
    const size = found.rows * found.columns;
    mine.cells.forEach((cell, i) => {
      paintBytes(cell.firstChild, found.data.subarray(i * size, (i + 1) * size), found.rows, found.columns);
    });
    mine.row.dataset.drawn = "yes";
  }

  repaint() {
    for (const { layer } of this.rows) if (this.got?.get(layer)) this.paint(layer);
  }

  // A head's change as a bar below its picture; null takes all bars away.
  change(heads, edited) {
    for (const { layer, cells } of this.rows) {
      cells.forEach((cell, i) => {
        const share = heads ? heads[layer - 1][i] : 0;
        cell.classList.toggle("edited", edited.has(cell.dataset.id));
        cell.lastChild.style.setProperty("--moved", Math.min(1, share).toFixed(3));
        const words = `Head ${cell.dataset.id}${edited.has(cell.dataset.id) ? ", edited" : ""}${heads ? `: ${percent(share)} of its attention moved` : ""}`;
        cell.setAttribute("aria-label", words);
        cell.title = words;
      });
    }
  }

  choose(id) {
    this.chosen = id;
    for (const [name, cell] of this.cells) {
      cell.setAttribute("aria-selected", String(name === id));
      cell.tabIndex = -1;
    }
    this.rows.forEach(({ cells }, r) => cells.forEach((cell, c) => {
      if (cell.dataset.id === id) this.at = [r, c];
    }));
    const here = this.rows[this.at[0]]?.cells[this.at[1]] || this.rows[0]?.cells[0];
    if (here) here.tabIndex = 0;
  }

  key(event) {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (!steps[event.key] || !event.target.dataset.id || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const cell = this.rows[this.at[0] + steps[event.key][0]]?.cells[this.at[1] + steps[event.key][1]];
    if (cell) this.go(cell.dataset.id, true);
  }

  go(id, focus) {
    this.choose(id);
    if (focus) this.cells.get(id).focus();
    this.onHead(id);
  }
}
