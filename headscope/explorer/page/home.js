// All runs of the folder, and two of them side by side.
import { ask } from "./ask.js";
import { byId, el } from "./dom.js";
import { startMode } from "./mode.js";

const heads = (stacks) => stacks.map(([stack, layers, n]) => `${stack === "self" ? "" : `${stack} `}${layers} × ${n}`).join(", ");

const cardOf = (run, live) => {
  const name = el("bdi", {}, run.folder);
  if (run.problem) return el("li", { class: "card run" }, el("h2", {}, name), el("p", { class: "warning" }, run.problem));
  const base = `/run/${encodeURIComponent(run.id)}`;
  const fact = (title, value) => el("div", {}, el("dt", {}, title), el("dd", {}, el("bdi", {}, value)));
  const box = el("input", { type: "checkbox", value: run.id, "data-heads": heads(run.stacks), "aria-label": `Compare ${run.folder}` });
  return el(
    "li",
    { class: "card run" },
    el("h2", {}, el("a", { href: base }, name)),
    el("dl", { class: "facts small" }, fact("model", run.model), fact("layers × heads", heads(run.stacks)), fact("corpus", run.corpus || "unnamed"), fact("sequences", run.n_sequences.toLocaleString("en")), fact("made", run.created.slice(0, 10))),
    el("p", { class: "ways" }, el("a", { href: base }, "Atlas"), el("a", { href: `${base}/report` }, "Figures"), el("a", { href: `${base}/tables` }, `${run.tables.length} tables`), el("a", { href: `${base}/sentences` }, "Sentences"), el("label", { class: "tick" }, box, " compare")),
  );
};

const start = async () => {
  const { runs } = await ask("/api/runs");
  byId("runs").replaceChildren(...runs.map((run) => cardOf(run)));
  byId("status").textContent = runs.length ? `${runs.length} ${runs.length === 1 ? "run" : "runs"}` : "There is no run in this folder yet: make one with headscope analyze, or headscope demo.";
  const button = byId("compare");
  const ticked = () => [...document.querySelectorAll("#runs input:checked")];
  button.hidden = runs.filter((run) => !run.problem).length < 2;
  const tell = () => {
    const chosen = ticked();
    const same = new Set(chosen.map((box) => box.dataset.heads)).size === 1;
    button.disabled = chosen.length < 2 || chosen.length > 4 || !same;
    byId("compare-why").textContent = chosen.length > 1 && !same ? "Only runs with as many layers and heads can be compared." : "";
  };
  byId("runs").addEventListener("change", tell);
  tell();
  button.addEventListener("click", () => {
    location.href = `/compare/${ticked().map((box) => encodeURIComponent(box.value)).join(",")}`;
  });
  document.documentElement.dataset.ready = "yes";
};

startMode();
start().catch((error) => {
  byId("status").textContent = error.message;
});
