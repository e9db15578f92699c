// A head as a small drawing: a mark per kind of role at a fixed place, its cluster below.
const SIZE = 40;
const assigned = new Set(data.runs.flatMap((run) => Object.values(run.roles).flat()));
const familiesShown = data.families.filter((family) =>
  data.roles.some((role, i) => role.family === family.name && assigned.has(i)),
);
const side = familiesShown.length <= 1 ? 1 : familiesShown.length <= 4 ? 2 : 3;
const slotOf = new Map(familiesShown.map((family, i) => [family.name, i]));
// Neighbours on one side only, and one of two delimiters, have marks of their own.
const FINER = new Set(["prev_local", "next_local", "cls", "sep"]);
const markOf = (family, roles) => {
  const finer = roles.filter((role) => FINER.has(role.name));
  return finer.length === 1 && !roles.some((r) => r.name === "local") ? finer[0].name : family;
};

const groupedRoles = (run, id) => {
  const found = new Map();
  for (const i of rolesOf(run, id)) {
    const role = data.roles[i];
    found.set(role.family, [...(found.get(role.family) || []), role]);
  }
  return found;
};

const mark = (name, family, x, y, size, extra = "") => {
  const use = svg("use", { href: `#mark-${name}`, x, y, width: size, height: size });
  return svg("g", { class: `mark k-${family} ${extra}` }, use);
};

const drawMarks = (picture, state, id) => {
  const run = shownRun(state);
  const now = groupedRoles(run, id);
  const before = isDifference(state) ? groupedRoles(0, id) : now;
  const room = (SIZE - 10) / side;
  const size = Math.min(room - 1, 19);
  for (const [family, slot] of slotOf) {
    const roles = now.get(family) || before.get(family);
    if (!roles) continue;
    const x = 5 + (slot % side) * room + (room - size) / 2;
    const y = 3 + Math.floor(slot / side) * (side === 3 ? 10 : room) + (side === 3 ? 0 : (room - size) / 2);
    const state_ = !now.has(family) ? "lost" : !before.has(family) ? "gained" : "";
    if (state_ === "gained") {
      picture.append(svg("circle", { class: `ring k-${family}`, cx: x + size / 2, cy: y + size / 2, r: size / 2 + 1 }));
    }
    picture.append(mark(markOf(family, roles), family, x, y, size, state_));
  }
  if (!now.size && !before.size) picture.append(mark("none", "none", 14, 11, 12));
};

const drawBars = (picture, state, id) => {
  const rows = rowsOf(shownRun(state), id, "surface").filter((row) => row.unit === "share");
  const width = (SIZE - 8) / Math.max(rows.length, 1);
  rows.forEach((row, i) => {
    const height = Math.max(1, 26 * Math.min(1, row.number));
    picture.append(svg("rect", { class: "profile", x: 4 + i * width, y: 31 - height, width: Math.max(1, width - 1), height }));
  });
};

const drawCluster = (picture, state, id) => {
  const found = clusterOf(shownRun(state), id);
  const n = data.runs[shownRun(state)].cluster_labels.length;
  if (!found || isDifference(state)) return;
  const width = (SIZE - 8) / n;
  for (let i = 0; i < n; i += 1) {
    const here = i === found[0];
    picture.append(svg("rect", {
      class: here ? `segment k-cluster${i % 7}${found[1] ? "" : " unsettled"}` : "segment empty",
      x: 4 + i * width, y: 33.5, width: width - 1, height: 4.5, rx: 1,
    }));
  }
};

const glyph = (state, id) => {
  const picture = svg("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, "aria-hidden": "true", focusable: "false" });
  if (data.runs.some((run) => run.tested)) drawMarks(picture, state, id);
  else drawBars(picture, state, id);
  drawCluster(picture, state, id);
  return picture;
};

// The head in words, for those who do not see the drawing.
const inWords = (state, id) => {
  const run = shownRun(state);
  const labels = (r) => rolesOf(r, id).map((i) => data.roles[i].label);
  const parts = [];
  if (data.runs[run].tested) parts.push(labels(run).join(", ") || "no role");
  if (isDifference(state)) {
    const [old, now] = [labels(0), labels(run)];
    const gained = now.filter((x) => !old.includes(x));
    const lost = old.filter((x) => !now.includes(x));
    if (gained.length) parts.push(`gained ${gained.join(", ")}`);
    if (lost.length) parts.push(`lost ${lost.join(", ")}`);
  }
  const found = clusterOf(run, id);
  if (found) parts.push(`cluster ${clusterLabel(run, found[0])}`);
  const told = tintOf(state, id);
  if (told) parts.push(`${told.label} ${told.text}`);
  return `Head ${id}${parts.length ? `: ${parts.join("; ")}` : ""}`;
};

const showKey = (state) => {
  const told = [];
  if (data.runs.some((run) => run.tested)) {
    told.push("A mark is a kind of role, always at the same place in a cell; the buttons above name them.");
  } else if (heads.size && rowsOf(0, heads.keys().next().value, "surface").length) {
    const labels = rowsOf(0, heads.keys().next().value, "surface").map((row) => row.label);
    told.push(`The bars of a cell are its attention to ${labels.join(", ")}.`);
  }
  if (isDifference(state)) told.push("A ring is a role gained, a faded mark one lost; ▲ and ▼ say which way a number went.");
  else if (data.runs[shownRun(state)].cluster_labels.length) {
    told.push("The strip below is the cluster: which segment is filled says the same as its colour; hollow is a head whose cluster is not settled.");
  }
  document.getElementById("atlas-key").replaceChildren(...told.map((text) => el("p", {}, text)));
};
