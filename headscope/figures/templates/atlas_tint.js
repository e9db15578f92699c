// Shading heads by a number. One scale for all runs; differences on one scale around zero.
const rangeOf = (metric) => {
  const numbers = metric.values.flatMap((values) => [...values.values()].map((v) => v.number));
  const low = Math.min(0, ...numbers);
  return [low, Math.max(...numbers, low + 1e-12)];
};
const largestChange = (metric) => {
  let size = 1e-12;
  metric.values.slice(1).forEach((values) => {
    for (const [id, { number }] of values) {
      const base = metric.values[0].get(id);
      if (base) size = Math.max(size, Math.abs(number - base.number));
    }
  });
  return size;
};
const scales = new Map();
const scaleOf = (metric) => {
  if (!scales.has(metric.key)) {
    scales.set(metric.key, { range: rangeOf(metric), change: several ? largestChange(metric) : 0 });
  }
  return scales.get(metric.key);
};

// The number a head is shaded or sorted by: {label, text, number, share, sign}; null for no data.
const numberOf = (state, key, id) => {
  const metric = metrics.get(key);
  const found = metric && metric.values[shownRun(state)].get(id);
  if (!found) return null;
  const { range, change: most } = scaleOf(metric);
  if (!isDifference(state)) {
    const share = (found.number - range[0]) / (range[1] - range[0]);
    return { label: metric.label, text: found.text, number: found.number, share, sign: "" };
  }
  const base = metric.values[0].get(id);
  if (!base) return null;
  const number = found.number - base.number;
  const sign = Math.abs(number) < most / 1000 ? "" : number > 0 ? "up" : "down";
  return { label: metric.label, text: change(number, metric.unit), number, share: Math.abs(number) / most, sign };
};
const tintOf = (state, id) => (state.tint ? numberOf(state, state.tint, id) : null);

const shownNumber = (number, unit) => {
  if (unit === "share") return `${(number * 100).toFixed(0)} %`;
  return `${Number(number.toPrecision(3))}${unit === "nats" ? " nats" : unit === "times" ? " ×" : ""}`;
};

const showScale = (state) => {
  const place = document.getElementById("atlas-scale");
  const metric = metrics.get(state.tint);
  place.hidden = !metric;
  if (!metric) return;
  const { range, change: most } = scaleOf(metric);
  const ends = isDifference(state)
    ? [change(-most, metric.unit), change(most, metric.unit)]
    : range.map((x) => shownNumber(x, metric.unit));
  place.replaceChildren(
    el("span", {}, `${metric.section}: `, el("bdi", {}, metric.label)),
    el("span", { class: "ends" }, ends[0]),
    el("span", { class: isDifference(state) ? "ramp both" : "ramp", "aria-hidden": "true" }),
    el("span", { class: "ends" }, ends[1]),
  );
};
