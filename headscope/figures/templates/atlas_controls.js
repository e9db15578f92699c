// The controls above the grid; the buttons for roles and clusters are its key at the same time.
const byId = (id) => document.getElementById(id);

const options = (select, groups) => {
  for (const [title, entries] of groups) {
    const nodes = entries.map(([value, label]) => el("option", { value }, label));
    select.append(...(title ? [el("optgroup", { label: title }, ...nodes)] : nodes));
  }
};

const metricGroups = () => {
  const groups = new Map();
  for (const metric of metrics.values()) {
    groups.set(metric.section, [...(groups.get(metric.section) || []), [metric.key, metric.label]]);
  }
  return [...groups];
};

const chip = (group, value, picture, label, n) =>
  el(
    "button",
    { type: "button", class: "chip", "data-group": group, "data-value": value, "aria-pressed": "false" },
    picture,
    el("bdi", {}, label),
    n === undefined ? null : el("span", { class: "n" }, String(n)),
  );

const small = (name, family) => svg("svg", { class: `mark k-${family}`, viewBox: "0 0 12 12", "aria-hidden": "true" }, svg("use", { href: `#mark-${name}` }));

const chipGroups = () => {
  const count = (has) => [...heads.keys()].filter(has).length;
  const tested = data.runs.some((run) => run.tested);
  const roles = data.roles.map((role, i) => [role, count((id) => data.runs.some((_, run) => rolesOf(run, id).includes(i)))]).filter(([, n]) => n);
  const none = count((id) => data.runs.every((_, run) => !rolesOf(run, id).length));
  const roleChips = roles.map(([role, n]) => chip("role", role.name, small(FINER.has(role.name) ? role.name : role.family, role.family), role.label, n));
  if (tested && none) roleChips.push(chip("role", "none", small("none", "none"), "no role", none));
  const labelled = data.runs.find((run) => run.cluster_labels.length);
  const clusterChips = (labelled ? labelled.cluster_labels : []).map((label, i) => {
    const square = svg("svg", { class: `mark k-cluster${i % 7}`, viewBox: "0 0 12 12", "aria-hidden": "true" }, svg("path", { class: "solid", d: "M1 1h10v10H1z" }));
    return chip("cluster", String(i + 1), square, label, count((id) => clusterOf(0, id)?.[0] === i));
  });
  const layerChips = layers.map((layer) => chip("layer", layer, null, layer));
  return [["Role", roleChips], ["Cluster", clusterChips], ["Layer", layerChips]].filter(([, chips]) => chips.length);
};

const buildControls = () => {
  options(byId("atlas-sort"), [["", [["place", "layer and head"], ...(assigned.size ? [["roles", "number of roles"]] : []), ...(clusterNames.length ? [["cluster", "cluster"]] : [])]], ...metricGroups()]);
  options(byId("atlas-tint"), [["", [["", "nothing"]]], ...metricGroups()]);
  const difference = (run) => `change from 1 to ${run + 1}: ${data.runs[run].name}`;
  options(byId("atlas-view"), [["", views.map((view) => [view, view.startsWith("d") ? difference(Number(view.slice(1))) : `${Number(view) + 1} · ${data.runs[view].name}`])]]);
  byId("atlas-view-field").hidden = !several;
  for (const [title, chips] of chipGroups()) {
    byId("atlas-chips").append(el("div", { role: "group", "aria-label": title }, el("span", { class: "name" }, title), ...chips));
  }
  byId("atlas-controls").hidden = false;
};

const showControls = (state, n) => {
  const search = byId("atlas-search");
  if (document.activeElement !== search) search.value = state.q;
  byId("atlas-sort").value = state.sort;
  byId("atlas-tint").value = state.tint;
  byId("atlas-view").value = state.view;
  const turn = byId("atlas-turn");
  turn.setAttribute("aria-pressed", String(state.low));
  turn.textContent = state.low ? "↑" : "↓";
  turn.hidden = state.sort === "place";
  for (const one of document.querySelectorAll("#atlas-chips .chip")) {
    one.setAttribute("aria-pressed", String(state[one.dataset.group].has(one.dataset.value)));
  }
  byId("atlas-found").textContent = filtered(state) ? `${n} of ${heads.size} heads` : `${heads.size} heads`;
  byId("atlas-reset").hidden = !filtered(state);
};
