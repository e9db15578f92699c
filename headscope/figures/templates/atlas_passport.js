// A head's passport: every section a run has for it, with all runs side by side.
const MANY = 7;

const barOf = (row, run) => {
  if (row.bar === undefined) return null;
  const percent = (x) => `${(x * 100).toFixed(2)}%`;
  const bar = el("span", { class: `bar run${run}`, "aria-hidden": "true" }, el("span", { class: "fill", style: `width:${percent(row.bar)}` }));
  if (row.bar_low !== undefined && row.bar_high !== undefined) {
    const style = `left:${percent(row.bar_low)};width:${percent(Math.max(0, row.bar_high - row.bar_low))}`;
    bar.append(el("span", { class: "whisker", style }));
  }
  return bar;
};

const SHORT = 60;
const supportOf = (row) => {
  const parts = [];
  if (row.interval) parts.push(row.interval);
  if (row.n !== undefined) parts.push(`n\u00a0=\u00a0${row.n.toLocaleString("en")}`);
  if (row.text && row.text.length < SHORT && row.number !== undefined) parts.push(row.text);
  return parts.join(" · ");
};

const labelOf = (row) => {
  if (!row.head || !heads.has(row.head)) return el("bdi", {}, row.label);
  return el("button", { type: "button", class: "go", "data-go": row.head }, row.label);
};

// One line of the passport: `rows[run]` is the run's row, or undefined.
const lineOf = (rows) => {
  const first = rows.find((row) => row);
  const line = el("div", { class: first.strong || rows.some((row) => row && row.strong) ? "line strong" : "line" });
  line.append(el("dt", {}, labelOf(first)));
  const told = el("dd");
  rows.forEach((row, run) => {
    if (!row) return;
    const value = row.value ? el("bdi", { class: "value" }, row.value) : null;
    const name = several ? el("span", { class: "run" }, `${run + 1}`) : null;
    told.append(el("span", { class: "reading" }, name, barOf(row, run), value));
    const base = rows[0];
    const known = run && base && typeof base.number === "number" && typeof row.number === "number";
    const moved = known ? el("strong", { class: "change" }, change(row.number - base.number, row.unit)) : null;
    const support = supportOf(row);
    if (support || moved) told.append(el("small", {}, moved, moved && support ? " · " : null, el("bdi", {}, support)));
    if (row.text && !(row.text.length < SHORT && row.number !== undefined)) told.append(el("p", { class: "text" }, el("bdi", {}, row.text)));
  });
  line.append(told);
  return line;
};

const linesOf = (matched) => {
  const strong = matched.filter((rows) => rows.some((row) => row && row.strong));
  const list = (chosen) => el("dl", {}, ...chosen.map(lineOf));
  if (matched.length < MANY || !strong.length) return [list(matched)];
  const weak = matched.filter((rows) => !strong.includes(rows));
  if (!weak.length) return [list(strong)];
  const more = el("details", { class: "more" }, el("summary", {}, `${weak.length} more`), list(weak));
  return [list(strong), more];
};

// Columns side by side in the order of the rows, with every number in words.
const profileOf = (matched) => {
  const width = 10;
  const height = 64;
  return data.runs.map((told, run) => {
    const rows = matched.map((found) => found[run]).filter((row) => row);
    if (!rows.length) return null;
    const words = rows.map((row) => `${row.label} ${row.value}`).join(", ");
    const most = Math.max(...matched.flat().map((row) => (row && row.number) || 0), 1e-9);
    const picture = svg("svg", { class: "columns-profile", viewBox: `0 0 ${rows.length * width} ${height + 4}`, role: "img", "aria-label": words, preserveAspectRatio: "none" });
    rows.forEach((row, i) => {
      const tall = Math.max(0.6, (height * (row.number || 0)) / most);
      const title = svg("title", {}, `${row.label}: ${row.value}`);
      picture.append(svg("rect", { class: /^\d/.test(row.label) ? "far" : "near", x: i * width + 1, y: height - tall + 2, width: width - 2, height: tall }, title));
    });
    const name = several ? el("small", {}, `${run + 1} · `, el("bdi", {}, told.name)) : null;
    const ends = el("p", { class: "ends", "aria-hidden": "true" }, el("span", {}, `${rows[0].label} …`), el("span", {}, `highest ${shownNumber(most, "share")}`), el("span", {}, `… ${rows.at(-1).label}`));
    return el("div", {}, name, picture, ends);
  });
};

const sectionOf = (section, id) => {
  const perRun = data.runs.map((_, run) => rowsOf(run, id, section.name));
  const labels = [...new Set(perRun.flat().map((row) => row.label))];
  // Two examples may share a label, so equal labels are matched in their order.
  const matched = labels.flatMap((label) => {
    const same = perRun.map((rows) => rows.filter((row) => row.label === label));
    const n = Math.max(...same.map((rows) => rows.length));
    return Array.from({ length: n }, (_, i) => same.map((rows) => rows[i]));
  });
  if (!matched.length) return null;
  const body = section.layout === "profile" ? profileOf(matched) : linesOf(matched);
  const note = section.note ? el("p", { class: "note" }, section.note) : null;
  return el("section", { "data-section": section.name }, el("h4", {}, section.title), ...body.filter((x) => x), note);
};

const fillPassport = (place, state) => {
  const { layer, head, stack } = heads.get(state.head);
  const run = shownRun(state);
  const where = data.stacks.length > 1 ? `${data.stacks.find((s) => s.stack === stack).title}, ` : "";
  const traits = rolesOf(run, state.head).map((i) => data.roles[i].label);
  const found = clusterOf(run, state.head);
  const words = [...traits, ...(found ? [`cluster ${clusterLabel(run, found[0])}`] : [])].join(" · ");
  const top = el(
    "div",
    { class: "top" },
    el("div", { class: "portrait" }, glyph(state, state.head)),
    el("div", {}, el("h3", { id: "passport-title", tabindex: "-1" }, `Head ${state.head}`), el("p", {}, `${where}layer ${layer}, head ${head}`), words ? el("p", { class: "traits" }, el("bdi", {}, words)) : null),
    el("button", { type: "button", class: "close", id: "passport-close", "aria-label": "Close the passport" }, "×"),
  );
  const names = several ? el("ol", { class: "runs" }, ...data.runs.map((one) => el("li", {}, el("bdi", {}, one.name)))) : null;
  const sections = data.sections.map((section) => sectionOf(section, state.head)).filter((x) => x);
  const empty = el("p", { class: "note" }, sections.length ? "Ranges are 95 % intervals; n is what was counted." : "No table speaks of this head.");
  const links = data.links.length ? el("p", { class: "go-on" }, ...data.links.map(([title, to]) => el("a", { href: to + encodeURIComponent(state.head) }, title))) : null;
  place.replaceChildren(top, ...[links, names, ...sections, empty].filter((x) => x));
};
