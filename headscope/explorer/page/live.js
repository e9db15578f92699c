// Live attention: what is typed goes through the model, and one head after another is looked at.
import { bytesReceived } from "./ask.js";
import { byId, el, kilobytes, percent } from "./dom.js";
import { Lines } from "./lines.js";
import { addressOf, parsedState } from "./live_state.js";
import { AttentionMap } from "./map.js";
import { onMode } from "./mode.js";
import { Pictures } from "./pictures.js";
import { Rows } from "./rows.js";
import { rampStops } from "./scale.js";
import { strongest, unitRow, unitsOf } from "./units.js";
import { fillEdits, showChanges, showEdits, showPrediction } from "./what_if.js";

const EXAMPLE = "The chef who ran to the store was out of food.";

export const startLive = async (source) => {
  const model = await source.model();
  let state = parsedState(location.hash, model);
  let before = null;
  let after = null;
  let changes = null;
  let rows = null;
  let picked = -1;
  let reading = null;
  let started = 0;
  const stackOf = (id) => model.stacks.find((one) => one.stack === (id.includes(":") ? id.split(":")[0] : "self")) || model.stacks[0];
  const layerOf = (id) => Number(id.split(":").at(-1).split("-")[0]);
  const shown = () => (state.when === "after" && after) || before;
  const say = (text, wrong = false) => {
    byId("status").textContent = text;
    byId("status").classList.toggle("wrong", wrong);
  };

  const remember = () => {
    try {
      history.replaceState(null, "", addressOf(state));
    } catch {
      // A page inside a notebook has no address of its own.
    }
  };

  const sides = () => {
    const stack = stackOf(state.head);
    const pass = shown();
    return [pass[stack.queries], pass[stack.keys]];
  };

  const tellRow = () => {
    const [from, to] = sides();
    const [queries, keys] = [from, to].map((side) => unitsOf(side, state.level, state.special));
    const query = queries[picked];
    const row = query && rows && unitRow(query, keys, (token) => rows.at(token));
    if (!row) {
      byId("readout").textContent = "Choose a word on the left to see where it looks; arrow keys move.";
      return;
    }
    const words = strongest(row, 5).map(([weight, i], n) => [n ? ", " : "", el("bdi", {}, `“${keys[i].label}”`), ` ${percent(weight)}`]).flat();
    byId("readout").replaceChildren(el("bdi", {}, `“${query.label}”`), " looks at ", ...words);
  };

  const lines = () => {
    if (!(view instanceof Lines)) {
      view = new Lines(byId("view"), {
        onPick: (i) => {
          picked = i;
          draw();
        },
        onSeen: (first, last) => rows?.need(first, last, sides()[0].tokens.length).catch((error) => say(error.message, true)),
      });
    }
    return view;
  };
  const wholeMap = () => {
    if (!(view instanceof AttentionMap)) {
      view = new AttentionMap(byId("view"), {
        onPoint: (at) => {
          if (at) byId("readout").replaceChildren(el("bdi", {}, `“${at.query.label}”`), " looks at ", el("bdi", {}, `“${at.key.label}”`), ` with ${percent(at.weight)}`);
          else byId("readout").textContent = "Point at a cell, or use arrow keys: rows look at columns.";
        },
      });
    }
    return view;
  };
  let view = null;

  const pictures = new Pictures(byId("pictures"), { onHead: (id) => go({ head: id }) });

  const drawn = () => {
    if (!started || !view) return;
    const complete = view instanceof Lines ? view.scroll.dataset.complete === "true" : view.ready;
    if (!complete) return;
    const pass = shown();
    const ms = performance.now() - started;
    started = 0;
    performance.measure("headscope-drawn", { duration: ms, start: performance.now() - ms });
    document.documentElement.dataset.drawn = String(Number(document.documentElement.dataset.drawn || 0) + 1);
    document.documentElement.dataset.ms = ms.toFixed(1);
    const cut = pass.source.n_cut ? `, ${pass.source.n_cut} more were cut` : "";
    const sent = source.fixed ? "" : ` The model took ${Math.round(pass.seconds * 1000)} ms, the picture was there after ${Math.round(ms)} ms; ${kilobytes(bytesReceived())} received.`;
    say(`${pass.source.tokens.length} tokens${cut}.${sent}`);
  };

  const draw = () => {
    if (!before) return;
    const pass = shown();
    const [from, to] = sides();
    if (!rows || rows.pass !== pass || rows.head !== state.head) {
      rows?.stop();
      rows = new Rows(source, pass, state.head, draw);
      if (!started) started = performance.now();
    }
    const queries = unitsOf(from, state.level, state.special);
    const keys = unitsOf(to, state.level, state.special);
    if (picked >= queries.length) picked = -1;
    byId("look-title").textContent = `Head ${state.head}`;
    byId("look-where").textContent = `${model.stacks.length > 1 ? `${stackOf(state.head).title}, ` : ""}layer ${layerOf(state.head)}${after ? (state.when === "after" ? ", after the edits" : ", before the edits") : ""}`;
    for (const one of document.querySelectorAll("[data-set]")) {
      const [name, value] = one.dataset.set.split("=");
      one.setAttribute("aria-pressed", String(String(state[name]) === value));
    }
    byId("special").setAttribute("aria-pressed", String(state.special));
    byId("when").hidden = !after;
    byId("ramp").hidden = state.show !== "map";
    byId("ramp").style.setProperty("--stops", rampStops().join(", "));
    byId("edit-head").textContent = state.head;
    if (state.show === "lines") {
      lines().show(queries, keys, rows, picked);
      tellRow();
    } else {
      const had = rows.known.size === from.tokens.length;
      wholeMap().show(queries, keys, rows);
      if (!had && !rows.whole) {
        rows.whole = rows.all(from.tokens.length).catch((error) => say(error.message, true));
      }
    }
    pictures.choose(state.head);
    drawn();
  };

  const arrange = () => {
    const stack = stackOf(state.head);
    const layers = stack.n_heads.map((_, i) => i + 1);
    const chosen = state.layer === "all" ? layers : [Math.min(Math.max(1, Number(state.layer) || 1), layers.length)];
    const select = byId("layer");
    select.replaceChildren(el("option", { value: "all" }, "all layers"), ...layers.map((n) => el("option", { value: n }, `layer ${n}`)));
    select.value = state.layer === "all" ? "all" : String(chosen[0]);
    byId("stack-field").hidden = model.stacks.length < 2;
    byId("stack").value = stack.stack;
    pictures.build(stack, chosen);
  };

  const refresh = (rebuilt = false) => {
    if (!before) return;
    const key = `${stackOf(state.head).stack} ${state.layer}`;
    if (rebuilt || key !== arranged) arrange();
    if (rebuilt || key !== arranged || pictures.pass !== shown()) pictures.show(source, shown(), state.head);
    arranged = key;
    pictures.change(changes ? changes.heads[stackOf(state.head).stack] : null, new Set(active().flatMap((edit) => edit.heads)));
    draw();
  };
  let arranged = "";

  const active = () => state.edits.filter((one) => one.on).map(({ edit, head }) => ({ edit, heads: [head] }));

  const go = (changed) => {
    const inLayer = changed.head && state.layer !== "all" && layerOf(changed.head) !== Number(state.layer);
    state = { ...state, ...changed, ...(inLayer ? { layer: String(layerOf(changed.head)) } : {}) };
    remember();
    refresh();
  };

  // Read the text as it is, then with the edits; the newest request wins.
  const read = async () => {
    reading?.abort();
    const mine = new AbortController();
    reading = mine;
    started = performance.now();
    say("Reading …");
    const asked = { text: state.text, pair: state.pair };
    try {
      const plain = await source.read({ ...asked, edits: [] }, mine.signal);
      const edits = active();
      const edited = edits.length ? await source.read({ ...asked, edits }, mine.signal) : null;
      if (mine.signal.aborted) return;
      [before, after, changes] = [plain, edited, null];
      showEdits(state.edits, source.fixed);
      showPrediction(model, before, after);
      showChanges(null);
      refresh();
      if (edited) {
        const found = await source.changes(plain, edited);
        if (mine.signal.aborted) return;
        changes = found;
        showChanges(changes, after, model.stacks);
        refresh();
      }
      document.documentElement.dataset.read = String(Number(document.documentElement.dataset.read || 0) + 1);
    } catch (error) {
      if (error.name !== "AbortError") say(error.message, true);
    }
  };

  const changeEdits = (edits) => {
    state = { ...state, edits, when: "after" };
    remember();
    showEdits(edits, source.fixed);
    read();
  };

  byId("stack").replaceChildren(...model.stacks.map((one) => el("option", { value: one.stack }, one.title)));
  fillEdits(model);
  byId("layer").addEventListener("change", (event) => go({ layer: event.target.value }));
  byId("stack").addEventListener("change", (event) => go({ head: `${event.target.value === "self" ? "" : `${event.target.value}:`}1-1`, layer: "all" }));
  for (const one of document.querySelectorAll("[data-set]")) {
    one.addEventListener("click", () => {
      const [name, value] = one.dataset.set.split("=");
      go({ [name]: value });
    });
  }
  byId("special").addEventListener("click", () => go({ special: !state.special }));
  byId("edit-add").addEventListener("click", () => {
    const rest = state.edits.filter((one) => one.head !== state.head);
    changeEdits([...rest, { edit: byId("edit-how").value, head: state.head, on: true }]);
  });
  byId("edits").addEventListener("click", (event) => {
    const { turn, drop } = event.target.dataset;
    if (turn) changeEdits(state.edits.map((one, i) => (i === Number(turn) ? { ...one, on: !one.on } : one)));
    if (drop) changeEdits(state.edits.filter((_, i) => i !== Number(drop)));
  });
  byId("downstream").addEventListener("click", (event) => {
    if (event.target.dataset.head) go({ head: event.target.dataset.head });
  });
  onMode(() => {
    pictures.repaint();
    if (before) draw();
  });
  window.addEventListener("hashchange", () => {
    const { text, pair, edits } = state;
    state = parsedState(location.hash, model);
    if (state.text === null) state = { ...state, text, pair };
    if (JSON.stringify([text, pair, edits]) === JSON.stringify([state.text, state.pair, state.edits])) refresh();
    else {
      fill();
      read();
    }
  });

  const [first, second] = [byId("text"), byId("pair")];
  const fill = () => {
    if (!first) return;
    first.value = state.text;
    second.value = state.pair;
  };
  if (source.fixed) {
    const saved = source.start;
    state = { ...state, text: saved.text, pair: saved.pair, edits: saved.edits, head: saved.head || state.head };
  } else {
    if (state.text === null) state.text = EXAMPLE;
    fill();
    const submit = (event) => {
      event?.preventDefault();
      state = { ...state, text: first.value, pair: second.value };
      picked = -1;
      remember();
      read();
    };
    byId("read").addEventListener("submit", submit);
    for (const field of [first, second]) {
      field.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey || !event.shiftKey)) submit(event);
      });
    }
  }
  showEdits(state.edits, source.fixed);
  await read();
  document.documentElement.dataset.ready = "yes";
};
