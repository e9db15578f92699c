// Which heads are asked for, in which order.
const wordsOf = new Map();
const searchText = (id) => {
  if (!wordsOf.has(id)) {
    const found = [`head ${id}`, `layer ${heads.get(id).layer}`];
    data.runs.forEach((_, run) => {
      for (const i of rolesOf(run, id)) found.push(data.roles[i].name, data.roles[i].label);
      const cluster = clusterOf(run, id);
      if (cluster) found.push(clusterLabel(run, cluster[0]));
      for (const section of data.sections) {
        for (const row of rowsOf(run, id, section.name)) {
          if (row.strong) found.push(row.label, row.keywords || "");
        }
      }
    });
    wordsOf.set(id, found.join("\n").toLowerCase());
  }
  return wordsOf.get(id);
};

const asked = (query, id) =>
  query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word)
    .every((word) => {
      if (/^([a-z]+:)?\d+-\d+$/.test(word)) return id === word || id.endsWith(`:${word}`);
      if (/^\d+-$/.test(word)) return heads.get(id).layer === parseInt(word, 10);
      return searchText(id).includes(word);
    });

const runsShown = (state) => (isDifference(state) ? [0, shownRun(state)] : [shownRun(state)]);

const fits = (state, id) => {
  if (state.layer.size && !state.layer.has(String(heads.get(id).layer))) return false;
  if (state.role.size) {
    const names = runsShown(state).flatMap((run) => rolesOf(run, id).map((i) => data.roles[i].name));
    if (!(names.length ? names : ["none"]).some((name) => state.role.has(name))) return false;
  }
  if (state.cluster.size) {
    const found = clusterOf(shownRun(state), id);
    if (!found || !state.cluster.has(String(found[0] + 1))) return false;
  }
  return !state.q || asked(state.q, id);
};

const filtered = (state) => Boolean(state.q || state.layer.size || state.role.size || state.cluster.size);

const sortKey = (state, id) => {
  if (state.sort === "roles") return rolesOf(shownRun(state), id).length;
  if (state.sort === "cluster") return -(clusterOf(shownRun(state), id)?.[0] ?? Infinity);
  return numberOf(state, state.sort, id)?.number ?? NaN;
};

// Highest first unless turned; heads without data always come last.
const inOrder = (state, ids) => {
  const keys = new Map(ids.map((id) => [id, sortKey(state, id)]));
  const place = new Map(ids.map((id, i) => [id, i]));
  return [...ids].sort((a, b) => {
    const [x, y] = [keys.get(a), keys.get(b)];
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y) || place.get(a) - place.get(b);
    return (x === y ? 0 : (y - x) * (state.low ? -1 : 1)) || place.get(a) - place.get(b);
  });
};
