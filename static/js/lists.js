// Endless lists: no post twice, and a page that could not be loaded is loaded again.

import { button } from "./lib/elements.js";
import { isPassing, pause } from "./lib/requests.js";

// A repost shows its original, which a page before may have shown.
document.addEventListener("htmx:load", ({ target }) => {
  const id = target.dataset?.postId;
  const list = id && target.closest(".feed");
  if (list && list.querySelector(`[data-post-id="${id}"]`) !== target) target.remove();
});

let fails = 0;
let timer = 0;

function again(loader) {
  clearTimeout(timer);
  loader.querySelector("button")?.remove();
  htmx.trigger(loader, "again");
}

function failed({ detail: { elt, xhr } }) {
  if (!elt.matches?.(".loader") || xhr?.status === 401) return;
  const { failed: words, waiting, again: label } = elt.dataset;
  const mayRetry = isPassing(xhr?.status);
  const wait = Math.max(pause(fails++), Number(xhr?.getResponseHeader("Retry-After")) * 1000 || 0);
  const seconds = Math.ceil(wait / 1000);
  elt.querySelector("[role=status]").textContent = mayRetry ? `${words} ${waiting.replace("%(n)s", seconds)}` : words;
  elt.querySelector("button")?.remove();
  elt.querySelector("a").before(button("button", () => again(elt), { textContent: label }));
  clearTimeout(timer);
  if (mayRetry) timer = setTimeout(() => elt.isConnected && again(elt), wait);
}

document.addEventListener("htmx:sendError", failed);
document.addEventListener("htmx:timeout", failed);
document.addEventListener("htmx:responseError", failed);
document.addEventListener("htmx:afterRequest", ({ detail: { elt, successful } }) => {
  if (successful && elt.matches?.(".loader")) fails = 0;
});
addEventListener("online", () => {
  const loader = document.querySelector(".loader:has(> button)");
  if (loader) again(loader);
});
