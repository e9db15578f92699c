// Lines between words: from the left column, whose words look, to the right, which they look at.
import { colour, cursor, el } from "./dom.js";
import { unitRow } from "./units.js";

const ROW = 24;
const FAINT = 0.01;

export class Lines {
  constructor(place, { onPick, onSeen }) {
    this.onPick = onPick;
    this.onSeen = onSeen;
    this.canvas = el("canvas", { "aria-hidden": "true" });
    this.left = el("ol", { class: "from", role: "listbox", "aria-label": "Words that look; choose one to see its lines alone", tabindex: "0" });
    this.right = el("ol", { class: "to", "aria-label": "Words that are looked at" });
    this.pane = el("div", { class: "pane" }, this.left, el("div", { class: "between" }, this.canvas), this.right);
    this.scroll = el("div", { class: "lines", tabindex: "-1" }, this.pane);
    place.replaceChildren(this.scroll);
    this.hovered = null;
    this.picked = -1;
    this.queries = [];
    this.keys = [];
    this.scroll.addEventListener("scroll", () => this.seen(), { passive: true });
    this.left.addEventListener("keydown", (event) => this.key(event));
    for (const [list, side] of [[this.left, "from"], [this.right, "to"]]) {
      list.addEventListener("pointerover", (event) => this.hover(side, event.target.closest("li")));
      list.addEventListener("pointerleave", () => this.hover(side, null));
    }
    this.left.addEventListener("click", (event) => {
      const item = event.target.closest("li");
      if (item) this.pick(Number(item.dataset.i) === this.picked ? -1 : Number(item.dataset.i));
    });
    new ResizeObserver(() => this.seen()).observe(this.scroll);
  }

  show(queries, keys, rows, picked) {
    const same = JSON.stringify([queries, keys]) === this.shown;
    this.rows = rows;
    this.picked = picked;
    if (!same) {
      this.shown = JSON.stringify([queries, keys]);
      this.queries = queries;
      this.keys = keys;
      const item = (unit, i, role) => el("li", { "data-i": i, role, id: role ? `from-${i}` : null, "aria-selected": role ? "false" : null, class: `${unit.special ? "special " : ""}${unit.piece ? "piece " : ""}segment${unit.segment}` }, el("bdi", {}, unit.label));
      this.left.replaceChildren(...queries.map((unit, i) => item(unit, i, "option")));
      this.right.replaceChildren(...keys.map((unit, i) => item(unit, i, null)));
      this.pane.style.setProperty("--rows", Math.max(queries.length, keys.length));
    }
    for (const one of this.left.children) one.setAttribute("aria-selected", String(Number(one.dataset.i) === picked));
    if (picked >= 0) this.left.setAttribute("aria-activedescendant", `from-${picked}`);
    else this.left.removeAttribute("aria-activedescendant");
    this.seen();
  }

  // Which tokens are in view: their rows are asked for, and drawn when they are here.
  seen() {
    if (!this.queries.length) return;
    const first = Math.max(0, Math.floor(this.scroll.scrollTop / ROW) - 2);
    const last = Math.min(this.queries.length, Math.ceil((this.scroll.scrollTop + this.scroll.clientHeight) / ROW) + 2);
    if (first >= last) return;
    this.first = first;
    this.last = last;
    const tokens = this.queries.slice(first, last).flatMap((unit) => unit.tokens);
    this.onSeen(Math.min(...tokens), Math.max(...tokens) + 1);
    this.draw();
  }

  row(i) {
    return unitRow(this.queries[i], this.keys, (token) => this.rows.at(token));
  }

  draw() {
    const { canvas } = this;
    const width = canvas.parentElement.clientWidth;
    const height = Math.min(this.scroll.clientHeight, Math.max(this.queries.length, this.keys.length) * ROW);
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.clearRect(0, 0, width, height);
    pen.lineCap = "round";
    const top = this.scroll.scrollTop;
    const alone = this.hovered?.side === "from" ? this.hovered.i : this.hovered ? -1 : this.picked;
    const into = this.hovered?.side === "to" ? this.hovered.i : -1;
    const one = alone >= 0 || into >= 0;
    pen.strokeStyle = colour(one ? "--up" : "--accent");
    let complete = true;
    let n = 0;
    for (let i = this.first; i < this.last; i += 1) {
      const row = this.row(i);
      if (!row) {
        complete = false;
        continue;
      }
      if (alone >= 0 && i !== alone) continue;
      const y = i * ROW + ROW / 2 - top;
      for (let j = 0; j < row.length; j += 1) {
        if (row[j] < FAINT || (into >= 0 && j !== into)) continue;
        const target = j * ROW + ROW / 2 - top;
        pen.globalAlpha = Math.min(1, (one ? 0.15 : 0.04) + row[j]);
        pen.lineWidth = 0.6 + 4 * row[j];
        pen.beginPath();
        pen.moveTo(2, y);
        pen.bezierCurveTo(width * 0.4, y, width * 0.6, target, width - 2, target);
        pen.stroke();
        n += 1;
      }
    }
    this.weigh(alone);
    this.scroll.dataset.lines = n;
    this.scroll.dataset.complete = complete;
  }

  // How much the chosen word looks at each word on the right, as a bar behind it.
  weigh(i) {
    const row = i >= 0 && this.queries[i] ? this.row(i) : null;
    for (const item of this.right.children) {
      const weight = row ? row[Number(item.dataset.i)] : 0;
      if (weight > 0.001) item.style.setProperty("--w", weight.toFixed(3));
      else item.style.removeProperty("--w");
    }
  }

  hover(side, item) {
    this.hovered = item ? { side, i: Number(item.dataset.i) } : null;
    this.draw();
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Escape" && this.picked >= 0) this.pick(-1);
    else {
      const to = cursor(event.key, this.picked, this.queries.length);
      if (to === null) return;
      this.pick(to);
      this.left.children[to].scrollIntoView({ block: "nearest" });
    }
    event.preventDefault();
  }

  pick(i) {
    this.picked = i;
    this.onPick(i);
  }
}
