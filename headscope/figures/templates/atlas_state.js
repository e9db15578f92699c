// What is shown, as the page's address says it: #/head=3-1&role=obj&sort=surface.[SEP]
// Whatever else an address says is ignored.
const LONGEST = 80;
const views = several
  ? [...data.runs.slice(1).map((_, i) => `d${i + 1}`), ...data.runs.map((_, i) => `${i}`)]
  : ["0"];
const layers = [...new Set(data.heads.map((head) => String(head.layer)))];
const orders = new Set(["place", "roles", "cluster", ...metrics.keys()]);
const clusterNames = [...new Set(data.runs.flatMap((run) => run.cluster_labels.map((_, i) => String(i + 1))))];
const roleNames = [...data.roles.map((role) => role.name), "none"];

const unset = () => ({
  head: "", q: "", layer: new Set(), role: new Set(), cluster: new Set(),
  sort: "place", low: false, tint: defaultTint(), view: views[0],
});

// Differences are shaded from the start; so are heads of a run that has no roles to show.
const defaultTint = () => {
  if (!several) return data.runs[0].tested ? "" : [...metrics.keys()][0] || "";
  let best = ["", 0];
  for (const metric of metrics.values()) {
    if (metric.unit !== "share") continue;
    for (const id of heads.keys()) {
      const [a, b] = [metric.values[0].get(id), metric.values[1].get(id)];
      if (a && b && Math.abs(b.number - a.number) > best[1]) {
        best = [metric.key, Math.abs(b.number - a.number)];
      }
    }
  }
  return best[0];
};

const parsed = (hash) => {
  const state = unset();
  if (!hash.startsWith("#/")) return state;
  const said = new URLSearchParams(hash.slice(2, 4000));
  const one = (name, known) => (known(said.get(name) ?? "") ? said.get(name) : null);
  const many = (name, known) => new Set((said.get(name) ?? "").split(",").filter((x) => known.includes(x)));
  state.head = one("head", (x) => heads.has(x)) ?? state.head;
  state.q = (said.get("q") ?? "").slice(0, LONGEST);
  state.layer = many("layer", layers);
  state.role = many("role", roleNames);
  state.cluster = many("cluster", clusterNames);
  state.sort = one("sort", (x) => orders.has(x)) ?? state.sort;
  state.low = said.get("low") === "1";
  state.tint = one("tint", (x) => metrics.has(x)) ?? (said.get("tint") === "none" ? "" : state.tint);
  state.view = one("view", (x) => views.includes(x)) ?? state.view;
  const mode = said.get("mode");
  if (mode === "light" || mode === "dark") document.documentElement.dataset.mode = mode;
  return state;
};

const address = (state) => {
  const usual = unset();
  const said = new URLSearchParams();
  if (state.head) said.set("head", state.head);
  if (state.q) said.set("q", state.q);
  for (const name of ["layer", "role", "cluster"]) {
    if (state[name].size) said.set(name, [...state[name]].join(","));
  }
  if (state.sort !== usual.sort) said.set("sort", state.sort);
  if (state.low) said.set("low", "1");
  if (state.tint !== usual.tint) said.set("tint", state.tint || "none");
  if (state.view !== usual.view) said.set("view", state.view);
  const text = said.toString();
  const { mode } = document.documentElement.dataset;
  if (mode && text) said.set("mode", mode);
  return text ? `#/${said}` : "";
};

// The run whose roles and clusters are shown, and the one it is compared with, if any.
const shownRun = (state) => Number(state.view.replace("d", ""));
const isDifference = (state) => state.view.startsWith("d");
