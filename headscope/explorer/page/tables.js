// Tables of a run and questions in SQL; answers come as rows and are shown as text.
import { ask, tell } from "./ask.js";
import { byId, el } from "./dom.js";
import { startMode } from "./mode.js";

const run = byId("main").dataset.run;
const base = `/api/runs/${encodeURIComponent(run)}`;
const LONGEST = 4000;

const shown = (value) => {
  if (value === null) return "–";
  if (typeof value === "number" && !Number.isInteger(value)) return Number(value.toPrecision(5)).toString();
  return String(value);
};

const showAnswer = (found) => {
  const numeric = found.columns.map((_, c) => found.rows.some((row) => typeof row[c] === "number"));
  const cell = (tag, text, c, extra = {}) => el(tag, { class: numeric[c] ? "number" : null, ...extra }, el("bdi", {}, text));
  const head = el("tr", {}, ...found.columns.map((name, c) => cell("th", name, c, { scope: "col" })));
  const rows = found.rows.map((row) => el("tr", {}, ...row.map((value, c) => cell("td", shown(value), c))));
  byId("answer").replaceChildren(el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows)));
  byId("status").textContent = `${found.rows.length} ${found.rows.length === 1 ? "row" : "rows"}${found.more ? "; there are more" : ""}`;
  byId("save").hidden = !found.rows.length;
  latest = found;
};
let latest = null;
let newest = 0;

const query = async () => {
  const mine = (newest += 1);
  const sql = byId("sql").value;
  byId("status").classList.remove("wrong");
  byId("status").textContent = "Asking …";
  try {
    const found = await tell(`${base}/query`, { sql });
    if (mine === newest) showAnswer(found);
  } catch (error) {
    if (mine !== newest) return;
    byId("status").textContent = error.message;
    byId("status").classList.add("wrong");
  }
  if (sql.length <= LONGEST) history.replaceState(null, "", `#/${new URLSearchParams({ sql })}`);
  document.documentElement.dataset.asked = String(Number(document.documentElement.dataset.asked || 0) + 1);
};

const csv = ({ columns, rows }) => {
  const cell = (value) => {
    const text = value === null ? "" : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\n");
};

const start = async () => {
  const { tables } = await ask(`${base}/tables`);
  byId("tables").replaceChildren(
    ...tables.map((table) => {
      const columns = table.columns.map(([name]) => name).join(", ");
      const button = el("button", { type: "button", class: "table", "data-table": table.name }, el("strong", {}, el("bdi", {}, table.name)), el("span", {}, ` ${table.n_rows.toLocaleString("en")} rows`), el("small", {}, el("bdi", {}, columns)));
      return el("li", {}, button);
    }),
  );
  byId("tables").addEventListener("click", (event) => {
    const button = event.target.closest("[data-table]");
    if (!button) return;
    byId("sql").value = `select * from "${button.dataset.table}" limit 100`;
    query();
  });
  byId("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    query();
  });
  byId("sql").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      query();
    }
  });
  byId("save").addEventListener("click", () => {
    const link = el("a", { href: URL.createObjectURL(new Blob([csv(latest)], { type: "text/csv" })), download: "answer.csv" });
    link.click();
    URL.revokeObjectURL(link.href);
  });
  const said = new URLSearchParams(location.hash.startsWith("#/") ? location.hash.slice(2) : "").get("sql");
  if (said) byId("sql").value = said.slice(0, LONGEST);
  else if (tables.some((table) => table.name === "surface")) {
    byId("sql").value = "select layer + 1 as layer, head + 1 as head, round(mean, 3) as to_previous\nfrom surface where target = 'prev' order by mean desc limit 10";
  } else if (tables.length) byId("sql").value = `select * from "${tables[0].name}" limit 10`;
  // An address may have come from anywhere: its question waits for a press of the button.
  if (!said && tables.length) await query();
  document.documentElement.dataset.ready = "yes";
};

startMode();
start().catch((error) => {
  byId("status").textContent = error.message;
});
