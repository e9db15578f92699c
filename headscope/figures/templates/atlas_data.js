// What the page knows of the heads. Every text in it is hostile: it reaches the page as text only.
const data = JSON.parse(document.getElementById("atlas-data").textContent);
const heads = new Map(data.heads.map((head) => [head.id, head]));
const several = data.runs.length > 1;
const textual = new Set(data.texts);

const el = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
};
const drawing = document.querySelector("svg.marks").namespaceURI;
const svg = (tag, attributes = {}, ...children) => {
  const node = document.createElementNS(drawing, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
};

const unpacked = (packed) => {
  const row = {};
  data.fields.forEach((field, i) => {
    const value = packed[i];
    if (value !== undefined && value !== null) {
      row[field] = textual.has(field) ? data.strings[value] : value;
    }
  });
  return row;
};

// Rows of one run, head and section; each is unpacked once.
const unpackedRows = new Map();
const rowsOf = (run, id, section) => {
  const key = `${run} ${id} ${section}`;
  if (!unpackedRows.has(key)) {
    const parts = data.runs[run].passports;
    const packed = Object.hasOwn(parts, id) && Object.hasOwn(parts[id], section) ? parts[id][section] : [];
    unpackedRows.set(key, packed.map(unpacked));
  }
  return unpackedRows.get(key);
};

const own = (object, key, otherwise) => (Object.hasOwn(object, key) ? object[key] : otherwise);
const rolesOf = (run, id) => own(data.runs[run].roles, id, []);
const clusterOf = (run, id) => own(data.runs[run].clusters, id, null);
const clusterLabel = (run, cluster) => data.runs[run].cluster_labels[cluster];

// Numbers that mean the same for every head: they can sort and shade the grid.
const metrics = new Map();
for (const section of data.sections) {
  const comparable = (label) => section.comparable === true || (section.comparable || []).includes(label);
  data.runs.forEach((_, run) => {
    for (const id of heads.keys()) {
      for (const row of rowsOf(run, id, section.name)) {
        if (typeof row.number !== "number" || !comparable(row.label)) continue;
        const key = `${section.name}.${row.label}`;
        if (!metrics.has(key)) {
          const values = data.runs.map(() => new Map());
          metrics.set(key, { key, section: section.title, label: row.label, unit: row.unit, values });
        }
        metrics.get(key).values[run].set(id, { number: row.number, text: row.value });
      }
    }
  });
}

const change = (number, unit) => {
  const sign = number < 0 ? "−" : "+";
  const size = Math.abs(number);
  if (unit === "share") return `${sign}${(size * 100).toFixed(1)} points`;
  const digits = unit === "number" ? size.toPrecision(3) : size.toFixed(2);
  return `${sign}${digits}${unit === "nats" ? " nats" : ""}`;
};
