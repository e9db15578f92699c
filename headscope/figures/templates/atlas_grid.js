// The grid of heads and what people do with it.
const grids = byId("atlas-grids");
const panel = byId("passport");
const narrow = window.matchMedia("(max-width: 66rem)");
let state = parsed(location.hash);
let built = "";
let cells = []; // rows of buttons, all stacks below each other; null where a layer has no such head
let at = [0, 0];

const cellOf = (id) => {
  const cell = el("button", { type: "button", class: "cell", role: "gridcell", tabindex: "-1", "data-id": id, "aria-selected": "false" });
  cell.append(glyph(state, id));
  return cell;
};

const rowOf = (name, title, members, width, named) => {
  const row = el("div", { role: "row", class: "row" }, el("span", { role: "rowheader", class: "name", title }, name));
  for (let i = 0; i < width; i += 1) {
    const cell = members[i] ? cellOf(members[i]) : null;
    if (cell && named) cell.append(el("span", { class: "id", "aria-hidden": "true" }, members[i]));
    row.append(cell || el("span", { role: "gridcell", class: "gap" }));
  }
  cells.push(Array.from(row.children).slice(1).map((node) => (node.matches(".cell") ? node : null)));
  return row;
};

const gridOf = (label, width, rows, header) => {
  const numbers = Array.from({ length: width }, (_, i) => el("span", { role: "columnheader", class: "name" }, String(i + 1)));
  const top = el("div", { role: "row", class: "row head" }, el("span", { role: "columnheader", class: "name" }, header), ...numbers);
  return el("div", { role: "grid", class: "grid", "aria-label": label, "aria-readonly": "true", style: `--n:${width}` }, ...(header ? [top] : []), ...rows);
};

const buildGrids = () => {
  cells = [];
  const parts = [];
  for (const stack of data.stacks) {
    const mine = data.heads.filter((head) => head.stack === stack.stack);
    const label = `Heads of ${stack.title}, layer by layer`;
    if (data.stacks.length > 1) parts.push(el("h3", {}, stack.title));
    if (state.sort === "place") {
      const rows = Array.from({ length: stack.n_layers }, (_, i) => {
        const members = Array(stack.n_heads).fill(null);
        for (const head of mine) if (head.layer === i + 1) members[head.head - 1] = head.id;
        return rowOf(String(i + 1), `layer ${i + 1}`, members, stack.n_heads, false);
      });
      parts.push(gridOf(label, stack.n_heads, rows, "layer"));
    } else {
      const ids = inOrder(state, mine.map((head) => head.id).filter((id) => fits(state, id)));
      const rows = [];
      for (let i = 0; i < ids.length; i += stack.n_heads) {
        rows.push(rowOf(String(i + 1), `from place ${i + 1}`, ids.slice(i, i + stack.n_heads), stack.n_heads, true));
      }
      parts.push(gridOf(`Heads of ${stack.title}, in order`, stack.n_heads, rows, ""));
    }
  }
  grids.replaceChildren(...parts);
};

const everyCell = function* () {
  for (let r = 0; r < cells.length; r += 1) {
    for (let c = 0; c < cells[r].length; c += 1) if (cells[r][c]) yield [cells[r][c], r, c];
  }
};

const shade = (cell) => {
  const id = cell.dataset.id;
  const told = tintOf(state, id);
  cell.classList.toggle("tinted", Boolean(state.tint && told));
  cell.classList.toggle("empty", Boolean(state.tint && !told));
  cell.classList.toggle("up", told?.sign === "up");
  cell.classList.toggle("down", told?.sign === "down");
  cell.style.setProperty("--t", told ? told.share.toFixed(3) : "0");
  cell.title = inWords(state, id);
};

const draw = () => {
  const focused = document.activeElement?.dataset?.id;
  const key = JSON.stringify([state.view, state.sort, state.sort !== "place" && [state.low, state.q, ...["layer", "role", "cluster"].map((x) => [...state[x]])]]);
  if (key !== built) buildGrids();
  built = key;
  let n = 0;
  let target = null;
  for (const [cell, r, c] of everyCell()) {
    const id = cell.dataset.id;
    const inside = fits(state, id);
    n += inside;
    shade(cell);
    cell.classList.toggle("out", !inside);
    cell.setAttribute("aria-selected", String(id === state.head));
    cell.setAttribute("aria-label", inWords(state, id) + (inside ? "" : " (not among those chosen)"));
    cell.tabIndex = -1;
    if (id === (focused || state.head)) target = [r, c];
  }
  if (target) at = target;
  if (!cells[at[0]]?.[at[1]]) at = [...everyCell()].map(([, r, c]) => [r, c])[0] || [0, 0];
  const current = cells[at[0]]?.[at[1]];
  if (current) current.tabIndex = 0;
  if (focused && current && current.dataset.id === focused) current.focus();
  panel.hidden = !state.head;
  byId("atlas").classList.toggle("open", Boolean(state.head));
  if (state.head) fillPassport(panel, state);
  showControls(state, n);
  showScale(state);
  showKey(state);
};

const go = (changes) => {
  state = { ...state, ...changes };
  try {
    const rest = location.hash.startsWith("#/") ? "#" : location.hash;
    history.replaceState(null, "", address(state) || rest || "#");
  } catch {
    // A page inside a notebook has no address of its own.
  }
  draw();
};

const openHead = (id, { into = false } = {}) => {
  go({ head: id });
  panel.scrollTop = 0;
  if (into || narrow.matches) byId("passport-title").focus({ preventScroll: !narrow.matches });
};
const closeHead = () => {
  const id = state.head;
  const inside = panel.contains(document.activeElement);
  go({ head: "" });
  const cell = grids.querySelector(`[data-id="${CSS.escape(id)}"]`);
  if (inside && cell) cell.focus();
};

const move = (rows, columns) => {
  let [r, c] = at;
  do {
    r += rows;
    c += columns;
    if (!cells[r] || c < 0 || c >= cells[r].length) return;
  } while (!cells[r][c]);
  cells[at[0]][at[1]].tabIndex = -1;
  at = [r, c];
  cells[r][c].tabIndex = 0;
  cells[r][c].focus();
  if (state.head && !narrow.matches) go({ head: cells[r][c].dataset.id });
};
const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

grids.addEventListener("keydown", (event) => {
  if (!event.target.dataset.id || event.altKey || event.ctrlKey || event.metaKey) return;
  if (STEPS[event.key]) move(...STEPS[event.key]);
  else if (event.key === "Home") move(0, -1 * at[1]);
  else return;
  event.preventDefault();
});
grids.addEventListener("click", (event) => {
  const cell = event.target.closest("[data-id]");
  if (!cell) return;
  for (const [one, r, c] of everyCell()) if (one === cell) at = [r, c];
  if (state.head === cell.dataset.id && !narrow.matches) closeHead();
  else openHead(cell.dataset.id);
});
panel.addEventListener("click", (event) => {
  const target = event.target.closest("button");
  if (!target) return;
  if (target.id === "passport-close") closeHead();
  else if (target.dataset.go) openHead(target.dataset.go, { into: true });
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && state.head) closeHead();
});
byId("atlas-controls").addEventListener("submit", (event) => event.preventDefault());
byId("atlas-search").addEventListener("input", (event) => go({ q: event.target.value.slice(0, LONGEST).trim() }));
byId("atlas-sort").addEventListener("change", (event) => go({ sort: event.target.value, tint: metrics.has(event.target.value) ? event.target.value : state.tint }));
byId("atlas-tint").addEventListener("change", (event) => go({ tint: event.target.value }));
byId("atlas-view").addEventListener("change", (event) => go({ view: event.target.value }));
byId("atlas-turn").addEventListener("click", () => go({ low: !state.low }));
byId("atlas-reset").addEventListener("click", () => {
  byId("atlas-search").value = "";
  go({ q: "", layer: new Set(), role: new Set(), cluster: new Set() });
});
byId("atlas-chips").addEventListener("click", (event) => {
  const target = event.target.closest(".chip");
  if (!target) return;
  const chosen = new Set(state[target.dataset.group]);
  if (!chosen.delete(target.dataset.value)) chosen.add(target.dataset.value);
  go({ [target.dataset.group]: chosen });
});
window.addEventListener("hashchange", () => {
  if (!location.hash.startsWith("#/")) return;
  state = parsed(location.hash);
  draw();
});

buildControls();
draw();
if (location.hash.startsWith("#/")) byId("atlas").scrollIntoView({ behavior: "instant" });
document.documentElement.dataset.atlas = "yes";
