// What if a head were switched off: the edits, what the model predicts now, what changed behind.
import { byId, el, percent } from "./dom.js";

const TITLES = {
  zero: ["switch it off", "off"],
  uniform: ["let it look everywhere alike", "everywhere alike"],
  mean: ["let every word look alike", "every word alike"],
  intra: ["keep it inside its segment", "own segment only"],
  inter: ["let it see the other segment only", "other segment only"],
};
export const editTitle = (name, i = 0) => (TITLES[name] || [name, name])[i];

export const fillEdits = (model) => {
  const order = ["zero", "uniform", "mean", "intra", "inter"];
  const known = [...order.filter((name) => model.edits.includes(name)), ...model.edits.filter((name) => !order.includes(name))];
  byId("edit-how").replaceChildren(...known.map((name) => el("option", { value: name }, editTitle(name))));
};

export const showEdits = (edits, fixed) => {
  byId("edits").replaceChildren(
    ...edits.map((one, i) => {
      const words = `${one.head}: ${editTitle(one.edit, 1)}`;
      if (fixed) return el("li", {}, el("span", { class: "chip" }, words));
      const turn = el("button", { type: "button", class: "chip", "data-turn": i, "aria-pressed": String(one.on), title: one.on ? "Switch this edit off" : "Switch this edit on" }, words);
      const drop = el("button", { type: "button", class: "drop", "data-drop": i, "aria-label": `Take back ${words}` }, "×");
      return el("li", {}, turn, drop);
    }),
  );
};

const bars = (before, after) => {
  const shares = new Map([...before, ...(after || [])].map(([name]) => [name, [0, 0]]));
  before.forEach(([name, share]) => (shares.get(name)[0] = share));
  (after || []).forEach(([name, share]) => (shares.get(name)[1] = share));
  const rows = [...shares].sort((a, b) => Math.max(...b[1]) - Math.max(...a[1]));
  const seen = (list, name) => !list || list.some(([one]) => one === name);
  return rows.map(([name, [a, b]]) => {
    const bar = (share, kind) => {
      const fill = el("span", { class: "fill" });
      fill.style.width = `${(100 * share).toFixed(1)}%`;
      return el("span", { class: `bar ${kind}`, "aria-hidden": "true" }, fill);
    };
    const line = (share, kind, list) => el("span", { class: "reading" }, bar(share, kind), el("span", { class: "value" }, seen(list, name) ? percent(share) : "not among the best"));
    return el("div", { class: "line" }, el("dt", {}, el("bdi", {}, name)), el("dd", {}, line(a, "run0", before), after ? line(b, "run1", after) : null));
  });
};

const placeTitle = (kind, place, side) => {
  if (kind === "class") return "The class of the text";
  if (kind === "next") return "The next token";
  return `The blank after “${place.place ? side.tokens[place.place - 1] : "the beginning"}”`;
};

export const showPrediction = (model, before, after) => {
  const place = byId("prediction");
  const told = before.prediction;
  const parts = [];
  told.places.forEach((one, i) => {
    const later = after?.prediction.places[i];
    parts.push(el("h3", {}, placeTitle(told.kind, one, before.source)), el("dl", { class: "bars" }, ...bars(one.best, later?.best)));
  });
  if (after && parts.length) parts.push(el("p", { class: "note" }, "Upper bars are before, lower bars after the edits."));
  if (told.kind === "masked" && !told.places.length) parts.push(el("p", { class: "note" }, `Write ${told.mask} where the model shall guess a word.`));
  if (told.kind === "none") parts.push(el("p", { class: "note" }, `This model turns a text into vectors and predicts no words (${told.why}).`));
  place.replaceChildren(...parts);
};

export const showChanges = (changes, after, stacks) => {
  const place = byId("downstream");
  if (!changes) {
    place.replaceChildren();
    return;
  }
  const parts = [];
  const all = stacks.flatMap(({ stack }) => changes.heads[stack].flatMap((layer, l) => layer.map((share, h) => [share, `${stack === "self" ? "" : `${stack}:`}${l + 1}-${h + 1}`])));
  const edited = new Set(after.asked.edits.flatMap((edit) => edit.heads));
  const others = all.filter(([share, id]) => share >= 0.0005 && !edited.has(id)).sort((a, b) => b[0] - a[0]);
  const listed = others.slice(0, 5).map(([share, id], i) => [i ? ", " : "", el("button", { type: "button", class: "go", "data-head": id }, id), ` ${percent(share)}`]).flat();
  parts.push(el("p", {}, others.length ? `Attention moved in ${others.length} other heads, most in ` : "No other head’s attention moved.", ...listed));
  const side = after.target || after.source;
  const tokens = changes.tokens.map((distance, i) => [distance, side.tokens[i]]).filter(([d]) => d !== null).sort((a, b) => b[0] - a[0]).slice(0, 4);
  if (changes.text !== null && tokens.length) {
    const words = tokens.map(([distance, token], i) => [i ? ", " : "", el("bdi", {}, `“${token}”`), ` ${distance.toFixed(3)}`]).flat();
    parts.push(el("p", {}, `The vector of the text turned by 1 − cosine = ${changes.text.toPrecision(2)}; those of tokens most at `, ...words, "."));
  }
  place.replaceChildren(...parts);
};
