// What is looked at, as the page's address says it: #/head=3-1&show=map&text=…
// Whatever else an address says is ignored.
const LONGEST = 2000;
const LEVELS = ["words", "tokens"];
const SHOWS = ["lines", "map"];

export const parsedState = (hash, model) => {
  const said = new URLSearchParams(hash.startsWith("#/") ? hash.slice(2, 12000) : "");
  const known = (id) => {
    const [, stack, layer, head] = /^(?:(\w+):)?(\d+)-(\d+)$/.exec(id) || [];
    const found = model.stacks.find((one) => one.stack === (stack || "self"));
    return Boolean(found && layer >= 1 && head >= 1 && head <= (found.n_heads[layer - 1] || 0));
  };
  const first = model.stacks[0].stack;
  const one = (name, options) => (options.includes(said.get(name)) ? said.get(name) : options[0]);
  const edits = (said.get("edits") || "").split(",").map((text) => text.split("~")).filter(([edit, head]) => model.edits.includes(edit) && known(head || ""));
  return {
    head: known(said.get("head") || "") ? said.get("head") : `${first === "self" ? "" : `${first}:`}1-1`,
    show: one("show", SHOWS),
    level: one("level", LEVELS),
    special: said.get("special") !== "0",
    layer: said.get("layer") || "all",
    when: said.get("when") === "before" ? "before" : "after",
    text: said.get("text") ?? null,
    pair: said.get("pair") ?? "",
    edits: edits.map(([edit, head, on]) => ({ edit, head, on: on !== "0" })),
  };
};

export const addressOf = (state) => {
  const said = new URLSearchParams({ head: state.head });
  if (state.show !== "lines") said.set("show", state.show);
  if (state.level !== "words") said.set("level", state.level);
  if (!state.special) said.set("special", "0");
  if (state.layer !== "all") said.set("layer", state.layer);
  if (state.when !== "after") said.set("when", state.when);
  if (state.edits.length) said.set("edits", state.edits.map(({ edit, head, on }) => `${edit}~${head}~${on ? 1 : 0}`).join(","));
  if (state.text !== null && state.text.length + state.pair.length <= LONGEST) {
    said.set("text", state.text);
    if (state.pair) said.set("pair", state.pair);
  }
  return `#/${said}`;
};
