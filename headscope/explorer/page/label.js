// One map after another, one key each: v d m b h; u takes the last back, s skips.
import { ask, askBytes, tell } from "./ask.js";
import { byId, el, percent } from "./dom.js";
import { floatsOf } from "./half.js";
import { onMode, startMode } from "./mode.js";
import { paintRulers, rulersInWords } from "./rulers.js";
import { paintWeights } from "./scale.js";

let set = null; // what the server told of the set
let queue = []; // indices still to label
let done = []; // [index, the label it had] of this sitting, for undo
let shownMap = null;
let saving = Promise.resolve();

const current = () => queue[0];
const given = () => set.given.filter((label) => label !== null).length;
const wrong = (error) => {
  byId("status").textContent = error.message;
  byId("status").classList.add("wrong");
};

// The brightest half percent of the cells is the brightest colour: the rule the labels follow.
const paint = () => {
  if (!shownMap) return;
  const { n, data, rulers } = shownMap;
  const sorted = Float32Array.from(data).sort();
  const bright = Math.max(1e-6, sorted[Math.max(0, Math.ceil(sorted.length * 0.995) - 1)]);
  paintWeights(byId("map"), n, n, (r, c) => Math.min(1, data[r * n + c] / bright));
  paintRulers(byId("columns"), byId("diagonals"), rulers);
};

const tellAgreement = (found) => {
  const place = byId("agreement");
  if (!found) {
    place.replaceChildren(el("p", {}, "No map has two looks yet."));
    return;
  }
  const kappa = found.kappa === null ? "not defined yet" : found.kappa.toFixed(2);
  const names = found.classes.map((name) => name.replace("_", " + "));
  const head = el("tr", {}, el("th", { scope: "col" }, "first \\ second"), ...names.map((name) => el("th", { scope: "col" }, name)));
  const rows = found.confusion.map((row, i) => el("tr", {}, el("th", { scope: "row" }, names[i]), ...row.map((n, j) => el("td", { class: i === j ? "number same" : "number" }, n ? String(n) : "·"))));
  place.replaceChildren(el("p", {}, `${percent(found.share)} of ${found.n} maps have the same label in both looks; Cohen’s κ ${kappa}.`), el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Table of both looks" }, el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows))));
};

const showProgress = () => {
  byId("progress").max = set.maps.length;
  byId("progress").value = given();
  byId("count").textContent = `${given()} of ${set.maps.length}`;
  byId("undo").disabled = !done.length;
};

const showNext = async () => {
  showProgress();
  const index = current();
  delete document.documentElement.dataset.shown;
  byId("desk").hidden = false;
  const over = index === undefined;
  for (const id of ["map", "columns", "diagonals", "rulers"]) byId(id).hidden = over;
  for (const button of document.querySelectorAll("[data-label], #skip")) button.disabled = over;
  if (over) {
    byId("which").textContent = "All maps have a label. headscope patterns train --labels takes the file as it is.";
    shownMap = null;
    return;
  }
  const { buffer, about } = await askBytes(`/api/labels/${encodeURIComponent(set.id)}/maps/${index}`);
  if (index !== current()) return;
  shownMap = { n: about.queries, data: floatsOf(buffer), rulers: about.rulers };
  byId("which").textContent = `Map ${index + 1}: ${set.maps[index].n} tokens`;
  byId("map").setAttribute("aria-label", `Attention map ${index + 1}, ${set.maps[index].n} tokens`);
  byId("rulers").textContent = rulersInWords(about.rulers);
  paint();
  document.documentElement.dataset.shown = String(index);
};

const save = (index, label) => {
  set.given[index] = label;
  const asked = { index, label, look: set.look };
  // one after the other, so that an undo never overtakes what it undoes
  saving = saving
    .then(() => tell(`/api/labels/${encodeURIComponent(set.id)}`, asked))
    .then((found) => {
      tellAgreement(found.agreement);
      byId("status").textContent = "Saved.";
      byId("status").classList.remove("wrong");
      document.documentElement.dataset.saved = String(Number(document.documentElement.dataset.saved || 0) + 1);
    })
    .catch(wrong);
};

// Only a map that has been seen gets a label: a key that comes before its picture is dropped.
const seen = (index) => document.documentElement.dataset.shown === String(index);
const give = (label) => {
  const index = current();
  if (index === undefined || !seen(index)) return;
  done.push([index, set.given[index]]);
  queue.shift();
  save(index, label);
  showNext().catch(wrong);
};
const undo = () => {
  const last = done.pop();
  if (!last) return;
  const [index, label] = last;
  queue = [index, ...queue.filter((one) => one !== index)];
  if (set.given[index] !== label) save(index, label);
  showNext().catch(wrong);
};
const skip = () => {
  if (current() === undefined) return;
  queue.push(queue.shift());
  showNext().catch(wrong);
};

const open = async () => {
  const id = byId("set").value;
  if (!id) return;
  delete document.documentElement.dataset.shown;
  set = await ask(`/api/labels/${encodeURIComponent(id)}?${new URLSearchParams({ look: byId("look").value })}`);
  queue = set.todo;
  done = [];
  byId("keys").replaceChildren(
    ...set.classes.map((one) => el("li", {}, el("button", { type: "button", "data-label": one.name, "data-key": one.key }, el("kbd", {}, one.key), el("strong", {}, ` ${one.name.replace("_", " + ")}`), el("small", {}, one.rule)))),
  );
  tellAgreement(set.agreement);
  byId("status").textContent = set.look === "second" ? "A second, blind look: the first labels stay hidden." : "";
  await showNext();
};

const list = async (chosen = "") => {
  const { sets, can_begin: canBegin } = await ask("/api/labels");
  byId("set").replaceChildren(...sets.map((one) => el("option", { value: one.id }, one.file)));
  if (chosen) byId("set").value = chosen;
  byId("begin").hidden = !canBegin;
  byId("none").hidden = sets.length > 0;
  byId("choose").hidden = !sets.length;
  if (sets.length) await open();
};

startMode();
onMode(paint);
byId("set").addEventListener("change", () => open().catch(wrong));
byId("look").addEventListener("change", () => open().catch(wrong));
byId("undo").addEventListener("click", undo);
byId("skip").addEventListener("click", skip);
byId("keys").addEventListener("click", (event) => {
  const button = event.target.closest("[data-label]");
  if (button) give(button.dataset.label);
});
byId("begin").addEventListener("submit", async (event) => {
  event.preventDefault();
  byId("status").textContent = "Drawing maps …";
  try {
    const name = byId("new-name").value.trim();
    await tell("/api/labels", { name, n: Number(byId("new-n").value) });
    await list(name);
  } catch (error) {
    wrong(error);
  }
});
document.addEventListener("keydown", (event) => {
  if (!set || event.altKey || event.ctrlKey || event.metaKey || event.repeat) return;
  if (event.target.matches("input, select, textarea")) return;
  const shape = set.classes.find((one) => one.key === event.key.toLowerCase());
  if (shape) give(shape.name);
  else if (event.key === "u") undo();
  else if (event.key === "s") skip();
  else return;
  event.preventDefault();
});
list()
  .catch(wrong)
  .then(() => {
    document.documentElement.dataset.ready = "yes";
  });
