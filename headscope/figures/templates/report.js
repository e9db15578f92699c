// Draws the figures of the page, for its width and its mode, and saves them on request.
(() => {
  "use strict";
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const themes = read("themes");

  // Data lies in the page once, as columns; charts want records.
  const columns = read("datasets");
  const records = (key) => {
    const table = columns[key];
    const names = Object.keys(table);
    const n = names.length ? table[names[0]].length : 0;
    return Array.from({ length: n }, (_, i) =>
      Object.fromEntries(names.map((column) => [column, table[column][i]])),
    );
  };
  const specOf = (figure) => {
    const { spec, datasets } = read(`spec-${figure}`);
    const data = Object.entries(datasets).map(([name, key]) => [name, records(key)]);
    return { ...spec, datasets: Object.fromEntries(data) };
  };

  const charts = [...document.querySelectorAll("[data-figure]")];
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const toggle = document.getElementById("mode");
  const views = new Map();
  const GAP = 26;
  const AXES = 44;

  const mode = () => document.documentElement.dataset.mode || (dark.matches ? "dark" : "light");

  // Fewer columns on narrow screens, and rows of equal length.
  const widthOf = (spec) => {
    if (spec.vconcat) return Math.max(...spec.vconcat.map(widthOf));
    if (spec.concat) return widthIn(spec.concat.map(widthOf), spec.columns || 1);
    return (spec.width || 200) + AXES;
  };
  const widthIn = (widths, columns) => {
    const widest = Array(columns).fill(0);
    widths.forEach((width, i) => {
      widest[i % columns] = Math.max(widest[i % columns], width);
    });
    return widest.reduce((sum, width) => sum + width + GAP, -GAP);
  };
  const fit = (spec, room) => {
    (spec.vconcat || []).forEach((part) => fit(part, room));
    if (!spec.concat) return spec;
    const widths = spec.concat.map(widthOf);
    let columns = spec.columns || 1;
    while (columns > 1 && widthIn(widths, columns) > room) columns -= 1;
    spec.columns = Math.ceil(widths.length / Math.ceil(widths.length / columns));
    return spec;
  };

  const shape = (spec) => [spec.columns || 0, ...(spec.vconcat || []).map(shape)].join();

  const embed = (place, spec, config, renderer) =>
    window.vegaEmbed(place, spec, {
      mode: "vega-lite",
      ast: true, // interpret expressions: the page's policy forbids compiling them
      actions: false,
      defaultStyle: false,
      renderer,
      config,
      tooltip: { disableDefaultStyle: true, offsetX: 12, offsetY: 12 },
    });

  const draw = async (chart) => {
    const spec = fit(specOf(chart.dataset.figure), chart.clientWidth);
    const key = `${mode()} ${shape(spec)}`;
    if (chart.dataset.drawn === key) return;
    chart.dataset.drawn = key;
    const old = views.get(chart);
    const shown = await embed(chart, spec, themes[mode()], chart.dataset.renderer);
    if (old) old.finalize();
    views.set(chart, shown);
  };

  const drawAll = async () => {
    toggle.textContent = mode() === "dark" ? "Light page" : "Dark page";
    for (const chart of charts) {
      try {
        await draw(chart);
      } catch (error) {
        chart.textContent = `This chart could not be drawn: ${error.message}`;
      }
    }
    const first = !document.documentElement.dataset.ready;
    document.documentElement.dataset.ready = "yes";
    // Charts above have grown since the browser jumped to its anchor.
    const target = first && location.hash && document.getElementById(location.hash.slice(1));
    if (target) target.scrollIntoView({ behavior: "instant" });
  };

  // Saved images are in the full number of columns, whatever the screen.
  const save = async (name, type) => {
    const room = document.createElement("div");
    const shown = await embed(room, specOf(name), themes.paper, "svg");
    const link = document.createElement("a");
    link.href = await shown.view.toImageURL(type, type === "png" ? 3 : 1);
    link.download = `${name}.${type}`;
    link.click();
    shown.finalize();
  };

  // On narrow screens the contents would fill the first of them, and filters hide the grid.
  const narrow = window.matchMedia("(max-width: 66rem)");
  const fold = () => {
    for (const one of document.querySelectorAll("[data-fold]")) one.open = !narrow.matches;
  };
  narrow.addEventListener("change", fold);
  // On paper the filters are the key to the marks.
  window.addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll(".filters")) one.open = true;
  });
  fold();

  toggle.hidden = false;
  toggle.addEventListener("click", () => {
    document.documentElement.dataset.mode = mode() === "dark" ? "light" : "dark";
    drawAll();
  });
  dark.addEventListener("change", drawAll);
  let waiting = 0;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(drawAll, 200);
  });
  for (const button of document.querySelectorAll("[data-save]")) {
    button.parentElement.hidden = false;
    button.addEventListener("click", () => save(button.dataset.for, button.dataset.save));
  }
  drawAll();
})();
