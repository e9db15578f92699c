// Sentences where a head does something, best first; one click shows it live.
import { ask } from "./ask.js";
import { byId, el } from "./dom.js";
import { startMode } from "./mode.js";

const { run, live } = byId("main").dataset;
const HEAD = /^(\w+:)?\d{1,3}-\d{1,3}$/;

const parsed = () => {
  const said = new URLSearchParams(location.hash.startsWith("#/") ? location.hash.slice(2, 500) : "");
  return { head: HEAD.test(said.get("head") || "") ? said.get("head") : "1-1", what: said.get("what") || "" };
};

const itemOf = (one, head) => {
  const text = one.text ?? `sequence ${one.sequence}`;
  const parts = [el("p", { class: "sentence" }, el("bdi", {}, text), one.pair ? el("span", { class: "second" }, " ", el("bdi", {}, one.pair)) : null), el("p", { class: "note" }, el("bdi", {}, one.what), " · ", el("bdi", {}, one.sequence))];
  if (live === "yes" && one.text !== null) {
    const to = new URLSearchParams({ head, text: one.text, ...(one.pair ? { pair: one.pair } : {}) });
    parts[1].append(" · ", el("a", { href: `/live#/${to}` }, "see it live"));
  }
  return el("li", { class: one.right === false ? "missed" : null }, ...parts);
};

const show = async () => {
  const state = parsed();
  byId("head").value = state.head;
  byId("status").textContent = "Looking …";
  try {
    const found = await ask(`/api/runs/${encodeURIComponent(run)}/sentences?${new URLSearchParams(state)}`);
    byId("what").replaceChildren(...found.wanted.map((one) => el("option", { value: one.key }, `${one.label} (${one.n})`)));
    byId("what").value = found.what;
    byId("sentences").replaceChildren(...found.sentences.map((one) => itemOf(one, found.head)));
    const missing = found.sentences.length && !found.texts ? " The texts are in the run’s corpus: start with --corpus FILE to read them here." : "";
    byId("status").textContent = found.sentences.length ? `${found.sentences.length} sentences, the clearest first.${missing}` : "The run keeps no sentences for this head.";
  } catch (error) {
    byId("status").textContent = error.message;
    byId("sentences").replaceChildren();
  }
  document.documentElement.dataset.shown = String(Number(document.documentElement.dataset.shown || 0) + 1);
};

const go = (changes) => {
  const said = new URLSearchParams({ head: parsed().head, ...changes });
  history.replaceState(null, "", `#/${said}`);
  show();
};

startMode();
byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  go({ head: byId("head").value.trim() });
});
byId("what").addEventListener("change", () => go({ what: byId("what").value }));
window.addEventListener("hashchange", show);
show().then(() => {
  document.documentElement.dataset.ready = "yes";
});
