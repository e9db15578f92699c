// Elements from data. Every text is hostile: it reaches the page as text nodes only.
export const byId = (id) => document.getElementById(id);

export const el = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
};

export const percent = (share) => `${(share * 100).toFixed(share < 0.0995 ? 1 : 0)} %`;

export const kilobytes = (n) => (n < 1e6 ? `${Math.max(1, Math.round(n / 1000))} kB` : `${(n / 1e6).toFixed(1)} MB`);

// The colours of the page as they are now, light or dark.
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export const cursor = (keys, at, n) => {
  const steps = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: n - 1, PageUp: at - 10, PageDown: at + 10 };
  return keys in steps ? Math.max(0, Math.min(n - 1, steps[keys])) : null;
};
