// Back to a list leads to the same post at the same height: the page notes which further pages it had loaded and which post
// was at the top of the window. A browser that kept the page itself needs none of this.

const AFTER = 5; // posts after the first one that stand in for it, should it be gone
const SETTLING_MS = 4000;
const ANSWER_MS = 20_000;

const feed = document.getElementById("feed");
let pages = []; // the addresses of the further pages, as their loaders have them
let top = topOf(document);
let isOnTheWay = false; // back to a place, which stays noted until it is reached

function topOf(root) {
  return root.querySelector("[data-top]")?.dataset.top;
}

function articles(root = feed) {
  return [...root.querySelectorAll("[data-post-id]")];
}

function note() {
  if (isOnTheWay) return;
  const shown = articles();
  const first = shown.findIndex((article) => article.getBoundingClientRect().bottom > 0);
  let place = null;
  if (scrollY > 0 && first >= 0) {
    const ids = shown.slice(first, first + AFTER).map((article) => article.dataset.postId);
    place = { ids, offset: shown[first].getBoundingClientRect().top, pages, top };
  }
  history.replaceState({ ...history.state, place }, "");
}

/** Keep the post at its height while pictures and panels above it arrive, until the reader moves. */
function keepAt(article, offset) {
  const moves = ["wheel", "touchstart", "keydown", "pointerdown"];
  const fit = () => scrollBy({ top: article.getBoundingClientRect().top - offset, behavior: "instant" });
  const watch = new ResizeObserver(fit);
  const stop = () => {
    watch.disconnect();
    for (const move of moves) removeEventListener(move, stop);
  };
  fit();
  watch.observe(document.body);
  for (const move of moves) addEventListener(move, stop, { passive: true });
  setTimeout(stop, SETTLING_MS);
}

function find(ids) {
  for (const id of ids) {
    const found = feed.querySelector(`[data-post-id="${CSS.escape(id)}"]`);
    if (found) return found;
  }
  return null;
}

async function read(address) {
  const headers = { "HX-Request": "true", "HX-Current-URL": location.href };
  const answer = await fetch(address, { headers, signal: AbortSignal.timeout(ANSWER_MS) });
  if (!answer.ok) throw new Error(answer.status);
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

/** Put a page at the end of the list; return its loader, which is not in the list. */
function append(page) {
  const loader = page.querySelector(".loader");
  loader?.remove();
  for (const item of page.querySelectorAll(".post")) {
    feed.append(item);
    htmx.process(item);
    htmx.trigger(item, "htmx:load");
  }
  return loader;
}

/** Tell the banner how many posts came since; the list begins where it began before. */
function sayNew(newest) {
  const known = new Set(articles().map((article) => article.dataset.postId));
  const count = newest.findIndex((id) => known.has(id));
  const detail = count < 0 ? { count: newest.length, more: true } : { count, more: false };
  if (detail.count) document.dispatchEvent(new CustomEvent("unseen", { detail }));
}

function ask(resume) {
  const { lost, again } = document.getElementById("toasts").dataset;
  const box = document.createElement("div");
  box.className = "place-note";
  box.setAttribute("role", "alert");
  const words = document.createElement("p");
  words.textContent = lost;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button button-main";
  button.textContent = again;
  button.dataset.testid = "place-again";
  button.addEventListener("click", () => {
    box.remove();
    resume();
  });
  box.append(words, button);
  feed.before(box);
}

async function goBack({ ids, offset, pages: known, top: former }) {
  let found = find(ids);
  if (found) return keepAt(found, offset);
  let loader = feed.querySelector(".loader");
  const isSame = loader?.getAttribute("hx-get") === known[0];
  if (!isSame && !former) return;
  const wanted = isSame ? [...known] : [former, ...known];
  const newest = articles().map((article) => article.dataset.postId);
  loader?.remove(); // it would load its page as well
  let isEmptied = isSame;
  feed.setAttribute("aria-busy", "true");
  isOnTheWay = true;

  async function go() {
    while (wanted.length && !found) {
      let page;
      try {
        page = await read(wanted[0]);
      } catch {
        return ask(go);
      }
      if (!isEmptied) feed.replaceChildren();
      isEmptied = true;
      const address = wanted.shift();
      if (address !== former) pages.push(address);
      loader = append(page);
      found = find(ids);
    }
    feed.removeAttribute("aria-busy");
    isOnTheWay = false;
    if (loader) {
      feed.append(loader);
      htmx.process(loader);
    }
    if (!isSame) {
      top = former;
      sayNew(newest);
    }
    if (found) keepAt(found, offset);
  }

  await go();
}

if (feed) {
  history.scrollRestoration = "manual";
  addEventListener("pagehide", note);
  // A phone may drop a page in the background without another word.
  document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && note());
  document.addEventListener("htmx:beforeSwap", ({ detail: { requestConfig, shouldSwap } }) => {
    if (shouldSwap && requestConfig.elt.matches(".loader")) pages.push(requestConfig.elt.getAttribute("hx-get"));
  });
  document.addEventListener("htmx:afterSwap", ({ detail: { target } }) => {
    if (target !== feed) return;
    pages = [];
    top = topOf(feed);
  });
  const [visit] = performance.getEntriesByType("navigation");
  const place = visit?.type === "navigate" ? null : history.state?.place;
  if (place) goBack(place);
}
