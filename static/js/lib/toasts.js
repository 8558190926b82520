// Short messages at the edge of the page.

import { button, make } from "./elements.js";

const TOAST_MS = 6000;

export const toasts = document.getElementById("toasts");
export const words = toasts.dataset; // what scripts say in the page's language

export function say(text) {
  const box = make("div", { className: "toast" }, make("span", { textContent: text }));
  box.append(button("round icon i-close", () => box.remove(), { "aria-label": words.close }));
  toasts.querySelector(".toast:not(.toast-undo)")?.remove();
  toasts.append(box);
  setTimeout(() => box.remove(), TOAST_MS);
}
