// Endless lists: no post twice, and a page that could not be loaded is loaded again.

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 60_000;
const TOO_MANY = 429;
const SERVER_ERROR = 500;

// A repost shows its original, which a page before may have shown.
document.addEventListener("htmx:load", ({ target }) => {
  const id = target.dataset?.postId;
  const list = id && target.closest(".feed");
  if (list && list.querySelector(`[data-post-id="${id}"]`) !== target) target.remove();
});

// --- trying again ---

let fails = 0;
let timer = 0;

/** Longer after each failure, with jitter: many pages must not come back all at once. */
function pause(xhr) {
  const told = Number(xhr?.getResponseHeader("Retry-After")) * 1000;
  const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** fails);
  return Math.max(told || 0, longest / 2 + (Math.random() * longest) / 2);
}

function again(loader) {
  clearTimeout(timer);
  loader.querySelector("button")?.remove();
  htmx.trigger(loader, "again");
}

function failed({ detail: { elt, xhr } }) {
  if (!elt.matches?.(".loader") || xhr?.status === 401) return;
  const { failed: words, waiting, again: label } = elt.dataset;
  const isPassing = !xhr?.status || xhr.status === TOO_MANY || xhr.status >= SERVER_ERROR;
  const wait = pause(xhr);
  const seconds = Math.ceil(wait / 1000);
  elt.querySelector("[role=status]").textContent = isPassing ? `${words} ${waiting.replace("%(n)s", seconds)}` : words;
  elt.querySelector("button")?.remove();
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button";
  button.textContent = label;
  button.addEventListener("click", () => again(elt));
  elt.querySelector("a").before(button);
  fails += 1;
  clearTimeout(timer);
  if (isPassing) timer = setTimeout(() => elt.isConnected && again(elt), wait);
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
