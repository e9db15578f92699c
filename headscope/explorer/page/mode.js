// Light or dark: what the system prefers, unless the button said otherwise.
import { byId } from "./dom.js";

const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
const listeners = [];
export const isDark = () => (document.documentElement.dataset.mode || (prefersDark.matches ? "dark" : "light")) === "dark";
export const onMode = (listener) => listeners.push(listener);

const told = () => {
  const button = byId("mode");
  if (button) button.textContent = isDark() ? "Light page" : "Dark page";
  for (const listener of listeners) listener();
};

export const startMode = () => {
  try {
    const kept = localStorage.getItem("headscope-mode");
    if (kept === "light" || kept === "dark") document.documentElement.dataset.mode = kept;
  } catch {
    // A page inside a notebook may not keep anything.
  }
  const button = byId("mode");
  if (button) {
    button.hidden = false;
    button.addEventListener("click", () => {
      document.documentElement.dataset.mode = isDark() ? "light" : "dark";
      try {
        localStorage.setItem("headscope-mode", document.documentElement.dataset.mode);
      } catch {
        // see above
      }
      told();
    });
  }
  prefersDark.addEventListener("change", told);
  told();
};
